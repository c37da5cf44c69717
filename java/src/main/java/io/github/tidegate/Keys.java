package io.github.tidegate;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * Makes keys for {@link KeyedRateLimiter} and {@link KeyedConcurrencyLimiter}, the same bytes in every language.
 *
 * <pre>{@code
 * limiter.tryAcquire(Keys.of("tenant", "user"));
 * limiter.tryAcquire(Keys.ip(request.getRemoteAddr()));
 * }</pre>
 */
public final class Keys {
    /** What is allowed for a key. */
    static final String ALLOWED = "a string or bytes";

    /** The longest key of an address, in bytes. */
    private static final int IP_SIZE = 16;
    /** How many bytes the length of a part takes. */
    private static final int LENGTH_SIZE = 8;

    private static final int DEFAULT_PREFIX = -1;
    private static final int LONGEST_PREFIX = 128;

    static {
        NativeLibrary.require();
    }

    private Keys() {}

    /** Makes sure that this class is ready for use. */
    static void require() {}

    /** Returns a key, which must be there. */
    static byte[] nonNull(byte[] key) {
        return Mistake.nonNull("key", key, ALLOWED);
    }

    /**
     * One key of several parts, such that other parts never make the same key: each is preceded by its length, in eight bytes.
     * Joined without, "a" and "bc" would be "ab" and "c".
     *
     * @param parts the parts; each counts as its {@link #bytes}
     */
    public static byte[] of(String... parts) {
        return join(allBytes("parts", parts));
    }

    /**
     * {@link #of(String...)} for parts of bytes.
     *
     * @param parts the parts; {@link #bytes} makes one of a text
     */
    public static byte[] of(byte[]... parts) {
        return join(allBytes("parts", parts));
    }

    /**
     * The key that a text is: its UTF-8, where a surrogate that stands alone is the three bytes that UTF-8 would give to its
     * number (WTF-8), so that all texts differ.
     */
    public static byte[] bytes(String text) {
        int length = Mistake.nonNull("key", text, ALLOWED).length();
        for (int at = 0; at < length; at++) {
            if (Character.isSurrogate(text.charAt(at))) {
                return wtf8(text);
            }
        }
        return text.getBytes(StandardCharsets.UTF_8);
    }

    /**
     * The key of a network address: its four or sixteen bytes. IPv4 counts whole, IPv6 by its first 64 bits, since whoever has
     * one address of a /64 has them all. An IPv4 address that is written as IPv6 ({@code ::ffff:203.0.113.7}) is the IPv4
     * address.
     *
     * @param address IPv4 in four decimal numbers, or IPv6 without a zone
     * @throws ConfigException if it is neither
     */
    public static byte[] ip(String address) {
        return addressKey(address, DEFAULT_PREFIX);
    }

    /**
     * {@link #ip(String)} with as many bits as are asked for; those behind are zero.
     *
     * @param address IPv4 in four decimal numbers, or IPv6 without a zone
     * @param prefix 0 to 32 for IPv4, 0 to 128 for IPv6
     * @throws ConfigException if one is outside of that
     */
    public static byte[] ip(String address, int prefix) {
        if (prefix < 0) {
            ip(address); // What is wrong with the address goes first.
            throw Mistake.of("prefix", prefix, "0 to " + LONGEST_PREFIX);
        }
        return addressKey(address, prefix);
    }

    /** The keys that texts are. */
    static byte[][] allBytes(String argument, String[] texts) {
        String[] own = Mistake.nonNull(argument, texts, "strings or bytes").clone();
        requireAll(argument, own);
        byte[][] keys = new byte[own.length][];
        for (int i = 0; i < keys.length; i++) {
            keys[i] = bytes(own[i]);
        }
        return keys;
    }

    /** Keys in an array of our own. */
    static byte[][] allBytes(String argument, byte[][] keys) {
        byte[][] own = Mistake.nonNull(argument, keys, "strings or bytes").clone();
        requireAll(argument, own);
        return own;
    }

    private static void requireAll(String argument, Object[] keys) {
        int missing = Arrays.asList(keys).indexOf(null);
        if (missing >= 0) {
            Mistake.nonNull(argument + "[" + missing + "]", null, ALLOWED);
        }
    }

    /** The bytes of a text that has surrogates, in pairs or alone. */
    private static byte[] wtf8(String text) {
        byte[] bytes = new byte
                [Math.toIntExact(text.codePoints().mapToLong(Keys::width).sum())];
        int at = 0;
        for (int index = 0; index < text.length(); ) {
            int point = text.codePointAt(index);
            int width = width(point);
            // The last ones bear six bits each; what is left goes into the first, below as many ones as there are
            // bytes.
            for (int place = width - 1; place > 0; place--) {
                bytes[at + place] = (byte) (0x80 | point & 0x3F);
                point >>= 6;
            }
            bytes[at] = (byte) (width == 1 ? point : 0xF00 >> width | point);
            at += width;
            index += width == 4 ? 2 : 1;
        }
        return bytes;
    }

    /** In how many bytes UTF-8 writes a number. */
    private static int width(int point) {
        return point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    }

    private static byte[] join(byte[][] parts) {
        JoinedKeys joined = JoinedKeys.of(parts, 0, parts.length);
        byte[] key = new byte[Math.addExact(joined.bytes().length, Math.multiplyExact(LENGTH_SIZE, parts.length))];
        Status.check(join0(joined.bytes(), joined.sizes(), key));
        return key;
    }

    private static byte[] addressKey(String address, int prefix) {
        byte[] text = Mistake.nonNull("address", address, "the text of an IPv4 or IPv6 address")
                .getBytes(StandardCharsets.UTF_8);
        byte[] key = new byte[IP_SIZE];
        long[] size = new long[1];
        byte[] error = new byte[Status.ERROR_SIZE];
        Status.check(ip0(text, prefix, key, size, error), error);
        return Arrays.copyOf(key, (int) size[0]);
    }

    private static native int join0(byte[] joined, int[] sizes, byte[] key);

    private static native int ip0(byte[] address, int prefix, byte[] key, long[] size, byte[] error);
}

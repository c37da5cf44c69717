package io.github.tidegate;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Map;

/**
 * What is known of a request, for a {@link Gate}: names, such as {@code path}, each with a value. Immutable, and kept as it crosses the
 * native border.
 *
 * <pre>{@code
 * gate.enter(Attributes.of("path", "/search", "method", "GET", "client", "203.0.113.7"));
 * }</pre>
 */
public final class Attributes {
    private static final String ALLOWED = "a text";
    private static final int SIZE = Integer.BYTES;

    /** Numbers as C has them. */
    private static final VarHandle INT = MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.nativeOrder());

    private static final Attributes NONE = new Attributes(new byte[0]);

    /** How many there are, and of each how long the name is, the name, how long the value is, and the value. */
    final byte[] packed;

    private Attributes(byte[] packed) {
        this.packed = packed;
    }

    /** Of a request of which nothing is known. */
    public static Attributes of() {
        return NONE;
    }

    /**
     * One attribute.
     *
     * @param name such as {@code path}
     * @param value any text
     */
    public static Attributes of(String name, String value) {
        return ofPairs(name, value);
    }

    /** Two attributes, as {@link #of(String, String)}. */
    public static Attributes of(String name1, String value1, String name2, String value2) {
        return ofPairs(name1, value1, name2, value2);
    }

    /** Three attributes, as {@link #of(String, String)}. */
    public static Attributes of(String name1, String value1, String name2, String value2, String name3, String value3) {
        return ofPairs(name1, value1, name2, value2, name3, value3);
    }

    /**
     * As many attributes as the map has.
     *
     * @param attributes values by name
     */
    public static Attributes of(Map<String, String> attributes) {
        String[] pairs = new String
                [Mistake.nonNull("attributes", attributes, "a map of texts").size() * 2];
        int at = 0;
        for (Map.Entry<String, String> attribute : attributes.entrySet()) {
            pairs[at++] = attribute.getKey();
            pairs[at++] = attribute.getValue();
        }
        return ofPairs(pairs);
    }

    /**
     * Attributes as a list: a name, its value, the next name.
     *
     * @throws ConfigException if the last name has no value
     */
    public static Attributes ofPairs(String... namesAndValues) {
        if (namesAndValues.length % 2 != 0) {
            throw Mistake.of("namesAndValues", namesAndValues.length + " texts", "a value for each name");
        }
        if (namesAndValues.length == 0) {
            return NONE;
        }
        int size = SIZE;
        for (String text : namesAndValues) {
            size = Math.addExact(
                    size,
                    SIZE + Mistake.nonNull("namesAndValues", text, ALLOWED).length());
        }
        byte[] packed = new byte[size];
        INT.set(packed, 0, namesAndValues.length / 2);
        int at = SIZE;
        for (String text : namesAndValues) {
            int length = text.length();
            INT.set(packed, at, length);
            at += SIZE;
            for (int index = 0; index < length; index++) {
                char character = text.charAt(index);
                if (character > 0x7F) {
                    return ofBytes(namesAndValues);
                }
                packed[at++] = (byte) character;
            }
        }
        return new Attributes(packed);
    }

    /**
     * These attributes and another one.
     *
     * @param value any text
     */
    public Attributes with(String name, String value) {
        return with(name, Keys.bytes(Mistake.nonNull("value", value, ALLOWED)));
    }

    /**
     * These attributes and another one.
     *
     * @param value any bytes
     */
    public Attributes with(String name, byte[] value) {
        byte[] nameBytes = Mistake.nonNull("name", name, ALLOWED).getBytes(StandardCharsets.UTF_8);
        Mistake.nonNull("value", value, "any bytes");
        int before = Math.max(packed.length, SIZE);
        byte[] more = new byte[Math.addExact(before, Math.addExact(2 * SIZE + nameBytes.length, value.length))];
        System.arraycopy(packed, 0, more, 0, packed.length);
        INT.set(more, 0, (int) INT.get(more, 0) + 1);
        put(more, put(more, before, nameBytes), value);
        return new Attributes(more);
    }

    private static Attributes ofBytes(String[] namesAndValues) {
        Attributes attributes = NONE;
        for (int at = 0; at < namesAndValues.length; at += 2) {
            attributes = attributes.with(namesAndValues[at], namesAndValues[at + 1]);
        }
        return attributes;
    }

    private static int put(byte[] packed, int at, byte[] text) {
        INT.set(packed, at, text.length);
        System.arraycopy(text, 0, packed, at + SIZE, text.length);
        return at + SIZE + text.length;
    }

    /** The names and values, for people. */
    @Override
    public String toString() {
        StringBuilder text = new StringBuilder("Attributes(");
        for (int at = SIZE, place = 0; at < packed.length; place++) {
            int length = (int) INT.get(packed, at);
            text.append(place == 0 ? "" : place % 2 == 1 ? "=" : ", ")
                    .append(new String(packed, at + SIZE, length, StandardCharsets.UTF_8));
            at += SIZE + length;
        }
        return text.append(')').toString();
    }
}

package io.github.tidegate;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What is a key, and which keys are the same. */
class KeysTest {
    private static final String SMILE = "\uD83D\uDE00";

    /** Texts that are easily taken for one another, or for something else than a key. */
    private static List<String> texts() {
        List<String> texts = new ArrayList<>(List.of(
                "",
                "\0",
                "\0\0",
                "a",
                "a\0",
                "a\0b",
                "?",
                "\uD83D",
                "\uDE00",
                "\uD83Da",
                "\uDE00\uD83D",
                SMILE,
                "\uFFFD",
                "\uFFFD\uFFFD",
                "\u007F",
                "\u0080",
                "é",
                "e\u0301",
                "__proto__",
                "constructor",
                "x".repeat(1_000_000),
                "x".repeat(999_999) + "y",
                "x".repeat(100_000) + "\uD83D",
                "x".repeat(100_000) + "\uDE00"));
        // Around the lengths from which a key is read in another way.
        for (int length : new int[] {6, 7, 8, 14, 15, 16, 22, 23, 24, 25, 253, 254, 255, 256, 257}) {
            for (String last : List.of("", "a", "b", "\0", "é", SMILE, "\uD83D", "\uDE00", "\uFFFD")) {
                texts.add("k".repeat(length) + last);
            }
        }
        return List.copyOf(new HashSet<>(texts));
    }

    /** Bytes that are no text's. */
    private static final List<byte[]> BYTES = Stream.of("ff", "fffe", "c3", "80", "eda0", "f5808080")
            .map(HexFormat.of()::parseHex)
            .toList();

    private static KeyedRateLimiter limiter() {
        return KeyedRateLimiter.builder("1/h")
                .maxKeys(1000)
                .clock(new ManualClock())
                .build();
    }

    private static String shown(String key) {
        return key.length() + " characters, the last " + key.substring(Math.max(0, key.length() - 3));
    }

    @Test
    void k3_eachHasABudgetOfItsOwn() {
        KeyedRateLimiter limiter = limiter();
        KeyedConcurrencyLimiter lender = KeyedConcurrencyLimiter.of(1);
        List<Permit> permits = new ArrayList<>();
        for (String key : texts()) {
            assertTrue(limiter.tryAcquire(key), shown(key));
            permits.add(lender.tryAcquire(key).orElseThrow());
        }
        for (byte[] key : BYTES) {
            assertTrue(limiter.tryAcquire(key));
            permits.add(lender.tryAcquire(key).orElseThrow());
        }
        for (String key : texts()) {
            assertFalse(limiter.tryAcquire(key), shown(key));
            assertEquals(Optional.empty(), lender.tryAcquire(key), shown(key));
            assertEquals(1, lender.inFlight(key), shown(key));
        }
        assertEquals(texts().size() + BYTES.size(), limiter.size());
        permits.forEach(Permit::release);
        assertEquals(0, lender.stats().liveKeys());
    }

    @Test
    void aTextIsTheSameKeyAsItsBytesInEveryCall() {
        for (String key : texts()) {
            byte[] bytes = Keys.bytes(key);
            KeyedRateLimiter limiter = limiter();
            assertTrue(limiter.tryAcquire(key));
            assertFalse(limiter.tryAcquire(bytes), shown(key));
            assertFalse(limiter.tryAcquireMany(List.of(key))[0], shown(key));
            assertFalse(limiter.tryAcquireMany(new byte[][] {bytes})[0], shown(key));
            assertEquals(0, limiter.peek(key).remaining(), shown(key));
            limiter.reset(bytes);
            limiter.refund(bytes, limiter.decide(key));
            assertEquals(0, limiter.size(), shown(key));
        }
    }

    @Test
    void aTextIsItsUtf8() {
        for (String key : texts()) {
            byte[] utf8 = key.getBytes(StandardCharsets.UTF_8);
            // Java writes a question mark for what UTF-8 has no bytes for.
            if (new String(utf8, StandardCharsets.UTF_8).equals(key)) {
                assertArrayEquals(utf8, Keys.bytes(key), shown(key));
            }
        }
    }

    @ParameterizedTest
    @CsvSource({
        "D83D, eda0bd",
        "DE00, edb880",
        "0061 DFFF 0062, 61edbfbf62",
        "DE00 D83D, edb880eda0bd",
        "D800 FFFD, eda080efbfbd",
        "D83D DE00, f09f9880",
        "00E9 D83D DE00 DBFF, c3a9f09f9880edafbf",
    })
    void aLoneSurrogateIsItsWtf8AndAPairTheCharacter(String units, String hex) {
        StringBuilder text = new StringBuilder();
        for (String unit : units.split(" ")) {
            text.append((char) Integer.parseInt(unit, 16));
        }
        assertEquals(hex, HexFormat.of().formatHex(Keys.bytes(text.toString())));
        byte[] longer = Keys.bytes("k".repeat(300) + text);
        assertEquals("6b".repeat(300) + hex, HexFormat.of().formatHex(longer));
    }

    @Test
    void k4_twoThatDifferInTheLastByteAfter255AreTwo() {
        KeyedRateLimiter limiter = limiter();
        byte[] one = new byte[256];
        byte[] two = new byte[256];
        two[255] = 1;
        assertTrue(limiter.tryAcquire(one));
        assertTrue(limiter.tryAcquire(two));
        assertFalse(limiter.tryAcquire(one));
        assertFalse(limiter.tryAcquire(two));
    }

    @Test
    void k7_otherPartsNeverMakeTheSameKey() {
        List<String[]> lists = List.of(
                new String[] {},
                new String[] {""},
                new String[] {"", ""},
                new String[] {"a", "b/c"},
                new String[] {"a/b", "c"},
                new String[] {"ab", "/c"},
                new String[] {"ab/c"},
                new String[] {"\0"},
                new String[] {"\uD83D", "\uDE00"},
                new String[] {SMILE});
        Set<String> keys = new HashSet<>();
        for (String[] parts : lists) {
            keys.add(HexFormat.of().formatHex(Keys.of(parts)));
            assertArrayEquals(
                    Keys.of(parts), Keys.of(Stream.of(parts).map(Keys::bytes).toArray(byte[][]::new)));
        }
        assertEquals(lists.size(), keys.size());
        assertEquals(
                "010000000000000061" + "0300000000000000622f63", HexFormat.of().formatHex(Keys.of("a", "b/c")));
        assertEquals("0300000000000000eda0bd", HexFormat.of().formatHex(Keys.of("\uD83D")));
    }

    @Test
    void longAndManyPartsAreJoinedToo() {
        byte[] key = Keys.of("x".repeat(1_000_000), "y");
        assertEquals(8 + 1_000_000 + 8 + 1, key.length);
        assertEquals('y', key[key.length - 1]);
        assertEquals(5000 * 9, Keys.of(Stream.generate(() -> "a").limit(5000).toArray(String[]::new)).length);
    }

    @ParameterizedTest
    @CsvSource({
        "203.0.113.7, , cb007107",
        "203.0.113.7, 24, cb007100",
        "203.0.113.7, 0, 00000000",
        "2001:db8:1:2:3::4, , 20010db8000100020000000000000000",
        "2001:db8:1:2:3::4, 128, 20010db8000100020003000000000004",
        "2001:db8:1:2:3::4, 36, 20010db8000000000000000000000000",
        "::ffff:203.0.113.7, , cb007107",
        "::ffff:cb00:7107, 16, cb000000",
    })
    void anAddressIsItsBytesUpToThePrefix(String address, Integer prefix, String hex) {
        byte[] key = prefix == null ? Keys.ip(address) : Keys.ip(address, prefix);
        assertEquals(hex, HexFormat.of().formatHex(key));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"", "localhost", "203.0.113", "203.0.113.256", "203.0.113.7 ", "1.2.3.4/24", ":::", "\0", "é"})
    void whatIsNoAddressIsNamedEvenIfThePrefixIsWrongToo(String address) {
        for (Runnable call :
                List.<Runnable>of(() -> Keys.ip(address), () -> Keys.ip(address, -1), () -> Keys.ip(address, 500))) {
            ConfigException mistake = assertThrows(ConfigException.class, call::run);
            assertEquals("address", mistake.argument());
            assertTrue(mistake.value().startsWith("\""), mistake.value());
        }
    }

    @ParameterizedTest
    @CsvSource({"1.2.3.4, 33", "::ffff:1.2.3.4, 96", "::1, 129", "::1, -1", "::1, -2147483648", "1.2.3.4, 2147483647"})
    void aPrefixThatIsTooLongIsNamed(String address, int prefix) {
        ConfigException mistake = assertThrows(ConfigException.class, () -> Keys.ip(address, prefix));
        assertEquals("prefix", mistake.argument());
        assertEquals(Integer.toString(prefix), mistake.value());
    }

    @Test
    void missingArgumentsAreNamed() {
        assertMissing("key: got null; allowed: a string or bytes", () -> Keys.bytes(null));
        assertMissing("parts[1]: got null; allowed: a string or bytes", () -> Keys.of("a", null));
        assertMissing("parts[1]: got null; allowed: a string or bytes", () -> Keys.of(new byte[0], null));
        assertMissing("parts: got null; allowed: strings or bytes", () -> Keys.of((String[]) null));
        assertMissing("parts: got null; allowed: strings or bytes", () -> Keys.of((byte[][]) null));
        assertMissing("address: got null; allowed: the text of an IPv4 or IPv6 address", () -> Keys.ip(null));
        assertMissing("address: got null; allowed: the text of an IPv4 or IPv6 address", () -> Keys.ip(null, -1));
    }

    private static void assertMissing(String text, Runnable call) {
        assertEquals(text, assertThrows(NullPointerException.class, call::run).getMessage());
    }
}

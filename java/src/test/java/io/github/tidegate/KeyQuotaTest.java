package io.github.tidegate;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Keys of rate limiters with quotas of their own, and keys that are refused most. */
class KeyQuotaTest {
    private static final byte[] ANN = "ann".getBytes(StandardCharsets.UTF_8);

    private final KeyedRateLimiter limiter =
            KeyedRateLimiter.builder("5/h").clock(new ManualClock()).build();

    private long remaining(String key) {
        return limiter.peek(key).remaining();
    }

    @Test
    void aKeyGoesByItsOwnQuotaUntilThatIsClearedAndWhatIsUsedStaysUsed() {
        assertTrue(limiter.tryAcquire("ann", 2));
        limiter.setQuota("ann", "9/h");
        assertEquals(7, remaining("ann"));
        assertEquals(5, remaining("bob"));
        assertTrue(limiter.tryAcquire("ann", 7));
        limiter.clearQuota("ann");
        assertEquals(0, remaining("ann"));
        limiter.clearQuota(ANN);
        assertEquals(0, remaining("ann"));
    }

    @Test
    void aQuotaOfAKeyIsGivenAsQuotasAListOrTextAndAKeyAsTextOrBytes() {
        KeyedRateLimiter several =
                KeyedRateLimiter.builder("5/h", "9/d").clock(new ManualClock()).build();
        Quota hour = Quota.perHour(20);
        Quota day = Quota.parse("21/d");
        List<Runnable> calls = List.of(
                () -> several.setQuota("ann", hour, day),
                () -> several.setQuota("ann", List.of(hour, day)),
                () -> several.setQuota("ann", "20/h; 21/d"),
                () -> several.setQuota("ann", "20/h", "21/d"),
                () -> several.setQuota(ANN, hour, day),
                () -> several.setQuota(ANN, List.of(hour, day)),
                () -> several.setQuota(ANN, "20/h; 21/d"));
        for (Runnable call : calls) {
            call.run();
            assertEquals(20, several.peek("ann").remaining());
            several.clearQuota("ann");
            assertEquals(5, several.peek("ann").remaining());
        }
    }

    @Test
    void aReconfigureLeavesAKeyWithItsOwnQuotaAlone() {
        limiter.setQuota("ann", "9/h");
        limiter.reconfigure("6/h");
        assertEquals(9, remaining("ann"));
        assertEquals(6, remaining("bob"));
        limiter.clearQuota("ann");
        assertEquals(6, remaining("ann"));
    }

    @Test
    void aDecisionFromBeforeASetOrAClearIsRefundedWithoutEffect() {
        Decision before = limiter.decide("ann", 2);
        limiter.setQuota("ann", "9/h");
        limiter.refund("ann", before);
        assertEquals(7, remaining("ann"));
        Decision between = limiter.decide("ann", 1);
        limiter.clearQuota("ann");
        limiter.refund("ann", between);
        assertEquals(2, remaining("ann"));
    }

    @Test
    void aKeyWithItsOwnQuotaIsNeverWithoutRoom() {
        KeyedRateLimiter small = KeyedRateLimiter.builder("1/h")
                .maxKeys(1)
                .whenFull(WhenFull.DENY_NEW)
                .clock(new ManualClock())
                .build();
        for (int i = 0; i < 8; i++) {
            assertTrue(small.tryAcquire("key " + i));
        }
        assertEquals(Status.KEYS_FULL, small.decide("ann").status());
        small.setQuota("ann", "2/h");
        assertTrue(small.tryAcquire("ann", 2));
        assertEquals(Status.DENIED, small.decide("ann").status());
    }

    @Test
    void aQuotaThatDoesNotSuitTheLimiterIsNamedAndChangesNothing() {
        for (String other : List.of("5/h fixed_window", "5/h; 6/h", "nonsense", "0/h; ")) {
            assertEquals(
                    "quota",
                    assertThrows(ConfigException.class, () -> limiter.setQuota("ann", other))
                            .argument(),
                    other);
        }
        assertEquals(
                "quotas: got 0 quotas; allowed: 1 to 16 quotas",
                assertThrows(ConfigException.class, () -> limiter.setQuota("ann", List.of()))
                        .getMessage());
        assertEquals(5, remaining("ann"));
    }

    @Test
    void atMost65536KeysHaveQuotasOfTheirOwn() {
        Quota quota = Quota.perHour(6);
        for (int i = 0; i < 65_536; i++) {
            limiter.setQuota("key " + i, quota);
        }
        ConfigException full = assertThrows(ConfigException.class, () -> limiter.setQuota("ann", quota));
        assertEquals("key", full.argument());
        limiter.clearQuota("key 7");
        limiter.setQuota("ann", quota);
        assertEquals(6, remaining("ann"));
        assertEquals(6, remaining("key 65535"));
    }

    @Test
    void missingArgumentsAreNamed() {
        String text = null;
        byte[] bytes = null;
        for (Runnable call : List.<Runnable>of(
                () -> limiter.setQuota(text, "9/h"),
                () -> limiter.setQuota(bytes, "9/h"),
                () -> limiter.setQuota(bytes, Quota.perHour(9)),
                () -> limiter.clearQuota(text),
                () -> limiter.clearQuota(bytes))) {
            assertEquals(
                    "key: got null; allowed: a string or bytes",
                    assertThrows(NullPointerException.class, call::run).getMessage());
        }
        for (Runnable call : List.<Runnable>of(
                () -> limiter.setQuota("ann", (List<Quota>) null),
                () -> limiter.setQuota("ann", (Quota) null),
                () -> limiter.setQuota("ann", (String) null))) {
            assertThrows(NullPointerException.class, call::run);
        }
        assertEquals(5, remaining("ann"));
    }

    private static KeyedRateLimiter counting(int keys) {
        return KeyedRateLimiter.builder("2/h")
                .trackDenied(keys)
                .clock(new ManualClock())
                .build();
    }

    @Test
    void keysThatAreRefusedMostAreNamedWithTheirCounts() {
        KeyedRateLimiter counting = counting(8);
        byte[] longKey = new byte[200];
        Arrays.fill(longKey, (byte) 'x');
        for (int i = 0; i < 5; i++) {
            counting.tryAcquire("ann");
            counting.decide(longKey, 3);
        }
        counting.tryAcquireMany(List.of("bob", "bob", "bob"));
        counting.peek("bob", 2);
        List<DeniedKey> top = counting.topDenied(9);
        assertEquals(3, top.size());
        assertArrayEquals(
                Arrays.copyOf(longKey, DeniedKey.NAME_SIZE), top.get(0).key());
        assertEquals(5, top.get(0).count());
        assertEquals("ann", top.get(1).text());
        assertEquals(3, top.get(1).count());
        assertEquals(0, top.get(1).error());
        assertEquals("DeniedKey(bob, 1)", top.get(2).toString());
        assertEquals("ann", counting.topDenied(2).get(1).text());
        assertEquals(List.of(), counting.topDenied(0));
        top.get(1).key()[0] = 'A';
        assertArrayEquals(ANN, top.get(1).key());
    }

    @Test
    void aKeyThatTakesOverAnEntryMayHaveBeenRefusedLessOften() {
        KeyedRateLimiter counting = counting(1);
        for (String key : List.of("ann", "ann", "bob")) {
            assertFalse(counting.tryAcquire(key, 3));
        }
        DeniedKey bob = counting.topDenied(1).get(0);
        assertEquals(3, bob.count());
        assertEquals(2, bob.error());
        assertEquals("DeniedKey(bob, 1 to 3)", bob.toString());
    }

    @Test
    void withoutTrackDeniedNoKeyIsNamed() {
        assertFalse(limiter.tryAcquire("ann", 6));
        assertEquals(List.of(), limiter.topDenied(Integer.MAX_VALUE));
    }

    @Test
    void wrongNumbersOfDeniedKeysAreNamed() {
        for (int keys : new int[] {-1, KeyedRateLimiter.MAX_TRACK_DENIED + 1}) {
            assertEquals(
                    "trackDenied: got " + keys + "; allowed: 0 to 65536",
                    assertThrows(ConfigException.class, () -> counting(keys)).getMessage());
        }
        assertEquals(
                "n: got -1; allowed: 0 to 2147483647",
                assertThrows(ConfigException.class, () -> limiter.topDenied(-1)).getMessage());
        assertEquals(List.of(), counting(KeyedRateLimiter.MAX_TRACK_DENIED).topDenied(Integer.MAX_VALUE));
    }

    @Test
    void theyAreErrorsOfAClosedLimiter() {
        limiter.close();
        for (Runnable call : List.<Runnable>of(
                () -> limiter.setQuota("ann", "9/h"), () -> limiter.clearQuota("ann"), () -> limiter.topDenied(1))) {
            assertEquals(
                    "limiter: got one that is closed; allowed: one that is open",
                    assertThrows(IllegalStateException.class, call::run).getMessage());
        }
    }
}

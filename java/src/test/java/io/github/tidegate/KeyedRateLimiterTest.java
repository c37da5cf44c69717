package io.github.tidegate;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

class KeyedRateLimiterTest {
    private static final byte[] ANN = "ann".getBytes(StandardCharsets.UTF_8);

    private final ManualClock clock = new ManualClock();

    private KeyedRateLimiter limiter(String quotas) {
        return KeyedRateLimiter.builder(quotas).clock(clock).build();
    }

    @Test
    void aLimiterIsBuiltOfAQuotaItsTextOrAList() {
        Quota quota = Quota.perSecond(5);
        for (KeyedRateLimiter limiter :
                List.of(KeyedRateLimiter.of(quota), KeyedRateLimiter.of("5/s"), KeyedRateLimiter.of(List.of(quota)))) {
            assertEquals(List.of(quota), limiter.quotas());
            assertEquals(KeyedRateLimiter.DEFAULT_MAX_KEYS, limiter.capacity());
        }
        KeyedRateLimiter several = KeyedRateLimiter.builder("5/s; 20/min", "100/h")
                .maxKeys(10)
                .clock(clock)
                .build();
        assertEquals("KeyedRateLimiter(5/s; 20/min; 100/h, 10 keys)", several.toString());
        several.close();
        assertEquals("KeyedRateLimiter(closed, 10 keys)", several.toString());
    }

    @ParameterizedTest
    @ValueSource(strings = {"2/s", "2/s fixed_window", "2/s fixed_window anchor clock", "2/s sliding_window"})
    void eachKeyHasItsOwnBudgetThatComesBackWithTime(String quota) {
        KeyedRateLimiter limiter = limiter(quota);
        for (int round = 0; round < 2; round++) {
            for (String key : List.of("ann", "bob")) {
                assertTrue(limiter.tryAcquire(key));
                assertTrue(limiter.tryAcquire(key));
                assertFalse(limiter.tryAcquire(key));
            }
            clock.advance(Duration.ofSeconds(2));
        }
    }

    @Test
    void aLimiterWithoutAClockGoesByTheMonotonicOne() {
        KeyedRateLimiter limiter = KeyedRateLimiter.of("1/h");
        assertTrue(limiter.tryAcquire("ann"));
        long wait = limiter.decide("ann").retryAfterNanos();
        assertTrue(wait > 0 && wait <= 3_600_000_000_000L, "wait " + wait);
    }

    @Test
    void theFiguresAreThoseOfTheKey() {
        KeyedRateLimiter limiter = limiter("10/s burst 2");
        Decision granted = limiter.decide("ann", 2);
        assertTrue(granted.allowed());
        assertEquals(10, granted.limit());
        assertEquals(0, granted.remaining());
        Decision refused = limiter.decide(ANN);
        assertEquals(Status.DENIED, refused.status());
        assertEquals(Duration.ofMillis(100), refused.retryAfter());
        assertEquals(Duration.ofMillis(200), refused.resetAfter());
        assertEquals(2, limiter.peek("bob").remaining());
        assertEquals(Status.EXCEEDS_CAPACITY, limiter.decide("bob", 3).status());
        clock.advance(Duration.ofMillis(100));
        assertTrue(limiter.peek(ANN).allowed());
        assertFalse(limiter.peek("ann", 2).allowed());
        assertTrue(limiter.tryAcquire("ann"));
    }

    @Test
    void severalQuotasAreOneDecision() {
        KeyedRateLimiter limiter = limiter("5/s; 2/h");
        assertTrue(limiter.tryAcquire("ann", 2));
        Decision refused = limiter.decide("ann");
        assertEquals(1, refused.quota());
        assertEquals(2, refused.limit());
        assertTrue(limiter.tryAcquire("bob", 2));
    }

    @Test
    void aRefundGivesBackToTheKeyWhatADecisionTookOnce() {
        KeyedRateLimiter limiter = limiter("2/h");
        Decision granted = limiter.decide("ann", 2);
        assertRefused("one of another key", () -> limiter.refund("bob", granted));
        assertRefused("one of another limiter", () -> limiter("2/h").refund("ann", granted));
        assertEquals(0, limiter.peek("ann").remaining());
        limiter.refund(ANN, granted);
        assertEquals(2, limiter.peek("ann").remaining());
        assertEquals(
                "decision: got one that was refunded before; allowed: a decision of this limiter that granted, once",
                assertThrows(IllegalStateException.class, () -> limiter.refund("ann", granted))
                        .getMessage());
        assertRefused("one that granted nothing", () -> limiter.refund("ann", limiter.decide("ann", 3)));
        assertRefused("one that granted nothing", () -> limiter.refund("ann", limiter.peek("ann")));
        assertEquals(2, limiter.peek("ann").remaining());
    }

    private static void assertRefused(String what, Runnable refund) {
        ConfigException mistake = assertThrows(ConfigException.class, refund::run);
        assertEquals("decision", mistake.argument());
        assertEquals(what, mistake.value());
    }

    @Test
    void resetMakesAKeyUnspentAndVoidsItsDecisions() {
        KeyedRateLimiter limiter = limiter("2/h");
        Decision granted = limiter.decide("ann", 2);
        assertTrue(limiter.tryAcquire("bob", 2));
        limiter.reset("ann");
        assertEquals(2, limiter.peek("ann").remaining());
        assertEquals(0, limiter.peek("bob").remaining());
        assertTrue(limiter.tryAcquire("ann", 2));
        limiter.refund("ann", granted);
        assertEquals(0, limiter.peek("ann").remaining());
        limiter.reset(ANN);
        assertEquals(2, limiter.peek("ann").remaining());
    }

    @Test
    void reconfigureChangesTheQuotaOfAllKeysAndKeepsWhatIsUsed() {
        KeyedRateLimiter limiter = limiter("5/min");
        assertTrue(limiter.tryAcquire("ann", 5));
        limiter.reconfigure("10/min");
        assertTrue(limiter.tryAcquire("ann", 5));
        assertFalse(limiter.tryAcquire("ann"));
        assertTrue(limiter.tryAcquire("bob", 10));
        limiter.reconfigure(Quota.perMinute(20));
        limiter.reconfigure(List.of(Quota.perMinute(30)));
        assertEquals(20, limiter.peek("ann").remaining());
        for (String other : List.of("10/min fixed_window", "1/s; 2/s", "nonsense", "5/s sliding_log")) {
            assertThrows(ConfigException.class, () -> limiter.reconfigure(other));
        }
        assertEquals(List.of(Quota.perMinute(30)), limiter.quotas());
    }

    @Test
    void statsCountCallsLiveKeysAndCapacity() {
        KeyedRateLimiter limiter =
                KeyedRateLimiter.builder("1/s").maxKeys(50).clock(clock).build();
        assertTrue(limiter.tryAcquire("ann"));
        assertFalse(limiter.tryAcquire("ann"));
        assertTrue(limiter.tryAcquire("bob"));
        assertFalse(limiter.decide("ann").allowed());
        limiter.peek("eve");
        Stats stats = limiter.stats();
        assertEquals(2, stats.allowed());
        assertEquals(2, stats.denied());
        assertEquals(2, stats.liveKeys());
        assertEquals(0, stats.evictedLive());
        assertEquals(50, stats.capacity());
        assertEquals(2, limiter.size());
        clock.advance(Duration.ofSeconds(1));
        assertEquals(0, limiter.size());
        assertEquals(0, limiter.stats().liveKeys());
    }

    /** Of three or fewer keys a table has eight slots. */
    @Test
    void whenFullSaysWhatBecomesOfANinthKeyWhereThereAreEightSlots() {
        List<String> keys = IntStream.range(0, 8).mapToObj(i -> "key " + i).toList();
        KeyedRateLimiter denying = KeyedRateLimiter.builder("1/h")
                .maxKeys(3)
                .whenFull(WhenFull.DENY_NEW)
                .clock(clock)
                .build();
        keys.forEach(key -> assertTrue(denying.tryAcquire(key)));
        assertFalse(denying.tryAcquire("new"));
        assertFalse(denying.tryAcquireMany(List.of("new"))[0]);
        Decision full = denying.decide("new");
        assertEquals(Status.KEYS_FULL, full.status());
        assertEquals(Duration.ofHours(1), full.retryAfter());
        RefusedException refused = assertThrows(RefusedException.class, () -> denying.run("new", () -> {}));
        assertEquals(Status.KEYS_FULL, refused.status());
        assertEquals("refused: 1 token asked, no room for another key; there is in PT1H", refused.getMessage());
        assertEquals(0, denying.stats().evictedLive());
        clock.advance(Duration.ofHours(1));
        assertTrue(denying.tryAcquire("new"));

        KeyedRateLimiter evicting =
                KeyedRateLimiter.builder("1/h").maxKeys(3).clock(clock).build();
        keys.forEach(key -> assertTrue(evicting.tryAcquire(key)));
        assertTrue(evicting.tryAcquire("new"));
        assertEquals(1, evicting.stats().evictedLive());
    }

    @Test
    void manyKeysAtOnceAreAnsweredAsOneByOne() {
        List<List<String>> lists = List.of(
                List.of("a", "b", "a", "", "a", "\0", "", "é", "\uD83D", "\uDE00", "\uD83D", "é"),
                IntStream.range(0, 1000).mapToObj(i -> "key " + i % 300).toList(),
                List.of("x".repeat(70_000), "y", "x".repeat(70_000), "x".repeat(40_000), "x".repeat(70_000), "y"),
                List.of());
        for (List<String> keys : lists) {
            // As many keys as are counted in full.
            List<KeyedRateLimiter> limiters = Stream.generate(() -> KeyedRateLimiter.builder("2/h")
                            .maxKeys(1000)
                            .clock(clock)
                            .build())
                    .limit(3)
                    .toList();
            KeyedRateLimiter many = limiters.get(0);
            KeyedRateLimiter bytes = limiters.get(1);
            KeyedRateLimiter single = limiters.get(2);
            boolean[] expected = new boolean[keys.size()];
            for (int i = 0; i < expected.length; i++) {
                expected[i] = single.tryAcquire(keys.get(i));
            }
            assertArrayEquals(expected, many.tryAcquireMany(keys));
            byte[][] raw = keys.stream().map(Keys::bytes).toArray(byte[][]::new);
            assertArrayEquals(expected, bytes.tryAcquireMany(raw));
            assertEquals(single.stats(), many.stats());
            assertEquals(single.stats(), bytes.stats());
        }
    }

    @Test
    void manyKeysAtOnceHaveOneCost() {
        KeyedRateLimiter limiter = limiter("3/h");
        assertArrayEquals(new boolean[] {true, true, false}, limiter.tryAcquireMany(List.of("a", "b", "a"), 2));
        assertArrayEquals(new boolean[] {false, true}, limiter.tryAcquireMany(new byte[][] {{'a'}, {'c'}}, 3));
    }

    @Test
    void runAndCallDoTheTaskOnlyIfTheKeyHasTokens() throws Exception {
        KeyedRateLimiter limiter = limiter("3/s");
        AtomicBoolean ran = new AtomicBoolean();
        limiter.run("ann", () -> ran.set(true));
        assertTrue(ran.get());
        assertEquals("done", limiter.call(ANN, 2, () -> "done"));
        RefusedException refused = assertThrows(RefusedException.class, () -> limiter.run(ANN, () -> ran.set(false)));
        assertTrue(ran.get());
        assertEquals(333_333_334, refused.decision().orElseThrow().retryAfterNanos());
        assertThrows(RefusedException.class, () -> limiter.call("ann", () -> "not done"));
        assertThrows(ExceedsCapacityException.class, () -> limiter.call("ann", 4, () -> "never done"));
        assertEquals("done", limiter.call("bob", () -> "done"));
        IllegalStateException own = new IllegalStateException("of the task");
        assertSame(
                own,
                assertThrows(
                        IllegalStateException.class,
                        () -> limiter.run("bob", 2, () -> {
                            throw own;
                        })));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "3/s | 2 | refused: 2 tokens asked, 1 remaining; 3/s would admit that in PT0.333333334S",
                "100/s burst 20 | 50 | cost 50 can never be had: 100/s burst 20 holds at most 20",
                "0/s | 1 | refused: 1 token asked, the limit is 0: 0/s",
            })
    void aRefusalNamesWhatWasAskedAndWhatStopsIt(String quotas, long cost, String message) {
        KeyedRateLimiter limiter = limiter(quotas);
        limiter.tryAcquire("ann", 2);
        assertEquals(
                message,
                assertThrows(RefusedException.class, () -> limiter.run("ann", cost, () -> {}))
                        .getMessage());
    }

    @ParameterizedTest
    @ValueSource(longs = {0, -1, Long.MIN_VALUE, RateLimiter.MAX_COST + 1, Long.MAX_VALUE})
    void aWrongCostIsNamedAndNothingIsSpent(long cost) {
        KeyedRateLimiter limiter = limiter("2/h");
        List<Runnable> calls = List.of(
                () -> limiter.tryAcquire("ann", cost),
                () -> limiter.tryAcquire("x".repeat(100), cost),
                () -> limiter.tryAcquire(ANN, cost),
                () -> limiter.tryAcquireMany(List.of("ann"), cost),
                () -> limiter.tryAcquireMany(List.of(), cost),
                () -> limiter.tryAcquireMany(new byte[][] {ANN}, cost),
                () -> limiter.decide("ann", cost),
                () -> limiter.peek(ANN, cost),
                () -> limiter.run("ann", cost, () -> {}));
        for (Runnable call : calls) {
            assertEquals(
                    "cost: got " + cost + "; allowed: 1 to 9007199254740991",
                    assertThrows(ConfigException.class, call::run).getMessage());
        }
        assertEquals(0, limiter.stats().allowed());
    }

    @Test
    void wrongOptionsAreNamed() {
        for (long maxKeys : new long[] {0, -1, KeyedRateLimiter.MAX_KEYS + 1}) {
            assertEquals(
                    "maxKeys: got " + maxKeys + "; allowed: 1 to 4294967296",
                    assertThrows(
                                    ConfigException.class,
                                    () -> KeyedRateLimiter.builder("1/s").maxKeys(maxKeys))
                            .getMessage());
        }
        assertArgument("algorithm", () -> KeyedRateLimiter.of("1/s sliding_log"));
        assertArgument("limit", () -> KeyedRateLimiter.of("16777216/s fixed_window"));
        assertArgument("period", () -> KeyedRateLimiter.of("5/us sliding_window"));
        assertArgument("quotas", () -> KeyedRateLimiter.of());
        assertArgument("quota", () -> KeyedRateLimiter.of("nonsense"));
    }

    private static void assertArgument(String argument, Runnable call) {
        assertEquals(argument, assertThrows(ConfigException.class, call::run).argument());
    }

    @Test
    void missingArgumentsAreNamedAndNothingIsSpent() {
        KeyedRateLimiter limiter = limiter("2/h");
        String text = null;
        byte[] bytes = null;
        Decision granted = limiter.decide("ann");
        List<Runnable> calls = List.of(
                () -> limiter.tryAcquire(text),
                () -> limiter.tryAcquire(bytes),
                () -> limiter.decide(text),
                () -> limiter.decide(bytes),
                () -> limiter.peek(text),
                () -> limiter.peek(bytes),
                () -> limiter.refund(text, granted),
                () -> limiter.refund(bytes, granted),
                () -> limiter.reset(text),
                () -> limiter.reset(bytes),
                () -> limiter.run(text, () -> {}),
                () -> limiter.run(bytes, () -> {}));
        for (Runnable call : calls) {
            assertMissing("key: got null; allowed: a string or bytes", call);
        }
        assertMissing(
                "keys[1]: got null; allowed: a string or bytes",
                () -> limiter.tryAcquireMany(new byte[][] {ANN, null}));
        assertMissing(
                "keys[0]: got null; allowed: a string or bytes",
                () -> limiter.tryAcquireMany(Arrays.asList(null, "ann")));
        assertMissing("keys: got null; allowed: strings or bytes", () -> limiter.tryAcquireMany((List<String>) null));
        assertMissing("keys: got null; allowed: strings or bytes", () -> limiter.tryAcquireMany((byte[][]) null));
        assertMissing(
                "decision: got null; allowed: a decision of this limiter that granted, once",
                () -> limiter.refund("ann", null));
        assertMissing("task: got null; allowed: a Runnable", () -> limiter.run("ann", null));
        assertMissing(
                "whenFull: got null; allowed: a WhenFull",
                () -> KeyedRateLimiter.builder("1/s").whenFull(null));
        assertMissing(
                "clock: got null; allowed: a Clock",
                () -> KeyedRateLimiter.builder("1/s").clock(null));
        assertEquals(1, limiter.stats().allowed());
        limiter.refund("ann", granted);
        assertEquals(2, limiter.peek("ann").remaining());
    }

    private static void assertMissing(String text, Runnable call) {
        assertEquals(text, assertThrows(NullPointerException.class, call::run).getMessage());
    }

    static Stream<Runnable> callsOfAClosedLimiter() {
        KeyedRateLimiter limiter = KeyedRateLimiter.of("5/s");
        Decision granted = limiter.decide("ann");
        limiter.close();
        limiter.close();
        return Stream.of(
                () -> limiter.tryAcquire("ann"),
                () -> limiter.tryAcquire(ANN),
                () -> limiter.tryAcquireMany(List.of("ann")),
                () -> limiter.decide("ann"),
                () -> limiter.peek("ann"),
                () -> limiter.refund("ann", granted),
                () -> limiter.reset("ann"),
                () -> limiter.reconfigure("6/s"),
                limiter::quotas,
                limiter::size,
                limiter::capacity,
                limiter::stats,
                () -> limiter.run("ann", () -> {}));
    }

    @ParameterizedTest
    @MethodSource("callsOfAClosedLimiter")
    void everyCallOfAClosedLimiterIsAnError(Runnable call) {
        assertEquals(
                "limiter: got one that is closed; allowed: one that is open",
                assertThrows(IllegalStateException.class, call::run).getMessage());
    }
}

package io.github.tidegate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.time.Duration;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

class RateLimiterTest {
    private final ManualClock clock = new ManualClock();

    private RateLimiter limiter(String quotas) {
        return RateLimiter.builder(quotas).clock(clock).build();
    }

    @Test
    void aLimiterIsBuiltOfAQuotaItsTextOrAList() {
        Quota quota = Quota.perSecond(5);
        for (RateLimiter limiter :
                List.of(RateLimiter.of(quota), RateLimiter.of("5/s"), RateLimiter.of(List.of(quota)))) {
            assertEquals(List.of(quota), limiter.quotas());
        }
        for (RateLimiter.Builder builder :
                List.of(RateLimiter.builder(quota), RateLimiter.builder("5/s"), RateLimiter.builder(List.of(quota)))) {
            RateLimiter limiter = builder.clock(clock).build();
            assertTrue(limiter.tryAcquire(5));
            assertFalse(limiter.tryAcquire());
        }
    }

    @Test
    void severalTextsAreAListOfTheirQuotas() {
        List<Quota> quotas = List.of(Quota.perSecond(5), Quota.perMinute(20), Quota.perHour(100));
        assertEquals(quotas, RateLimiter.of("5/s", "20/min; 100/h").quotas());
        RateLimiter limiter =
                RateLimiter.builder("5/s; 20/min", "100/h").clock(clock).build();
        assertEquals(quotas, limiter.quotas());
        limiter.reconfigure("6/s", "20/min", "100/h");
        assertEquals("RateLimiter(6/s; 20/min; 100/h)", limiter.toString());
        assertEquals(
                "quota",
                assertThrows(ConfigException.class, () -> RateLimiter.of("5/s", "nonsense"))
                        .argument());
        assertMissing(
                "quota: got null; allowed: the text of a quota, such as \"100/s\"",
                () -> RateLimiter.of("5/s", (String) null));
        assertMissing("quotas: got null; allowed: texts of quotas", () -> RateLimiter.of("5/s", (String[]) null));
    }

    @Test
    void aLimiterWithoutAClockGoesByTheMonotonicOne() throws InterruptedException {
        RateLimiter limiter = RateLimiter.of("1/20ms");
        assertTrue(limiter.tryAcquire());
        long wait = limiter.decide().retryAfterNanos();
        assertTrue(wait > 0 && wait <= 20_000_000, "wait " + wait);
        Clock monotonic = Clock.monotonic();
        long until = monotonic.nowNanos() + wait;
        while (monotonic.nowNanos() < until) {
            Thread.sleep(1);
        }
        assertTrue(limiter.tryAcquire());
    }

    @Test
    void aDecisionHasTheFiguresThatAreLeftAfterIt() {
        RateLimiter limiter = limiter("10/s burst 5");
        Decision decision = limiter.decide(2);
        assertTrue(decision.allowed());
        assertEquals(Status.ALLOWED, decision.status());
        assertEquals(10, decision.limit());
        assertEquals(3, decision.remaining());
        assertEquals(Duration.ZERO, decision.retryAfter());
        assertEquals(Duration.ofMillis(200), decision.resetAfter());
        assertEquals(200_000_000, decision.resetAfterNanos());
        assertEquals(0, decision.quota());
        assertEquals("Decision(allowed, 3 remaining, reset after PT0.2S)", decision.toString());
    }

    @Test
    void aRefusalTellsWhenToComeBack() {
        RateLimiter limiter = limiter("10/s burst 5");
        assertTrue(limiter.tryAcquire(5));
        Decision decision = limiter.decide(3);
        assertFalse(decision.allowed());
        assertEquals(Status.DENIED, decision.status());
        assertEquals(Duration.ofMillis(300), decision.retryAfter());
        assertEquals("Decision(denied, 0 remaining, retry after PT0.3S, reset after PT0.5S)", decision.toString());
        assertEquals(
                "Decision(exceeds_capacity, 0 remaining, retry never, reset after PT0.5S)",
                limiter.decide(6).toString());
    }

    @Test
    void peekSpendsNothingAndCountsNowhere() {
        RateLimiter limiter = limiter("2/s");
        for (int call = 0; call < 5; call++) {
            assertTrue(limiter.peek(2).allowed());
        }
        assertEquals(2, limiter.peek().remaining());
        assertEquals(0, limiter.stats().allowed());
    }

    @Test
    void aDecisionOfSeveralQuotasNamesTheOneThatMatters() {
        RateLimiter limiter = limiter("10/s; 3/min");
        assertEquals(1, limiter.decide().quota());
        assertTrue(limiter.tryAcquire(2));
        Decision refused = limiter.decide();
        assertEquals(1, refused.quota());
        assertEquals(3, refused.limit());
        assertEquals(Duration.ofSeconds(20), refused.retryAfter());
    }

    @Test
    void resetMakesEverythingUnspent() {
        RateLimiter limiter = limiter("10/s; 20/min fixed_window");
        assertTrue(limiter.tryAcquire(10));
        limiter.reset();
        assertTrue(limiter.tryAcquire(10));
        assertEquals(0, limiter.peek().remaining());
    }

    @Test
    void reconfigureTakesAQuotaItsTextOrAList() {
        RateLimiter limiter = limiter("5/s");
        limiter.reconfigure(Quota.perSecond(6));
        assertEquals("RateLimiter(6/s)", limiter.toString());
        limiter.reconfigure("7/s burst 3");
        assertEquals("RateLimiter(7/s burst 3)", limiter.toString());
        limiter.reconfigure(List.of(Quota.perHour(8)));
        assertEquals(List.of(Quota.perHour(8)), limiter.quotas());
    }

    @Test
    void reconfigureRefusesAnotherKindAndChangesNothing() {
        RateLimiter limiter = limiter("5/s");
        for (String other : List.of("5/s; 6/s", "5/s fixed_window")) {
            IllegalArgumentException mistake =
                    assertThrows(IllegalArgumentException.class, () -> limiter.reconfigure(other));
            assertEquals(
                    "quota: got " + other + "; allowed: as many quotas, with the same algorithms and anchors, as 5/s",
                    mistake.getMessage());
        }
        assertThrows(IllegalArgumentException.class, () -> limiter.reconfigure("nonsense"));
        assertEquals(List.of(Quota.perSecond(5)), limiter.quotas());
    }

    @Test
    void theQuotasOfALimiterReconfigureItToItself() {
        for (String quotas : List.of("5/s", "0/s", "5/s fixed_window anchor clock", "5/s burst 5; 9/h sliding_log")) {
            RateLimiter limiter = limiter(quotas);
            limiter.reconfigure(limiter.quotas());
            assertEquals(Quota.parseList(quotas), limiter.quotas());
        }
    }

    @Test
    void noneTooManyAndMissingQuotasAreNamed() {
        assertMistake("quotas: got 0 quotas; allowed: 1 to 16 quotas", () -> RateLimiter.of());
        List<Quota> seventeen = Collections.nCopies(17, Quota.perSecond(1));
        assertMistake("quotas: got 17 quotas; allowed: 1 to 16 quotas", () -> RateLimiter.of(seventeen));
        assertEquals(16, RateLimiter.of(seventeen.subList(0, 16)).quotas().size());
        assertMissing("quotas: got null; allowed: 1 to 16 quotas", () -> RateLimiter.of((List<Quota>) null));
        assertMissing("quotas: got null; allowed: 1 to 16 quotas", () -> RateLimiter.of((Quota[]) null));
        assertMissing("quota: got null; allowed: a Quota", () -> RateLimiter.of(Arrays.asList((Quota) null)));
        assertMissing("quota: got null; allowed: a Quota", () -> RateLimiter.of((Quota) null));
        assertMissing(
                "quota: got null; allowed: the text of a quota, such as \"100/s\"",
                () -> RateLimiter.of((String) null));
        assertMissing(
                "clock: got null; allowed: a Clock",
                () -> RateLimiter.builder("1/s").clock(null));
        assertMissing(
                "decision: got null; allowed: a decision of this limiter that granted, once",
                () -> limiter("1/s").refund(null));
        assertMissing(
                "task: got null; allowed: a Runnable", () -> limiter("1/s").run(null));
    }

    @Test
    void partsThatDoNotGoTogetherAreNamedWhenALimiterIsBuilt() {
        assertMistake(
                "burst: got 5 with sliding_log; allowed: a burst with gcra only",
                () -> RateLimiter.of(Quota.perSecond(5).withBurst(5).withAlgorithm(Algorithm.SLIDING_LOG)));
        assertMistake(
                "anchor: got clock with gcra; allowed: an anchor with fixed_window only",
                () -> RateLimiter.of(Quota.perSecond(5).withAnchor(Anchor.CLOCK)));
        assertThrows(
                IllegalArgumentException.class,
                () -> RateLimiter.of(Quota.perSecond(1 << 25).withAlgorithm(Algorithm.SLIDING_LOG)));
    }

    @Test
    void runAndCallDoTheTaskOnlyIfThereAreTokens() throws Exception {
        RateLimiter limiter = limiter("3/s");
        AtomicBoolean ran = new AtomicBoolean();
        limiter.run(() -> ran.set(true));
        assertTrue(ran.get());
        assertEquals("done", limiter.call(2, () -> "done"));
        RefusedException refused = assertThrows(RefusedException.class, () -> limiter.run(() -> ran.set(false)));
        assertTrue(ran.get());
        assertEquals(Status.DENIED, refused.status());
        assertEquals(333_333_334, refused.decision().orElseThrow().retryAfterNanos());
        assertThrows(RefusedException.class, () -> limiter.call(() -> "not done"));
        ExceedsCapacityException never =
                assertThrows(ExceedsCapacityException.class, () -> limiter.call(4, () -> "never done"));
        assertEquals(Status.EXCEEDS_CAPACITY, never.status());
        IOException own = new IOException("of the task");
        clock.advance(Duration.ofSeconds(1));
        assertSame(
                own,
                assertThrows(
                        IOException.class,
                        () -> limiter.call(() -> {
                            throw own;
                        })));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "3/s | 2 | refused: 2 tokens asked, 1 remaining; 3/s would admit that in PT0.333333334S",
                "10/s; 3/min | 2 | refused: 2 tokens asked, 1 remaining; 3/min would admit that in PT20S",
                "2/s fixed_window | 1 | refused: 1 token asked, 0 remaining; 2/s fixed_window would admit that in PT1S",
                "100/s burst 20 | 50 | cost 50 can never be had: 100/s burst 20 holds at most 20",
                "3/2s fixed_window | 4 | cost 4 can never be had: 3/2s fixed_window holds at most 3",
                "0/s | 1 | refused: 1 token asked, the limit is 0: 0/s",
            })
    void aRefusalNamesWhatWasAskedAndWhatStopsIt(String quotas, long cost, String message) {
        RateLimiter limiter = limiter(quotas);
        limiter.tryAcquire(2);
        assertEquals(
                message,
                assertThrows(RefusedException.class, () -> limiter.run(cost, () -> {}))
                        .getMessage());
    }

    @Test
    void statsCountCallsAndNotTokens() {
        RateLimiter limiter = limiter("10/s");
        assertTrue(limiter.tryAcquire(9));
        assertTrue(limiter.decide().allowed());
        assertFalse(limiter.tryAcquire());
        assertFalse(limiter.decide(11).allowed());
        assertEquals(2, limiter.stats().allowed());
        assertEquals(2, limiter.stats().denied());
    }

    static Stream<Runnable> callsOfAClosedLimiter() {
        RateLimiter limiter = RateLimiter.of("5/s");
        Decision granted = limiter.decide();
        limiter.close();
        limiter.close();
        return Stream.of(
                limiter::tryAcquire,
                () -> limiter.tryAcquire(2),
                limiter::decide,
                limiter::peek,
                () -> limiter.refund(granted),
                limiter::reset,
                () -> limiter.reconfigure("6/s"),
                limiter::quotas,
                limiter::stats,
                () -> limiter.run(() -> {}));
    }

    @ParameterizedTest
    @MethodSource("callsOfAClosedLimiter")
    void everyCallOfAClosedLimiterIsAnError(Runnable call) {
        assertEquals(
                "limiter: got one that is closed; allowed: one that is open",
                assertThrows(IllegalStateException.class, call::run).getMessage());
    }

    @Test
    void aClosedLimiterSaysSo() {
        RateLimiter limiter = limiter("5/s");
        limiter.close();
        assertEquals("RateLimiter(closed)", limiter.toString());
    }

    private static void assertMistake(String text, Runnable call) {
        assertEquals(
                text, assertThrows(IllegalArgumentException.class, call::run).getMessage());
    }

    private static void assertMissing(String text, Runnable call) {
        assertEquals(text, assertThrows(NullPointerException.class, call::run).getMessage());
    }
}

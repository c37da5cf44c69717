package io.github.tidegate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.function.LongConsumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Faults of arithmetic and configuration that were reported of limiters, A1 to A7: each must be impossible. */
class ArithmeticCasesTest {
    private static final String COSTS = "; allowed: 1 to 9007199254740991";
    private final ManualClock clock = new ManualClock();

    private RateLimiter limiter(String quotas) {
        return RateLimiter.builder(quotas).clock(clock).build();
    }

    private static void assertMistake(String text, Runnable call) {
        assertEquals(
                text, assertThrows(IllegalArgumentException.class, call::run).getMessage());
    }

    @ParameterizedTest
    @ValueSource(strings = {"0/s", "0/s burst 5", "0/s fixed_window", "0/s sliding_window", "0/s sliding_log"})
    void a1_aLimitOf0DeniesEverythingForEver(String quota) {
        RateLimiter limiter = limiter(quota);
        assertFalse(limiter.tryAcquire());
        clock.advance(Duration.ofDays(365));
        Decision decision = limiter.decide();
        assertEquals(Status.DENIED, decision.status());
        assertEquals(Decision.NEVER, decision.retryAfter());
        assertEquals(0, decision.remaining());
    }

    @Test
    void a1_aConcurrencyLimitOf0DeniesEverything() {
        ConcurrencyLimiter limiter = ConcurrencyLimiter.of(0);
        assertTrue(limiter.tryAcquire().isEmpty());
        assertEquals(0, limiter.available());
    }

    @ParameterizedTest
    @ValueSource(longs = {0, -1, Long.MIN_VALUE, 9007199254740992L, Long.MAX_VALUE})
    void a1_aCostOutsideOfWhatIsAllowedIsNamedAndChangesNothing(long wrong) {
        RateLimiter limiter = limiter("10/s");
        LongConsumer[] calls = {
            limiter::tryAcquire, limiter::decide, limiter::peek, cost -> limiter.run(cost, () -> {}),
        };
        for (LongConsumer call : calls) {
            assertMistake("cost: got " + wrong + COSTS, () -> call.accept(wrong));
        }
        assertEquals(10, limiter.peek().remaining());
        assertEquals(0, limiter.stats().allowed() + limiter.stats().denied());
    }

    @ParameterizedTest
    @ValueSource(longs = {0, -1, Long.MIN_VALUE, 9007199254740992L, Long.MAX_VALUE})
    void a1_aNumberOfPermitsOutsideOfWhatIsAllowedIsNamedAndChangesNothing(long wrong) {
        ConcurrencyLimiter limiter = ConcurrencyLimiter.of(3);
        assertMistake("permits: got " + wrong + COSTS, () -> limiter.tryAcquire(wrong));
        assertMistake("permits: got " + wrong + COSTS, () -> limiter.run(wrong, () -> {}));
        assertEquals(3, limiter.available());
    }

    @ParameterizedTest
    @ValueSource(longs = {-1, Long.MIN_VALUE, 2147483648L, Long.MAX_VALUE})
    void a1_aConcurrencyLimitOutsideOfWhatIsAllowedIsNamedAndChangesNothing(long wrong) {
        String text = "limit: got " + wrong + "; allowed: 0 to 2147483647";
        assertMistake(text, () -> ConcurrencyLimiter.of(wrong));
        ConcurrencyLimiter limiter = ConcurrencyLimiter.of(3);
        assertMistake(text, () -> limiter.setLimit(wrong));
        assertEquals(3, limiter.limit());
    }

    @Test
    void a1_theNumbersOfAQuotaAreCheckedWhereTheyAreGiven() {
        Duration second = Duration.ofSeconds(1);
        String limits = "; allowed: 0 to 9007199254740991";
        assertMistake("limit: got -1" + limits, () -> Quota.of(-1, second));
        assertMistake("limit: got 9007199254740992" + limits, () -> Quota.perSecond(RateLimiter.MAX_COST + 1));
        String periods = "; allowed: 1 ns to 63072000000000000 ns (2 years)";
        assertMistake("period: got PT0S" + periods, () -> Quota.of(1, Duration.ZERO));
        assertMistake("period: got PT-1S" + periods, () -> Quota.of(1, second.negated()));
        assertMistake(
                "period: got PT17520H0.000000001S" + periods,
                () -> Quota.of(1, Duration.ofDays(2 * 365).plusNanos(1)));
        assertMistake("period: got " + Decision.NEVER + periods, () -> Quota.of(1, Decision.NEVER));
        assertMistake("burst: got 0" + COSTS, () -> Quota.perSecond(1).withBurst(0));
        assertMistake("burst: got -5" + COSTS, () -> Quota.perSecond(1).withBurst(-5));
    }

    @Test
    void a1_aCostBeyondTheBurstExceedsCapacityAtOnce() {
        RateLimiter limiter = limiter("10/s burst 3");
        assertFalse(limiter.tryAcquire(4));
        Decision decision = limiter.decide(4);
        assertEquals(Status.EXCEEDS_CAPACITY, decision.status());
        assertEquals(Decision.NEVER_NANOS, decision.retryAfterNanos());
        assertEquals(3, decision.remaining());
        assertTrue(limiter.tryAcquire(3));
    }

    @ParameterizedTest
    @CsvSource({"6000/s burst 1, 166667", "3/s burst 1, 333333334"})
    void a2_aBurstOf1LimitsWhateverTheRate(String quota, long nanosToTheNext) {
        RateLimiter limiter = limiter(quota);
        for (int round = 0; round < 3; round++) {
            assertTrue(limiter.tryAcquire());
            assertFalse(limiter.tryAcquire());
            clock.advanceNanos(nanosToTheNext - 2);
            assertFalse(limiter.tryAcquire());
            clock.advanceNanos(2);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"10/s", "10/s fixed_window", "10/s sliding_window", "10/s sliding_log"})
    void a3_aLimitLoweredBelowWhatIsUsedLeavesNothingAndNeverLess(String quota) {
        RateLimiter limiter = limiter(quota);
        assertTrue(limiter.tryAcquire(8));
        limiter.reconfigure(quota.replace("10/s", "5/s"));
        assertEquals(0, limiter.peek().remaining());
        assertFalse(limiter.tryAcquire());
        limiter.reconfigure(quota.replace("10/s", "20/s"));
        assertEquals(15, limiter.peek().remaining());
    }

    @Test
    void a4_reconfiguringKeepsWhatIsUsedAndTheSameAgainChangesNothing() {
        RateLimiter limiter = limiter("5/min fixed_window");
        assertTrue(limiter.tryAcquire(5));
        limiter.reconfigure("10/min fixed_window");
        assertEquals(5, limiter.peek().remaining());
        assertTrue(limiter.tryAcquire(5));
        limiter.reconfigure("10/min fixed_window");
        assertFalse(limiter.tryAcquire());
    }

    @Test
    void a5_anotherPeriodCarriesWhatIsUsedOverAndIsObeyedFromTheNextCallOn() {
        RateLimiter limiter = limiter("10/s");
        assertTrue(limiter.tryAcquire(10));
        limiter.reconfigure(Quota.perMinute(4));
        assertEquals(0, limiter.peek().remaining());
        assertEquals(Duration.ofSeconds(15), limiter.decide().retryAfter());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"5/M", "10/month", "5/0 second", "100/s burst", "1e3/s", "١٠/s", "", "100", "/s", "5/s;", "5/S"})
    void a6_aTextThatIsNoQuotaIsShownWithTheGrammar(String text) {
        ConfigException mistake = assertThrows(ConfigException.class, () -> RateLimiter.of(text));
        if (text.equals("5/0 second")) {
            assertEquals("period", mistake.argument());
        } else {
            assertEquals("quota", mistake.argument());
            String shown = mistake.value();
            assertTrue(shown.startsWith('"' + text + '"') || text.equals("5/s;"), mistake.getMessage());
            assertTrue(mistake.allowed().contains("minute(s)"), mistake.getMessage());
        }
    }

    @ParameterizedTest
    @CsvSource({"' 10 / s ', 10/s", "100/week, 100/w", "5 per 30s, 5/30s", "100/minute burst 20, 100/min burst 20"})
    void a6_aTextThatMatchesInFullIsRead(String text, String canonical) {
        assertEquals(canonical, Quota.parse(text).toString());
    }

    @Test
    void a7_aRefusalByOneOfTwoQuotasChargesNeither() {
        RateLimiter limiter = limiter("10/60s; 1/60s");
        assertTrue(limiter.tryAcquire());
        Decision refused = limiter.decide();
        assertEquals(Status.DENIED, refused.status());
        assertEquals(1, refused.quota());
        limiter.reconfigure("10/60s; 10/60s");
        assertEquals(9, limiter.peek().remaining());
    }
}

package io.github.tidegate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Faults of time and refill that were reported of limiters, T1 to T10: each must be impossible. */
class TimeCasesTest {
    private final ManualClock clock = new ManualClock();

    private RateLimiter limiter(String quotas) {
        return RateLimiter.builder(quotas).clock(clock).build();
    }

    private static int admittedOf(int calls, RateLimiter limiter) {
        int admitted = 0;
        for (int call = 0; call < calls; call++) {
            admitted += limiter.tryAcquire() ? 1 : 0;
        }
        return admitted;
    }

    @Test
    void t1_fiveASecondUsedUpAreFiveAgainAfterTwoIdleSeconds() {
        RateLimiter limiter = limiter("5/s");
        assertEquals(5, admittedOf(6, limiter));
        clock.advance(Duration.ofSeconds(2));
        assertEquals(5, admittedOf(6, limiter));
    }

    @Test
    void t2_anIdleHourFillsTheBurstAndNoMore() {
        RateLimiter limiter = limiter("1/2s burst 5");
        assertEquals(5, admittedOf(100, limiter));
        clock.advance(Duration.ofHours(1));
        assertEquals(5, admittedOf(100, limiter));
    }

    @ParameterizedTest
    @ValueSource(longs = {15, 60})
    void t3_aClockThatStepsBackNeitherStallsNorGivesAFreshQuota(long minutes) {
        clock.set(Duration.ofHours(2));
        RateLimiter limiter = limiter("5/s fixed_window");
        assertEquals(5, admittedOf(6, limiter));
        clock.set(Duration.ofHours(2).minusMinutes(minutes));
        assertEquals(0, admittedOf(6, limiter));
        clock.set(Duration.ofHours(2).minusMinutes(minutes).plusSeconds(1));
        assertEquals(5, admittedOf(6, limiter));
    }

    @ParameterizedTest
    @ValueSource(strings = {"5/s", "5/s fixed_window", "5/s sliding_window", "5/s sliding_log"})
    void t4_aJumpOf584YearsFillsTheBucket(String quota) {
        RateLimiter limiter = limiter(quota);
        assertEquals(5, admittedOf(6, limiter));
        clock.advance(Duration.ofDays(584 * 365));
        assertEquals(5, admittedOf(6, limiter));
    }

    @ParameterizedTest
    @ValueSource(strings = {"5/s", "5/s fixed_window", "5/s sliding_window", "5/s sliding_log"})
    void t4_atTheEndOfTimeLimitsStillHold(String quota) {
        RateLimiter limiter = limiter(quota);
        assertEquals(5, admittedOf(6, limiter));
        clock.advance(Decision.NEVER);
        assertEquals(5, admittedOf(100, limiter));
    }

    @Test
    void t4_twelveIdleHoursAtABillionASecondFillTheBucket() {
        RateLimiter limiter = limiter("1000000000/s");
        assertTrue(limiter.tryAcquire(1_000_000_000));
        clock.advance(Duration.ofHours(12));
        assertEquals(1_000_000_000, limiter.peek().remaining());
        assertTrue(limiter.tryAcquire(1_000_000_000));
        assertFalse(limiter.tryAcquire());
    }

    @Test
    void t5_refusedCallsNeitherMoveTheRefillNorCharge() {
        RateLimiter limiter = limiter("1/s");
        assertTrue(limiter.tryAcquire());
        for (int call = 1; call < 10; call++) {
            clock.advance(Duration.ofMillis(100));
            assertFalse(limiter.tryAcquire());
        }
        clock.advance(Duration.ofMillis(100));
        assertTrue(limiter.tryAcquire());
    }

    @ParameterizedTest
    @CsvSource({"30/min, 89", "30/min fixed_window, 60", "30/min sliding_window, 59"})
    void t6_oneCallASecondForTwoMinutes(String quota, int admitted) {
        RateLimiter limiter = limiter(quota);
        int count = 0;
        for (int second = 0; second < 120; second++) {
            count += limiter.tryAcquire() ? 1 : 0;
            clock.advance(Duration.ofSeconds(1));
        }
        assertEquals(admitted, count, 1);
    }

    @ParameterizedTest
    @CsvSource({"10/s fixed_window, 10", "10/s, 1", "10/s sliding_window, 0", "10/s sliding_log, 1"})
    void t7_onlyAFixedWindowAdmitsTwiceTheLimitAcrossItsBorder(String quota, int admittedAtOneSecond) {
        RateLimiter limiter = limiter(quota);
        assertTrue(limiter.tryAcquire());
        clock.advance(Duration.ofMillis(990));
        assertEquals(9, admittedOf(9, limiter));
        clock.advance(Duration.ofMillis(10));
        assertEquals(admittedAtOneSecond, admittedOf(10, limiter));
    }

    @Test
    void t8_theLogForgetsACallExactlyAPeriodLater() {
        RateLimiter limiter = limiter("2/1000ms sliding_log");
        assertTrue(limiter.tryAcquire());
        clock.advance(Duration.ofMillis(600));
        assertTrue(limiter.tryAcquire());
        clock.advance(Duration.ofMillis(500));
        assertTrue(limiter.tryAcquire());
    }

    @ParameterizedTest
    @ValueSource(longs = {30L * 86_400_000, 365L * 86_400_000, (1L << 31) + 1000})
    void t9_longPeriodsAreHonouredExactly(long periodMillis) {
        Quota quota = Quota.of(1, Duration.ofMillis(periodMillis)).withAlgorithm(Algorithm.FIXED_WINDOW);
        RateLimiter limiter = RateLimiter.builder(quota).clock(clock).build();
        assertTrue(limiter.tryAcquire());
        clock.advance(Duration.ofMillis(periodMillis).minusNanos(1));
        assertFalse(limiter.tryAcquire());
        clock.advanceNanos(1);
        assertTrue(limiter.tryAcquire());
    }

    @ParameterizedTest
    @CsvSource({"10/3s, 10", "2/3s, 2", "1/5s, 1", "1 per 5 s, 1"})
    void t10_totalsAreExactInEachWindowAndNoAverageOfASecond(String quota, int limit) {
        RateLimiter limiter = limiter(quota + " fixed_window");
        Duration period = limiter.quotas().get(0).period();
        for (int window = 0; window < 3; window++) {
            assertEquals(limit, admittedOf(20, limiter));
            clock.advance(period.minusNanos(1));
            assertEquals(0, admittedOf(20, limiter));
            clock.advanceNanos(1);
        }
    }
}

package io.github.tidegate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Faults of reported figures, F1 to F9: each must be impossible. */
class FigureCasesTest {
    private final ManualClock clock = new ManualClock();

    private RateLimiter limiter(String quotas) {
        return RateLimiter.builder(quotas).clock(clock).build();
    }

    @ParameterizedTest
    @ValueSource(strings = {"10/s", "10/s fixed_window", "10/s sliding_window", "10/s sliding_log"})
    void f1_theFirstOfTenLeavesNine(String quota) {
        assertEquals(9, limiter(quota).decide().remaining());
    }

    @Test
    void f2_whatIsLeftToWaitIsToldExactly() {
        RateLimiter limiter = limiter("1/s");
        assertTrue(limiter.tryAcquire());
        clock.advance(Duration.ofMillis(200));
        assertEquals(Duration.ofMillis(800), limiter.decide().retryAfter());
    }

    @Test
    void f3_wholeSecondsAreRoundedUp() {
        RateLimiter limiter = limiter("5/s burst 1");
        assertEquals(OptionalLong.of(0), limiter.decide().retryAfterSeconds());
        Decision refused = limiter.decide();
        assertEquals(200_000_000, refused.retryAfterNanos());
        assertEquals(OptionalLong.of(1), refused.retryAfterSeconds());
        RateLimiter slow = limiter("1/3s");
        assertTrue(slow.tryAcquire());
        assertEquals(OptionalLong.of(3), slow.decide().retryAfterSeconds());
        clock.advanceNanos(1);
        assertEquals(OptionalLong.of(3), slow.decide().retryAfterSeconds());
        clock.advance(Duration.ofSeconds(1));
        assertEquals(OptionalLong.of(2), slow.decide().retryAfterSeconds());
    }

    @Test
    void f3_neverHasNoSecondsAndARefusalAtLeastOne() {
        assertEquals(OptionalLong.empty(), limiter("0/s").decide().retryAfterSeconds());
        assertEquals(OptionalLong.empty(), limiter("5/s").decide(6).retryAfterSeconds());
        Decision raced = new Decision(Status.DENIED, new long[Decision.FIGURES], this);
        assertEquals(OptionalLong.of(1), raced.retryAfterSeconds());
    }

    @Test
    void f4_theMonotonicAndTheManualClockAgree() {
        RateLimiter manual = limiter("2/90ms fixed_window");
        RateLimiter monotonic = RateLimiter.of("2/1h fixed_window");
        for (int left = 1; left >= 0; left--) {
            assertEquals(left, manual.decide().remaining());
            assertEquals(left, monotonic.decide().remaining());
        }
        assertFalse(manual.tryAcquire());
        assertFalse(monotonic.tryAcquire());
    }

    @Test
    void f5_whatCanNeverBeHadLeavesTheFiguresAlone() {
        RateLimiter limiter = limiter("10/s");
        assertTrue(limiter.tryAcquire(4));
        Decision before = limiter.peek();
        Decision decision = limiter.decide(100);
        assertEquals(Decision.NEVER, decision.retryAfter());
        assertEquals(before.remaining(), decision.remaining());
        assertEquals(before.resetAfter(), decision.resetAfter());
    }

    @Test
    void f6_aRefusedCostLeavesRoomForASmallerOne() {
        RateLimiter limiter = limiter("10/s");
        assertTrue(limiter.tryAcquire(8));
        assertFalse(limiter.tryAcquire(5));
        assertTrue(limiter.tryAcquire(1));
    }

    @Test
    void f7_theLogWaitsForItsOldestStamp() {
        RateLimiter limiter = limiter("2/min sliding_log");
        assertTrue(limiter.tryAcquire());
        clock.advance(Duration.ofSeconds(10));
        assertTrue(limiter.tryAcquire());
        clock.advance(Duration.ofSeconds(10));
        assertEquals(Duration.ofSeconds(40), limiter.decide().retryAfter());
    }

    @ParameterizedTest
    @ValueSource(strings = {"10/s", "10/s fixed_window", "10/s sliding_window", "10/s sliding_log", "10/s; 100/h"})
    void f8_whatPeekSaysRemainsIsWhatCanBeTaken(String quota) {
        for (int used = 1; used < 10; used++) {
            RateLimiter limiter = limiter(quota);
            assertTrue(limiter.tryAcquire(used));
            clock.advance(Duration.ofMillis(37));
            long remaining = limiter.peek().remaining();
            assertEquals(remaining, limiter.peek().remaining());
            assertFalse(limiter.tryAcquire(remaining + 1));
            assertTrue(remaining == 0 || limiter.tryAcquire(remaining));
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"10/s", "10/s fixed_window", "10/s sliding_window", "10/s sliding_log"})
    void f8_retryAfterIsExactOnBothSides(String quota) {
        RateLimiter limiter = limiter(quota);
        assertTrue(limiter.tryAcquire(10));
        long wait = limiter.decide(3).retryAfterNanos();
        clock.advanceNanos(wait - 1);
        assertFalse(limiter.tryAcquire(3));
        clock.advanceNanos(1);
        assertTrue(limiter.tryAcquire(3));
    }

    @Test
    void f9_aRefundGivesBackOnce() {
        RateLimiter limiter = limiter("10/s fixed_window");
        Decision granted = limiter.decide(4);
        limiter.refund(granted);
        assertEquals(10, limiter.peek().remaining());
        assertEquals(
                "decision: got one that was refunded before; allowed: a decision of this limiter that granted, once",
                assertThrows(IllegalStateException.class, () -> limiter.refund(granted))
                        .getMessage());
        assertEquals(10, limiter.peek().remaining());
    }

    @Test
    void f9_aRefundAfterTheWindowHasNoEffect() {
        RateLimiter limiter = limiter("10/s fixed_window");
        Decision granted = limiter.decide(4);
        clock.advance(Duration.ofSeconds(1));
        assertTrue(limiter.tryAcquire(10));
        limiter.refund(granted);
        assertEquals(0, limiter.peek().remaining());
    }

    @Test
    void f9_aRefundWithAnotherLimiterIsAMistakeThatLeavesTheDecisionWhole() {
        RateLimiter limiter = limiter("10/s");
        RateLimiter other = limiter("10/s");
        assertTrue(other.tryAcquire(5));
        Decision granted = limiter.decide(4);
        assertEquals(
                "decision: got one of another limiter; allowed: a decision of this limiter that granted, once",
                assertThrows(IllegalArgumentException.class, () -> other.refund(granted))
                        .getMessage());
        assertEquals(5, other.peek().remaining());
        limiter.refund(granted);
        assertEquals(10, limiter.peek().remaining());
    }

    @Test
    void f9_aDecisionThatGrantedNothingCannotBeRefunded() {
        RateLimiter limiter = limiter("1/s");
        Decision peeked = limiter.peek();
        assertTrue(limiter.tryAcquire());
        for (Decision nothing : new Decision[] {peeked, limiter.decide(), limiter.decide(2)}) {
            assertEquals(
                    "decision: got one that granted nothing; allowed: a decision of this limiter that granted, once",
                    assertThrows(IllegalArgumentException.class, () -> limiter.refund(nothing))
                            .getMessage());
        }
    }

    @Test
    void aRefundAfterAResetHasNoEffect() {
        RateLimiter limiter = limiter("10/s");
        Decision granted = limiter.decide(4);
        limiter.reset();
        assertEquals(10, limiter.peek().remaining());
        assertTrue(limiter.tryAcquire(6));
        limiter.refund(granted);
        assertEquals(4, limiter.peek().remaining());
    }
}

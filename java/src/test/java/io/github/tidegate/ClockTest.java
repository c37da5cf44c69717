package io.github.tidegate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import org.junit.jupiter.api.Test;

class ClockTest {
    private final ManualClock clock = new ManualClock();

    @Test
    void aManualClockMovesOnlyWhenTold() {
        assertEquals(0, clock.nowNanos());
        clock.advance(Duration.ofSeconds(1, 5));
        assertEquals(1_000_000_005, clock.nowNanos());
        clock.advanceNanos(7);
        assertEquals(1_000_000_012, clock.nowNanos());
        clock.set(Duration.ofSeconds(3));
        assertEquals(3_000_000_000L, clock.nowNanos());
        assertEquals("ManualClock(3000000000 ns)", clock.toString());
    }

    @Test
    void aStepBackCountsAsNoTimeAndProgressFromThereCounts() {
        clock.setNanos(1_000);
        clock.setNanos(400);
        assertEquals(1_000, clock.nowNanos());
        clock.setNanos(500);
        assertEquals(1_100, clock.nowNanos());
    }

    @Test
    void aManualClockReportsNoMoreThanALongCanHoldAndStopsAtItsEnd() {
        clock.advanceNanos(Long.MAX_VALUE);
        assertEquals(Long.MAX_VALUE, clock.nowNanos());
        clock.advance(Decision.NEVER);
        clock.advance(Duration.ofSeconds(1));
        assertEquals(Long.MAX_VALUE, clock.nowNanos());
    }

    @Test
    void aDurationKeepsAll64BitsOfItsNanoseconds() {
        assertEquals(0, Nanos.unsigned(Duration.ZERO));
        assertEquals(Long.MAX_VALUE, Nanos.unsigned(Duration.ofNanos(Long.MAX_VALUE)));
        assertEquals(
                Long.MIN_VALUE, Nanos.unsigned(Duration.ofNanos(Long.MAX_VALUE).plusNanos(1)));
        Duration most = Duration.ofSeconds(18_446_744_073L, 709_551_615);
        assertEquals(-1, Nanos.unsigned(most));
        assertEquals(-2, Nanos.unsigned(most.minusNanos(1)));
        assertEquals(-1, Nanos.unsigned(most.plusNanos(1)));
        assertEquals(-1, Nanos.unsigned(Decision.NEVER));
    }

    @Test
    void timesThatAreNegativeOrMissingAreNamed() {
        assertMistake(
                "by: got PT-1S; allowed: a duration of zero or more", () -> clock.advance(Duration.ofSeconds(-1)));
        assertMistake("to: got PT-1S; allowed: a duration of zero or more", () -> clock.set(Duration.ofSeconds(-1)));
        assertMistake("byNanos: got -1; allowed: 0 to 9223372036854775807", () -> clock.advanceNanos(-1));
        assertMistake("toNanos: got -1; allowed: 0 to 9223372036854775807", () -> clock.setNanos(-1));
        assertEquals(
                "by: got null; allowed: a duration of zero or more",
                assertThrows(NullPointerException.class, () -> clock.advance(null))
                        .getMessage());
        assertEquals(0, clock.nowNanos());
    }

    @Test
    void theMonotonicClockMovesOnAndNeverBack() {
        Clock monotonic = Clock.monotonic();
        long first = monotonic.nowNanos();
        long last = first;
        while (last - first < 1_000_000) {
            long now = monotonic.nowNanos();
            assertTrue(now >= last, now + " after " + last);
            last = now;
        }
        assertTrue(Clock.monotonic().nowNanos() >= last);
    }

    @Test
    void limitersOfOneClockMoveTogetherAndOutliveTheirReferenceToIt() {
        RateLimiter first = RateLimiter.builder("1/s").clock(clock).build();
        RateLimiter second = RateLimiter.builder("1/s").clock(clock).build();
        assertTrue(first.tryAcquire() && second.tryAcquire());
        clock.advance(Duration.ofSeconds(1));
        assertTrue(first.tryAcquire() && second.tryAcquire());
    }

    private static void assertMistake(String text, Runnable call) {
        assertEquals(
                text, assertThrows(IllegalArgumentException.class, call::run).getMessage());
    }
}

package io.github.tidegate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Cases from the field for keys and their memory, and those for time, arithmetic and figures again, with keys. */
class KeyCasesTest {
    private final ManualClock clock = new ManualClock();

    private KeyedRateLimiter limiter(String quotas, long maxKeys) {
        return KeyedRateLimiter.builder(quotas).maxKeys(maxKeys).clock(clock).build();
    }

    private int admitted(KeyedRateLimiter limiter, String key, int calls) {
        int admitted = 0;
        for (int call = 0; call < calls; call++) {
            admitted += limiter.tryAcquire(key) ? 1 : 0;
        }
        return admitted;
    }

    @Test
    void k1_twoMillionOneShotKeysPassThroughALimiterWhoseMemoryIsFixed() throws Exception {
        KeyedRateLimiter limiter = limiter("1/s", 1000);
        long before = 0;
        for (int i = 0; i < 2_000_000; i++) {
            if (i % 500 == 0) {
                clock.advance(Duration.ofSeconds(1));
            }
            if (i == 500_000) {
                before = residentKilobytes();
            }
            // Longer than what is packed.
            assertTrue(limiter.tryAcquire("a key that is seen once, " + i));
        }
        assertEquals(0, limiter.stats().evictedLive());
        assertEquals(500, limiter.size());
        long grown = residentKilobytes() - before;
        // Of each key that left a byte behind there would be 1.5 MB; the heap moves by more, 64 bytes of each it
        // doesn't.
        assertTrue(grown < 96_000, "grown by " + grown + " kB");
    }

    private static long residentKilobytes() throws Exception {
        System.gc();
        return Files.readAllLines(Path.of("/proc/self/status")).stream()
                .filter(line -> line.startsWith("VmRSS:"))
                .mapToLong(line -> Long.parseLong(line.replaceAll("[^0-9]", "")))
                .findFirst()
                .orElseThrow();
    }

    @ParameterizedTest
    @CsvSource({
        "2/h, EVICT",
        "2/h fixed_window, EVICT",
        "2/h fixed_window anchor clock, EVICT",
        "2/h sliding_window, EVICT",
        "1/h, DENY_NEW",
    })
    void k2_aVictimThatIsDeniedStaysSoUnderAFloodOfFreshKeys(String quota, WhenFull whenFull) {
        KeyedRateLimiter limiter = KeyedRateLimiter.builder(quota)
                .maxKeys(100)
                .whenFull(whenFull)
                .clock(clock)
                .build();
        admitted(limiter, "victim", 2);
        assertFalse(limiter.tryAcquire("victim"));
        for (int i = 0; i < 200; i++) {
            limiter.tryAcquire("flood " + i);
        }
        assertFalse(limiter.tryAcquire("victim"));
    }

    @Test
    void t1_idleGivesNoMoreThanTheBurst() {
        KeyedRateLimiter limiter = limiter("5/s", 10);
        assertEquals(5, admitted(limiter, "a", 6));
        clock.advance(Duration.ofSeconds(2));
        assertEquals(5, admitted(limiter, "a", 6));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"10/min", "10/min fixed_window", "10/min fixed_window anchor clock", "10/min sliding_window"})
    void t3_aClockThatStepsBackCountsAsNoTime(String quota) {
        KeyedRateLimiter limiter = limiter(quota, 10);
        clock.set(Duration.ofHours(2));
        assertEquals(10, admitted(limiter, "a", 20));
        clock.set(Duration.ofHours(1));
        assertEquals(0, admitted(limiter, "a", 20));
        clock.advance(Duration.ofMinutes(2));
        assertEquals(10, admitted(limiter, "a", 20));
    }

    @ParameterizedTest
    @ValueSource(strings = {"7/s", "7/s fixed_window", "7/s sliding_window"})
    void t4_aClockThatJumpsToItsEndFindsAFullBudget(String quota) {
        KeyedRateLimiter limiter = limiter(quota, 10);
        assertEquals(7, admitted(limiter, "a", 10));
        clock.advanceNanos(Long.MAX_VALUE);
        clock.advanceNanos(Long.MAX_VALUE);
        assertEquals(7, admitted(limiter, "a", 10));
    }

    @Test
    void t9_aPeriodOfAYearIsHonoured() {
        KeyedRateLimiter limiter = limiter("1/365d fixed_window", 10);
        assertEquals(1, admitted(limiter, "a", 2));
        clock.advance(Duration.ofDays(365).minusNanos(1));
        assertEquals(1, limiter.peek("a").retryAfterNanos());
        assertFalse(limiter.tryAcquire("a"));
        clock.advanceNanos(1);
        assertTrue(limiter.tryAcquire("a"));
    }

    @Test
    void a3_aLimitLoweredBelowWhatIsUsedLeavesNothingAndNeverLess() {
        KeyedRateLimiter limiter = limiter("10/min fixed_window", 10);
        assertTrue(limiter.tryAcquire("a", 8));
        limiter.reconfigure("5/min fixed_window");
        assertEquals(0, limiter.peek("a").remaining());
        assertEquals(5, limiter.peek("b").remaining());
    }

    @Test
    void a4_aRaisedLimitGivesTheDifferenceOnce() {
        KeyedRateLimiter limiter = limiter("5/min", 10);
        assertEquals(5, admitted(limiter, "a", 6));
        limiter.reconfigure("10/min");
        assertEquals(5, admitted(limiter, "a", 6));
        limiter.reconfigure("10/min");
        assertEquals(0, admitted(limiter, "a", 6));
    }

    @Test
    void a7_ofTwoQuotasTheFirstIsChargedOnceWhereTheSecondRefuses() {
        KeyedRateLimiter limiter = limiter("10/60s fixed_window; 1/60s fixed_window", 10);
        assertTrue(limiter.tryAcquire("a"));
        assertFalse(limiter.tryAcquire("a"));
        limiter.reconfigure("10/60s fixed_window; 100/60s fixed_window");
        assertEquals(9, limiter.peek("a").remaining());
    }

    @Test
    void f5_whatCanNeverBeHadLeavesTheFiguresAsTheyAre() {
        KeyedRateLimiter limiter = limiter("10/s", 10);
        assertTrue(limiter.tryAcquire("a", 4));
        Decision never = limiter.decide("a", 100);
        assertEquals(Decision.NEVER, never.retryAfter());
        assertEquals(6, never.remaining());
        assertEquals(6, limiter.peek("a").remaining());
        assertEquals(0, limiter.decide("new", 100).resetAfterNanos());
        assertEquals(1, limiter.size());
    }

    @Test
    void f9_aRefundAfterTheWindowHasEndedHasNoEffect() {
        KeyedRateLimiter limiter = limiter("10/s fixed_window", 10);
        Decision granted = limiter.decide("a", 4);
        clock.advance(Duration.ofSeconds(1));
        assertTrue(limiter.tryAcquire("a", 5));
        limiter.refund("a", granted);
        assertEquals(5, limiter.peek("a").remaining());
    }
}

package io.github.tidegate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

class TokenWaitTest extends TokenWaitContract {
    @Override
    Spending limiter(String quotas, long maxWaiters, Clock clock) {
        RateLimiter.Builder builder = RateLimiter.builder(quotas).maxWaiters(maxWaiters);
        return Spending.of(
                clock == null ? builder.build() : builder.clock(clock).build());
    }

    private RateLimiter plain(String quotas) {
        return RateLimiter.builder(quotas).clock(clock).build();
    }

    @Test
    void whatIsThereIsTakenAtOnce() throws Exception {
        RateLimiter limiter = plain("7/s");
        limiter.acquire();
        limiter.acquire(1);
        limiter.acquire(Duration.ZERO);
        limiter.acquire(1, SECOND);
        limiter.acquireAsync().get();
        limiter.acquireAsync(SECOND).get();
        limiter.acquireAsync(1, SECOND).get();
        assertEquals(0, limiter.peek().remaining());
        assertEquals(7, limiter.stats().allowed());
    }

    /** F10. */
    @Test
    void f10_aHoleAmongReservationsIsNotGivenAway() {
        RateLimiter limiter = plain("1/s");
        assertTrue(limiter.tryAcquire());
        Reservation first = limiter.reserve(1);
        limiter.reserve(1, Decision.NEVER);
        Reservation third = limiter.reserve(1, Duration.ofSeconds(3));
        assertEquals(SECOND, first.delay());
        assertEquals(3_000_000_000L, third.delayNanos());
        assertEquals(3_000_000_000L, third.dueNanos());
        assertEquals("Reservation(1, delay PT3S)", third.toString());
        clock.advance(Duration.ofMillis(500));
        assertFalse(first.cancel());
        assertEquals("Reservation(1, cancelled)", first.toString());
        assertEquals(Duration.ofMillis(3500), limiter.reserve(1).delay());
    }

    @Test
    void theLastReservationIsCreditedOnceIfItIsNotDueYet() {
        RateLimiter limiter = plain("2/s");
        Reservation now = limiter.reserve(2);
        assertEquals(Duration.ZERO, now.delay());
        assertEquals(2, now.cost());
        Reservation later = limiter.reserve(1);
        assertTrue(later.cancel());
        assertEquals(
                "reservation: got one that was cancelled before; allowed: a reservation, once",
                assertThrows(IllegalStateException.class, later::cancel).getMessage());
        assertFalse(now.cancel());
        assertEquals(Duration.ofMillis(500), limiter.reserve(1).delay());
    }

    @Test
    void aReservationThatCannotBeIsRefusedAndChargesNothing() {
        RateLimiter limiter = plain("1/s");
        assertTrue(limiter.tryAcquire());
        TimedOutException late =
                assertThrows(TimedOutException.class, () -> limiter.reserve(1, Duration.ofMillis(999)));
        assertEquals(Duration.ofMillis(999), late.refusal().orElseThrow().timeout());
        assertThrows(TimedOutException.class, () -> limiter.reserve(1, Duration.ZERO));
        assertThrows(ExceedsCapacityException.class, () -> limiter.reserve(2));
        assertEquals(SECOND, limiter.reserve(1, SECOND).delay());
        for (String other : List.of("1/s fixed_window", "1/s; 2/min")) {
            assertEquals(
                    "quota: got " + other + "; allowed: to reserve: one quota, with gcra",
                    assertThrows(
                                    UnsupportedOperationException.class,
                                    () -> plain(other).reserve(1))
                            .getMessage());
        }
    }

    @Test
    void wrongArgumentsOfReservationsAreNamed() {
        RateLimiter limiter = plain("1/s");
        for (long cost : new long[] {0, -1, Long.MIN_VALUE, RateLimiter.MAX_COST + 1}) {
            assertEquals(
                    "cost: got " + cost + "; allowed: 1 to 9007199254740991",
                    assertThrows(ConfigException.class, () -> limiter.reserve(cost))
                            .getMessage());
        }
        assertEquals(
                "maxWait: got null; allowed: a duration of zero or more",
                assertThrows(NullPointerException.class, () -> limiter.reserve(1, null))
                        .getMessage());
        limiter.close();
        assertThrows(ClosedException.class, () -> limiter.reserve(1));
    }
}

package io.github.tidegate;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.time.Duration;
import org.junit.jupiter.api.Test;

class PermitWaitTest extends PermitWaitContract {
    @Override
    Lending limiter(long limit, long maxWaiters, Clock clock) {
        ConcurrencyLimiter.Builder builder = ConcurrencyLimiter.builder(limit).maxWaiters(maxWaiters);
        return Lending.of(clock == null ? builder.build() : builder.clock(clock).build());
    }

    @Test
    void whatIsThereIsTakenAtOnce() throws Exception {
        ConcurrencyLimiter limiter = ConcurrencyLimiter.of(1);
        try (Permit permit = limiter.acquire()) {
            assertEquals(1, permit.permits());
            assertEquals(1, limiter.inFlight());
        }
        limiter.acquire(1).release();
        limiter.acquire(Duration.ZERO).release();
        limiter.acquire(1, HOUR).release();
        limiter.acquireAsync().get().release();
        limiter.acquireAsync(HOUR).get().release(false);
        limiter.acquireAsync(1, HOUR).get().release();
        Lending.of(limiter).assertAtRest();
        assertEquals(7, limiter.stats().allowed());
    }
}

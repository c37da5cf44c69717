package io.github.tidegate;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.time.Duration;
import org.junit.jupiter.api.Test;

class TokenWaitTest extends TokenWaitContract {
    @Override
    Spending limiter(String quotas, long maxWaiters, Clock clock) {
        RateLimiter.Builder builder = RateLimiter.builder(quotas).maxWaiters(maxWaiters);
        return Spending.of(
                clock == null ? builder.build() : builder.clock(clock).build());
    }

    @Test
    void whatIsThereIsTakenAtOnce() throws Exception {
        RateLimiter limiter = RateLimiter.builder("9/s").clock(clock).build();
        limiter.acquire();
        limiter.acquire(1);
        limiter.acquire(Duration.ZERO);
        limiter.acquire(1, SECOND);
        limiter.acquireAsync().get();
        limiter.acquireAsync(SECOND).get();
        limiter.acquireAsync(1, SECOND).get();
        assertEquals(0, limiter.reserve(1).delayNanos());
        assertEquals(Duration.ZERO, limiter.reserve(1, SECOND).delay());
        assertEquals(9, limiter.stats().allowed());
    }
}

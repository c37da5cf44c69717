package io.github.tidegate;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/** A limiter of permits without keys, or one key of a limiter with: for tests of what both do. */
interface Lending {
    Lender limiter();

    Permit acquire(long permits, Duration timeout) throws InterruptedException;

    CompletableFuture<Permit> acquireAsync(long permits, Duration timeout);

    Optional<Permit> tryAcquire(long permits);

    long waiting();

    long inFlight();

    long available();

    default Permit acquire() throws InterruptedException {
        return acquire(1);
    }

    default Permit acquire(long permits) throws InterruptedException {
        return acquire(permits, Decision.NEVER);
    }

    default CompletableFuture<Permit> acquireAsync() {
        return acquireAsync(1, Decision.NEVER);
    }

    default Optional<Permit> tryAcquire() {
        return tryAcquire(1);
    }

    default void setLimit(long limit) {
        limiter().setLimit(limit);
    }

    default Stats stats() {
        return limiter().stats();
    }

    default void close() {
        limiter().close();
    }

    default void assertAtRest() {
        assertEquals(0, waiting());
        assertEquals(0, inFlight());
        assertEquals(limiter().limit(), available());
    }

    static Lending of(ConcurrencyLimiter limiter) {
        return new Unkeyed(limiter);
    }

    /** Names the key as a text in some calls, and by its bytes in others. */
    static Lending of(KeyedConcurrencyLimiter limiter, String key) {
        return new OfKey(limiter, key, key.getBytes(StandardCharsets.UTF_8));
    }

    record Unkeyed(ConcurrencyLimiter limiter) implements Lending {
        @Override
        public Permit acquire(long permits, Duration timeout) throws InterruptedException {
            return limiter.acquire(permits, timeout);
        }

        @Override
        public CompletableFuture<Permit> acquireAsync(long permits, Duration timeout) {
            return limiter.acquireAsync(permits, timeout);
        }

        @Override
        public Optional<Permit> tryAcquire(long permits) {
            return limiter.tryAcquire(permits);
        }

        @Override
        public long waiting() {
            return limiter.waiting();
        }

        @Override
        public long inFlight() {
            return limiter.inFlight();
        }

        @Override
        public long available() {
            return limiter.available();
        }
    }

    record OfKey(KeyedConcurrencyLimiter limiter, String text, byte[] bytes) implements Lending {
        @Override
        public Permit acquire(long permits, Duration timeout) throws InterruptedException {
            return limiter.acquire(text, permits, timeout);
        }

        @Override
        public CompletableFuture<Permit> acquireAsync(long permits, Duration timeout) {
            return limiter.acquireAsync(bytes, permits, timeout);
        }

        @Override
        public Optional<Permit> tryAcquire(long permits) {
            return limiter.tryAcquire(text, permits);
        }

        @Override
        public long waiting() {
            return limiter.waiting(bytes);
        }

        @Override
        public long inFlight() {
            return limiter.inFlight(text);
        }

        @Override
        public long available() {
            return limiter.available(bytes);
        }
    }
}

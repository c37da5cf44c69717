package io.github.tidegate;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;

/** A limiter of tokens without keys, or one key of a limiter with: for tests of what both do. */
interface Spending {
    QuotaLimiter limiter();

    void acquire(long cost, Duration timeout) throws InterruptedException;

    CompletableFuture<Void> acquireAsync(long cost, Duration timeout);

    Reservation reserve(long cost, Duration maxWait);

    boolean tryAcquire();

    Decision decide(long cost);

    Decision peek();

    void refund(Decision decision);

    void reset();

    long waiting();

    default void acquire() throws InterruptedException {
        acquire(1);
    }

    default void acquire(long cost) throws InterruptedException {
        acquire(cost, Decision.NEVER);
    }

    default CompletableFuture<Void> acquireAsync() {
        return acquireAsync(1, Decision.NEVER);
    }

    default Reservation reserve(long cost) {
        return reserve(cost, Decision.NEVER);
    }

    default void reconfigure(String quotas) {
        limiter().reconfigure(quotas);
    }

    default Stats stats() {
        return limiter().stats();
    }

    default void close() {
        limiter().close();
    }

    static Spending of(RateLimiter limiter) {
        return new Unkeyed(limiter);
    }

    /** Names the key as a text in some calls, and by its bytes in others. */
    static Spending of(KeyedRateLimiter limiter, String key) {
        return new OfKey(limiter, key, key.getBytes(StandardCharsets.UTF_8));
    }

    record Unkeyed(RateLimiter limiter) implements Spending {
        @Override
        public void acquire(long cost, Duration timeout) throws InterruptedException {
            limiter.acquire(cost, timeout);
        }

        @Override
        public CompletableFuture<Void> acquireAsync(long cost, Duration timeout) {
            return limiter.acquireAsync(cost, timeout);
        }

        @Override
        public Reservation reserve(long cost, Duration maxWait) {
            return limiter.reserve(cost, maxWait);
        }

        @Override
        public boolean tryAcquire() {
            return limiter.tryAcquire();
        }

        @Override
        public Decision decide(long cost) {
            return limiter.decide(cost);
        }

        @Override
        public Decision peek() {
            return limiter.peek();
        }

        @Override
        public void refund(Decision decision) {
            limiter.refund(decision);
        }

        @Override
        public void reset() {
            limiter.reset();
        }

        @Override
        public long waiting() {
            return limiter.waiting();
        }
    }

    record OfKey(KeyedRateLimiter limiter, String text, byte[] bytes) implements Spending {
        @Override
        public void acquire(long cost, Duration timeout) throws InterruptedException {
            limiter.acquire(text, cost, timeout);
        }

        @Override
        public CompletableFuture<Void> acquireAsync(long cost, Duration timeout) {
            return limiter.acquireAsync(bytes, cost, timeout);
        }

        @Override
        public Reservation reserve(long cost, Duration maxWait) {
            return limiter.reserve(text, cost, maxWait);
        }

        @Override
        public boolean tryAcquire() {
            return limiter.tryAcquire(text);
        }

        @Override
        public Decision decide(long cost) {
            return limiter.decide(bytes, cost);
        }

        @Override
        public Decision peek() {
            return limiter.peek(text);
        }

        @Override
        public void refund(Decision decision) {
            limiter.refund(text, decision);
        }

        @Override
        public void reset() {
            limiter.reset(bytes);
        }

        @Override
        public long waiting() {
            return limiter.waiting(text);
        }
    }
}

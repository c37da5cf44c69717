package io.github.tidegate;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;

/** How permits of keys are waited for. */
abstract sealed class KeyedConcurrencyWaiting extends Lender permits KeyedConcurrencyLimiter {
    KeyedConcurrencyWaiting(long address, Clock clock) {
        super(address, clock);
    }

    /** {@link #acquire(String, long, Duration)} for one permit, without a timeout. */
    public final Permit acquire(String key) throws InterruptedException {
        return await(Keys.bytes(key), 1, Nanos.FOR_EVER);
    }

    /** {@link #acquire(String, long, Duration)} without a timeout. */
    public final Permit acquire(String key, long permits) throws InterruptedException {
        return await(Keys.bytes(key), permits, Nanos.FOR_EVER);
    }

    /** {@link #acquire(String, long, Duration)} for one permit. */
    public final Permit acquire(String key, Duration timeout) throws InterruptedException {
        return acquire(key, 1, timeout);
    }

    /**
     * Takes permits of a key, all at once, waiting for its turn for at most {@code timeout}. Each key has a line of its own, where
     * whoever comes later waits behind, however little it asks for, and {@code tryAcquire} is refused meanwhile; a key that is waited
     * for keeps its place. A limit of 0 is a pause. The thread is parked in Java: a virtual one leaves its carrier.
     *
     * <pre>{@code
     * try (Permit permit = limiter.acquire("tenant 7", 1, Duration.ofMillis(250))) {
     *     // at most as many as the limit are here at once for this tenant
     * } catch (TimedOutException late) {
     *     log.warn(late.getMessage()); // timed_out after PT0.25S of PT0.25S: limit 2, 2 in flight, 1 waiting
     * }
     * }</pre>
     *
     * @param key any text
     * @param permits 1 to {@link RateLimiter#MAX_COST}
     * @param timeout zero tries once, {@link Decision#NEVER} is none
     * @return one Permit for all
     * @throws InterruptedException if the thread is interrupted before; nothing is taken then
     * @throws TimedOutException if it takes longer
     * @throws QueueFullException if as many wait for the key as may
     * @throws RefusedException if there is no room for another key
     * @throws ExceedsCapacityException if the limit is lower, or is lowered so meanwhile
     * @throws ClosedException if the limiter is closed, or is before its turn comes
     * @throws ConfigException if an argument is outside of what is allowed
     */
    public final Permit acquire(String key, long permits, Duration timeout) throws InterruptedException {
        return acquire(Keys.bytes(key), permits, timeout);
    }

    /** {@link #acquire(String)} for a key of bytes. */
    public final Permit acquire(byte[] key) throws InterruptedException {
        return acquire(key, 1);
    }

    /** {@link #acquire(String, long)} for a key of bytes. */
    public final Permit acquire(byte[] key, long permits) throws InterruptedException {
        return await(Keys.nonNull(key), permits, Nanos.FOR_EVER);
    }

    /** {@link #acquire(String, Duration)} for a key of bytes. */
    public final Permit acquire(byte[] key, Duration timeout) throws InterruptedException {
        return acquire(key, 1, timeout);
    }

    /** {@link #acquire(String, long, Duration)} for a key of bytes. */
    public final Permit acquire(byte[] key, long permits, Duration timeout) throws InterruptedException {
        return await(Keys.nonNull(key), permits, Nanos.unsigned("timeout", timeout));
    }

    /** {@link #acquireAsync(String, long, Duration)} for one permit, without a timeout. */
    public final CompletableFuture<Permit> acquireAsync(String key) {
        return acquireAsync(key, 1, Decision.NEVER);
    }

    /** {@link #acquireAsync(String, long, Duration)} for one permit. */
    public final CompletableFuture<Permit> acquireAsync(String key, Duration timeout) {
        return acquireAsync(key, 1, timeout);
    }

    /**
     * {@link #acquire(String, long, Duration)} as a future, which needs no thread. Cancelling it, or completing it by other means, ends
     * the wait, or gives the permits back if they were granted first. It is completed on the thread whose call does so: of who releases
     * permits of the key, changes the limit, or closes the limiter; of the common pool when it has timed out. What waited for it there
     * should be short, or be asked for by {@code ...Async}.
     *
     * @param key any text
     * @param permits 1 to {@link RateLimiter#MAX_COST}
     * @param timeout zero tries once, {@link Decision#NEVER} is none
     * @return a future that fails as {@code acquire} does
     * @throws ConfigException if an argument is outside of what is allowed
     */
    public final CompletableFuture<Permit> acquireAsync(String key, long permits, Duration timeout) {
        return awaitAsync(Keys.bytes(key), permits, timeout);
    }

    /** {@link #acquireAsync(String)} for a key of bytes. */
    public final CompletableFuture<Permit> acquireAsync(byte[] key) {
        return acquireAsync(key, 1, Decision.NEVER);
    }

    /** {@link #acquireAsync(String, Duration)} for a key of bytes. */
    public final CompletableFuture<Permit> acquireAsync(byte[] key, Duration timeout) {
        return acquireAsync(key, 1, timeout);
    }

    /** {@link #acquireAsync(String, long, Duration)} for a key of bytes. */
    public final CompletableFuture<Permit> acquireAsync(byte[] key, long permits, Duration timeout) {
        return awaitAsync(Keys.nonNull(key), permits, timeout);
    }

    /**
     * How many callers wait for a key at the moment.
     *
     * @param key any text
     * @return callers
     */
    public final long waiting(String key) {
        return waiting(Keys.bytes(key));
    }

    /** {@link #waiting(String)} for a key of bytes. */
    public final long waiting(byte[] key) {
        settle();
        return waitingFor(Keys.nonNull(key));
    }
}

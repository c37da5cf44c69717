package io.github.tidegate;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;

/** How tokens of keys are waited for, or reserved. */
abstract sealed class KeyedRateWaiting extends QuotaLimiter permits KeyedRateLimiter {
    KeyedRateWaiting(long address, Clock clock) {
        super(address, clock);
    }

    /** {@link #acquire(String, long, Duration)} for one token, without a timeout. */
    public final void acquire(String key) throws InterruptedException {
        await(Keys.bytes(key), 1, Nanos.FOR_EVER);
    }

    /** {@link #acquire(String, long, Duration)} without a timeout. */
    public final void acquire(String key, long cost) throws InterruptedException {
        await(Keys.bytes(key), cost, Nanos.FOR_EVER);
    }

    /** {@link #acquire(String, long, Duration)} for one token. */
    public final void acquire(String key, Duration timeout) throws InterruptedException {
        acquire(key, 1, timeout);
    }

    /**
     * Takes {@code cost} tokens of a key, all at once, waiting for its turn for at most {@code timeout}. Each key has a line of its
     * own: first come, first served; tokens are charged when they are due, not before. A key that is waited for keeps its place. A
     * wait that would outlast its timeout does not begin. The thread is parked in Java: a virtual one leaves its carrier.
     *
     * <pre>{@code
     * limiter.acquire("203.0.113.7", 1, Duration.ofMillis(200)); // or else TimedOutException, at once if that is known
     * }</pre>
     *
     * @param key any text
     * @param cost 1 to {@link RateLimiter#MAX_COST} tokens
     * @param timeout zero tries once, {@link Decision#NEVER} is none
     * @throws InterruptedException if the thread is interrupted before; nothing is taken then
     * @throws TimedOutException if it would take longer
     * @throws QueueFullException if as many wait for the key as may
     * @throws RefusedException if there is no room for another key
     * @throws ExceedsCapacityException if they never can be had
     * @throws ClosedException if the limiter is closed, or is before its turn comes
     * @throws ConfigException if an argument is outside of what is allowed
     */
    public final void acquire(String key, long cost, Duration timeout) throws InterruptedException {
        acquire(Keys.bytes(key), cost, timeout);
    }

    /** {@link #acquire(String)} for a key of bytes. */
    public final void acquire(byte[] key) throws InterruptedException {
        acquire(key, 1);
    }

    /** {@link #acquire(String, long)} for a key of bytes. */
    public final void acquire(byte[] key, long cost) throws InterruptedException {
        await(Keys.nonNull(key), cost, Nanos.FOR_EVER);
    }

    /** {@link #acquire(String, Duration)} for a key of bytes. */
    public final void acquire(byte[] key, Duration timeout) throws InterruptedException {
        acquire(key, 1, timeout);
    }

    /** {@link #acquire(String, long, Duration)} for a key of bytes. */
    public final void acquire(byte[] key, long cost, Duration timeout) throws InterruptedException {
        await(Keys.nonNull(key), cost, Nanos.unsigned("timeout", timeout));
    }

    /** {@link #acquireAsync(String, long, Duration)} for one token, without a timeout. */
    public final CompletableFuture<Void> acquireAsync(String key) {
        return acquireAsync(key, 1, Decision.NEVER);
    }

    /** {@link #acquireAsync(String, long, Duration)} for one token. */
    public final CompletableFuture<Void> acquireAsync(String key, Duration timeout) {
        return acquireAsync(key, 1, timeout);
    }

    /**
     * {@link #acquire(String, long, Duration)} as a future, which needs no thread. Cancelling it, or completing it by other means, ends
     * the wait, or gives the tokens back, as a refund does, if they were granted first. It is completed on the thread whose call does
     * so: of who resets the key, closes the limiter, or moves its manual clock; of the common pool when its time has come. What waited
     * for it there should be short, or be asked for by {@code ...Async}.
     *
     * @param key any text
     * @param cost 1 to {@link RateLimiter#MAX_COST} tokens
     * @param timeout zero tries once, {@link Decision#NEVER} is none
     * @return a future that fails as {@code acquire} does
     * @throws ConfigException if an argument is outside of what is allowed
     */
    public final CompletableFuture<Void> acquireAsync(String key, long cost, Duration timeout) {
        return awaitAsync(Keys.bytes(key), cost, timeout);
    }

    /** {@link #acquireAsync(String)} for a key of bytes. */
    public final CompletableFuture<Void> acquireAsync(byte[] key) {
        return acquireAsync(key, 1, Decision.NEVER);
    }

    /** {@link #acquireAsync(String, Duration)} for a key of bytes. */
    public final CompletableFuture<Void> acquireAsync(byte[] key, Duration timeout) {
        return acquireAsync(key, 1, timeout);
    }

    /** {@link #acquireAsync(String, long, Duration)} for a key of bytes. */
    public final CompletableFuture<Void> acquireAsync(byte[] key, long cost, Duration timeout) {
        return awaitAsync(Keys.nonNull(key), cost, timeout);
    }

    /**
     * How many callers wait for a key at the moment.
     *
     * @param key any text
     * @return callers
     * @throws ClosedException if the limiter is closed
     */
    public final long waiting(String key) {
        return waiting(Keys.bytes(key));
    }

    /** {@link #waiting(String)} for a key of bytes. */
    public final long waiting(byte[] key) {
        return waitingFor(address(), Keys.nonNull(key));
    }

    /** {@link #reserve(String, long, Duration)}, due whenever it is. */
    public final Reservation reserve(String key, long cost) {
        return reserve(key, cost, Decision.NEVER);
    }

    /**
     * Charges {@code cost} tokens of a key now, to be used once they are due, if that is within {@code maxWait}: waiting for callers
     * with a scheduler of their own. A reservation is not credited once its key was evicted.
     *
     * @param key any text
     * @param cost 1 to {@link RateLimiter#MAX_COST} tokens
     * @param maxWait zero: only what can be used at once; {@link Decision#NEVER}: whenever it is
     * @return the tokens, with their time
     * @throws TimedOutException if they would be due later, or somebody waits for the key
     * @throws RefusedException if there is no room for another key
     * @throws ExceedsCapacityException if they never can be had
     * @throws UnsupportedOperationException if the limiter has several quotas, or one of another algorithm than {@link
     *     Algorithm#GCRA}
     * @throws ConfigException if an argument is outside of what is allowed
     * @throws ClosedException if the limiter is closed
     */
    public final Reservation reserve(String key, long cost, Duration maxWait) {
        return reserve(Keys.bytes(key), cost, maxWait);
    }

    /** {@link #reserve(String, long)} for a key of bytes. */
    public final Reservation reserve(byte[] key, long cost) {
        return reserve(key, cost, Decision.NEVER);
    }

    /** {@link #reserve(String, long, Duration)} for a key of bytes. */
    public final Reservation reserve(byte[] key, long cost, Duration maxWait) {
        return reserved(Keys.nonNull(key), cost, maxWait);
    }
}

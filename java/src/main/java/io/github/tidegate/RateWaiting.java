package io.github.tidegate;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;

/** How tokens are waited for, or reserved. */
abstract sealed class RateWaiting extends QuotaLimiter permits RateLimiter {
    RateWaiting(long address, Clock clock) {
        super(address, clock);
    }

    /**
     * Takes one token, waiting for its turn for as long as it takes.
     *
     * @throws InterruptedException if the thread is interrupted before; nothing is taken then
     * @throws QueueFullException if as many wait as may
     * @throws ClosedException if the limiter is closed, or is before its turn comes
     */
    public final void acquire() throws InterruptedException {
        await(null, 1, Nanos.FOR_EVER);
    }

    /** {@link #acquire(long, Duration)} without a timeout. */
    public final void acquire(long cost) throws InterruptedException {
        await(null, cost, Nanos.FOR_EVER);
    }

    /** {@link #acquire(long, Duration)} for one token. */
    public final void acquire(Duration timeout) throws InterruptedException {
        acquire(1, timeout);
    }

    /**
     * Takes {@code cost} tokens, all at once, waiting for its turn for at most {@code timeout}. First come, first served; they are
     * charged when they are due, not before. A wait that would outlast its timeout does not begin. The thread is parked in Java: a
     * virtual one leaves its carrier.
     *
     * <pre>{@code
     * limiter.acquire(1, Duration.ofMillis(200)); // or else TimedOutException, at once if that is known
     * }</pre>
     *
     * @param cost 1 to {@link RateLimiter#MAX_COST} tokens
     * @param timeout zero tries once, {@link Decision#NEVER} is none
     * @throws InterruptedException if the thread is interrupted before; nothing is taken then
     * @throws TimedOutException if it would take longer
     * @throws QueueFullException if as many wait as may
     * @throws ExceedsCapacityException if they never can be had
     * @throws ClosedException if the limiter is closed, or is before its turn comes
     * @throws ConfigException if an argument is outside of what is allowed
     */
    public final void acquire(long cost, Duration timeout) throws InterruptedException {
        await(null, cost, Nanos.unsigned("timeout", timeout));
    }

    /** {@link #acquireAsync(long, Duration)} for one token, without a timeout. */
    public final CompletableFuture<Void> acquireAsync() {
        return acquireAsync(1, Decision.NEVER);
    }

    /** {@link #acquireAsync(long, Duration)} for one token. */
    public final CompletableFuture<Void> acquireAsync(Duration timeout) {
        return acquireAsync(1, timeout);
    }

    /**
     * {@link #acquire(long, Duration)} as a future, which needs no thread. Cancelling it, or completing it by other means, ends the
     * wait, or gives the tokens back, as a refund does, if they were granted first. It is completed on the thread whose call does so:
     * of who resets or closes the limiter, or moves its manual clock; of the common pool when its time has come. What waited for it
     * there should be short, or be asked for by {@code ...Async}.
     *
     * <pre>{@code
     * limiter.acquireAsync(1, Duration.ofSeconds(2)).thenRunAsync(this::send);
     * }</pre>
     *
     * @param cost 1 to {@link RateLimiter#MAX_COST} tokens
     * @param timeout zero tries once, {@link Decision#NEVER} is none
     * @return a future that fails as {@code acquire} does
     * @throws ConfigException if an argument is outside of what is allowed
     */
    public final CompletableFuture<Void> acquireAsync(long cost, Duration timeout) {
        return awaitAsync(null, cost, timeout);
    }

    /**
     * How many callers wait at the moment.
     *
     * @return callers
     * @throws ClosedException if the limiter is closed
     */
    public final long waiting() {
        return waitingFor(address(), null);
    }

    /** {@link #reserve(long, Duration)}, due whenever it is. */
    public final Reservation reserve(long cost) {
        return reserve(cost, Decision.NEVER);
    }

    /**
     * Charges {@code cost} tokens now, to be used once they are due, if that is within {@code maxWait}: waiting for callers with a
     * scheduler of their own.
     *
     * @param cost 1 to {@link RateLimiter#MAX_COST} tokens
     * @param maxWait zero: only what can be used at once; {@link Decision#NEVER}: whenever it is
     * @return the tokens, with their time
     * @throws TimedOutException if they would be due later, or somebody waits
     * @throws ExceedsCapacityException if they never can be had
     * @throws UnsupportedOperationException if the limiter has several quotas, or one of another algorithm than {@link
     *     Algorithm#GCRA}
     * @throws ConfigException if an argument is outside of what is allowed
     * @throws ClosedException if the limiter is closed
     */
    public final Reservation reserve(long cost, Duration maxWait) {
        return reserved(null, cost, maxWait);
    }
}

package io.github.tidegate;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;

/** How permits are waited for. */
abstract sealed class ConcurrencyWaiting extends Lender permits ConcurrencyLimiter {
    ConcurrencyWaiting(long address, Clock clock) {
        super(address, clock);
    }

    /**
     * Takes one permit, waiting for its turn for as long as it takes.
     *
     * @return the permit
     * @throws InterruptedException if the thread is interrupted before; nothing is taken then
     * @throws QueueFullException if as many wait as may
     * @throws ClosedException if the limiter is closed, or is before its turn comes
     */
    public final Permit acquire() throws InterruptedException {
        return await(null, 1, Nanos.FOR_EVER);
    }

    /** {@link #acquire(long, Duration)} without a timeout. */
    public final Permit acquire(long permits) throws InterruptedException {
        return await(null, permits, Nanos.FOR_EVER);
    }

    /** {@link #acquire(long, Duration)} for one permit. */
    public final Permit acquire(Duration timeout) throws InterruptedException {
        return acquire(1, timeout);
    }

    /**
     * Takes permits, all at once, waiting for its turn for at most {@code timeout}. Whoever comes later waits behind, however little
     * it asks for, and {@code tryAcquire} is refused meanwhile. A limit of 0 is a pause. The thread is parked in Java: a virtual one
     * leaves its carrier.
     *
     * <pre>{@code
     * try (Permit permit = limiter.acquire(1, Duration.ofMillis(250))) {
     *     // at most as many as the limit are here at once
     * } catch (TimedOutException late) {
     *     log.warn(late.getMessage()); // timed_out after PT0.25S of PT0.25S: limit 4, 4 in flight, 2 waiting
     * }
     * }</pre>
     *
     * @param permits 1 to {@link RateLimiter#MAX_COST}
     * @param timeout zero tries once, {@link Decision#NEVER} is none
     * @return one Permit for all
     * @throws InterruptedException if the thread is interrupted before; nothing is taken then
     * @throws TimedOutException if it takes longer
     * @throws QueueFullException if as many wait as may
     * @throws ExceedsCapacityException if the limit is lower, or is lowered so meanwhile
     * @throws ClosedException if the limiter is closed, or is before its turn comes
     * @throws ConfigException if an argument is outside of what is allowed
     */
    public final Permit acquire(long permits, Duration timeout) throws InterruptedException {
        return await(null, permits, Nanos.unsigned("timeout", timeout));
    }

    /** {@link #acquireAsync(long, Duration)} for one permit, without a timeout. */
    public final CompletableFuture<Permit> acquireAsync() {
        return acquireAsync(1, Decision.NEVER);
    }

    /** {@link #acquireAsync(long, Duration)} for one permit. */
    public final CompletableFuture<Permit> acquireAsync(Duration timeout) {
        return acquireAsync(1, timeout);
    }

    /**
     * {@link #acquire(long, Duration)} as a future, which needs no thread. Cancelling it, or completing it by other means, ends the
     * wait, or gives the permits back if they were granted first. It is completed on the thread whose call does so: of who releases
     * permits, changes the limit, or closes the limiter; of the common pool when it has timed out. What waited for it there should be
     * short, or be asked for by {@code ...Async}.
     *
     * <pre>{@code
     * limiter.acquireAsync(1, Duration.ofSeconds(2)).thenCompose(permit ->
     *     client.sendAsync(request, handler).whenComplete((response, failure) -> permit.release(failure == null)));
     * }</pre>
     *
     * @param permits 1 to {@link RateLimiter#MAX_COST}
     * @param timeout zero tries once, {@link Decision#NEVER} is none
     * @return a future that fails as {@code acquire} does
     * @throws ConfigException if an argument is outside of what is allowed
     */
    public final CompletableFuture<Permit> acquireAsync(long permits, Duration timeout) {
        return awaitAsync(null, permits, timeout);
    }

    /**
     * How many callers wait at the moment.
     *
     * @return callers
     */
    public final long waiting() {
        settle();
        return waitingFor(null);
    }
}

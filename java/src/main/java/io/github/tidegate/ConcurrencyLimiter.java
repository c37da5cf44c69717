package io.github.tidegate;

import java.lang.ref.Reference;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;

/**
 * Lends at most {@code limit} permits at once.
 *
 * <pre>{@code
 * ConcurrencyLimiter limiter = ConcurrencyLimiter.of(4);
 * try (Permit permit = limiter.tryAcquire().orElse(null)) {
 *     if (permit != null) {
 *         // at most four are here at once
 *     }
 * }
 * }</pre>
 *
 * <p>Every call may come from any thread at once, and a permit may be released on any thread.
 *
 * <p>A limiter need not be closed, nor be opened by {@code try (...)}: a {@link java.lang.ref.Cleaner} frees its memory once
 * neither it nor a permit of it is referred to. {@link #close()} ends its lending, and the waits for it.
 */
public final class ConcurrencyLimiter extends Lender implements AutoCloseable {
    /** The largest limit: 2³¹−1. */
    public static final long MAX_LIMIT = Integer.MAX_VALUE;

    /** How many numbers a permit is across the native border. */
    private static final int FIGURES = 4;

    private static final int LIMITER_ID = 0;
    private static final int PERMITS = 1;
    private static final int ACQUIRED_AT = 2;
    private static final int PROCESS = 3;

    static {
        NativeLibrary.require();
        requireClasses();
    }

    private final long address;
    private final Line line;
    private volatile boolean closed;
    /**
     * By which the native library knows this limiter; 0 before the first release. Read and written by all threads without more
     * ado: what is wrong is only not known.
     */
    private long limiterId;

    private ConcurrencyLimiter(long limit, long maxWaiters, boolean trackHoldTime, Clock clock) {
        line = new PermitLine(clock);
        long[] created = new long[1];
        byte[] error = new byte[Status.ERROR_SIZE];
        try {
            int code = create0(limit, maxWaiters, trackHoldTime, clock == null ? 0 : clock.address, created, error);
            Status.check(code, error);
        } finally {
            Reference.reachabilityFence(clock);
        }
        long address = created[0];
        this.address = address;
        NativeLibrary.CLEANER.register(this, () -> free0(address));
    }

    /**
     * A limiter with no permit out.
     *
     * @param limit 0 to 2³¹−1; 0 refuses everything
     * @throws ConfigException if it is outside of that
     */
    public static ConcurrencyLimiter of(long limit) {
        return builder(limit).build();
    }

    /**
     * Begins a limiter with options.
     *
     * @param limit 0 to 2³¹−1; 0 refuses everything
     * @throws ConfigException if it is outside of that
     */
    public static Builder builder(long limit) {
        return new Builder(limit);
    }

    /**
     * Takes one permit if it can be had now.
     *
     * @return the permit, or nothing if the caller must not go ahead
     * @throws ClosedException if the limiter is closed
     */
    public Optional<Permit> tryAcquire() {
        return tryAcquire(1);
    }

    /**
     * Takes permits if all can be had now.
     *
     * @param permits 1 to {@link RateLimiter#MAX_COST}
     * @return one Permit for all, or nothing if the caller must not go ahead
     * @throws ConfigException if the number is outside of that
     * @throws ClosedException if the limiter is closed
     */
    public Optional<Permit> tryAcquire(long permits) {
        return Optional.ofNullable(take(null, permits, false));
    }

    /**
     * Takes one permit, waiting for its turn for as long as it takes.
     *
     * @throws InterruptedException if the thread is interrupted before; nothing is taken then
     * @throws QueueFullException if as many wait as may
     * @throws ClosedException if the limiter is closed, or is before its turn comes
     */
    public Permit acquire() throws InterruptedException {
        return acquire(1, Nanos.FOR_EVER);
    }

    /** {@link #acquire(long, Duration)} without a timeout. */
    public Permit acquire(long permits) throws InterruptedException {
        return acquire(permits, Nanos.FOR_EVER);
    }

    /** {@link #acquire(long, Duration)} for one permit. */
    public Permit acquire(Duration timeout) throws InterruptedException {
        return acquire(1, timeout);
    }

    /**
     * Takes permits, all at once, waiting for its turn for at most {@code timeout}. Whoever comes later waits behind, however little
     * it asks for, and {@link #tryAcquire(long)} is refused meanwhile. A limit of 0 is a pause. The thread is parked in Java: a
     * virtual one leaves its carrier.
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
    public Permit acquire(long permits, Duration timeout) throws InterruptedException {
        return acquire(permits, Nanos.unsigned("timeout", timeout));
    }

    private Permit acquire(long permits, long timeoutNanos) throws InterruptedException {
        if (Thread.interrupted()) {
            throw new InterruptedException();
        }
        Held held = new Held(this, figures(permits));
        int code = acquire0(address(), permits, timeoutNanos, limiterId, held.figures);
        boolean granted = code == 0 || code == Waits.TOLD; // Status.ALLOWED
        try {
            if (code != 0) {
                line.await(Waits.after(code), permits, timeoutNanos, held.figures);
                granted = true;
            }
            return new Permit(held);
        } catch (Throwable failure) {
            // As in take().
            if (granted) {
                try {
                    held.release(false);
                } catch (StackOverflowError full) {
                    synchronized (owing) {
                        held.next = owed;
                        owed = held;
                    }
                }
            }
            throw failure;
        }
    }

    /** {@link #acquireAsync(long, Duration)} for one permit, without a timeout. */
    public CompletableFuture<Permit> acquireAsync() {
        return acquireAsync(1, Decision.NEVER);
    }

    /** {@link #acquireAsync(long, Duration)} for one permit. */
    public CompletableFuture<Permit> acquireAsync(Duration timeout) {
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
    public CompletableFuture<Permit> acquireAsync(long permits, Duration timeout) {
        long timeoutNanos = Nanos.unsigned("timeout", timeout);
        Held held = new Held(this, figures(permits));
        int code = Waits.after(acquire0(address(), permits, timeoutNanos, limiterId, held.figures));
        return line.future(code, permits, timeoutNanos, held.figures, () -> {
            Permit permit = new Permit(held);
            return new FutureWait.Granted<>(permit, () -> permit.release(false));
        });
    }

    @Override
    long[] figures(long permits) {
        long[] figures = new long[FIGURES];
        figures[LIMITER_ID] = limiterId;
        figures[PERMITS] = permits;
        return figures;
    }

    @Override
    int acquire(byte[] key, long permits, long[] figures) {
        return tryAcquire0(address(), permits, limiterId, figures);
    }

    @Override
    int release(long[] figures, boolean ok) {
        if (limiterId != figures[LIMITER_ID]) {
            limiterId = figures[LIMITER_ID];
        }
        int code = release0(address, figures[LIMITER_ID], figures[PERMITS], figures[ACQUIRED_AT], figures[PROCESS], ok);
        if (code < Waits.TOLD) {
            return code;
        }
        try {
            Waits.tell();
        } catch (StackOverflowError | OutOfMemoryError later) {
            // The next call tells them: this one has done what it was to do.
        }
        return code - Waits.TOLD;
    }

    /**
     * Changes the limit, from the next call on. Never blocks; permits that are out stay out, and none is lent until fewer than
     * the new limit are.
     *
     * @param limit 0 to 2³¹−1
     * @throws ConfigException if it is outside of that; nothing changes then
     */
    public void setLimit(long limit) {
        Status.check(Waits.after(setLimit0(address(), checkLimit(limit))));
    }

    /**
     * The limit at the moment.
     */
    public long limit() {
        long[] limit = new long[1];
        Status.check(limit0(address(), limit));
        return limit[0];
    }

    /**
     * How many permits are out at the moment.
     */
    public long inFlight() {
        long[] inFlight = new long[1];
        Status.check(inFlight0(address(), inFlight));
        return inFlight[0];
    }

    /**
     * How many callers wait at the moment.
     */
    public long waiting() {
        long[] waiting = new long[1];
        Status.check(waiting0(address(), waiting));
        return waiting[0];
    }

    /**
     * How many permits could be taken at the moment. Never negative, also where the limit was set below what is out.
     */
    public long available() {
        long[] available = new long[1];
        Status.check(available0(address(), available));
        return available[0];
    }

    /**
     * What was allowed, denied and released since the limiter was built, and how it stands.
     */
    public Stats stats() {
        address();
        return standing();
    }

    /** {@link #stats()}, also of a limiter that was closed meanwhile. */
    private Stats standing() {
        long[] figures = new long[Stats.FIGURES];
        Status.check(stats0(address, figures));
        return Stats.of(figures);
    }

    /**
     * Runs a task while it holds one permit.
     *
     * @throws RefusedException if there is none now
     * @throws ClosedException if the limiter is closed
     */
    public void run(Runnable task) {
        run(1, task);
    }

    /**
     * Runs a task while it holds permits. They are released when it ends, as failed if it throws.
     *
     * @param permits 1 to {@link RateLimiter#MAX_COST}
     * @throws RefusedException if there are not as many now
     * @throws ExceedsCapacityException if the limit is lower
     * @throws ConfigException if the number is outside of what is allowed
     * @throws ClosedException if the limiter is closed
     */
    public void run(long permits, Runnable task) {
        Mistake.nonNull("task", task, "a Runnable");
        Permit permit = take(null, permits, true);
        boolean ok = false;
        try {
            task.run();
            ok = true;
        } finally {
            permit.release(ok);
        }
    }

    /**
     * Calls a task while it holds one permit.
     *
     * @return what the task returns
     * @throws Exception what the task throws
     * @throws RefusedException if there is none now
     * @throws ClosedException if the limiter is closed
     */
    public <T> T call(Callable<T> task) throws Exception {
        return call(1, task);
    }

    /**
     * Calls a task while it holds permits. They are released when it ends, as failed if it throws.
     *
     * @param permits 1 to {@link RateLimiter#MAX_COST}
     * @return what the task returns
     * @throws Exception what the task throws
     * @throws RefusedException if there are not as many now
     * @throws ExceedsCapacityException if the limit is lower
     * @throws ConfigException if the number is outside of what is allowed
     * @throws ClosedException if the limiter is closed
     */
    public <T> T call(long permits, Callable<T> task) throws Exception {
        Mistake.nonNull("task", task, "a Callable");
        Permit permit = take(null, permits, true);
        boolean ok = false;
        try {
            T result = task.call();
            ok = true;
            return result;
        } finally {
            permit.release(ok);
        }
    }

    @Override
    String refusal(Status status, byte[] key, long permits) {
        Stats standing = standing();
        if (status == Status.EXCEEDS_CAPACITY) {
            return permits + " permits can never be had: the limit is " + standing.limit();
        }
        return RefusedException.text(
                permits,
                "permit",
                standing.limit() == 0
                        ? "the limit is 0"
                        : standing.available() + " of " + standing.limit() + " available");
    }

    /**
     * Lends nothing any more, for ever: who waits and who comes gets a {@link ClosedException}. Permits that are out can be released,
     * and how the limiter stands can be read. May be called at any time, from any thread, repeatedly.
     */
    @Override
    public void close() {
        closed = true;
        Status.check(Waits.after(close0(address)));
    }

    /** Those who wait for permits. */
    private final class PermitLine extends Line {
        PermitLine(Clock clock) {
            super("permits", clock);
        }

        @Override
        int poll(long ticket, long[] wakeAfterNanos) {
            return Waits.after(poll0(address, ticket, wakeAfterNanos));
        }

        @Override
        int cancel(long ticket) {
            return Waits.after(cancel0(address, ticket));
        }

        @Override
        boolean isClosed() {
            return closed;
        }

        @Override
        Refusal refusal(Status status, long elapsedNanos, long timeoutNanos) {
            Stats standing = standing();
            return new Refusal(
                    status,
                    Duration.ofNanos(elapsedNanos),
                    Nanos.duration(timeoutNanos),
                    standing.limit(),
                    standing.inFlight(),
                    standing.waiting());
        }
    }

    /** The permits out and the limit, for people. */
    @Override
    public String toString() {
        if (closed) {
            return "ConcurrencyLimiter(closed)";
        }
        Stats stats = standing();
        return "ConcurrencyLimiter(" + stats.inFlight() + " of " + stats.limit() + " out)";
    }

    /** Where the native limiter is. It stays there as long as this object is reachable, as it is during a native call on it. */
    private long address() {
        settle();
        return address;
    }

    static long checkLimit(long limit) {
        return Mistake.within("limit", limit, 0, MAX_LIMIT);
    }

    /** A limiter in the making. */
    public static final class Builder {
        private final long limit;
        private long maxWaiters = RateLimiter.MAX_WAITERS;
        private boolean trackHoldTime;
        private Clock clock;

        private Builder(long limit) {
            this.limit = checkLimit(limit);
        }

        /**
         * How many may wait at once.
         *
         * @param maxWaiters 0, for none, to {@link RateLimiter#MAX_WAITERS}, the default
         * @throws ConfigException if it is outside of that
         */
        public Builder maxWaiters(long maxWaiters) {
            this.maxWaiters = Mistake.within("maxWaiters", maxWaiters, 0, RateLimiter.MAX_WAITERS);
            return this;
        }

        /** Whether to measure how long permits are held, which costs two clock readings for each. Not, by default. */
        public Builder trackHoldTime(boolean trackHoldTime) {
            this.trackHoldTime = trackHoldTime;
            return this;
        }

        /** Lets timeouts and hold times go by a clock of the caller's: a {@link ManualClock}, in tests. */
        public Builder clock(Clock clock) {
            this.clock = Mistake.nonNull("clock", clock, "a Clock");
            return this;
        }

        /** The limiter, with no permit out. */
        public ConcurrencyLimiter build() {
            return new ConcurrencyLimiter(limit, maxWaiters, trackHoldTime, clock);
        }
    }

    private static native int create0(
            long limit, long maxWaiters, boolean trackHoldTime, long clock, long[] created, byte[] error);

    private static native void free0(long address);

    // Instance methods, all that follow: the receiver is reachable while one runs, so that nothing frees the limiter
    // then.

    private native int tryAcquire0(long address, long permits, long knownLimiter, long[] figures);

    private native int acquire0(long address, long permits, long timeoutNanos, long knownLimiter, long[] figures);

    private native int poll0(long address, long ticket, long[] wakeAfterNanos);

    private native int cancel0(long address, long ticket);

    private native int close0(long address);

    private native int waiting0(long address, long[] waiting);

    private native int release0(
            long address, long limiterId, long permits, long acquiredAtNanos, long process, boolean ok);

    private native int setLimit0(long address, long limit);

    private native int limit0(long address, long[] limit);

    private native int inFlight0(long address, long[] inFlight);

    private native int available0(long address, long[] available);

    private native int stats0(long address, long[] figures);
}

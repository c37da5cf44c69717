package io.github.tidegate;

import java.lang.ref.Reference;
import java.util.Optional;
import java.util.concurrent.Callable;

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
public final class ConcurrencyLimiter extends ConcurrencyWaiting {
    /** The largest limit: 2³¹−1. */
    public static final long MAX_LIMIT = Integer.MAX_VALUE;

    /** The order of the numbers that a permit is across the native border. */
    private static final int LIMITER_ID = 0;

    private static final int ACQUIRED_AT = 2;
    private static final int PROCESS = 3;

    static {
        NativeLibrary.require();
        requireClasses();
    }

    /**
     * By which the native library knows this limiter; 0 before the first release. Read and written by all threads without more
     * ado: what is wrong is only not known.
     */
    private long limiterId;

    final AtHand atHand = new AtHand(permits -> release0(address, limiterId, permits, 0, 0, true));
    /** Whether more are out than a lowered limit: then what comes back is not to be lent again. Changed under {@code atHand}. */
    private boolean isOverLimit;

    private ConcurrencyLimiter(Builder options) {
        super(create(options), options.clock);
        if (options.trackHoldTime) {
            // Never at hand: how long each is held is for the native limiter to see.
            atHand.beginAsking();
        }
        long address = this.address;
        NativeLibrary.CLEANER.register(this, () -> free0(address));
    }

    private static long create(Builder options) {
        long[] created = new long[1];
        byte[] error = new byte[Status.ERROR_SIZE];
        Clock clock = options.clock;
        try {
            int code = create0(
                    options.limit,
                    options.maxWaiters,
                    options.trackHoldTime,
                    clock == null ? 0 : clock.address,
                    created,
                    error);
            Status.check(code, error);
        } finally {
            Reference.reachabilityFence(clock);
        }
        return created[0];
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

    @Override
    long[] prepared(long[] figures, long permits) {
        figures[LIMITER_ID] = limiterId;
        figures[PERMITS] = permits;
        figures[ACQUIRED_AT] = 0;
        figures[PROCESS] = 0;
        return figures;
    }

    @Override
    boolean takeAtHand(long permits) {
        if (permits == 1 && atHand.take()) {
            return true;
        }
        beginAsking();
        return false;
    }

    @Override
    void beginAsking() {
        atHand.beginAsking();
        Waits.after(atHand.surrender());
    }

    @Override
    void endAsking() {
        atHand.endAsking();
    }

    @Override
    int tryAcquire(byte[] key, long permits, long[] figures) {
        return tryAcquire0(address, permits, limiterId, figures);
    }

    @Override
    int acquire(byte[] key, long permits, long timeoutNanos, long[] figures) {
        return acquire0(address, permits, timeoutNanos, limiterId, figures);
    }

    @Override
    int giveBack(long[] figures, boolean ok) {
        if (limiterId != figures[LIMITER_ID]) {
            limiterId = figures[LIMITER_ID];
        }
        boolean mayStay = ok && figures[PERMITS] == 1 && figures[ACQUIRED_AT] == 0 && figures[PROCESS] == 0;
        if (mayStay && atHand.put()) {
            try {
                return atHand.asking == 0 ? 0 : atHand.surrender();
            } catch (StackOverflowError | OutOfMemoryError later) {
                // The next call does: this one has done what it was to do.
                return 0;
            }
        }
        return release0(address, figures[LIMITER_ID], figures[PERMITS], figures[ACQUIRED_AT], figures[PROCESS], ok);
    }

    /**
     * How many permits are out at the moment.
     */
    public long inFlight() {
        settle();
        return inFlightOf(null);
    }

    /**
     * How many permits could be taken at the moment. Never negative, also where the limit was set below what is out.
     */
    public long available() {
        settle();
        long[] available = new long[1];
        beginAsking();
        int code = available0(address, available);
        endAsking();
        Status.check(code);
        return available[0];
    }

    @Override
    long inFlightOf(byte[] key) {
        long[] inFlight = new long[1];
        beginAsking();
        int code = inFlight0(address, inFlight);
        endAsking();
        Status.check(code);
        return inFlight[0];
    }

    @Override
    int readStats(long[] figures) {
        beginAsking();
        int code = stats0(address, figures);
        // Each that was taken here had come back here, its work done well.
        long taken = atHand.taken();
        figures[Stats.ALLOWED] += taken;
        figures[Stats.RELEASED_OK] += taken + atHand.releasedTogether();
        endAsking();
        return code;
    }

    @Override
    int changeLimit(long limit) {
        long[] inFlight = new long[1];
        beginAsking();
        int code;
        synchronized (atHand) {
            code = setLimit0(address, limit);
            inFlight0(address, inFlight);
            boolean wasOverLimit = isOverLimit;
            isOverLimit = inFlight[0] > limit;
            if (isOverLimit && !wasOverLimit) {
                atHand.beginAsking();
            } else if (wasOverLimit && !isOverLimit) {
                atHand.endAsking();
            }
        }
        endAsking();
        return code;
    }

    @Override
    long waitingFor(byte[] key) {
        long[] waiting = new long[1];
        Status.check(waiting0(address, waiting));
        return waiting[0];
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
        hold(null, permits, task);
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
        return hold(null, permits, task);
    }

    @Override
    String refusal(Status status, byte[] key, long permits) {
        Stats standing = stats();
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

    /** The permits out and the limit, for people. */
    @Override
    public String toString() {
        if (isClosed()) {
            return "ConcurrencyLimiter(closed)";
        }
        Stats stats = stats();
        return "ConcurrencyLimiter(" + stats.inFlight() + " of " + stats.limit() + " out)";
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
            this.maxWaiters = RateLimiter.checkMaxWaiters(maxWaiters);
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
            return new ConcurrencyLimiter(this);
        }
    }

    private static native int create0(
            long limit, long maxWaiters, boolean trackHoldTime, long clock, long[] created, byte[] error);

    private static native void free0(long address);

    // Instance methods, all that follow: the receiver is reachable while one runs, so that nothing frees the limiter
    // then.

    private native int tryAcquire0(long address, long permits, long knownLimiter, long[] figures);

    private native int acquire0(long address, long permits, long timeoutNanos, long knownLimiter, long[] figures);

    @Override
    native int poll0(long address, long ticket, long[] wakeAfterNanos);

    @Override
    native int cancel0(long address, long ticket);

    @Override
    native int close0(long address);

    private native int waiting0(long address, long[] waiting);

    private native int release0(
            long address, long limiterId, long permits, long acquiredAtNanos, long process, boolean ok);

    @Override
    native int setLimit0(long address, long limit);

    @Override
    native int limit0(long address, long[] limit);

    private native int inFlight0(long address, long[] inFlight);

    private native int available0(long address, long[] available);

    @Override
    native int stats0(long address, long[] figures);
}

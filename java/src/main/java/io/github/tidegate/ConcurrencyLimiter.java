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
 * neither it nor a permit of it is referred to. {@link #close()} only makes each later call an {@link IllegalStateException};
 * permits that are out can be released all the same.
 */
public final class ConcurrencyLimiter extends Lender implements AutoCloseable {
    /** The largest limit: 2³¹−1. */
    public static final long MAX_LIMIT = Integer.MAX_VALUE;

    /** How many numbers a permit is across the native border. */
    private static final int FIGURES = 3;

    static {
        NativeLibrary.require();
        requireClasses();
    }

    private final long address;
    private volatile boolean closed;

    private ConcurrencyLimiter(long limit, boolean trackHoldTime, Clock clock) {
        long[] created = new long[1];
        byte[] error = new byte[Status.ERROR_SIZE];
        try {
            int code = create0(limit, trackHoldTime, clock == null ? 0 : clock.address, created, error);
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
     * @throws IllegalStateException if the limiter is closed
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
     * @throws IllegalStateException if the limiter is closed
     */
    public Optional<Permit> tryAcquire(long permits) {
        return Optional.ofNullable(take(null, permits, false));
    }

    @Override
    long[] figures() {
        return new long[FIGURES];
    }

    @Override
    int acquire(byte[] key, long permits, long[] figures) {
        return tryAcquire0(address(), permits, figures);
    }

    @Override
    int release(long[] figures, boolean ok) {
        return release0(address, figures, ok);
    }

    /**
     * Changes the limit, from the next call on. Never blocks; permits that are out stay out, and none is lent until fewer than
     * the new limit are.
     *
     * @param limit 0 to 2³¹−1
     * @throws ConfigException if it is outside of that; nothing changes then
     * @throws IllegalStateException if the limiter is closed
     */
    public void setLimit(long limit) {
        Status.check(setLimit0(address(), checkLimit(limit)));
    }

    /**
     * The limit at the moment.
     *
     * @throws IllegalStateException if the limiter is closed
     */
    public long limit() {
        long[] limit = new long[1];
        Status.check(limit0(address(), limit));
        return limit[0];
    }

    /**
     * How many permits are out at the moment.
     *
     * @throws IllegalStateException if the limiter is closed
     */
    public long inFlight() {
        long[] inFlight = new long[1];
        Status.check(inFlight0(address(), inFlight));
        return inFlight[0];
    }

    /**
     * How many permits could be taken at the moment. Never negative, also where the limit was set below what is out.
     *
     * @throws IllegalStateException if the limiter is closed
     */
    public long available() {
        long[] available = new long[1];
        Status.check(available0(address(), available));
        return available[0];
    }

    /**
     * What was allowed, denied and released since the limiter was built, and how it stands.
     *
     * @throws IllegalStateException if the limiter is closed
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
     * @throws IllegalStateException if the limiter is closed
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
     * @throws IllegalStateException if the limiter is closed
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
     * @throws IllegalStateException if the limiter is closed
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
     * @throws IllegalStateException if the limiter is closed
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
     * Makes each later call an {@link IllegalStateException}, but for the release of permits that are out. May be called at any
     * time, from any thread, repeatedly.
     */
    @Override
    public void close() {
        closed = true;
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
        if (closed) {
            throw new IllegalStateException(Mistake.text("limiter", "one that is closed", "one that is open"));
        }
        settle();
        return address;
    }

    static long checkLimit(long limit) {
        return Mistake.within("limit", limit, 0, MAX_LIMIT);
    }

    /** A limiter in the making. */
    public static final class Builder {
        private final long limit;
        private boolean trackHoldTime;
        private Clock clock;

        private Builder(long limit) {
            this.limit = checkLimit(limit);
        }

        /** Whether to measure how long permits are held, which costs two clock readings for each. Not, by default. */
        public Builder trackHoldTime(boolean trackHoldTime) {
            this.trackHoldTime = trackHoldTime;
            return this;
        }

        /** Lets hold times go by a clock of the caller's: a {@link ManualClock}, in tests. */
        public Builder clock(Clock clock) {
            this.clock = Mistake.nonNull("clock", clock, "a Clock");
            return this;
        }

        /** The limiter, with no permit out. */
        public ConcurrencyLimiter build() {
            return new ConcurrencyLimiter(limit, trackHoldTime, clock);
        }
    }

    private static native int create0(long limit, boolean trackHoldTime, long clock, long[] created, byte[] error);

    private static native void free0(long address);

    // Instance methods, all that follow: the receiver is reachable while one runs, so that nothing frees the limiter
    // then.

    private native int tryAcquire0(long address, long permits, long[] figures);

    private native int release0(long address, long[] figures, boolean ok);

    private native int setLimit0(long address, long limit);

    private native int limit0(long address, long[] limit);

    private native int inFlight0(long address, long[] inFlight);

    private native int available0(long address, long[] available);

    private native int stats0(long address, long[] figures);
}

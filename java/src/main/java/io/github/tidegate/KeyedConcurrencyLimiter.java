package io.github.tidegate;

import java.lang.ref.Reference;
import java.util.Optional;
import java.util.concurrent.Callable;

/**
 * Lends at most {@code limit} permits of each key at once, in memory that doesn't grow.
 *
 * <pre>{@code
 * KeyedConcurrencyLimiter limiter = KeyedConcurrencyLimiter.of(2);
 * try (Permit permit = limiter.tryAcquire("tenant 7").orElse(null)) {
 *     if (permit != null) {
 *         // at most two for this tenant are here at once
 *     }
 * }
 * }</pre>
 *
 * <p>A key is a text or bytes; a text is the same key as its {@link Keys#bytes}. {@link Keys} makes keys of several parts and of
 * network addresses. Keys are not stored: a table of fixed size takes 40 bytes for each key of {@code maxKeys}. A key with
 * permits out keeps its place until they are back; a new key that finds none is refused.
 *
 * <p>Every call may come from any thread at once, and a permit may be released on any thread.
 *
 * <p>A limiter need not be closed, nor be opened by {@code try (...)}: a {@link java.lang.ref.Cleaner} frees its memory once
 * neither it nor a permit of it is referred to. {@link #close()} only makes each later call a {@link ClosedException};
 * permits that are out can be released all the same.
 */
public final class KeyedConcurrencyLimiter extends Lender implements AutoCloseable {
    /** How many numbers a permit is across the native border. */
    private static final int FIGURES = 4;

    static {
        NativeLibrary.require();
        requireClasses();
        Keys.require();
    }

    private final long address;
    private final long maxKeys;
    private volatile boolean closed;

    private KeyedConcurrencyLimiter(long limit, long maxKeys, boolean trackHoldTime, Clock clock) {
        long[] created = new long[1];
        byte[] error = new byte[Status.ERROR_SIZE];
        try {
            int code = create0(limit, maxKeys, trackHoldTime, clock == null ? 0 : clock.address, created, error);
            Status.check(code, error);
        } finally {
            Reference.reachabilityFence(clock);
        }
        long address = created[0];
        this.address = address;
        this.maxKeys = maxKeys;
        NativeLibrary.CLEANER.register(this, () -> free0(address));
    }

    /**
     * A limiter with no permit out and room for {@link KeyedRateLimiter#DEFAULT_MAX_KEYS}.
     *
     * @param limit 0 to 2³¹−1 permits of each key; 0 refuses everything
     * @throws ConfigException if it is outside of that
     */
    public static KeyedConcurrencyLimiter of(long limit) {
        return builder(limit).build();
    }

    /**
     * Begins a limiter with options.
     *
     * @param limit 0 to 2³¹−1 permits of each key; 0 refuses everything
     * @throws ConfigException if it is outside of that
     */
    public static Builder builder(long limit) {
        return new Builder(limit);
    }

    /** {@link #tryAcquire(String, long)} for one permit. */
    public Optional<Permit> tryAcquire(String key) {
        return tryAcquire(key, 1);
    }

    /**
     * Takes permits of a key if all can be had now.
     *
     * @param key any text
     * @param permits 1 to {@link RateLimiter#MAX_COST}
     * @return one Permit for all, or nothing if the caller must not go ahead
     * @throws ConfigException if the number is outside of that
     * @throws ClosedException if the limiter is closed
     */
    public Optional<Permit> tryAcquire(String key, long permits) {
        return tryAcquire(Keys.bytes(key), permits);
    }

    /** {@link #tryAcquire(byte[], long)} for one permit. */
    public Optional<Permit> tryAcquire(byte[] key) {
        return tryAcquire(key, 1);
    }

    /**
     * {@link #tryAcquire(String, long)} for a key of bytes.
     *
     * @throws ConfigException if the number is outside of what is allowed
     * @throws ClosedException if the limiter is closed
     */
    public Optional<Permit> tryAcquire(byte[] key, long permits) {
        return Optional.ofNullable(take(nonNull(key), permits, false));
    }

    @Override
    long[] figures(long permits) {
        return new long[FIGURES];
    }

    @Override
    int acquire(byte[] key, long permits, long[] figures) {
        return tryAcquire0(address(), key, permits, figures);
    }

    @Override
    int release(long[] figures, boolean ok) {
        return release0(address, figures, ok);
    }

    /** {@link #run(String, long, Runnable)} with one permit. */
    public void run(String key, Runnable task) {
        run(key, 1, task);
    }

    /**
     * Runs a task while it holds permits of a key. They are released when it ends, as failed if it throws.
     *
     * @param key any text
     * @param permits 1 to {@link RateLimiter#MAX_COST}
     * @throws RefusedException if there are not as many now, or no room for another key
     * @throws ExceedsCapacityException if the limit is lower
     * @throws ConfigException if the number is outside of what is allowed
     * @throws ClosedException if the limiter is closed
     */
    public void run(String key, long permits, Runnable task) {
        run(Keys.bytes(key), permits, task);
    }

    /** {@link #run(byte[], long, Runnable)} with one permit. */
    public void run(byte[] key, Runnable task) {
        run(key, 1, task);
    }

    /** {@link #run(String, long, Runnable)} for a key of bytes. */
    public void run(byte[] key, long permits, Runnable task) {
        Mistake.nonNull("task", task, "a Runnable");
        Permit permit = take(nonNull(key), permits, true);
        boolean ok = false;
        try {
            task.run();
            ok = true;
        } finally {
            permit.release(ok);
        }
    }

    /** {@link #call(String, long, Callable)} with one permit. */
    public <T> T call(String key, Callable<T> task) throws Exception {
        return call(key, 1, task);
    }

    /**
     * Calls a task while it holds permits of a key, as {@link #run(String, long, Runnable)} does.
     *
     * @return what the task returns
     * @throws Exception what the task throws
     * @throws RefusedException if there are not as many permits now, or no room for another key
     */
    public <T> T call(String key, long permits, Callable<T> task) throws Exception {
        return call(Keys.bytes(key), permits, task);
    }

    /** {@link #call(byte[], long, Callable)} with one permit. */
    public <T> T call(byte[] key, Callable<T> task) throws Exception {
        return call(key, 1, task);
    }

    /** {@link #call(String, long, Callable)} for a key of bytes. */
    public <T> T call(byte[] key, long permits, Callable<T> task) throws Exception {
        Mistake.nonNull("task", task, "a Callable");
        Permit permit = take(nonNull(key), permits, true);
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
        long[] limit = new long[1];
        Status.check(limit0(address, limit));
        if (status == Status.EXCEEDS_CAPACITY) {
            return permits + " permits can never be had: the limit is " + limit[0];
        }
        if (status == Status.KEYS_FULL) {
            return RefusedException.text(permits, "permit", "no room for another key");
        }
        long[] available = new long[1];
        Status.check(available0(address, key, available));
        return RefusedException.text(
                permits, "permit", limit[0] == 0 ? "the limit is 0" : available[0] + " of " + limit[0] + " available");
    }

    /**
     * Changes the limit of all keys, from the next call on. Never blocks; permits that are out stay out. A call that is under
     * way may still go by the limit before.
     *
     * @param limit 0 to 2³¹−1
     * @throws ConfigException if it is outside of that; nothing changes then
     * @throws ClosedException if the limiter is closed
     */
    public void setLimit(long limit) {
        Status.check(setLimit0(address(), ConcurrencyLimiter.checkLimit(limit)));
    }

    /**
     * How many permits of each key may be out at the moment.
     *
     * @throws ClosedException if the limiter is closed
     */
    public long limit() {
        long[] limit = new long[1];
        Status.check(limit0(address(), limit));
        return limit[0];
    }

    /**
     * How many permits of a key are out at the moment.
     *
     * @throws ClosedException if the limiter is closed
     */
    public long inFlight(String key) {
        return inFlight(Keys.bytes(key));
    }

    /** {@link #inFlight(String)} for a key of bytes. */
    public long inFlight(byte[] key) {
        long[] inFlight = new long[1];
        Status.check(inFlight0(address(), nonNull(key), inFlight));
        return inFlight[0];
    }

    /**
     * How many permits of a key could be taken at the moment, if there is room for it. Never negative, also where the limit was
     * set below what is out.
     *
     * @throws ClosedException if the limiter is closed
     */
    public long available(String key) {
        return available(Keys.bytes(key));
    }

    /** {@link #available(String)} for a key of bytes. */
    public long available(byte[] key) {
        long[] available = new long[1];
        Status.check(available0(address(), nonNull(key), available));
        return available[0];
    }

    /**
     * For how many keys with permits out there is room: {@code maxKeys}.
     *
     * @throws ClosedException if the limiter is closed
     */
    public long capacity() {
        address();
        return maxKeys;
    }

    /**
     * What was allowed, denied and released since the limiter was built, over all keys, and how they stand: counted over the
     * whole table, in proportion to {@code maxKeys}. The limit is that of one key, {@code available} is 0.
     *
     * @throws ClosedException if the limiter is closed
     */
    public Stats stats() {
        long[] figures = new long[Stats.FIGURES];
        Status.check(stats0(address(), figures));
        return Stats.of(figures);
    }

    /**
     * Makes each later call a {@link ClosedException}, but for the release of permits that are out. May be called at any
     * time, from any thread, repeatedly.
     */
    @Override
    public void close() {
        closed = true;
    }

    /** The limit and the capacity, for people. */
    @Override
    public String toString() {
        if (closed) {
            return "KeyedConcurrencyLimiter(closed)";
        }
        long[] limit = new long[1];
        Status.check(limit0(address, limit));
        return "KeyedConcurrencyLimiter(" + limit[0] + " each, " + maxKeys + " keys)";
    }

    private static byte[] nonNull(byte[] key) {
        return Mistake.nonNull("key", key, Keys.ALLOWED);
    }

    /** Where the native limiter is. It stays there as long as this object is reachable, as it is during a native call on it. */
    private long address() {
        if (closed) {
            throw ClosedException.ofCall();
        }
        settle();
        return address;
    }

    /** A limiter in the making. */
    public static final class Builder {
        private final long limit;
        private long maxKeys = KeyedRateLimiter.DEFAULT_MAX_KEYS;
        private boolean trackHoldTime;
        private Clock clock;

        private Builder(long limit) {
            this.limit = ConcurrencyLimiter.checkLimit(limit);
        }

        /**
         * For how many keys with permits out there is room, at 40 bytes for each.
         *
         * @param maxKeys 1 to {@link KeyedRateLimiter#MAX_KEYS}; {@link KeyedRateLimiter#DEFAULT_MAX_KEYS} by default
         * @throws ConfigException if it is outside of that
         */
        public Builder maxKeys(long maxKeys) {
            this.maxKeys = KeyedRateLimiter.checkMaxKeys(maxKeys);
            return this;
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

        /**
         * The limiter, with no permit out.
         *
         * @throws ConfigException if there is no memory for as many keys
         */
        public KeyedConcurrencyLimiter build() {
            return new KeyedConcurrencyLimiter(limit, maxKeys, trackHoldTime, clock);
        }
    }

    private static native int create0(
            long limit, long maxKeys, boolean trackHoldTime, long clock, long[] created, byte[] error);

    private static native void free0(long address);

    // Instance methods, all that follow: the receiver is reachable while one runs, so that nothing frees the limiter
    // then.

    private native int tryAcquire0(long address, byte[] key, long permits, long[] figures);

    private native int release0(long address, long[] figures, boolean ok);

    private native int setLimit0(long address, long limit);

    private native int limit0(long address, long[] limit);

    private native int inFlight0(long address, byte[] key, long[] inFlight);

    private native int available0(long address, byte[] key, long[] available);

    private native int stats0(long address, long[] figures);
}

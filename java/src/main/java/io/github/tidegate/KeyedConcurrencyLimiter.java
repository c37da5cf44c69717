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
 * neither it nor a permit of it is referred to. {@link #close()} ends its lending, and the waits for it.
 */
public final class KeyedConcurrencyLimiter extends KeyedConcurrencyWaiting {
    /** The order of the numbers that a permit is across the native border; how many it holds is where it is in every permit. */
    private static final int LIMITER_ID = 0;

    private static final int KEY = 2;
    private static final int KEY_REST = 3;

    static {
        NativeLibrary.require();
        requireClasses();
        Keys.require();
    }

    private final long maxKeys;

    private KeyedConcurrencyLimiter(Builder options) {
        super(create(options), options.clock);
        maxKeys = options.maxKeys;
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
                    options.maxKeys,
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
        return Optional.ofNullable(take(Keys.nonNull(key), permits, false));
    }

    @Override
    long[] prepared(long[] figures, long permits) {
        return figures;
    }

    @Override
    int tryAcquire(byte[] key, long permits, long[] figures) {
        return tryAcquire0(address, key, permits, figures);
    }

    @Override
    int acquire(byte[] key, long permits, long timeoutNanos, long[] figures) {
        return acquire0(address, key, permits, timeoutNanos, figures);
    }

    @Override
    int giveBack(long[] figures, boolean ok) {
        return release0(address, figures[LIMITER_ID], figures[PERMITS], figures[KEY], figures[KEY_REST], ok);
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
        hold(Keys.nonNull(key), permits, task);
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
        return hold(Keys.nonNull(key), permits, task);
    }

    @Override
    String refusal(Status status, byte[] key, long permits) {
        long limit = limit();
        if (status == Status.EXCEEDS_CAPACITY) {
            return permits + " permits can never be had: the limit is " + limit;
        }
        if (status == Status.KEYS_FULL) {
            return RefusedException.text(permits, "permit", "no room for another key");
        }
        return RefusedException.text(
                permits, "permit", limit == 0 ? "the limit is 0" : available(key) + " of " + limit + " available");
    }

    /**
     * How many permits of a key are out at the moment.
     */
    public long inFlight(String key) {
        return inFlight(Keys.bytes(key));
    }

    /** {@link #inFlight(String)} for a key of bytes. */
    public long inFlight(byte[] key) {
        settle();
        return inFlightOf(Keys.nonNull(key));
    }

    /**
     * How many permits of a key could be taken at the moment, if there is room for it. Never negative, also where the limit was
     * set below what is out.
     */
    public long available(String key) {
        return available(Keys.bytes(key));
    }

    /** {@link #available(String)} for a key of bytes. */
    public long available(byte[] key) {
        settle();
        long[] available = new long[1];
        Status.check(available0(address, Keys.nonNull(key), available));
        return available[0];
    }

    @Override
    long inFlightOf(byte[] key) {
        long[] inFlight = new long[1];
        Status.check(inFlight0(address, key, inFlight));
        return inFlight[0];
    }

    @Override
    long waitingFor(byte[] key) {
        long[] waiting = new long[1];
        Status.check(waiting0(address, key, waiting));
        return waiting[0];
    }

    /**
     * For how many keys with permits out, or waited for, there is room: {@code maxKeys}.
     */
    public long capacity() {
        return maxKeys;
    }

    /** The limit and the capacity, for people. */
    @Override
    public String toString() {
        return isClosed()
                ? "KeyedConcurrencyLimiter(closed)"
                : "KeyedConcurrencyLimiter(" + limit() + " each, " + maxKeys + " keys)";
    }

    /** A limiter in the making. */
    public static final class Builder {
        private final long limit;
        private long maxKeys = KeyedRateLimiter.DEFAULT_MAX_KEYS;
        private long maxWaiters = RateLimiter.MAX_WAITERS;
        private boolean trackHoldTime;
        private Clock clock;

        private Builder(long limit) {
            this.limit = checkLimit(limit);
        }

        /**
         * For how many keys with permits out, or waited for, there is room, at 40 bytes for each.
         *
         * @param maxKeys 1 to {@link KeyedRateLimiter#MAX_KEYS}; {@link KeyedRateLimiter#DEFAULT_MAX_KEYS} by default
         * @throws ConfigException if it is outside of that
         */
        public Builder maxKeys(long maxKeys) {
            this.maxKeys = KeyedRateLimiter.checkMaxKeys(maxKeys);
            return this;
        }

        /**
         * How many may wait for one key at once.
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

        /**
         * The limiter, with no permit out.
         *
         * @throws ConfigException if there is no memory for as many keys
         */
        public KeyedConcurrencyLimiter build() {
            return new KeyedConcurrencyLimiter(this);
        }
    }

    private static native int create0(
            long limit, long maxKeys, long maxWaiters, boolean trackHoldTime, long clock, long[] created, byte[] error);

    private static native void free0(long address);

    // Instance methods, all that follow: the receiver is reachable while one runs, so that nothing frees the limiter
    // then.

    private native int tryAcquire0(long address, byte[] key, long permits, long[] figures);

    private native int acquire0(long address, byte[] key, long permits, long timeoutNanos, long[] figures);

    @Override
    native int poll0(long address, long ticket, long[] wakeAfterNanos);

    @Override
    native int cancel0(long address, long ticket);

    @Override
    native int close0(long address);

    private native int waiting0(long address, byte[] key, long[] waiting);

    private native int release0(long address, long limiterId, long permits, long keyHash, long keyHashRest, boolean ok);

    @Override
    native int setLimit0(long address, long limit);

    @Override
    native int limit0(long address, long[] limit);

    private native int inFlight0(long address, byte[] key, long[] inFlight);

    private native int available0(long address, byte[] key, long[] available);

    @Override
    native int stats0(long address, long[] figures);
}

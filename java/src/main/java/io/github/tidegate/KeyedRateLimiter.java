package io.github.tidegate;

import java.lang.ref.Reference;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.Callable;

/**
 * A {@link RateLimiter} for each key, such as a user, an address or a path, in memory that doesn't grow.
 *
 * <pre>{@code
 * KeyedRateLimiter limiter = KeyedRateLimiter.of("5/s burst 10");
 * if (limiter.tryAcquire("203.0.113.7")) {
 *     // go ahead
 * }
 * }</pre>
 *
 * <p>A key is a text or bytes; a text is the same key as its {@link Keys#bytes}. {@link Keys} makes keys of several parts and of
 * network addresses. Keys are not stored: a table of fixed size takes 40 bytes for each key of {@code maxKeys} and each quota.
 * A key that owes nothing takes no room. If more keys than there is room for owe something at once, {@link WhenFull} says what
 * becomes of a new one.
 *
 * <p>Every call may come from any thread at once; each is one atomic step per quota. With several quotas no bound is ever
 * exceeded, and without a race a refusal charges nothing; in a race a call may be refused because of another's charge that is
 * just being undone.
 *
 * <p>A limiter need not be closed, nor be opened by {@code try (...)}: a {@link java.lang.ref.Cleaner} frees its memory once
 * nothing refers to it. {@link #close()} makes each later call a {@link ClosedException}, as which all waits end.
 */
public final class KeyedRateLimiter extends KeyedRateWaiting {
    /** For how many keys there is room unless asked otherwise. */
    public static final long DEFAULT_MAX_KEYS = 100_000;

    /** The largest {@code maxKeys}: 2³². */
    public static final long MAX_KEYS = 1L << 32;

    /** The largest {@code trackDenied}. */
    public static final int MAX_TRACK_DENIED = 65_536;

    static {
        NativeLibrary.require();
        // A class whose first use overflows the stack can never be used again.
        Keys.require();
    }

    private final long maxKeys;
    private final int trackDenied;

    private KeyedRateLimiter(Builder options) {
        super(create(options), options.clock);
        maxKeys = options.maxKeys;
        trackDenied = options.trackDenied;
        long address = address();
        NativeLibrary.CLEANER.register(this, () -> free0(address));
    }

    private static long create(Builder options) {
        long[] created = new long[1];
        byte[] error = new byte[Status.ERROR_SIZE];
        Clock clock = options.clock;
        try {
            Status.check(
                    create0(
                            options.quotas,
                            options.maxKeys,
                            options.whenFull.code,
                            options.trackDenied,
                            options.maxWaiters,
                            clock == null ? 0 : clock.address,
                            created,
                            error),
                    error);
        } finally {
            Reference.reachabilityFence(clock);
        }
        return created[0];
    }

    /**
     * A limiter on the monotonic clock, with nothing used by any key and room for {@link #DEFAULT_MAX_KEYS}.
     *
     * @param quotas 1 to 16 quotas that all must admit, of any algorithm but {@link Algorithm#SLIDING_LOG}
     * @throws ConfigException if there are none or too many, a quota's parts don't go together, or it doesn't fit beside a key
     */
    public static KeyedRateLimiter of(Quota... quotas) {
        return builder(quotas).build();
    }

    /**
     * {@link #of(Quota...)} for a list.
     *
     * @throws ConfigException as for an array
     */
    public static KeyedRateLimiter of(List<Quota> quotas) {
        return builder(quotas).build();
    }

    /**
     * {@link #of(Quota...)} for texts, each of one or several quotas: {@code of("10/s burst 20; 1000/h")}.
     *
     * @throws ConfigException as for an array, or if a text isn't one of quotas: the message shows it and the grammar
     */
    public static KeyedRateLimiter of(String quotas, String... more) {
        return builder(quotas, more).build();
    }

    /**
     * Begins a limiter with options; the quotas are as for {@link #of(Quota...)}.
     *
     * @throws ConfigException if there are none or too many
     */
    public static Builder builder(Quota... quotas) {
        return builder(Quota.listOf(quotas));
    }

    /**
     * Begins a limiter with options; the quotas are as for {@link #of(List)}.
     *
     * @throws ConfigException if there are none or too many
     */
    public static Builder builder(List<Quota> quotas) {
        return new Builder(quotas);
    }

    /**
     * Begins a limiter with options; the quotas are as for {@link #of(String, String...)}.
     *
     * @throws ConfigException if there are too many, or a text isn't one of quotas
     */
    public static Builder builder(String quotas, String... more) {
        return builder(Quota.parseAll(quotas, more));
    }

    /** {@link #tryAcquire(String, long)} for one token. */
    public boolean tryAcquire(String key) {
        return tryAcquire(key, 1);
    }

    /**
     * Takes {@code cost} tokens of a key if all can be had now. Makes no object for a key of ASCII up to 24 characters.
     *
     * @param key any text
     * @param cost 1 to {@link RateLimiter#MAX_COST} tokens
     * @return whether the work may go ahead
     * @throws ConfigException if the cost is outside of that
     * @throws ClosedException if the limiter is closed
     */
    public boolean tryAcquire(String key, long cost) {
        int size = Mistake.nonNull("key", key, Keys.ALLOWED).length();
        if (size <= PackedKey.MOST) {
            long first = PackedKey.word(key, 0, Math.min(size, 8));
            long second = PackedKey.word(key, 8, Math.min(size, 16));
            long third = PackedKey.word(key, 16, size);
            if ((first | second | third) >= 0) {
                int code = tryAcquirePacked0(address(), size, first, second, third, cost);
                return Status.of(code).admits("cost", cost);
            }
        }
        return tryAcquire(Keys.bytes(key), cost);
    }

    /** {@link #tryAcquire(byte[], long)} for one token. */
    public boolean tryAcquire(byte[] key) {
        return tryAcquire(key, 1);
    }

    /**
     * {@link #tryAcquire(String, long)} for a key of bytes. Makes no object.
     *
     * @throws ConfigException if the cost is outside of what is allowed
     * @throws ClosedException if the limiter is closed
     */
    public boolean tryAcquire(byte[] key, long cost) {
        return Status.of(tryAcquire0(address(), Keys.nonNull(key), cost)).admits("cost", cost);
    }

    /**
     * Takes {@code cost} tokens of each of many keys, one key after the other, as far as all of that key's can be had now:
     * faster than one by one. A key may occur more than once.
     *
     * @param keys texts, none of them null
     * @param cost 1 to {@link RateLimiter#MAX_COST} tokens
     * @return for each key whether the work may go ahead
     * @throws ConfigException if the cost is outside of that; nothing is taken then
     * @throws ClosedException if the limiter is closed
     */
    public boolean[] tryAcquireMany(Collection<String> keys, long cost) {
        String[] texts = Mistake.nonNull("keys", keys, "strings or bytes").toArray(new String[0]);
        return tryAcquireAll(Keys.allBytes("keys", texts), cost);
    }

    /** {@link #tryAcquireMany(Collection, long)} for one token of each key. */
    public boolean[] tryAcquireMany(Collection<String> keys) {
        return tryAcquireMany(keys, 1);
    }

    /**
     * {@link #tryAcquireMany(Collection, long)} for keys of bytes.
     *
     * @throws ConfigException if the cost is outside of what is allowed; nothing is taken then
     * @throws ClosedException if the limiter is closed
     */
    public boolean[] tryAcquireMany(byte[][] keys, long cost) {
        return tryAcquireAll(Keys.allBytes("keys", keys), cost);
    }

    /** {@link #tryAcquireMany(byte[][], long)} for one token of each key. */
    public boolean[] tryAcquireMany(byte[][] keys) {
        return tryAcquireMany(keys, 1);
    }

    private boolean[] tryAcquireAll(byte[][] keys, long cost) {
        Mistake.within("cost", cost, 1, RateLimiter.MAX_COST);
        long address = address();
        boolean[] allowed = new boolean[keys.length];
        for (int from = 0; from < keys.length; ) {
            int end = JoinedKeys.end(keys, from);
            JoinedKeys some = JoinedKeys.of(keys, from, end);
            Status.check(tryAcquireMany0(address, some.bytes(), some.sizes(), cost, allowed, from));
            from = end;
        }
        return allowed;
    }

    /** {@link #decide(String, long)} for one token. */
    public Decision decide(String key) {
        return decide(key, 1);
    }

    /**
     * Takes {@code cost} tokens of a key if all can be had now, and tells the figures, which are those of the key.
     *
     * @param key any text
     * @param cost 1 to {@link RateLimiter#MAX_COST} tokens
     * @throws ConfigException if the cost is outside of that
     * @throws ClosedException if the limiter is closed
     */
    public Decision decide(String key, long cost) {
        return decide(Keys.bytes(key), cost);
    }

    /** {@link #decide(byte[], long)} for one token. */
    public Decision decide(byte[] key) {
        return decide(key, 1);
    }

    /**
     * {@link #decide(String, long)} for a key of bytes.
     *
     * @throws ConfigException if the cost is outside of what is allowed
     * @throws ClosedException if the limiter is closed
     */
    public Decision decide(byte[] key, long cost) {
        long[] figures = new long[Decision.FIGURES];
        return decision(decide0(address(), Keys.nonNull(key), cost, figures), cost, figures);
    }

    /** {@link #peek(String, long)} for one token. */
    public Decision peek(String key) {
        return peek(key, 1);
    }

    /**
     * What {@link #decide(String, long)} would answer now, spending nothing; {@code remaining} is what is unspent.
     *
     * @param key any text
     * @param cost 1 to {@link RateLimiter#MAX_COST} tokens
     * @throws ConfigException if the cost is outside of that
     * @throws ClosedException if the limiter is closed
     */
    public Decision peek(String key, long cost) {
        return peek(Keys.bytes(key), cost);
    }

    /** {@link #peek(byte[], long)} for one token. */
    public Decision peek(byte[] key) {
        return peek(key, 1);
    }

    /**
     * {@link #peek(String, long)} for a key of bytes.
     *
     * @throws ConfigException if the cost is outside of what is allowed
     * @throws ClosedException if the limiter is closed
     */
    public Decision peek(byte[] key, long cost) {
        long[] figures = new long[Decision.FIGURES];
        return decision(peek0(address(), Keys.nonNull(key), cost, figures), cost, figures);
    }

    /**
     * Gives back to a key what a decision took from it, as {@link RateLimiter#refund} does. Without effect once the key was
     * evicted or reset; each eviction or reset also voids the grants of one in 256 other keys.
     *
     * @throws ConfigException if the decision granted nothing, or is another limiter's or key's; nothing changes then
     * @throws IllegalStateException if it was refunded before, or the limiter is closed; nothing changes then
     */
    public void refund(String key, Decision decision) {
        refund(Keys.bytes(key), decision);
    }

    /**
     * {@link #refund(String, Decision)} for a key of bytes.
     *
     * @throws ConfigException as for a text
     * @throws IllegalStateException as for a text
     */
    public void refund(byte[] key, Decision decision) {
        Keys.nonNull(key);
        Decision.nonNull(decision);
        long address = address();
        decision.refund(
                identity,
                "one of another key",
                () -> refund0(
                        address,
                        key,
                        decision.limiterId,
                        decision.cost,
                        decision.grantedAtNanos,
                        decision.resetCount,
                        decision.keyHash));
    }

    /**
     * Makes everything of a key unspent again. Its decisions from before can no longer be refunded to any effect.
     *
     * @throws ClosedException if the limiter is closed
     */
    public void reset(String key) {
        reset(Keys.bytes(key));
    }

    /**
     * {@link #reset(String)} for a key of bytes.
     *
     * @throws ClosedException if the limiter is closed
     */
    public void reset(byte[] key) {
        Status.check(Waits.after(reset0(address(), Keys.nonNull(key))));
    }

    /**
     * Gives a key quotas of its own in place of the limiter's, from the next call on. What is used stays used, at most the new
     * burst; decisions of the key from before can no longer be refunded to any effect. Nothing happens if it has these quotas.
     *
     * <p>Such a key has a place of its own, about 1 KB for each quota: it is never evicted, nor refused for want of room. 65,536
     * keys may have one; other keys pay nothing for that.
     *
     * @param key any text
     * @param quotas as many as the limiter's, with the same algorithms and anchors
     * @throws ConfigException if they are not, a quota's parts don't go together, or as many keys as may have quotas of their
     *     own; nothing changes then
     * @throws ClosedException if the limiter is closed
     */
    public void setQuota(String key, Quota... quotas) {
        setQuota(Keys.bytes(key), quotas);
    }

    /** {@link #setQuota(String, Quota...)} for a list. */
    public void setQuota(String key, List<Quota> quotas) {
        setQuota(Keys.bytes(key), quotas);
    }

    /** {@link #setQuota(String, Quota...)} for texts, each of one or several quotas: {@code setQuota("ann", "100/s")}. */
    public void setQuota(String key, String quotas, String... more) {
        setQuota(Keys.bytes(key), quotas, more);
    }

    /** {@link #setQuota(String, Quota...)} for a key of bytes. */
    public void setQuota(byte[] key, Quota... quotas) {
        setQuota(key, Quota.listOf(quotas));
    }

    /** {@link #setQuota(String, Quota...)} for a key of bytes and a list. */
    public void setQuota(byte[] key, List<Quota> quotas) {
        Keys.nonNull(key);
        byte[] error = new byte[Status.ERROR_SIZE];
        Status.check(Waits.after(setQuota0(address(), key, Quota.toParts(quotas), error)), error);
    }

    /** {@link #setQuota(String, String, String...)} for a key of bytes. */
    public void setQuota(byte[] key, String quotas, String... more) {
        Keys.nonNull(key);
        setQuota(key, Quota.parseAll(quotas, more));
    }

    /**
     * Gives a key the limiter's quotas again. What is used stays used, at most the limiter's burst; decisions of the key from
     * before can no longer be refunded to any effect. Nothing happens if it has no quotas of its own.
     *
     * @throws ClosedException if the limiter is closed
     */
    public void clearQuota(String key) {
        clearQuota(Keys.bytes(key));
    }

    /** {@link #clearQuota(String)} for a key of bytes. */
    public void clearQuota(byte[] key) {
        Status.check(Waits.after(clearQuota0(address(), Keys.nonNull(key))));
    }

    /**
     * The keys that were refused most often, the most refused first: up to {@code n} of those that {@link
     * Builder#trackDenied} counts; none without it.
     *
     * @param n 0 or more
     * @throws ConfigException if it is negative
     * @throws ClosedException if the limiter is closed
     */
    public List<DeniedKey> topDenied(int n) {
        int size = Math.min((int) Mistake.within("n", n, 0, Integer.MAX_VALUE), trackDenied);
        byte[] names = new byte[size * DeniedKey.NAME_SIZE];
        long[] figures = new long[size * DeniedKey.FIGURES];
        long[] count = new long[1];
        Status.check(topDenied0(address(), size, names, figures, count));
        return DeniedKey.listOf(names, figures, (int) count[0]);
    }

    /**
     * About how many keys owe something at the moment: exact up to a {@code maxKeys} of some 6,000, else from a sample.
     *
     * @throws ClosedException if the limiter is closed
     */
    public long size() {
        long[] size = new long[1];
        Status.check(size0(address(), size));
        return size[0];
    }

    /**
     * For how many keys that owe something at once there is room: {@code maxKeys}.
     *
     * @throws ClosedException if the limiter is closed
     */
    public long capacity() {
        address();
        return maxKeys;
    }

    /** {@link #run(String, long, Runnable)} for one token. */
    public void run(String key, Runnable task) {
        run(key, 1, task);
    }

    /**
     * Runs a task if {@code cost} tokens of a key can be had now.
     *
     * @param key any text
     * @param cost 1 to {@link RateLimiter#MAX_COST} tokens
     * @throws RefusedException if not, with the figures
     * @throws ExceedsCapacityException if they never can be had
     * @throws ConfigException if the cost is outside of what is allowed
     * @throws ClosedException if the limiter is closed
     */
    public void run(String key, long cost, Runnable task) {
        run(Keys.bytes(key), cost, task);
    }

    /** {@link #run(byte[], long, Runnable)} for one token. */
    public void run(byte[] key, Runnable task) {
        run(key, 1, task);
    }

    /** {@link #run(String, long, Runnable)} for a key of bytes. */
    public void run(byte[] key, long cost, Runnable task) {
        Mistake.nonNull("task", task, "a Runnable");
        requireAllowed(decide(key, cost), cost);
        task.run();
    }

    /** {@link #call(String, long, Callable)} for one token. */
    public <T> T call(String key, Callable<T> task) throws Exception {
        return call(key, 1, task);
    }

    /**
     * Calls a task if {@code cost} tokens of a key can be had now, as {@link #run(String, long, Runnable)} does.
     *
     * @return what the task returns
     * @throws Exception what the task throws
     * @throws RefusedException if there are not as many tokens now, with the figures
     */
    public <T> T call(String key, long cost, Callable<T> task) throws Exception {
        return call(Keys.bytes(key), cost, task);
    }

    /** {@link #call(byte[], long, Callable)} for one token. */
    public <T> T call(byte[] key, Callable<T> task) throws Exception {
        return call(key, 1, task);
    }

    /** {@link #call(String, long, Callable)} for a key of bytes. */
    public <T> T call(byte[] key, long cost, Callable<T> task) throws Exception {
        Mistake.nonNull("task", task, "a Callable");
        requireAllowed(decide(key, cost), cost);
        return task.call();
    }

    @Override
    int acquire(long address, byte[] key, long cost, long timeoutNanos) {
        return acquire0(address, key, cost, timeoutNanos);
    }

    @Override
    int giveBack(long address, byte[] key, long[] granted) {
        return refund0(
                address,
                key,
                granted[LIMITER_ID],
                granted[COST],
                granted[GRANTED_AT],
                granted[RESET_COUNT],
                granted[KEY_HASH]);
    }

    @Override
    int reserve(long address, byte[] key, long cost, long maxWaitNanos, long[] figures) {
        return reserve0(address, key, cost, maxWaitNanos, figures);
    }

    @Override
    int cancelReservation(long address, byte[] key, long[] figures) {
        return cancelReservation0(address, key, figures);
    }

    @Override
    long waitingFor(long address, byte[] key) {
        long[] waiting = new long[1];
        Status.check(waiting0(address, key, waiting));
        return waiting[0];
    }

    /** The quotas and the capacity, for people. */
    @Override
    public String toString() {
        return "KeyedRateLimiter(" + text() + ", " + maxKeys + " keys)";
    }

    /** A limiter in the making. */
    public static final class Builder {
        private final long[] quotas;
        private long maxKeys = DEFAULT_MAX_KEYS;
        private WhenFull whenFull = WhenFull.EVICT;
        private int trackDenied;
        private long maxWaiters = RateLimiter.MAX_WAITERS;
        private Clock clock;

        private Builder(List<Quota> quotas) {
            this.quotas = Quota.toParts(quotas);
        }

        /**
         * For how many keys that owe something at once there is room, at 40 bytes for each and each quota.
         *
         * @param maxKeys 1 to {@link #MAX_KEYS}; {@link #DEFAULT_MAX_KEYS} by default
         * @throws ConfigException if it is outside of that
         */
        public Builder maxKeys(long maxKeys) {
            this.maxKeys = checkMaxKeys(maxKeys);
            return this;
        }

        /** What happens to a new key that finds no room; {@link WhenFull#EVICT} by default. */
        public Builder whenFull(WhenFull whenFull) {
            this.whenFull = Mistake.nonNull("whenFull", whenFull, "a WhenFull");
            return this;
        }

        /**
         * How many keys to count refusals of, for {@link #topDenied}: about those that are refused most. Takes up to some 350
         * bytes for each, and 0.1 to 0.2 µs of each refusal.
         *
         * @param keys 0 to {@link #MAX_TRACK_DENIED}; 0, none, by default
         * @throws ConfigException if it is outside of that
         */
        public Builder trackDenied(int keys) {
            trackDenied = (int) Mistake.within("trackDenied", keys, 0, MAX_TRACK_DENIED);
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

        /** Lets the limiter go by a clock of the caller's: a {@link ManualClock}, in tests. */
        public Builder clock(Clock clock) {
            this.clock = Mistake.nonNull("clock", clock, "a Clock");
            return this;
        }

        /**
         * The limiter, with nothing used by any key.
         *
         * @throws ConfigException if a quota's parts don't go together, it doesn't fit beside a key, or there is no memory for
         *     as many keys
         */
        public KeyedRateLimiter build() {
            return new KeyedRateLimiter(this);
        }
    }

    static long checkMaxKeys(long maxKeys) {
        return Mistake.within("maxKeys", maxKeys, 1, MAX_KEYS);
    }

    private static native int create0(
            long[] quotas,
            long maxKeys,
            int whenFull,
            int trackDenied,
            long maxWaiters,
            long clock,
            long[] created,
            byte[] error);

    private static native void free0(long address);

    // Instance methods, all that follow: the receiver is reachable while one runs, so that nothing frees the limiter
    // then.

    private native int tryAcquirePacked0(long address, int size, long first, long second, long third, long cost);

    private native int tryAcquire0(long address, byte[] key, long cost);

    private native int tryAcquireMany0(
            long address, byte[] joined, int[] sizes, long cost, boolean[] allowed, int from);

    private native int acquire0(long address, byte[] key, long cost, long timeoutNanos);

    @Override
    native int poll0(long address, long ticket, long[] wakeAfterNanos);

    @Override
    native int cancel0(long address, long ticket);

    private native int reserve0(long address, byte[] key, long cost, long maxWaitNanos, long[] figures);

    private native int cancelReservation0(long address, byte[] key, long[] figures);

    private native int waiting0(long address, byte[] key, long[] waiting);

    private native int decide0(long address, byte[] key, long cost, long[] figures);

    private native int peek0(long address, byte[] key, long cost, long[] figures);

    private native int refund0(
            long address, byte[] key, long limiterId, long cost, long grantedAtNanos, long resetCount, long keyHash);

    private native int reset0(long address, byte[] key);

    private native int setQuota0(long address, byte[] key, long[] quotas, byte[] error);

    private native int clearQuota0(long address, byte[] key);

    private native int topDenied0(long address, int most, byte[] names, long[] figures, long[] count);

    @Override
    native int reconfigure0(long address, long[] quotas, byte[] error);

    @Override
    native int quotas0(long address, long[] quotas, long[] count);

    private native int size0(long address, long[] size);

    @Override
    native int stats0(long address, long[] figures);
}

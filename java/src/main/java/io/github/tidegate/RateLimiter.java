package io.github.tidegate;

import java.lang.ref.Reference;
import java.util.List;
import java.util.concurrent.Callable;

/**
 * Decides whether work may go ahead, by one or several quotas that all must admit.
 *
 * <pre>{@code
 * RateLimiter limiter = RateLimiter.of("100/s burst 20");
 * if (limiter.tryAcquire()) {
 *     // go ahead
 * }
 * }</pre>
 *
 * <p>Every call may come from any thread at once; each is one atomic step per quota. With several quotas no bound is ever
 * exceeded, and without a race a refusal charges nothing; in a race a call may be refused because of another's charge that is
 * just being undone.
 *
 * <p>A limiter need not be closed, nor be opened by {@code try (...)}: a {@link java.lang.ref.Cleaner} frees its memory once
 * nothing refers to it. {@link #close()} only makes each later call a {@link ClosedException}.
 */
public final class RateLimiter extends RateWaiting {
    /** The largest cost, number of permits, limit or burst: 2⁵³−1. */
    public static final long MAX_COST = (1L << 53) - 1;

    /** The largest {@code maxWaiters}: 2³²−2. */
    public static final long MAX_WAITERS = (1L << 32) - 2;

    static {
        NativeLibrary.require();
    }

    private RateLimiter(Builder options) {
        super(create(options), options.clock);
        long address = address();
        NativeLibrary.CLEANER.register(this, () -> free0(address));
    }

    private static long create(Builder options) {
        long[] created = new long[1];
        byte[] error = new byte[Status.ERROR_SIZE];
        Clock clock = options.clock;
        try {
            Status.check(
                    create0(options.quotas, options.maxWaiters, clock == null ? 0 : clock.address, created, error),
                    error);
        } finally {
            Reference.reachabilityFence(clock);
        }
        return created[0];
    }

    /**
     * A limiter on the monotonic clock, with nothing used. The first one in a process may take up to 200 ms, in which the time
     * stamp counter is measured.
     *
     * @param quotas 1 to 16 quotas that all must admit
     * @throws ConfigException if there are none or too many, or a quota's parts don't go together
     */
    public static RateLimiter of(Quota... quotas) {
        return builder(quotas).build();
    }

    /**
     * {@link #of(Quota...)} for a list.
     *
     * @throws ConfigException as for an array
     */
    public static RateLimiter of(List<Quota> quotas) {
        return builder(quotas).build();
    }

    /**
     * {@link #of(Quota...)} for texts, each of one or several quotas: {@code of("100/s")}, {@code of("10/s burst 20; 1000/h")},
     * {@code of("10/s burst 20", "1000/h")}.
     *
     * @throws ConfigException as for an array, or if a text isn't one of quotas: the message shows it and the grammar
     */
    public static RateLimiter of(String quotas, String... more) {
        return builder(quotas, more).build();
    }

    /**
     * Begins a limiter whose clock can be chosen; the quotas are as for {@link #of(Quota...)}.
     *
     * @throws ConfigException if there are none or too many
     */
    public static Builder builder(Quota... quotas) {
        return builder(Quota.listOf(quotas));
    }

    /**
     * Begins a limiter whose clock can be chosen; the quotas are as for {@link #of(List)}.
     *
     * @throws ConfigException if there are none or too many
     */
    public static Builder builder(List<Quota> quotas) {
        return new Builder(quotas);
    }

    /**
     * Begins a limiter whose clock can be chosen; the quotas are as for {@link #of(String, String...)}.
     *
     * @throws ConfigException if there are too many, or a text isn't one of quotas
     */
    public static Builder builder(String quotas, String... more) {
        return builder(Quota.parseAll(quotas, more));
    }

    /**
     * Takes one token if it can be had now. Makes no object.
     *
     * @return whether the work may go ahead
     * @throws ClosedException if the limiter is closed
     */
    public boolean tryAcquire() {
        return tryAcquire(1);
    }

    /**
     * Takes {@code cost} tokens if all can be had now. Makes no object.
     *
     * @param cost 1 to {@link #MAX_COST} tokens
     * @return whether the work may go ahead
     * @throws ConfigException if the cost is outside of that
     * @throws ClosedException if the limiter is closed
     */
    public boolean tryAcquire(long cost) {
        return Status.of(tryAcquire0(address(), cost)).admits("cost", cost);
    }

    /**
     * Takes one token if it can be had now, and tells the figures.
     *
     * @throws ClosedException if the limiter is closed
     */
    public Decision decide() {
        return decide(1);
    }

    /**
     * Takes {@code cost} tokens if all can be had now, and tells the figures.
     *
     * @param cost 1 to {@link #MAX_COST} tokens
     * @throws ConfigException if the cost is outside of that
     * @throws ClosedException if the limiter is closed
     */
    public Decision decide(long cost) {
        long[] figures = new long[Decision.FIGURES];
        return decision(decide0(address(), cost, figures), cost, figures);
    }

    /**
     * What {@link #decide()} would answer now, spending nothing; {@code remaining} is what is unspent.
     *
     * @throws ClosedException if the limiter is closed
     */
    public Decision peek() {
        return peek(1);
    }

    /**
     * What {@link #decide(long)} would answer now, spending nothing; {@code remaining} is what is unspent.
     *
     * @param cost 1 to {@link #MAX_COST} tokens
     * @throws ConfigException if the cost is outside of that
     * @throws ClosedException if the limiter is closed
     */
    public Decision peek(long cost) {
        long[] figures = new long[Decision.FIGURES];
        return decision(peek0(address(), cost, figures), cost, figures);
    }

    /**
     * Gives back what a decision took, as far as no bound is broken: a window takes it back only while the same window lasts,
     * gcra only what has not leaked since. After a {@link #reset()} it has no effect.
     *
     * @throws ConfigException if the decision granted nothing or is another limiter's; nothing changes then
     * @throws IllegalStateException if it was refunded before, or the limiter is closed; nothing changes then
     */
    public void refund(Decision decision) {
        Decision.nonNull(decision);
        long address = address();
        decision.refund(
                identity,
                "one of another limiter",
                () -> refund0(
                        address, decision.limiterId, decision.cost, decision.grantedAtNanos, decision.resetCount));
    }

    /**
     * Makes everything unspent again. Decisions from before can no longer be refunded to any effect.
     *
     * @throws ClosedException if the limiter is closed
     */
    public void reset() {
        Status.check(Waits.after(reset0(address())));
    }

    /**
     * Runs a task if one token can be had now.
     *
     * @throws RefusedException if not, with the figures
     * @throws ClosedException if the limiter is closed
     */
    public void run(Runnable task) {
        run(1, task);
    }

    /**
     * Runs a task if {@code cost} tokens can be had now.
     *
     * @param cost 1 to {@link #MAX_COST} tokens
     * @throws RefusedException if not, with the figures
     * @throws ExceedsCapacityException if they never can be had
     * @throws ConfigException if the cost is outside of what is allowed
     * @throws ClosedException if the limiter is closed
     */
    public void run(long cost, Runnable task) {
        Mistake.nonNull("task", task, "a Runnable");
        enter(cost);
        task.run();
    }

    /**
     * Calls a task if one token can be had now.
     *
     * @return what the task returns
     * @throws Exception what the task throws
     * @throws RefusedException if there is no token now, with the figures
     * @throws ClosedException if the limiter is closed
     */
    public <T> T call(Callable<T> task) throws Exception {
        return call(1, task);
    }

    /**
     * Calls a task if {@code cost} tokens can be had now.
     *
     * @param cost 1 to {@link #MAX_COST} tokens
     * @return what the task returns
     * @throws Exception what the task throws
     * @throws RefusedException if there are not as many tokens now, with the figures
     * @throws ExceedsCapacityException if they never can be had
     * @throws ConfigException if the cost is outside of what is allowed
     * @throws ClosedException if the limiter is closed
     */
    public <T> T call(long cost, Callable<T> task) throws Exception {
        Mistake.nonNull("task", task, "a Callable");
        enter(cost);
        return task.call();
    }

    private void enter(long cost) {
        requireAllowed(decide(cost), cost);
    }

    @Override
    int acquire(long address, byte[] key, long cost, long timeoutNanos) {
        return acquire0(address, cost, timeoutNanos);
    }

    @Override
    int giveBack(long address, byte[] key, long[] granted) {
        return refund0(address, granted[LIMITER_ID], granted[COST], granted[GRANTED_AT], granted[RESET_COUNT]);
    }

    @Override
    int reserve(long address, byte[] key, long cost, long maxWaitNanos, long[] figures) {
        return reserve0(address, cost, maxWaitNanos, figures);
    }

    @Override
    int cancelReservation(long address, byte[] key, long[] figures) {
        return cancelReservation0(address, figures);
    }

    @Override
    long waitingFor(long address, byte[] key) {
        long[] waiting = new long[1];
        Status.check(waiting0(address, waiting));
        return waiting[0];
    }

    /** The quotas, for people. */
    @Override
    public String toString() {
        return "RateLimiter(" + text() + ")";
    }

    /** A limiter in the making. */
    public static final class Builder {
        private final long[] quotas;
        private long maxWaiters = MAX_WAITERS;
        private Clock clock;

        private Builder(List<Quota> quotas) {
            this.quotas = Quota.toParts(quotas);
        }

        /**
         * How many may wait at once.
         *
         * @param maxWaiters 0, for none, to {@link #MAX_WAITERS}, the default
         * @throws ConfigException if it is outside of that
         */
        public Builder maxWaiters(long maxWaiters) {
            this.maxWaiters = checkMaxWaiters(maxWaiters);
            return this;
        }

        /** Lets the limiter go by a clock of the caller's: a {@link ManualClock}, in tests. */
        public Builder clock(Clock clock) {
            this.clock = Mistake.nonNull("clock", clock, "a Clock");
            return this;
        }

        /**
         * The limiter, with nothing used.
         *
         * @throws ConfigException if a quota's parts don't go together
         */
        public RateLimiter build() {
            return new RateLimiter(this);
        }
    }

    static long checkMaxWaiters(long maxWaiters) {
        return Mistake.within("maxWaiters", maxWaiters, 0, MAX_WAITERS);
    }

    private static native int create0(long[] quotas, long maxWaiters, long clock, long[] created, byte[] error);

    private static native void free0(long address);

    // Instance methods, all that follow: the receiver is reachable while one runs, so that nothing frees the limiter
    // then.

    private native int tryAcquire0(long address, long cost);

    private native int acquire0(long address, long cost, long timeoutNanos);

    @Override
    native int poll0(long address, long ticket, long[] wakeAfterNanos);

    @Override
    native int cancel0(long address, long ticket);

    private native int waiting0(long address, long[] waiting);

    private native int reserve0(long address, long cost, long maxWaitNanos, long[] figures);

    private native int cancelReservation0(long address, long[] figures);

    private native int decide0(long address, long cost, long[] figures);

    private native int peek0(long address, long cost, long[] figures);

    private native int refund0(long address, long limiterId, long cost, long grantedAtNanos, long resetCount);

    private native int reset0(long address);

    @Override
    native int reconfigure0(long address, long[] quotas, byte[] error);

    @Override
    native int quotas0(long address, long[] quotas, long[] count);

    @Override
    native int stats0(long address, long[] figures);
}

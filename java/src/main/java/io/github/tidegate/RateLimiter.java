package io.github.tidegate;

import java.lang.ref.Reference;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;

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
public final class RateLimiter extends QuotaLimiter {
    /** The largest cost, number of permits, limit or burst: 2⁵³−1. */
    public static final long MAX_COST = (1L << 53) - 1;

    /** The largest {@code maxWaiters}: 2³²−2. */
    public static final long MAX_WAITERS = (1L << 32) - 2;

    static {
        NativeLibrary.require();
    }

    private final Line line;

    private RateLimiter(long[] quotas, long maxWaiters, Clock clock) {
        super(create(quotas, maxWaiters, clock));
        line = new RateLine(clock);
        long address = address();
        NativeLibrary.CLEANER.register(this, () -> free0(address));
    }

    private static long create(long[] quotas, long maxWaiters, Clock clock) {
        long[] created = new long[1];
        byte[] error = new byte[Status.ERROR_SIZE];
        try {
            Status.check(create0(quotas, maxWaiters, clock == null ? 0 : clock.address, created, error), error);
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
     * Takes one token, waiting for its turn for as long as it takes.
     *
     * @throws InterruptedException if the thread is interrupted before; nothing is taken then
     * @throws QueueFullException if as many wait as may
     * @throws ClosedException if the limiter is closed, or is before its turn comes
     */
    public void acquire() throws InterruptedException {
        acquire(1, Nanos.FOR_EVER);
    }

    /** {@link #acquire(long, Duration)} without a timeout. */
    public void acquire(long cost) throws InterruptedException {
        acquire(cost, Nanos.FOR_EVER);
    }

    /** {@link #acquire(long, Duration)} for one token. */
    public void acquire(Duration timeout) throws InterruptedException {
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
     * @param cost 1 to {@link #MAX_COST} tokens
     * @param timeout zero tries once, {@link Decision#NEVER} is none
     * @throws InterruptedException if the thread is interrupted before; nothing is taken then
     * @throws TimedOutException if it would take longer
     * @throws QueueFullException if as many wait as may
     * @throws ExceedsCapacityException if they never can be had
     * @throws ClosedException if the limiter is closed, or is before its turn comes
     * @throws ConfigException if an argument is outside of what is allowed
     */
    public void acquire(long cost, Duration timeout) throws InterruptedException {
        acquire(cost, Nanos.unsigned("timeout", timeout));
    }

    private void acquire(long cost, long timeoutNanos) throws InterruptedException {
        if (Thread.interrupted()) {
            throw new InterruptedException();
        }
        long[] figures = new long[Wait.FIGURES];
        int code = Waits.after(acquire0(address(), cost, timeoutNanos, figures));
        if (code != 0) { // Status.ALLOWED
            line.await(code, cost, timeoutNanos, figures);
        }
    }

    /** {@link #acquireAsync(long, Duration)} for one token, without a timeout. */
    public CompletableFuture<Void> acquireAsync() {
        return acquireAsync(1, Decision.NEVER);
    }

    /** {@link #acquireAsync(long, Duration)} for one token. */
    public CompletableFuture<Void> acquireAsync(Duration timeout) {
        return acquireAsync(1, timeout);
    }

    /**
     * {@link #acquire(long, Duration)} as a future, which needs no thread. Cancelling it, or completing it by other means, ends the
     * wait; tokens that were granted first are spent. It is completed on the thread whose call does so: of who resets or closes the limiter, or moves its manual clock; of the
     * common pool when its time has come. What waited for it there should be short, or be asked for by {@code ...Async}.
     *
     * <pre>{@code
     * limiter.acquireAsync(1, Duration.ofSeconds(2)).thenRunAsync(this::send);
     * }</pre>
     *
     * @param cost 1 to {@link #MAX_COST} tokens
     * @param timeout zero tries once, {@link Decision#NEVER} is none
     * @return a future that fails as {@code acquire} does
     * @throws ConfigException if an argument is outside of what is allowed
     */
    public CompletableFuture<Void> acquireAsync(long cost, Duration timeout) {
        long timeoutNanos = Nanos.unsigned("timeout", timeout);
        long[] figures = new long[Wait.FIGURES];
        int code = isClosed() ? Status.CLOSED.code() : Waits.after(acquire0(anyAddress(), cost, timeoutNanos, figures));
        // What is charged for who has left is spent, as for who was too slow to leave.
        return line.future(code, cost, timeoutNanos, figures, () -> new FutureWait.Granted<>(null, () -> {}));
    }

    /**
     * How many callers wait at the moment.
     *
     * @throws ClosedException if the limiter is closed
     */
    public long waiting() {
        long[] waiting = new long[1];
        Status.check(waiting0(address(), waiting));
        return waiting[0];
    }

    /** {@link #reserve(long, Duration)}, due whenever it is. */
    public Reservation reserve(long cost) {
        return reserve(cost, Decision.NEVER);
    }

    /**
     * Charges {@code cost} tokens now, to be used once they are due, if that is within {@code maxWait}: waiting for callers with a
     * scheduler of their own.
     *
     * @param cost 1 to {@link #MAX_COST} tokens
     * @param maxWait zero: only what can be used at once; {@link Decision#NEVER}: whenever it is
     * @throws TimedOutException if they would be due later, or somebody waits
     * @throws ExceedsCapacityException if they never can be had
     * @throws UnsupportedOperationException if the limiter has several quotas, or one of another algorithm than {@link
     *     Algorithm#GCRA}
     * @throws ConfigException if an argument is outside of what is allowed
     * @throws ClosedException if the limiter is closed
     */
    public Reservation reserve(long cost, Duration maxWait) {
        long maxWaitNanos = Nanos.unsigned("maxWait", maxWait);
        long[] figures = new long[Reservation.FIGURES];
        Status status = Status.of(reserve0(address(), cost, maxWaitNanos, figures));
        return switch (status) {
            case ALLOWED -> new Reservation(this, figures);
            case TIMED_OUT, EXCEEDS_CAPACITY -> throw line.failure(status, 0, maxWaitNanos);
            case UNSUPPORTED ->
                throw status.failure(Mistake.text("quota", Quota.text(current()), "to reserve: one quota, with gcra"));
            default -> {
                status.admits("cost", cost);
                throw status.failure("");
            }
        };
    }

    /** Returns whether a reservation was credited. */
    boolean cancelReservation(long[] figures) {
        int code = Waits.after(cancelReservation0(address(), figures));
        if (code == Status.TOO_LATE.code()) {
            return false;
        }
        Status.check(code);
        return true;
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
                () -> Waits.after(refund0(
                        address, decision.limiterId, decision.cost, decision.grantedAtNanos, decision.resetCount)));
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
    void endWaits() {
        Waits.leaveAll(line);
    }

    /** Those who wait for tokens. */
    private final class RateLine extends Line {
        RateLine(Clock clock) {
            super("cost", clock);
        }

        @Override
        int poll(long ticket, long[] wakeAfterNanos) {
            return Waits.after(poll0(anyAddress(), ticket, wakeAfterNanos));
        }

        @Override
        int cancel(long ticket) {
            return Waits.after(cancel0(anyAddress(), ticket));
        }

        @Override
        boolean isClosed() {
            return RateLimiter.this.isClosed();
        }

        @Override
        Refusal refusal(Status status, long elapsedNanos, long timeoutNanos) {
            long[] waiting = new long[1];
            Status.check(waiting0(anyAddress(), waiting));
            return new Refusal(
                    status,
                    Duration.ofNanos(elapsedNanos),
                    Nanos.duration(timeoutNanos),
                    current().get(0).limit(),
                    0,
                    waiting[0]);
        }
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
            this.maxWaiters = Mistake.within("maxWaiters", maxWaiters, 0, MAX_WAITERS);
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
            return new RateLimiter(quotas, maxWaiters, clock);
        }
    }

    private static native int create0(long[] quotas, long maxWaiters, long clock, long[] created, byte[] error);

    private static native void free0(long address);

    // Instance methods, all that follow: the receiver is reachable while one runs, so that nothing frees the limiter
    // then.

    private native int tryAcquire0(long address, long cost);

    private native int acquire0(long address, long cost, long timeoutNanos, long[] wait);

    private native int poll0(long address, long ticket, long[] wakeAfterNanos);

    private native int cancel0(long address, long ticket);

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

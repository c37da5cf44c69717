package io.github.tidegate;

import java.time.Duration;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;

/** What rate limiters with and without keys have in common: quotas, statistics, how they are waited for, and being closed. */
abstract sealed class QuotaLimiter implements AutoCloseable permits RateWaiting, KeyedRateWaiting {
    /** The order of the numbers that tokens which may be given back are across the native border. */
    static final int LIMITER_ID = 0;

    static final int COST = 1;
    static final int GRANTED_AT = 2;
    static final int RESET_COUNT = 3;
    static final int KEY_HASH = 4;

    /** How many they are. */
    static final int GRANT_FIGURES = 5;

    private final long address;
    /** Tells this limiter's decisions from others', without their keeping it alive. */
    final Object identity = new Object();

    private final Line line;
    private volatile boolean closed;

    QuotaLimiter(long address, Clock clock) {
        this.address = address;
        line = new TokenLine(clock);
    }

    /**
     * Takes tokens, waiting for them on this thread.
     *
     * @param key whose they are; null for a limiter without keys
     */
    final void await(byte[] key, long cost, long timeoutNanos) throws InterruptedException {
        if (Thread.interrupted()) {
            throw new InterruptedException();
        }
        int code = acquire(address(), key, cost, timeoutNanos);
        if (code != 0) { // Status.ALLOWED
            line.await(code, new Request(key, cost, timeoutNanos));
        }
    }

    /** Takes tokens as a future. */
    final CompletableFuture<Void> awaitAsync(byte[] key, long cost, Duration timeout) {
        // All of this is made before the native call, after which nothing may come before what it told is asked for:
        // Line.
        Request request = new Request(key, cost, Nanos.unsigned("timeout", timeout));
        Function<long[], FutureWait.Granted<Void>> value = granted ->
                new FutureWait.Granted<>(null, () -> Waits.once(() -> giveBack(address, request.key(), granted)));
        int code = closed ? Status.CLOSED.code() : acquire(address, key, cost, request.timeoutNanos());
        if (code == 0 || code == Waits.TOLD) { // Status.ALLOWED
            Waits.after(code);
            return CompletableFuture.completedFuture(null);
        }
        return line.future(code, request, value);
    }

    /** Charges tokens now, if they are due soon enough; or throws why not. */
    final Reservation reserved(byte[] key, long cost, Duration maxWait) {
        long maxWaitNanos = Nanos.unsigned("maxWait", maxWait);
        long[] figures = new long[Reservation.FIGURES];
        Status status = Status.of(reserve(address(), key, cost, maxWaitNanos, figures));
        return switch (status) {
            case ALLOWED -> new Reservation(this, key, figures);
            case UNSUPPORTED ->
                throw status.failure(Mistake.text("quota", Quota.text(current()), "to reserve: one quota, with gcra"));
            default -> throw line.failure(status, new Request(key, cost, maxWaitNanos), 0);
        };
    }

    /** Returns whether a reservation was credited. */
    final boolean cancelReservation(byte[] key, long[] figures) {
        long address = address();
        int code = Waits.once(() -> cancelReservation(address, key, figures));
        if (code == Status.TOO_LATE.code()) {
            return false;
        }
        Status.check(code);
        return true;
    }

    /**
     * Changes limits, periods and bursts while in use, from the next call on. What is used stays used, at most the new burst;
     * does nothing where nothing changed. With keys it takes time in proportion to {@code maxKeys}, in which new keys wait, and
     * leaves keys with quotas of their own alone.
     *
     * @param quotas as many as before, with the same algorithms and anchors
     * @throws ConfigException if they are not, or a quota's parts don't go together; nothing changes then
     * @throws ClosedException if the limiter is closed
     */
    public final void reconfigure(Quota... quotas) {
        reconfigure(Quota.listOf(quotas));
    }

    /**
     * {@link #reconfigure(Quota...)} for a list.
     *
     * @param quotas as for an array
     * @throws ConfigException as for an array
     * @throws ClosedException if the limiter is closed
     */
    public final void reconfigure(List<Quota> quotas) {
        byte[] error = new byte[Status.ERROR_SIZE];
        Status.check(Waits.after(reconfigure0(address(), Quota.toParts(quotas), error)), error);
    }

    /**
     * {@link #reconfigure(Quota...)} for texts, each of one or several quotas.
     *
     * @param quotas one or several quotas
     * @param more the same
     * @throws ConfigException as for an array, or if a text isn't one of quotas
     * @throws ClosedException if the limiter is closed
     */
    public final void reconfigure(String quotas, String... more) {
        reconfigure(Quota.parseAll(quotas, more));
    }

    /**
     * The quotas, in the order of the list; with keys, those of each.
     *
     * @return the quotas
     * @throws ClosedException if the limiter is closed
     */
    public final List<Quota> quotas() {
        address();
        return current();
    }

    /** {@link #quotas()}, also of a limiter that was closed meanwhile. */
    final List<Quota> current() {
        long[] parts = new long[Quota.MAX_QUOTAS * Quota.PARTS];
        long[] count = new long[1];
        Status.check(quotas0(address, parts, count));
        return Quota.fromParts(parts, (int) count[0]);
    }

    /**
     * What was allowed and denied since the limiter was built; with keys over all of them, with those that are live.
     *
     * @return the statistics
     * @throws ClosedException if the limiter is closed
     */
    public final Stats stats() {
        long[] figures = new long[Stats.FIGURES];
        Status.check(stats0(address(), figures));
        return Stats.of(figures);
    }

    /**
     * Makes each later call a {@link ClosedException}, as which all waits end. May be called at any time, from any thread,
     * repeatedly.
     */
    @Override
    public final void close() {
        closed = true;
        Waits.leaveAll(line);
    }

    final boolean isClosed() {
        return closed;
    }

    /** The quotas for people, or that the limiter is closed. */
    final String text() {
        return closed ? "closed" : Quota.text(current());
    }

    /** The decision that a native call has written the figures of. */
    final Decision decision(int code, long cost, long[] figures) {
        Status status = Status.of(code);
        // What it says is in the decision; here it only tells answers from mistakes.
        status.admits("cost", cost);
        return new Decision(status, figures, identity);
    }

    /** Throws the refusal if a decision is one; it names what was asked and the quota that stops it. */
    final void requireAllowed(Decision decision, long cost) {
        if (!decision.allowed()) {
            throw RefusedException.of(decision, cost, current().get(decision.quota()));
        }
    }

    /** Where the native limiter is. It stays there as long as this object is reachable, as it is during a native call on it. */
    final long address() {
        if (closed) {
            throw ClosedException.ofCall();
        }
        return address;
    }

    /** Those who wait for tokens. */
    private final class TokenLine extends Line {
        TokenLine(Clock clock) {
            super("cost", clock);
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
        Refusal refusal(Status status, Request request, long elapsedNanos) {
            return new Refusal(
                    status,
                    Duration.ofNanos(elapsedNanos),
                    Nanos.duration(request.timeoutNanos()),
                    current().get(0).limit(),
                    -1,
                    waitingFor(address, request.key()));
        }

        @Override
        String never(Request request) {
            Quota least = Collections.min(current(), Comparator.comparingLong(Quota::burst));
            return request.amount() > least.burst()
                    ? RefusedException.never(request.amount(), least)
                    : "cost " + request.amount() + " can never be had: it is more than the key's burst";
        }
    }

    /** Takes tokens or begins a wait for them; returns a code for {@link Line}. */
    abstract int acquire(long address, byte[] key, long cost, long timeoutNanos);

    /** Gives back what a wait was granted; returns a code for {@link Waits#once}. */
    abstract int giveBack(long address, byte[] key, long[] granted);

    /** Charges tokens now, and writes which; returns the status's code. */
    abstract int reserve(long address, byte[] key, long cost, long maxWaitNanos, long[] figures);

    /** Gives them back; returns a code for {@link Waits#once}. */
    abstract int cancelReservation(long address, byte[] key, long[] figures);

    abstract long waitingFor(long address, byte[] key);

    abstract int poll0(long address, long ticket, long[] wakeAfterNanos);

    abstract int cancel0(long address, long ticket);

    abstract int reconfigure0(long address, long[] quotas, byte[] error);

    abstract int quotas0(long address, long[] quotas, long[] count);

    abstract int stats0(long address, long[] figures);
}

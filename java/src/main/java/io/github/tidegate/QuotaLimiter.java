package io.github.tidegate;

import java.util.List;

/** What rate limiters with and without keys have in common: quotas, statistics, and being closed. */
abstract sealed class QuotaLimiter implements AutoCloseable permits RateLimiter, KeyedRateLimiter {
    private final long address;
    /** Tells this limiter's decisions from others', without their keeping it alive. */
    final Object identity = new Object();

    private volatile boolean closed;

    QuotaLimiter(long address) {
        this.address = address;
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
        endWaits();
    }

    final boolean isClosed() {
        return closed;
    }

    /** Ends the waits of a limiter that is closed. */
    void endWaits() {}

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

    /** {@link #address()}, also of a limiter that is closed. */
    final long anyAddress() {
        return address;
    }

    abstract int reconfigure0(long address, long[] quotas, byte[] error);

    abstract int quotas0(long address, long[] quotas, long[] count);

    abstract int stats0(long address, long[] figures);
}

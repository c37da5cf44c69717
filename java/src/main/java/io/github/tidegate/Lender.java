package io.github.tidegate;

import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;

/** What limiters that lend permits have in common, with and without keys: how permits are taken, waited for and given back. */
abstract sealed class Lender extends Owner implements AutoCloseable
        permits ConcurrencyWaiting, KeyedConcurrencyWaiting {
    /** How many numbers a permit is across the native border. */
    static final int FIGURES = 4;

    /** Which of them says how many permits are held. */
    static final int PERMITS = 1;

    /** Where the native limiter is. It stays there as long as this object is reachable, as it is during a native call on it. */
    final long address;

    private final Line line;
    private volatile boolean closed;

    private final Object owing = new Object();
    /** What was taken when the stack had no room left to give it back: the next call does. Changed under {@code owing}. */
    private volatile Tag owed;

    Lender(long address, Clock clock) {
        this.address = address;
        line = new PermitLine(clock);
    }

    /** Makes ready what a call needs: a class whose first use overflows the stack can never be used again. */
    static void requireClasses() {
        Permit.require();
        Waits.require();
        Held.require();
        Tag.require();
        Status.of(0).admits("permits", 1);
    }

    /**
     * Takes permits if all can be had now; if not, throws the refusal or returns null.
     *
     * @param key whose they are; null for a limiter without keys
     */
    final Permit take(byte[] key, long permits, boolean orThrow) {
        settle();
        Tag tag = idle.take();
        long[] figures = prepared(tag.held.figures, permits);
        boolean isAtHand = takeAtHand(permits);
        int code = isAtHand ? 0 : tryAcquire(key, permits, figures);
        try {
            if (code == 0) { // Status.ALLOWED
                Permit permit = lend(tag, permits);
                if (!isAtHand) {
                    endAsking();
                }
                return permit;
            }
        } catch (Throwable failure) {
            // No memory, or no room on the stack: maybe not even for giving back, so that nothing is called here but
            // that.
            synchronized (owing) {
                tag.held.limiter = this;
                tag.held.grant |= 1;
                tag.next = owed;
                owed = tag;
            }
            try {
                settle();
            } catch (StackOverflowError full) {
                // The next call does.
            }
            throw failure;
        }
        endAsking();
        idle.put(tag);
        Status status = Status.of(code);
        status.admits("permits", permits);
        if (orThrow) {
            throw status.failure(refusal(status, key, permits));
        }
        return null;
    }

    /** Takes permits, waiting for them on this thread; or throws why not. */
    final Permit await(byte[] key, long permits, long timeoutNanos) throws InterruptedException {
        if (Thread.interrupted()) {
            throw new InterruptedException();
        }
        settle();
        Tag tag = idle.take();
        long[] figures = prepared(tag.held.figures, permits);
        boolean isAtHand = takeAtHand(permits);
        int code = isAtHand ? 0 : acquire(key, permits, timeoutNanos, figures);
        boolean granted = code == 0 || code == Waits.TOLD; // Status.ALLOWED
        try {
            if (!isAtHand && !Waits.isPending(code)) {
                endAsking();
            }
            if (code != 0) {
                long[] waitedFor = line.await(code, new Request(key, permits, timeoutNanos));
                if (waitedFor != null) {
                    tag.held.figures = waitedFor;
                    granted = true;
                }
            }
            return lend(tag, permits);
        } catch (Throwable failure) {
            // As in take().
            if (granted) {
                synchronized (owing) {
                    tag.held.limiter = this;
                    tag.held.grant |= 1;
                    tag.next = owed;
                    owed = tag;
                }
                try {
                    settle();
                } catch (StackOverflowError full) {
                    // The next call does.
                }
            } else {
                idle.put(tag);
            }
            throw failure;
        }
    }

    /** Takes permits as a future. */
    final CompletableFuture<Permit> awaitAsync(byte[] key, long permits, Duration timeout) {
        // All of this is made before the native call, after which nothing may come before what it told is asked for:
        // Line.
        Request request = new Request(key, permits, Nanos.unsigned("timeout", timeout));
        Function<long[], FutureWait.Granted<Permit>> value = figures -> {
            Tag tag = idle.take();
            tag.held.figures = figures;
            Permit permit = lend(tag, permits);
            return new FutureWait.Granted<>(permit, () -> permit.release(false));
        };
        settle();
        Tag tag = idle.take();
        long[] room = prepared(tag.held.figures, permits);
        boolean isAtHand = takeAtHand(permits);
        int code = isAtHand ? 0 : acquire(key, permits, request.timeoutNanos(), room);
        if (code == 0 || code == Waits.TOLD) { // Status.ALLOWED
            Permit permit = lend(tag, permits);
            if (!isAtHand) {
                endAsking();
            }
            Waits.after(code);
            return CompletableFuture.completedFuture(permit);
        }
        if (!Waits.isPending(code)) {
            endAsking();
        }
        CompletableFuture<Permit> future = line.future(code, request, value);
        idle.put(tag);
        return future;
    }

    /** The permit of what was granted. Either there is one, or nothing has changed. */
    private Permit lend(Tag tag, long permits) {
        Held held = tag.held;
        long grant = held.grant | 1;
        Permit permit = new Permit(tag, grant, permits);
        held.limiter = this;
        held.lend(grant);
        return permit;
    }

    /** Runs a task while it holds permits. */
    final void hold(byte[] key, long permits, Runnable task) {
        Mistake.nonNull("task", task, "a Runnable");
        Permit permit = take(key, permits, true);
        boolean ok = false;
        try {
            task.run();
            ok = true;
        } finally {
            permit.release(ok);
        }
    }

    /** Calls a task while it holds permits. */
    final <T> T hold(byte[] key, long permits, Callable<T> task) throws Exception {
        Mistake.nonNull("task", task, "a Callable");
        Permit permit = take(key, permits, true);
        boolean ok = false;
        try {
            T result = task.call();
            ok = true;
            return result;
        } finally {
            permit.release(ok);
        }
    }

    /** Gives permits back, also after {@code close()}; returns the status's code. Does nothing if it throws. */
    @Override
    final int release(long[] figures, boolean ok) {
        int code = giveBack(figures, ok);
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

    @Override
    final Class<?> lends() {
        return Permit.class;
    }

    @Override
    final String dropped(long[] figures) {
        return figures[PERMITS] + " permit(s) of a " + getClass().getSimpleName() + " were";
    }

    /** Gives back what is owed. To be called by each call of a limiter. */
    final void settle() {
        if (owed != null) {
            synchronized (owing) {
                for (; owed != null; owed = owed.next) {
                    owed.held.release(owed.held.grant, false);
                }
            }
        }
    }

    /**
     * Changes the limit, with keys that of each, from the next call on. Never blocks; permits that are out stay out, and none is lent
     * until fewer than the new limit are. Who waits for more than that has waited in vain. With keys, a call that is under way may
     * still go by the limit before.
     *
     * @param limit 0 to 2³¹−1
     * @throws ConfigException if it is outside of that; nothing changes then
     */
    public final void setLimit(long limit) {
        settle();
        Status.check(Waits.after(changeLimit(checkLimit(limit))));
    }

    /**
     * The limit at the moment; with keys, that of each.
     *
     * @return permits
     */
    public final long limit() {
        settle();
        long[] limit = new long[1];
        Status.check(limit0(address, limit));
        return limit[0];
    }

    /**
     * What was allowed, denied and released since the limiter was built, and how it stands. With keys, over all of them, counted over
     * the whole table, in proportion to {@code maxKeys}; the limit is that of one key then, and {@code available} is 0.
     *
     * @return the statistics
     */
    public final Stats stats() {
        settle();
        long[] figures = new long[Stats.FIGURES];
        Status.check(readStats(figures));
        return Stats.of(figures);
    }

    /**
     * Lends nothing any more, for ever: who waits and who comes gets a {@link ClosedException}. Permits that are out can be released,
     * and how the limiter stands can be read. May be called at any time, from any thread, repeatedly.
     */
    @Override
    public final void close() {
        closed = true;
        // For ever.
        beginAsking();
        Status.check(Waits.after(close0(address)));
    }

    final boolean isClosed() {
        return closed;
    }

    static long checkLimit(long limit) {
        return Mistake.within("limit", limit, 0, ConcurrencyLimiter.MAX_LIMIT);
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
        void over() {
            endAsking();
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
                    limit(),
                    inFlightOf(request.key()),
                    waitingFor(request.key()));
        }

        @Override
        String never(Request request) {
            return Lender.this.refusal(Status.EXCEEDS_CAPACITY, request.key(), request.amount());
        }
    }

    /** Returns the room for the numbers that a permit will be across the native border, with those that are known. */
    abstract long[] prepared(long[] figures, long permits);

    /**
     * Takes a permit that is at hand, if the limiter keeps some so; else {@link #beginAsking} is done. Either way nothing is called
     * after that.
     */
    boolean takeAtHand(long permits) {
        return false;
    }

    /** Gives the native limiter what is at hand. To be called before it is asked for something, or told to. */
    void beginAsking() {}

    /** The native limiter has said what it was asked for: permits may be at hand again. */
    void endAsking() {}

    /** Changes the limit; returns a code for {@link Waits#after}. */
    int changeLimit(long limit) {
        return setLimit0(address, limit);
    }

    /** Reads the statistics; returns the status's code. */
    int readStats(long[] figures) {
        return stats0(address, figures);
    }

    /** Takes permits; returns the status's code. */
    abstract int tryAcquire(byte[] key, long permits, long[] figures);

    /** Takes permits, and writes them, or begins a wait for them; returns a code for {@link Line}. */
    abstract int acquire(byte[] key, long permits, long timeoutNanos, long[] figures);

    /** Gives permits back; returns a code for {@link Waits#after}. */
    abstract int giveBack(long[] figures, boolean ok);

    abstract long inFlightOf(byte[] key);

    abstract long waitingFor(byte[] key);

    /** What was asked and what stops it. */
    abstract String refusal(Status status, byte[] key, long permits);

    abstract int poll0(long address, long ticket, long[] wakeAfterNanos);

    abstract int cancel0(long address, long ticket);

    abstract int close0(long address);

    abstract int setLimit0(long address, long limit);

    abstract int limit0(long address, long[] limit);

    abstract int stats0(long address, long[] figures);
}

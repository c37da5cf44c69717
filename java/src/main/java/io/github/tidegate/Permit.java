package io.github.tidegate;

import java.lang.ref.Cleaner.Cleanable;
import java.lang.ref.Reference;
import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;

/**
 * What a {@link ConcurrencyLimiter} lends: to be given back once, on any thread.
 *
 * <pre>{@code
 * try (Permit permit = limiter.tryAcquire().orElseThrow()) {
 *     // at most as many as the limit are here at once
 * }
 * }</pre>
 *
 * <p>The end of the scope counts the work as done well, also where it is left by an exception: {@code release(false)} before
 * it says that the work failed, and {@link ConcurrencyLimiter#run(long, Runnable)} tells the two apart by itself.
 *
 * <p>One that is dropped without a release is released when the garbage collector finds it, some time later, and a warning is
 * logged by {@link System.Logger} under the name of this class.
 */
public final class Permit implements AutoCloseable {
    private final Held held;
    private final Cleanable dropped;

    Permit(ConcurrencyLimiter limiter, long[] figures) {
        held = new Held(limiter, figures);
        dropped = NativeLibrary.CLEANER.register(this, held);
    }

    /** How many permits this is: the number that was asked for. */
    public long permits() {
        return held.permits;
    }

    /**
     * Gives the permits back, their work done well.
     *
     * @throws IllegalStateException if they were given back before; nothing changes then
     */
    public void release() {
        release(true);
    }

    /**
     * Gives the permits back.
     *
     * @param ok whether the work went well, for the statistics
     * @throws IllegalStateException if they were given back before; nothing changes then
     */
    public void release(boolean ok) {
        if (!giveBack(ok)) {
            throw new IllegalStateException(
                    Mistake.text("permit", "one that was released before", "a permit that is still held"));
        }
    }

    /** Gives the permits back, their work done well; does nothing if they were given back before. */
    @Override
    public void close() {
        giveBack(true);
    }

    /** How many permits, and whether they are held or released. */
    @Override
    public String toString() {
        return "Permit(" + permits() + (held.released == 1 ? ", released)" : ", held)");
    }

    private boolean giveBack(boolean ok) {
        try {
            boolean first = held.release(ok);
            dropped.clean();
            return first;
        } finally {
            // Or this could count as dropped while it is being released.
            Reference.reachabilityFence(this);
        }
    }

    /** What is held, apart from the permit itself, which the garbage collector must be able to find dropped. */
    private static final class Held implements Runnable {
        private static final AtomicIntegerFieldUpdater<Held> RELEASED =
                AtomicIntegerFieldUpdater.newUpdater(Held.class, "released");

        private final ConcurrencyLimiter limiter;
        private final long[] figures;
        private final long permits;
        /** 1 once it was given back. A plain field, to be set without a call. */
        private volatile int released;

        Held(ConcurrencyLimiter limiter, long[] figures) {
            this.limiter = limiter;
            this.figures = figures;
            this.permits = figures[ConcurrencyLimiter.PERMITS];
        }

        boolean release(boolean ok) {
            if (!RELEASED.compareAndSet(this, 0, 1)) {
                return false;
            }
            int code;
            try {
                code = limiter.release(figures, ok);
            } catch (Throwable noRoom) {
                // The stack had no room for the call, so nothing was given back: that is left to the next release, or
                // to the cleaner.
                released = 0;
                throw noRoom;
            }
            if (code != Status.ALLOWED.code()) {
                throw Status.of(code)
                        .failure(Mistake.text(
                                "permit", permits + " permits", "a permit of this limiter that is still held"));
            }
            return true;
        }

        /** What happens to a permit that was dropped; nothing if it was released. */
        @Override
        public void run() {
            if (release(true)) {
                System.getLogger(Permit.class.getName())
                        .log(
                                System.Logger.Level.WARNING,
                                permits
                                        + " permit(s) of a ConcurrencyLimiter were dropped without release(): released now");
            }
        }
    }
}

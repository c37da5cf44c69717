package io.github.tidegate;

import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;

/**
 * What a {@link Permit} holds, apart from the permit itself, which the garbage collector must be able to find dropped. Given
 * back once, by whoever is first.
 */
final class Held implements Runnable {
    private static final AtomicIntegerFieldUpdater<Held> RELEASED =
            AtomicIntegerFieldUpdater.newUpdater(Held.class, "released");

    /** Which of the figures says how many permits are held; none are while it is 0. */
    private static final int PERMITS = 1;

    private final Lender limiter;
    /** The numbers that the permit is across the native border. */
    final long[] figures;
    /** The next one that its limiter owes. */
    Held next;
    /** 1 once it was given back. A plain field, to be set without a call. */
    private volatile int released;

    Held(Lender limiter, long[] figures) {
        this.limiter = limiter;
        this.figures = figures;
    }

    /** Makes sure that this class is ready for use. */
    static void require() {}

    long permits() {
        return figures[PERMITS];
    }

    boolean isReleased() {
        return released == 1;
    }

    /** Returns false if it was given back before. */
    boolean release(boolean ok) {
        if (!RELEASED.compareAndSet(this, 0, 1)) {
            return false;
        }
        int code;
        try {
            code = limiter.release(figures, ok);
        } catch (Throwable noRoom) {
            // The stack had no room for the call, so nothing was given back: that is left to the next release, or to
            // the
            // cleaner.
            released = 0;
            throw noRoom;
        }
        if (code != Status.ALLOWED.code()) {
            throw Status.of(code)
                    .failure(Mistake.text(
                            "permit", permits() + " permits", "a permit of this limiter that is still held"));
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
                            permits() + " permit(s) of a " + limiter.getClass().getSimpleName()
                                    + " were dropped without release(): released now");
        }
    }
}

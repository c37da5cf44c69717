package io.github.tidegate;

import java.util.concurrent.atomic.AtomicLongFieldUpdater;

/**
 * What a {@link Permit} or {@link Entry} holds, apart from its {@link Tag}, which the garbage collector must be able to find dropped.
 * Given back once, by whoever is first.
 */
final class Held implements Runnable {
    private static final AtomicLongFieldUpdater<Held> GRANT = AtomicLongFieldUpdater.newUpdater(Held.class, "grant");

    /** The numbers that the permit is across the native border. */
    long[] figures = new long[Lender.FIGURES];
    /** Null while nothing is held. */
    Owner limiter;
    /**
     * Odd while something is held, and another number each time: so whoever gives back what was given back before is told from who
     * holds it now. A plain field, to be set without a call.
     */
    volatile long grant;
    /** Whether somebody looks at what is held, with this object locked. A plain field, too. */
    volatile boolean isRead;

    /** Makes sure that this class is ready for use. */
    static void require() {}

    /**
     * Something is held from now on. Release order is enough, and saves the wait for all stores that a volatile one is: who finds this
     * grant, to give it back, finds the limiter too, and how the permit gets to another thread is up to its owner in any case.
     */
    void lend(long grant) {
        GRANT.lazySet(this, grant);
    }

    /** Returns false if that grant was given back before. */
    boolean release(long grant, boolean ok) {
        if (!GRANT.compareAndSet(this, grant, grant + 1)) {
            return false;
        }
        int code;
        try {
            // Whoever says after this that he looks sees the new grant. So nobody need take the lock who gives back
            // what
            // nobody looks at.
            if (isRead) {
                synchronized (this) {
                    // Nobody looks any more.
                }
            }
            code = limiter.release(figures, ok);
        } catch (Throwable noRoom) {
            // The stack had no room for the call, so nothing was given back: that is left to the next release, or to
            // the cleaner.
            this.grant = grant;
            throw noRoom;
        }
        if (code != Status.ALLOWED.code()) {
            throw Status.of(code)
                    .failure(Mistake.text(
                            "permit", "one that is not out", "a permit of this limiter that is still held"));
        }
        return true;
    }

    /** What happens to a permit that was dropped; nothing if it was released. */
    @Override
    public void run() {
        long last = grant;
        if ((last & 1) == 1 && release(last, true)) {
            System.getLogger(limiter.lends().getName())
                    .log(
                            System.Logger.Level.WARNING,
                            limiter.dropped(figures) + " dropped without release(): released now");
        }
    }
}

package io.github.tidegate;

import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;
import java.util.concurrent.atomic.AtomicLongFieldUpdater;

/**
 * Single permits that came back while nobody asked the native limiter for anything, for whoever comes next: two crossings of the
 * native border cost more than all else.
 *
 * <p>The native limiter counts them as out. So who asks it for something says so before, and has it given what is at hand: from then
 * on nothing is taken here, and what is put here is given to it by whoever put it, before that release returns. What the native limiter
 * says is right therefore: what is at hand meanwhile, or on its way, belongs to a release that is not over. All steps are volatile
 * ones, in one order for all threads: either who asks sees what was put, or who put it sees that somebody asks.
 */
final class AtHand {
    private static final AtomicLongFieldUpdater<AtHand> WORD = AtomicLongFieldUpdater.newUpdater(AtHand.class, "word");
    private static final AtomicIntegerFieldUpdater<AtHand> ASKING =
            AtomicIntegerFieldUpdater.newUpdater(AtHand.class, "asking");

    private static final int TAKEN_SHIFT = 8;
    private static final int ON_THEIR_WAY = 1 << (TAKEN_SHIFT - 1);
    private static final int MOST = ON_THEIR_WAY - 1;

    /**
     * How many are at hand; whether others are on their way to the native limiter; and above that how many were ever taken: one step
     * counts what it does.
     */
    private volatile long word;
    /**
     * How many ask the native limiter, or wait there. One too many, which is what a call leaves behind that the stack had no room for,
     * costs time and nothing else. A plain field, to be read without a call.
     */
    volatile int asking;

    private final Native limiter;
    /** What was at hand when the stack had no room left to give it to the native limiter. */
    private int owed;

    private long releasedTogether;

    /** Where they go in the end. */
    interface Native {
        /** Gives permits back, their work done well; returns a code for {@link Waits#after}. */
        int release(int permits);
    }

    AtHand(Native limiter) {
        this.limiter = limiter;
    }

    /** Takes one; false if that is for the native limiter to say. */
    boolean take() {
        while (asking == 0) {
            long seen = word;
            if ((seen & MOST) == 0) {
                return false;
            }
            if (WORD.compareAndSet(this, seen, seen + (1 << TAKEN_SHIFT) - 1)) {
                return true;
            }
        }
        return false;
    }

    /** Puts one; false if it is to go to the native limiter. Who put it gives it to that all the same if anybody is {@link #asking} then. */
    boolean put() {
        while (asking == 0) {
            long seen = word;
            if ((seen & MOST) == MOST) {
                return false;
            }
            if (WORD.compareAndSet(this, seen, seen + 1)) {
                return true;
            }
        }
        return false;
    }

    /** Gives the native limiter what is at hand; returns a code for {@link Waits#after}. */
    int surrender() {
        if ((word & (ON_THEIR_WAY | MOST)) == 0) {
            return 0;
        }
        // Who finds that others are at it waits until they have done so.
        synchronized (this) {
            int permits = takeAll() + owed;
            owed = 0;
            int code = 0;
            if (permits > 0) {
                try {
                    code = limiter.release(permits);
                } catch (Throwable noRoom) {
                    // Nothing is called here. They are still on their way: the next call that asks gives them.
                    owed = permits;
                    throw noRoom;
                }
                releasedTogether += permits - 1;
            }
            try {
                WORD.addAndGet(this, -ON_THEIR_WAY);
            } catch (StackOverflowError later) {
                // The next call that asks finds that they have arrived.
            }
            return code;
        }
    }

    /** Sends all on their way; returns how many. */
    private int takeAll() {
        long seen = word;
        while (!WORD.compareAndSet(this, seen, seen & ~MOST | ON_THEIR_WAY)) {
            seen = word;
        }
        return (int) seen & MOST;
    }

    /** How many permits more than releases the native limiter has got: it counts releases. */
    synchronized long releasedTogether() {
        return releasedTogether;
    }

    void beginAsking() {
        ASKING.incrementAndGet(this);
    }

    void endAsking() {
        ASKING.decrementAndGet(this);
    }

    /** How many were ever taken, which the native limiter has not seen. */
    long taken() {
        return word >>> TAKEN_SHIFT;
    }
}

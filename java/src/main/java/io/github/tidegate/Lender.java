package io.github.tidegate;

/** A limiter that lends permits: how they are taken, and given back. */
abstract sealed class Lender permits ConcurrencyLimiter, KeyedConcurrencyLimiter {
    final Object owing = new Object();
    /** What was taken when the stack had no room left to give it back: the next call does. Changed under {@code owing}. */
    volatile Held owed;

    /**
     * Takes permits if all can be had now; if not, throws the refusal or returns null.
     *
     * @param key whose they are; null for a limiter without keys
     */
    final Permit take(byte[] key, long permits, boolean orThrow) {
        Held held = new Held(this, figures(permits));
        int code = acquire(key, permits, held.figures);
        try {
            Status status = Status.of(code);
            if (status.admits("permits", permits)) {
                return new Permit(held);
            }
            if (orThrow) {
                throw status.failure(refusal(status, key, permits));
            }
            return null;
        } catch (Throwable failure) {
            // No memory, or no room on the stack: maybe not even for giving back.
            if (code == 0) { // Status.ALLOWED
                try {
                    held.release(false);
                } catch (StackOverflowError full) {
                    // Nothing is called here, since nothing can be.
                    synchronized (owing) {
                        held.next = owed;
                        owed = held;
                    }
                }
            }
            throw failure;
        }
    }

    /** Makes ready what a call needs: a class whose first use overflows the stack can never be used again. */
    static void requireClasses() {
        Permit.require();
        Waits.require();
        Held.require();
        Status.of(0).admits("permits", 1);
    }

    /** Gives back what is owed. To be called by each call of a limiter. */
    final void settle() {
        if (owed != null) {
            synchronized (owing) {
                for (; owed != null; owed = owed.next) {
                    owed.release(false);
                }
            }
        }
    }

    /** Room for the numbers that a permit is across the native border, with those that are known. */
    abstract long[] figures(long permits);

    /** Takes permits; returns the status's code. */
    abstract int acquire(byte[] key, long permits, long[] figures);

    /** Gives permits back, also after {@code close()}; returns the status's code. Does nothing if it throws. */
    abstract int release(long[] figures, boolean ok);

    /** What was asked and what stops it. */
    abstract String refusal(Status status, byte[] key, long permits);
}

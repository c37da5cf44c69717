package io.github.tidegate;

import java.util.concurrent.locks.LockSupport;

/** A wait on the calling thread, which is parked in Java: a virtual thread leaves its carrier meanwhile. */
final class ParkedWait extends Wait {
    private final Thread thread = Thread.currentThread();

    /** Makes sure that this class is ready for use. */
    static void require() {}

    ParkedWait(Line line) {
        super(line);
    }

    /** Goes on with the thread, to see what there is. */
    void wake() {
        LockSupport.unpark(thread);
    }

    /**
     * Waits until it is over.
     *
     * @return what became of it
     * @throws InterruptedException if the thread is interrupted meanwhile. If the grant was faster, that counts, and the thread stays
     *     interrupted
     */
    Status await() throws InterruptedException {
        boolean interrupted = false;
        enter();
        try {
            // Whoever had something to say before it was entered could not.
            long wakeAfterNanos = poll();
            while (outcome() == null) {
                if (wakeAfterNanos == Decision.NEVER_NANOS) {
                    LockSupport.park(this);
                } else {
                    LockSupport.parkNanos(this, wakeAfterNanos);
                }
                if (outcome() != null) {
                    break;
                }
                if (Thread.interrupted()) {
                    if (leave()) {
                        throw new InterruptedException();
                    }
                    // It is being told.
                    interrupted = true;
                    wakeAfterNanos = Decision.NEVER_NANOS;
                } else if (!interrupted) {
                    wakeAfterNanos = poll();
                }
            }
            return outcome();
        } finally {
            if (interrupted) {
                thread.interrupt();
            }
        }
    }
}

package io.github.tidegate;

import java.lang.ref.Reference;

/**
 * What a {@link ConcurrencyLimiter} or {@link KeyedConcurrencyLimiter} lends: to be given back once, on any thread.
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
    private final Tag tag;
    private final long grant;
    private final long permits;

    /** One that is held once the tag says so of this grant. */
    Permit(Tag tag, long grant, long permits) {
        this.tag = tag;
        this.grant = grant;
        this.permits = permits;
    }

    /** Makes sure that this class is ready for use. */
    static void require() {}

    /** How many permits this is: the number that was asked for. */
    public long permits() {
        return permits;
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
        return "Permit(" + permits + (tag.held.grant == grant ? ", held)" : ", released)");
    }

    private boolean giveBack(boolean ok) {
        try {
            if (!tag.held.release(grant, ok)) {
                return false;
            }
            tag.held.limiter.idle.put(tag);
            return true;
        } finally {
            // Or this could count as dropped while it is being released.
            Reference.reachabilityFence(this);
        }
    }
}

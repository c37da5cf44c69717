package io.github.tidegate;

import java.lang.ref.Cleaner.Cleanable;
import java.util.concurrent.atomic.AtomicReferenceArray;

/**
 * What a permit wears while it is out, and what the garbage collector finds dropped with it. To have that watched costs more than
 * all else of a permit, so one tag is worn by one permit after another, and waits in between where it was given back.
 */
final class Tag {
    /** How many wait for the threads of one stripe: a cache line of references. */
    private static final int IDLE_EACH = 16;

    private static final int STRIPES =
            Integer.highestOneBit(Runtime.getRuntime().availableProcessors() * 4);

    /** One that is overwritten by a race is only gone. */
    private static final AtomicReferenceArray<Tag> IDLE = new AtomicReferenceArray<>(STRIPES * IDLE_EACH);

    final Held held = new Held();
    /** The next one that its limiter owes. */
    Tag next;

    private final Cleanable watched = NativeLibrary.CLEANER.register(this, held);

    private Tag() {}

    /** Makes sure that this class is ready for use. */
    static void require() {
        take().putBack();
    }

    /** One that no permit wears. */
    static Tag take() {
        int first = stripe();
        for (int at = first; at < first + IDLE_EACH; at++) {
            if (IDLE.getPlain(at) != null) {
                Tag tag = IDLE.getAndSet(at, null);
                if (tag != null) {
                    return tag;
                }
            }
        }
        return new Tag();
    }

    /** To be called once, when the permit that wore it was released. */
    void putBack() {
        // Or the limiter would live as long as this.
        held.limiter = null;
        int first = stripe();
        for (int at = first; at < first + IDLE_EACH; at++) {
            if (IDLE.getPlain(at) == null) {
                IDLE.setRelease(at, this);
                return;
            }
        }
        watched.clean();
    }

    private static int stripe() {
        return ((int) Thread.currentThread().getId() & (STRIPES - 1)) * IDLE_EACH;
    }
}

package io.github.tidegate;

import java.lang.ref.Cleaner.Cleanable;
import java.util.concurrent.atomic.AtomicReferenceArray;

/**
 * What a permit wears while it is out, and what the garbage collector finds dropped with it. To have that watched costs more than
 * all else of a permit, so one tag is worn by one permit after another.
 */
final class Tag {
    final Held held = new Held();
    /** The next one that its limiter owes. */
    Tag next;

    private final Cleanable watched = NativeLibrary.CLEANER.register(this, held);

    /** Makes sure that this class is ready for use. */
    static void require() {
        Idle idle = new Idle();
        idle.put(idle.take());
    }

    /**
     * The tags of one limiter that no permit wears. Not of all: what is watched keeps its class loader, and so would never go with that
     * if it were kept by a class.
     */
    static final class Idle {
        /** How many there are for the threads of one stripe: a cache line of references. */
        private static final int EACH = 16;

        private static final int STRIPES =
                Integer.highestOneBit(2 * Runtime.getRuntime().availableProcessors() - 1);

        /** One that is overwritten by a race is only gone. */
        private final AtomicReferenceArray<Tag> tags = new AtomicReferenceArray<>(STRIPES * EACH);

        /** One that no permit wears. */
        Tag take() {
            int first = stripe();
            for (int at = first; at < first + EACH; at++) {
                if (tags.getPlain(at) != null) {
                    Tag tag = tags.getAndSet(at, null);
                    if (tag != null) {
                        return tag;
                    }
                }
            }
            return new Tag();
        }

        /** Takes back one that no permit wears any more; to be called once. */
        void put(Tag tag) {
            // Or what is watched would keep the limiter, and that its tags.
            tag.held.limiter = null;
            int first = stripe();
            for (int at = first; at < first + EACH; at++) {
                if (tags.getPlain(at) == null) {
                    tags.setRelease(at, tag);
                    return;
                }
            }
            tag.watched.clean();
        }

        private static int stripe() {
            return ((int) Thread.currentThread().getId() & (STRIPES - 1)) * EACH;
        }
    }
}

package io.github.tidegate.bench;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A fixed window as it is written by hand in Java: a counter that is moved by compare-and-set, emptied by whoever sees the
 * window's end first.
 *
 * <p>Start and counter are two words, so calls that come between the two writes count for the old window: a race that a full
 * window hides, since it refuses them. What was admitted is checked all the same.
 */
final class AtomicWindow {
    private final int limit;
    private final long periodNanos;
    private final AtomicLong start = new AtomicLong(System.nanoTime());
    private final AtomicInteger used = new AtomicInteger();

    AtomicWindow(int limit, long periodNanos) {
        this.limit = limit;
        this.periodNanos = periodNanos;
    }

    boolean tryAcquire() {
        long now = System.nanoTime();
        long opened = start.get();
        if (now - opened >= periodNanos && start.compareAndSet(opened, now)) {
            used.set(0);
        }
        while (true) {
            int seen = used.get();
            if (seen >= limit) {
                return false;
            }
            if (used.compareAndSet(seen, seen + 1)) {
                return true;
            }
        }
    }
}

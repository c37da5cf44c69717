package io.github.tidegate;

import java.time.Duration;

/** Durations as the native library counts them: whole nanoseconds, 64 bits without a sign. */
final class Nanos {
    private static final long PER_SECOND = 1_000_000_000;
    /** The last second that begins within 64 bits. */
    private static final long MAX_SECONDS = Long.divideUnsigned(-1, PER_SECOND);

    private Nanos() {}

    /** The bits of a duration that is not negative; all ones if it is longer than 64 bits can say. */
    static long unsigned(Duration duration) {
        if (duration.getSeconds() > MAX_SECONDS) {
            return -1;
        }
        long whole = duration.getSeconds() * PER_SECOND;
        long nanos = whole + duration.getNano();
        return Long.compareUnsigned(nanos, whole) < 0 ? -1 : nanos;
    }
}

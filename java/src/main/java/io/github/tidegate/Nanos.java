package io.github.tidegate;

import java.time.Duration;

/** Durations as the native library counts them: whole nanoseconds, 64 bits without a sign. */
final class Nanos {
    private static final long PER_SECOND = 1_000_000_000;
    /** The last second that begins within 64 bits. */
    private static final long MAX_SECONDS = Long.divideUnsigned(-1, PER_SECOND);

    /** What {@link #unsigned} makes of a duration that never ends: as long as it takes, if it is a timeout. */
    static final long FOR_EVER = -1;

    private Nanos() {}

    /**
     * The bits of an argument, as {@link #unsigned(Duration)}.
     *
     * @throws ConfigException if it is negative
     */
    static long unsigned(String argument, Duration duration) {
        String allowed = "a duration of zero or more";
        if (Mistake.nonNull(argument, duration, allowed).isNegative()) {
            throw Mistake.of(argument, duration, allowed);
        }
        return unsigned(duration);
    }

    /** The bits of a duration that is not negative; all ones if it is longer than 64 bits can say. */
    static long unsigned(Duration duration) {
        if (duration.getSeconds() > MAX_SECONDS) {
            return -1;
        }
        long whole = duration.getSeconds() * PER_SECOND;
        long nanos = whole + duration.getNano();
        return Long.compareUnsigned(nanos, whole) < 0 ? -1 : nanos;
    }

    /** The duration of such bits; {@link Decision#NEVER} if it never ends. */
    static Duration duration(long unsigned) {
        return unsigned == FOR_EVER
                ? Decision.NEVER
                : Duration.ofSeconds(
                        Long.divideUnsigned(unsigned, PER_SECOND), Long.remainderUnsigned(unsigned, PER_SECOND));
    }
}

package io.github.tidegate.moving;

import io.github.tidegate.ManualClock;
import java.time.Duration;

/** One time for both sides: the libraries' clocks read it, and ours are moved with it. */
public final class Time {
    private static final long START_NANOS = 1_000_000_000_000_000_000L;

    private static long nanos = START_NANOS;

    /** For limiters of ours. One for all tests of a process: they run one after the other. */
    static final ManualClock OURS = new ManualClock();

    static {
        OURS.setNanos(nanos);
    }

    private Time() {}

    public static long nanos() {
        return nanos;
    }

    static void advance(Duration time) {
        nanos += time.toNanos();
        OURS.advance(time);
    }

    static void advanceMillis(long millis) {
        advance(Duration.ofMillis(millis));
    }
}

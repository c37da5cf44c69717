package io.github.tidegate.bench;

import java.time.Duration;

/** The budget of a case, and what every call of it must come to: a loop that sees anything else measures something else. */
public enum Outcome {
    /** More than any loop here can spend in a second. */
    ALLOWED(1_000_000_000, Duration.ofSeconds(1)),
    /** One token an hour, which {@link #spent} has taken. */
    REFUSED(1, Duration.ofHours(1));

    final int limit;
    final Duration period;

    Outcome(int limit, Duration period) {
        this.limit = limit;
        this.period = period;
    }

    /** To be told of the first call, before the others are timed. */
    void spent(boolean admitted) {
        if (!admitted) {
            throw new IllegalStateException("the first call was refused");
        }
    }

    /** To be told of each call that is timed. */
    boolean seen(boolean admitted) {
        if (admitted != (this == ALLOWED)) {
            throw new IllegalStateException("admitted: " + admitted + "; all must be " + this);
        }
        return admitted;
    }
}

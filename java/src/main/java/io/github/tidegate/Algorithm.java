package io.github.tidegate;

/** How a rate limiter counts. */
public enum Algorithm {
    /**
     * Token bucket (the generic cell rate algorithm of ITU-T I.371): {@code burst} at once, then {@code limit} a period,
     * evenly. The default.
     */
    GCRA(1, "gcra"),
    /** At most {@code limit} in each window; up to twice that in some interval as long as a window. */
    FIXED_WINDOW(2, "fixed_window"),
    /** Two counters that are weighed by how much of the last window still counts. */
    SLIDING_WINDOW(3, "sliding_window"),
    /** Exact: at most {@code limit} in every interval as long as the period; remembers each grant. */
    SLIDING_LOG(4, "sliding_log");

    /** The number in the C header. */
    final int code;

    private final String text;

    Algorithm(int code, String text) {
        this.code = code;
        this.text = text;
    }

    static Algorithm of(long code) {
        for (Algorithm algorithm : values()) {
            if (algorithm.code == code) {
                return algorithm;
            }
        }
        throw new InternalException("algorithm " + code + " is unknown");
    }

    /** The algorithm's name, as in the text form of a quota. */
    @Override
    public String toString() {
        return text;
    }
}

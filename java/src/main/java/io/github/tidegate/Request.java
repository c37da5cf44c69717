package io.github.tidegate;

/**
 * What a wait is for.
 *
 * @param key whose tokens or permits; null for a limiter without keys
 * @param amount how many
 * @param timeoutNanos for how long at most; {@link Nanos#FOR_EVER}: as long as it takes
 */
record Request(byte[] key, long amount, long timeoutNanos) {
    Request {
        // It outlasts the call that it came with.
        key = key == null ? null : key.clone();
    }

    /** Makes sure that this class is ready for use. */
    static void require() {}
}

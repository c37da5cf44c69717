package io.github.tidegate;

/**
 * A short key of ASCII, as three words on its way across the native border: a tenth faster than an array, and no object is
 * made.
 */
final class PackedKey {
    /** The longest key that is packed, in characters. */
    static final int MOST = 3 * Long.BYTES;

    private PackedKey() {}

    /**
     * Up to eight characters as bytes, the first one least significant. Negative if one isn't ASCII, which has no sign bit.
     *
     * @param from the place of the first, a multiple of 8
     * @param to behind the last; none if not behind {@code from}
     */
    static long word(String key, int from, int to) {
        long word = 0;
        for (int at = from; at < to; at++) {
            char character = key.charAt(at);
            if (character > 0x7F) {
                return -1;
            }
            // A shift counts modulo 64.
            word |= (long) character << (at * Byte.SIZE);
        }
        return word;
    }
}

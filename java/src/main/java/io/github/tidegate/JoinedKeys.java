package io.github.tidegate;

/**
 * Several keys behind one another, as they cross the native border together.
 *
 * @param bytes all keys
 * @param sizes how many bytes each has
 */
record JoinedKeys(byte[] bytes, int[] sizes) {
    /** The most keys that cross together: MOST_TOGETHER in C. */
    private static final int MOST = 256;
    /** The most bytes of several; one key alone may have any number. */
    private static final long MOST_BYTES = 1 << 16;

    /** The keys of an array from one place to another. */
    static JoinedKeys of(byte[][] keys, int from, int to) {
        int[] sizes = new int[to - from];
        int total = 0;
        for (int i = 0; i < sizes.length; i++) {
            sizes[i] = keys[from + i].length;
            total = Math.addExact(total, sizes[i]);
        }
        byte[] bytes = new byte[total];
        int at = 0;
        for (int i = 0; i < sizes.length; at += sizes[i++]) {
            System.arraycopy(keys[from + i], 0, bytes, at, sizes[i]);
        }
        return new JoinedKeys(bytes, sizes);
    }

    /** Up to where an array's keys from some place on cross together. */
    static int end(byte[][] keys, int from) {
        int end = from + 1;
        long total = keys[from].length;
        while (end < keys.length && end < from + MOST && total + keys[end].length <= MOST_BYTES) {
            total += keys[end++].length;
        }
        return end;
    }
}

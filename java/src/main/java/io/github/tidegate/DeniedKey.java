package io.github.tidegate;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** A key that a {@link KeyedRateLimiter} refused often, as {@link KeyedRateLimiter#topDenied} names it. */
public final class DeniedKey {
    /** How much of a key is kept as its name, in bytes. Keys that begin alike are counted apart. */
    public static final int NAME_SIZE = 128;

    /** How many numbers one is across the native border: count, error, and the size of its name. */
    static final int FIGURES = 3;

    private final byte[] key;
    private final long count;
    private final long error;

    private DeniedKey(byte[] key, long count, long error) {
        this.key = key;
        this.count = count;
        this.error = error;
    }

    /** Those that a native call has written: each has {@link #NAME_SIZE} bytes and {@link #FIGURES} figures. */
    static List<DeniedKey> listOf(byte[] names, long[] figures, int count) {
        List<DeniedKey> keys = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            int at = i * FIGURES;
            int name = i * NAME_SIZE;
            byte[] key = Arrays.copyOfRange(names, name, name + (int) figures[at + 2]);
            keys.add(new DeniedKey(key, figures[at], figures[at + 1]));
        }
        return List.copyOf(keys);
    }

    /** The key, or the first {@link #NAME_SIZE} bytes of a longer one. */
    public byte[] key() {
        return key.clone();
    }

    /** {@link #key()} read as UTF-8, for people: what isn't is shown as U+FFFD. */
    public String text() {
        return new String(key, StandardCharsets.UTF_8);
    }

    /** How often it was refused, at most; exactly so if {@link #error()} is 0. */
    public long count() {
        return count;
    }

    /** How many of {@link #count()} may have been refusals of others: it was refused at least {@code count - error} times. */
    public long error() {
        return error;
    }

    /** The key and how often it was refused, for people. */
    @Override
    public String toString() {
        return "DeniedKey(" + text() + ", " + (error == 0 ? "" : count - error + " to ") + count + ")";
    }
}

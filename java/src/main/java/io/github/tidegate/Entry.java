package io.github.tidegate;

import java.lang.ref.Reference;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * A request that a {@link Gate} admitted, and the permits that it holds until it is released, once, on any thread.
 *
 * <pre>{@code
 * try (Entry entry = gate.enter(request)) {
 *     // the work
 * }
 * }</pre>
 *
 * <p>The end of the scope counts the work as done well, also where it is left by an exception: {@code release(false)} before it says
 * that the work failed.
 *
 * <p>One that is dropped without a release is released when the garbage collector finds it, some time later, and a warning is
 * logged by {@link System.Logger} under the name of this class.
 */
public final class Entry implements AutoCloseable {
    /** Who takes back the entries of one gate. */
    static final class Lender extends Owner {
        @Override
        int release(long[] figures, boolean ok) {
            int code = giveBack0(figures[0], ok);
            if (code < Waits.TOLD) {
                return code;
            }
            try {
                Waits.tell();
            } catch (StackOverflowError | OutOfMemoryError later) {
                // The next call tells them: this one has done what it was to do.
            }
            return code - Waits.TOLD;
        }

        @Override
        Class<?> lends() {
            return Entry.class;
        }

        @Override
        String dropped(long[] figures) {
            return "an entry of a Gate was";
        }
    }

    private final Tag tag;
    private final long grant;
    private final Status status;

    /** What was admitted, as the tag's figures say. Either there is one, or nothing has changed. */
    Entry(Lender lender, Tag tag, Status status) {
        Held held = tag.held;
        this.tag = tag;
        this.status = status;
        grant = held.grant | 1;
        held.limiter = lender;
        held.lend(grant);
    }

    /** Makes sure that this class is ready for use. */
    static void require() {}

    /** {@link Status#ALLOWED}; or {@link Status#NO_RULE} if no rule applies, and so nothing is held. */
    public Status status() {
        return status;
    }

    /** Whether the request was admitted by rules; false if none is about it. */
    public boolean applies() {
        return status == Status.ALLOWED;
    }

    /**
     * The names of the rules that admitted the request.
     *
     * @throws IllegalStateException if the entry was released
     */
    public List<String> rules() {
        return Json.texts(Json.parse(texts()[2]));
    }

    /**
     * What the response's headers say of the quotas.
     *
     * @throws IllegalStateException if the entry was released
     */
    public RateLimitHeaders headers() {
        byte[][] texts = texts();
        return new RateLimitHeaders(text(texts[0]), text(texts[1]), "");
    }

    /**
     * How the quotas stood when the request was admitted, for each rule that has some.
     *
     * @throws IllegalStateException if the entry was released
     */
    public List<QuotaFigures> figures() {
        return read(address -> {
            byte[][] rules = new byte[figures0(address, new long[0], new byte[0][])][];
            long[] numbers = new long[rules.length * QuotaFigures.FIGURES];
            if (rules.length > 0) {
                figures0(address, numbers, rules);
            }
            List<QuotaFigures> figures = new ArrayList<>();
            for (int i = 0; i < rules.length; i++) {
                int at = i * QuotaFigures.FIGURES;
                Duration period = Nanos.duration(numbers[at + 1]);
                Duration resetAfter = Nanos.duration(numbers[at + 3]);
                figures.add(new QuotaFigures(
                        text(rules[i]),
                        numbers[at],
                        period,
                        numbers[at + 6],
                        numbers[at + 2],
                        resetAfter,
                        (int) numbers[at + 4],
                        (int) numbers[at + 5]));
            }
            return List.copyOf(figures);
        });
    }

    /**
     * Gives everything back, the work done well.
     *
     * @throws IllegalStateException if it was given back before; nothing changes then
     */
    public void release() {
        release(true);
    }

    /**
     * Gives everything back.
     *
     * @param ok whether the work went well, for the statistics
     * @throws IllegalStateException if it was given back before; nothing changes then
     */
    public void release(boolean ok) {
        if (!giveBack(ok)) {
            throw released();
        }
    }

    /** Gives everything back, the work done well; does nothing if it was given back before. */
    @Override
    public void close() {
        giveBack(true);
    }

    /** Its status, and whether it is held or released. */
    @Override
    public String toString() {
        return "Entry(" + status + (tag.held.grant == grant ? ", held)" : ", released)");
    }

    private boolean giveBack(boolean ok) {
        try {
            if (!tag.held.release(grant, ok)) {
                return false;
            }
            tag.held.limiter.idle.put(tag);
            return true;
        } finally {
            // Or this could count as dropped while it is being released.
            Reference.reachabilityFence(this);
        }
    }

    private interface Reading<T> {
        T of(long address);
    }

    /** Reads the native entry, which nobody releases meanwhile. */
    private <T> T read(Reading<T> reading) {
        try {
            Held held = tag.held;
            synchronized (held) {
                held.isRead = true;
                try {
                    if (held.grant != grant) {
                        throw released();
                    }
                    return reading.of(held.figures[0]);
                } finally {
                    held.isRead = false;
                }
            }
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    private byte[][] texts() {
        return read(address -> {
            byte[][] texts = new byte[3][];
            texts0(address, texts);
            return texts;
        });
    }

    private static IllegalStateException released() {
        return new IllegalStateException(
                Mistake.text("entry", "one that was released before", "an entry that is still held"));
    }

    private static String text(byte[] text) {
        return new String(text, StandardCharsets.UTF_8);
    }

    private static native int giveBack0(long address, boolean ok);

    private native void texts0(long address, byte[][] texts);

    private native int figures0(long address, long[] figures, byte[][] rules);
}

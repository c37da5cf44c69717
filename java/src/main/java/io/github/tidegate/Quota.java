package io.github.tidegate;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.stream.Collectors;

/**
 * What a rate limiter enforces: {@code limit} tokens per {@code period}, and how. Immutable.
 *
 * <pre>{@code
 * Quota quota = Quota.of(100, Duration.ofSeconds(1)).withBurst(20);
 * assert quota.equals(Quota.parse("100/s burst 20"));
 * Quota window = Quota.of(3, Duration.ofSeconds(2)).withAlgorithm(Algorithm.FIXED_WINDOW);
 * assert window.toString().equals("3/2s fixed_window");
 * }</pre>
 *
 * <p>The text form is {@code limit ("/" | "per") [count] unit ["burst" burst] [algorithm] ["anchor" anchor]}, such as {@code
 * 100/s}, {@code 5 per 30s}, {@code 100/minute burst 20}, {@code 3/2s fixed_window anchor clock}. Units: {@code ns}, {@code
 * us}, {@code ms}, {@code s sec second seconds}, {@code min minute minutes}, {@code h hour hours}, {@code d day days}, {@code
 * w week weeks}. Several quotas are joined by {@code ;}.
 *
 * <p>Each number is checked where it is given. Whether the parts go together (a burst with {@link Algorithm#GCRA} only, an
 * anchor with {@link Algorithm#FIXED_WINDOW} only, a limit that the algorithm can count for that period) is checked when a
 * limiter is built. So is that a gcra burst fills within 8 years.
 */
public final class Quota {
    /** The most quotas of one limiter. */
    static final int MAX_QUOTAS = 16;

    /** How many numbers a quota is across the native border: limit, period, burst (0: as the limit), algorithm, anchor. */
    static final int PARTS = 5;

    private static final long MAX_PERIOD_NANOS = Duration.ofDays(2 * 365).toNanos();

    /** Units of the text form, the longest first, each with its nanoseconds. */
    private static final String[] UNITS = {"w", "d", "h", "min", "s", "ms", "us", "ns"};

    private static final long[] UNIT_NANOS = {
        604_800_000_000_000L,
        86_400_000_000_000L,
        3_600_000_000_000L,
        60_000_000_000L,
        1_000_000_000,
        1_000_000,
        1_000,
        1
    };

    static {
        NativeLibrary.require();
    }

    private final long limit;
    private final long periodNanos;
    /** 0: as the limit. Told apart from a burst that was given and is as large, which only gcra may have. */
    private final long burst;

    private final Algorithm algorithm;
    private final Anchor anchor;

    private Quota(long limit, long periodNanos, long burst, Algorithm algorithm, Anchor anchor) {
        this.limit = limit;
        this.periodNanos = periodNanos;
        this.burst = burst;
        this.algorithm = algorithm;
        this.anchor = anchor;
    }

    /**
     * {@code limit} tokens per {@code period}, by {@link Algorithm#GCRA} with a burst of {@code limit}.
     *
     * @param limit 0 to 2⁵³−1; 0 refuses everything
     * @param period 1 ns to 2 years of 365 days
     * @throws ConfigException if one is outside of that
     */
    public static Quota of(long limit, Duration period) {
        Mistake.within("limit", limit, 0, RateLimiter.MAX_COST);
        String allowed = "1 ns to " + MAX_PERIOD_NANOS + " ns (2 years)";
        Mistake.nonNull("period", period, allowed);
        if (period.isNegative() || period.isZero() || period.compareTo(Duration.ofNanos(MAX_PERIOD_NANOS)) > 0) {
            throw Mistake.of("period", period, allowed);
        }
        return new Quota(limit, period.toNanos(), 0, Algorithm.GCRA, Anchor.FIRST);
    }

    /**
     * {@code limit} tokens a second.
     *
     * @param limit 0 to 2⁵³−1
     * @throws ConfigException if it is outside of that
     */
    public static Quota perSecond(long limit) {
        return of(limit, Duration.ofSeconds(1));
    }

    /**
     * {@code limit} tokens a minute.
     *
     * @param limit 0 to 2⁵³−1
     * @throws ConfigException if it is outside of that
     */
    public static Quota perMinute(long limit) {
        return of(limit, Duration.ofMinutes(1));
    }

    /**
     * {@code limit} tokens an hour.
     *
     * @param limit 0 to 2⁵³−1
     * @throws ConfigException if it is outside of that
     */
    public static Quota perHour(long limit) {
        return of(limit, Duration.ofHours(1));
    }

    /**
     * Reads the text form of one quota.
     *
     * @param text the text, such as {@code "100/s burst 20"}
     * @throws ConfigException if it isn't one; the message shows the text and the grammar
     */
    public static Quota parse(String text) {
        List<Quota> quotas = parseList(text);
        if (quotas.size() != 1) {
            throw Mistake.of("quota", '"' + text + '"', "one quota; a list is read by parseList");
        }
        return quotas.get(0);
    }

    /**
     * Reads the text form of 1 to 16 quotas, joined by {@code ;}.
     *
     * @param text the text, such as {@code "10/s; 1000/h"}
     * @throws ConfigException if it isn't that; the message shows the text and the grammar
     */
    public static List<Quota> parseList(String text) {
        Mistake.nonNull("quota", text, "the text of a quota, such as \"100/s\"");
        long[] parsed = new long[MAX_QUOTAS * PARTS];
        long[] count = new long[1];
        byte[] error = new byte[Status.ERROR_SIZE];
        Status.check(parse0(text.getBytes(StandardCharsets.UTF_8), parsed, count, error), error);
        return fromParts(parsed, (int) count[0]);
    }

    /**
     * A quota with another burst: how many tokens a full bucket holds, which is the most that may be spent at once. Only with
     * {@link Algorithm#GCRA}.
     *
     * @param burst 1 to 2⁵³−1
     * @throws ConfigException if it is outside of that
     */
    public Quota withBurst(long burst) {
        Mistake.within("burst", burst, 1, RateLimiter.MAX_COST);
        return new Quota(limit, periodNanos, burst, algorithm, anchor);
    }

    /** A quota that is counted by another algorithm. */
    public Quota withAlgorithm(Algorithm algorithm) {
        Mistake.nonNull("algorithm", algorithm, "an Algorithm");
        return new Quota(limit, periodNanos, burst, algorithm, anchor);
    }

    /** A quota whose windows begin elsewhere. Only with {@link Algorithm#FIXED_WINDOW}. */
    public Quota withAnchor(Anchor anchor) {
        Mistake.nonNull("anchor", anchor, "an Anchor");
        return new Quota(limit, periodNanos, burst, algorithm, anchor);
    }

    /** Tokens per period. */
    public long limit() {
        return limit;
    }

    /** The period. */
    public Duration period() {
        return Duration.ofNanos(periodNanos);
    }

    /** The period in nanoseconds. */
    public long periodNanos() {
        return periodNanos;
    }

    /** The most tokens that may be spent at once: the burst for {@link Algorithm#GCRA}, else the limit. */
    public long burst() {
        return burst == 0 ? limit : burst;
    }

    /** The algorithm. */
    public Algorithm algorithm() {
        return algorithm;
    }

    /** Where fixed windows begin. */
    public Anchor anchor() {
        return anchor;
    }

    /** Whether the other is a quota of the same parts. */
    @Override
    public boolean equals(Object other) {
        return other instanceof Quota quota
                && limit == quota.limit
                && periodNanos == quota.periodNanos
                && burst() == quota.burst()
                && algorithm == quota.algorithm
                && anchor == quota.anchor;
    }

    @Override
    public int hashCode() {
        return Objects.hash(limit, periodNanos, burst(), algorithm, anchor);
    }

    /** The canonical text, which {@link #parse} reads back as an equal quota: {@code 100/min burst 20}. */
    @Override
    public String toString() {
        int unit = 0;
        while (periodNanos % UNIT_NANOS[unit] != 0) {
            unit++;
        }
        long count = periodNanos / UNIT_NANOS[unit];
        return limit + "/" + (count == 1 ? "" : count) + UNITS[unit]
                + (burst() == limit ? "" : " burst " + burst)
                + (algorithm == Algorithm.GCRA ? "" : " " + algorithm)
                + (anchor == Anchor.FIRST ? "" : " anchor " + anchor);
    }

    /** The text of a list. */
    static String text(List<Quota> quotas) {
        return quotas.stream().map(Quota::toString).collect(Collectors.joining("; "));
    }

    /** An array as a list; missing members and a missing array are found by whoever reads it. */
    static List<Quota> listOf(Quota[] quotas) {
        return quotas == null ? null : Arrays.asList(quotas);
    }

    static long[] toParts(List<Quota> quotas) {
        String allowed = "1 to " + MAX_QUOTAS + " quotas";
        if (Mistake.nonNull("quotas", quotas, allowed).isEmpty() || quotas.size() > MAX_QUOTAS) {
            throw Mistake.of("quotas", quotas.size() + " quotas", allowed);
        }
        long[] parts = new long[quotas.size() * PARTS];
        int at = 0;
        for (Quota quota : quotas) {
            Mistake.nonNull("quota", quota, "a Quota");
            parts[at++] = quota.limit;
            parts[at++] = quota.periodNanos;
            parts[at++] = quota.burst;
            parts[at++] = quota.algorithm.code;
            parts[at++] = quota.anchor.code;
        }
        return parts;
    }

    /** The quotas of several texts, each of one or several. */
    static List<Quota> parseAll(String first, String[] more) {
        List<Quota> quotas = new ArrayList<>(parseList(first));
        for (String text : Mistake.nonNull("quotas", more, "texts of quotas")) {
            quotas.addAll(parseList(text));
        }
        return quotas;
    }

    static List<Quota> fromParts(long[] parts, int count) {
        List<Quota> quotas = new ArrayList<>(count);
        for (int at = 0; at < count * PARTS; at += PARTS) {
            quotas.add(new Quota(
                    parts[at], parts[at + 1], parts[at + 2], Algorithm.of(parts[at + 3]), Anchor.of(parts[at + 4])));
        }
        return List.copyOf(quotas);
    }

    private static native int parse0(byte[] text, long[] parsed, long[] count, byte[] error);
}

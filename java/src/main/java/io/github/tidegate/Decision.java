package io.github.tidegate;

import java.time.Duration;
import java.util.OptionalLong;
import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;
import java.util.function.IntSupplier;

/**
 * The answer of a rate limiter to one call, with its figures as they were right after it. One that granted can be given back
 * once, by {@link RateLimiter#refund} or {@link KeyedRateLimiter#refund(String, Decision)}.
 */
public final class Decision {
    /** A time that never comes. */
    public static final Duration NEVER = Duration.ofSeconds(Long.MAX_VALUE);

    /** A time that never comes, in nanoseconds. */
    public static final long NEVER_NANOS = Long.MAX_VALUE;

    /** How many numbers a decision is across the native border, in the order of the fields. */
    static final int FIGURES = 10;

    /** What a refund takes. */
    private static final String REFUNDABLE = "a decision of this limiter that granted, once";

    private static final AtomicIntegerFieldUpdater<Decision> REFUNDED =
            AtomicIntegerFieldUpdater.newUpdater(Decision.class, "refunded");

    private static final long NANOS_PER_SECOND = 1_000_000_000;

    private final Status status;
    private final int quota;
    private final long limit;
    private final long remaining;
    private final long retryAfterNanos;
    private final long resetAfterNanos;

    // What a refund needs to know. `limiter` is not the limiter itself, which may be freed before its decisions.
    private final Object limiter;
    final long limiterId;
    final long cost;
    final long grantedAtNanos;
    final long resetCount;
    /** 0 for a limiter without keys. */
    final long keyHash;
    /** 1 once it was. A plain field, to be set without a call. */
    private volatile int refunded;

    Decision(Status status, long[] figures, Object limiter) {
        this.status = status;
        this.limiter = limiter;
        quota = (int) figures[0];
        limit = figures[1];
        remaining = figures[2];
        retryAfterNanos = figures[3];
        resetAfterNanos = figures[4];
        limiterId = figures[5];
        cost = figures[6];
        grantedAtNanos = figures[7];
        resetCount = figures[8];
        keyHash = figures[9];
    }

    static Decision nonNull(Decision decision) {
        return Mistake.nonNull("decision", decision, REFUNDABLE);
    }

    /**
     * Consumes this by giving back what it granted; it stays refundable if that fails.
     *
     * @param by the identity of the limiter that is asked for it
     * @param other what this is if the limiter refuses it
     * @param refund the native call, which returns a code for {@link Waits#once}
     */
    void refund(Object by, String other, IntSupplier refund) {
        if (cost == 0) {
            throw Mistake.of("decision", "one that granted nothing", REFUNDABLE);
        }
        // Before it counts as refunded, be it for a moment: the right limiter may be about to refund it.
        if (limiter != by) {
            throw Mistake.of("decision", "one of another limiter", REFUNDABLE);
        }
        if (!REFUNDED.compareAndSet(this, 0, 1)) {
            throw new IllegalStateException(Mistake.text("decision", "one that was refunded before", REFUNDABLE));
        }
        int code;
        try {
            code = Waits.once(refund);
        } catch (Throwable noRoom) {
            refunded = 0;
            throw noRoom;
        }
        if (code != Status.ALLOWED.code()) {
            refunded = 0;
            throw Status.of(code).failure(Mistake.text("decision", other, REFUNDABLE));
        }
    }

    /** Whether the work may go ahead. */
    public boolean allowed() {
        return status == Status.ALLOWED;
    }

    /** {@link Status#ALLOWED}, {@link Status#DENIED} or {@link Status#EXCEEDS_CAPACITY}; of keyed limiters also {@link Status#KEYS_FULL}. */
    public Status status() {
        return status;
    }

    /** The limit of the quota that this decision names, in tokens per period. */
    public long limit() {
        return limit;
    }

    /** Tokens that could be spent now, after this decision; the least over all quotas. Never negative. */
    public long remaining() {
        return remaining;
    }

    /**
     * How long until the same call would be admitted, if nobody else asks: zero when allowed, {@link #NEVER} for never. Exact
     * on the limiter's clock: a nanosecond earlier would be refused.
     */
    public Duration retryAfter() {
        return retryAfterNanos == NEVER_NANOS ? NEVER : Duration.ofNanos(retryAfterNanos);
    }

    /** {@link #retryAfter()} in nanoseconds; {@link #NEVER_NANOS} for never. */
    public long retryAfterNanos() {
        return retryAfterNanos;
    }

    /**
     * {@link #retryAfter()} in whole seconds, rounded up, as an HTTP {@code Retry-After} header takes it: 0 when allowed, at
     * least 1 when refused, empty for never, where the header is best left out.
     *
     * <pre>{@code
     * decision.retryAfterSeconds().ifPresent(seconds -> headers.set("Retry-After", Long.toString(seconds)));
     * }</pre>
     */
    public OptionalLong retryAfterSeconds() {
        if (retryAfterNanos == NEVER_NANOS) {
            return OptionalLong.empty();
        }
        long seconds = retryAfterNanos / NANOS_PER_SECOND + (retryAfterNanos % NANOS_PER_SECOND == 0 ? 0 : 1);
        return OptionalLong.of(allowed() ? 0 : Math.max(1, seconds));
    }

    /** How long until nothing counts any more, if nobody asks; the longest over all quotas. */
    public Duration resetAfter() {
        return Duration.ofNanos(resetAfterNanos);
    }

    /** {@link #resetAfter()} in nanoseconds. */
    public long resetAfterNanos() {
        return resetAfterNanos;
    }

    /**
     * Which quota of the limiter's list this decision names, from 0: on refusal the one with the longest retry-after, else the
     * one with the least remaining.
     */
    public int quota() {
        return quota;
    }

    /** The figures, for people. */
    @Override
    public String toString() {
        String retry =
                allowed() ? "" : retryAfterNanos == NEVER_NANOS ? ", retry never" : ", retry after " + retryAfter();
        // Not "of" the limit: the burst, which isn't known here, is what is full.
        return "Decision(" + status + ", " + remaining + " remaining" + retry + ", reset after " + resetAfter() + ")";
    }
}

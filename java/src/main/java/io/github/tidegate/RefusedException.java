package io.github.tidegate;

import java.util.Optional;

/**
 * A limiter said no where only a yes lets the work go on. Nothing was taken. The message names what was asked and what stops
 * it: {@code refused: 1 permit asked, 0 of 2 available}.
 */
public sealed class RefusedException extends TidegateException permits ExceedsCapacityException, GateRefusedException {
    private static final long serialVersionUID = 1;

    /** Not kept when the exception is serialized: it means something only in the process of its limiter. */
    private final transient Decision decision;

    RefusedException(String message, Status status, Decision decision) {
        this(message, status, decision, null);
    }

    RefusedException(String message, Status status, Decision decision, Refusal refusal) {
        super(message, status, refusal);
        this.decision = decision;
    }

    /** A rate limiter's, by the quota that the decision names. */
    static RefusedException of(Decision decision, long cost, Quota quota) {
        if (decision.status() == Status.EXCEEDS_CAPACITY) {
            return new ExceedsCapacityException(never(cost, quota), decision);
        }
        String why;
        if (decision.status() == Status.KEYS_FULL) {
            why = "no room for another key; there is in " + decision.retryAfter();
        } else if (decision.limit() == 0) {
            why = "the limit is 0: " + quota;
        } else {
            why = decision.remaining() + " remaining; " + quota + " would admit that in " + decision.retryAfter();
        }
        return new RefusedException(text(cost, "token", why), decision.status(), decision);
    }

    /** Why so many tokens can never be had. */
    static String never(long cost, Quota quota) {
        return "cost " + cost + " can never be had: " + quota + " holds at most " + quota.burst();
    }

    /** {@code refused: 2 tokens asked, WHY}. */
    static String text(long asked, String unit, String why) {
        return "refused: " + asked + " " + unit + (asked == 1 ? "" : "s") + " asked, " + why;
    }

    /** The figures of a rate limiter's refusal, with the time to retry after; empty for a concurrency limiter. */
    public Optional<Decision> decision() {
        return Optional.ofNullable(decision);
    }
}

package io.github.tidegate;

import java.util.Optional;

/** A limiter said no where only a yes lets the work go on. Nothing was taken. */
public sealed class RefusedException extends TidegateException permits ExceedsCapacityException {
    private static final long serialVersionUID = 1;

    /** Not kept when the exception is serialized: it means something only in the process of its limiter. */
    private final transient Decision decision;

    RefusedException(String message, Status status, Decision decision) {
        super(message, status);
        this.decision = decision;
    }

    /** The figures of a rate limiter's refusal, with the time to retry after; empty for a concurrency limiter. */
    public Optional<Decision> decision() {
        return Optional.ofNullable(decision);
    }
}

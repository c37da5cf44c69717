package io.github.tidegate;

import java.util.Optional;

/** What a limiter throws when work must stop, or when the library itself is at fault. */
public abstract class TidegateException extends RuntimeException {
    private static final long serialVersionUID = 1;

    private final Status status;
    /** May be null. */
    private final Refusal refusal;

    TidegateException(String message, Status status, Refusal refusal) {
        super(message);
        this.status = status;
        this.refusal = refusal;
    }

    /** What became of the call. */
    public Status status() {
        return status;
    }

    /** How the limiter stood when a wait came to nothing, or did not begin; empty where nobody was to wait. */
    public final Optional<Refusal> refusal() {
        return Optional.ofNullable(refusal);
    }
}

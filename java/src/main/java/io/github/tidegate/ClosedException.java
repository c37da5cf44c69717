package io.github.tidegate;

import java.util.Optional;

/** The limiter is closed, or was while the caller waited. Nothing was taken. */
public final class ClosedException extends IllegalStateException {
    private static final long serialVersionUID = 1;

    /** May be null. */
    private final Refusal refusal;

    ClosedException(String message, Refusal refusal) {
        super(message);
        this.refusal = refusal;
    }

    /** What a call of a closed limiter is answered with. */
    static ClosedException ofCall() {
        return new ClosedException(Mistake.text("limiter", "one that is closed", "one that is open"), null);
    }

    /** How the limiter stood when it was closed, for who waited then; empty for who came later. */
    public Optional<Refusal> refusal() {
        return Optional.ofNullable(refusal);
    }
}

package io.github.tidegate;

/** More was asked for than the limiter can ever hold: waiting would not help. */
public final class ExceedsCapacityException extends RefusedException {
    private static final long serialVersionUID = 1;

    ExceedsCapacityException(String message, Decision decision) {
        super(message, Status.EXCEEDS_CAPACITY, decision, null);
    }

    ExceedsCapacityException(String message, Refusal refusal) {
        super(message, Status.EXCEEDS_CAPACITY, null, refusal);
    }
}

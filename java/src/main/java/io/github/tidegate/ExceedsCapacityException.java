package io.github.tidegate;

/** More was asked for than the limiter can ever hold: waiting would not help. */
public final class ExceedsCapacityException extends TidegateException {
    private static final long serialVersionUID = 1;

    ExceedsCapacityException(String message) {
        super(message, Status.EXCEEDS_CAPACITY);
    }
}

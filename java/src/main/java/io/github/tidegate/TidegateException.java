package io.github.tidegate;

/** What a limiter throws when work must stop, or when the library itself is at fault. */
public abstract class TidegateException extends RuntimeException {
    private static final long serialVersionUID = 1;

    private final Status status;

    TidegateException(String message, Status status) {
        super(message);
        this.status = status;
    }

    /** What became of the call. */
    public Status status() {
        return status;
    }
}

package io.github.tidegate;

/** The limiter was closed while the caller waited. Nothing was taken. */
public final class ClosedException extends TidegateException {
    private static final long serialVersionUID = 1;

    ClosedException(String message) {
        super(message, Status.CLOSED);
    }
}

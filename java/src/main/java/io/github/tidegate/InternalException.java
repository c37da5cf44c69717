package io.github.tidegate;

/** A fault inside the library. It was caught, the process is safe; the limiter may have lost count of one call. */
public final class InternalException extends TidegateException {
    private static final long serialVersionUID = 1;

    InternalException(String message) {
        super(message, Status.PANIC, null);
    }
}

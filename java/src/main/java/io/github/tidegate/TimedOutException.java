package io.github.tidegate;

/** The wait outlasted, or would have outlasted, its timeout. Nothing was taken. */
public final class TimedOutException extends TidegateException {
    private static final long serialVersionUID = 1;

    TimedOutException(String message, Refusal refusal) {
        super(message, Status.TIMED_OUT, refusal);
    }
}

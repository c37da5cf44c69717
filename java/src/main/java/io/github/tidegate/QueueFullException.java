package io.github.tidegate;

/** As many callers wait as may. Nothing was taken. */
public final class QueueFullException extends TidegateException {
    private static final long serialVersionUID = 1;

    QueueFullException(String message, Refusal refusal) {
        super(message, Status.QUEUE_FULL, refusal);
    }
}

package io.github.tidegate;

/** One request that waits for a {@link Gate}: a line of its own, whose ticket is gone once it is over. */
final class Entering extends Line {
    private static final int PENDING = Status.PENDING.code();
    private static final int TOLD_PENDING = Waits.TOLD + PENDING;

    /** Whether the ticket is gone. */
    private boolean over;

    /** Makes sure that this class is ready for use. */
    static void require() {}

    /** @param clock the gate's, or null */
    Entering(Clock clock) {
        super("cost", clock);
    }

    @Override
    int poll(long ticket, long[] wakeAfterNanos) {
        int code;
        synchronized (this) {
            if (over) {
                // Whoever saw its end is about to tell.
                wakeAfterNanos[0] = Decision.NEVER_NANOS;
                return Status.ALLOWED.code();
            }
            code = poll0(ticket, wakeAfterNanos);
            // No call here, which could find no room on the stack.
            over = code != PENDING && code != TOLD_PENDING;
        }
        return Waits.after(code);
    }

    @Override
    int cancel(long ticket) {
        int code;
        synchronized (this) {
            if (over) {
                return Status.TOO_LATE.code();
            }
            code = cancel0(ticket);
            over = true;
        }
        return Waits.after(code);
    }

    @Override
    boolean isClosed() {
        return false;
    }

    @Override
    Refusal refusal(Status status, Request request, long elapsedNanos) {
        throw new InternalException("a gate tells its refusals itself, not as " + status);
    }

    @Override
    String never(Request request) {
        throw new InternalException("a gate tells its refusals itself");
    }

    /** Looks at the wait. That it is over is told as an event. */
    private native int poll0(long ticket, long[] wakeAfterNanos);

    private native int cancel0(long ticket);
}

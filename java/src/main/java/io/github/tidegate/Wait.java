package io.github.tidegate;

/** One wait for tokens or permits, on a thread or as a future. */
abstract sealed class Wait permits ParkedWait, FutureWait {
    final Line line;
    /** Told apart by it from all others of the process. */
    final long number;

    private final long ticket;
    private long[] granted;

    private final long beganNanos;
    /** Null while it goes on. */
    private volatile Status outcome;

    /** One that the last native call on this thread has begun. */
    Wait(Line line) {
        this.line = line;
        long[] begun = Waits.begun();
        number = begun[0];
        ticket = begun[1];
        beganNanos = line.nowNanos();
    }

    /** Makes it known to who will tell it. */
    final void enter() {
        Waits.enter(this);
        if (line.isClosed()) {
            // Whoever closed the line may have looked for waits before.
            leave();
        }
    }

    /** What became of it; null while it goes on. */
    final Status outcome() {
        return outcome;
    }

    /** What was granted, as numbers, once it was. */
    final long[] granted() {
        return granted;
    }

    final long elapsedNanos() {
        return line.nowNanos() - beganNanos;
    }

    /** Is told what became of it: by an event. It may be told again, the same, where there was no room on the stack. */
    final void settle(long[] event) {
        if (event[1] == Status.ALLOWED.code()) {
            granted = Waits.granted(event);
        }
        if (outcome == null) {
            outcome = Status.of((int) event[1]);
            line.over();
        }
    }

    /** Looks whether it is over, and returns after how many nanoseconds to look again; {@link Decision#NEVER_NANOS}: not at all. */
    final long poll() {
        long[] wakeAfterNanos = {Decision.NEVER_NANOS};
        Status status = Status.of(line.poll(ticket, wakeAfterNanos));
        if (status != Status.PENDING) {
            Status.check(status.code());
            return Decision.NEVER_NANOS;
        }
        return line.hasTimers() ? wakeAfterNanos[0] : Decision.NEVER_NANOS;
    }

    /** Ends it unless it is over; returns whether it did. */
    final boolean leave() {
        return outcome == null && Status.of(line.cancel(ticket)) == Status.ALLOWED;
    }
}

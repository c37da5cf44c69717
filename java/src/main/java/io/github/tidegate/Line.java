package io.github.tidegate;

import java.util.concurrent.CompletableFuture;
import java.util.function.Function;

/**
 * Those who wait for one limiter, whichever the key, and the native calls by which they do; what a call tells of waits is dealt with
 * when it returns.
 */
abstract class Line {
    static {
        // What a native call tells is kept by native thread. A virtual thread that stopped before it asks for that, as
        // the loading of a
        // class may do, could go on upon another.
        Waits.require();
        ParkedWait.require();
        FutureWait.require();
        Request.require();
    }

    private final String argument;
    /** Null if the limiter goes by real time. */
    private final ManualClock manual;

    /**
     * @param argument what is waited for, as the argument of calls: cost or permits
     * @param clock the limiter's, or null
     */
    Line(String argument, Clock clock) {
        this.argument = argument;
        manual = clock instanceof ManualClock given ? given : null;
    }

    /** Looks at a wait; writes after how many nanoseconds to do so again. Returns the status's code. */
    abstract int poll(long ticket, long[] wakeAfterNanos);

    /** Ends a wait; returns the status's code. */
    abstract int cancel(long ticket);

    /** Is told, once for each wait, that it is over. */
    void over() {}

    abstract boolean isClosed();

    /** How the limiter stands. */
    abstract Refusal refusal(Status status, Request request, long elapsedNanos);

    /** Why it can never be had, as a message. */
    abstract String never(Request request);

    final long nowNanos() {
        return manual == null ? System.nanoTime() : manual.nowNanos();
    }

    /** Who moves a manual clock tells all whose time has come. */
    final boolean hasTimers() {
        return manual == null;
    }

    /**
     * Waits on this thread until there is what was asked for, if the call that asked did not get it at once.
     *
     * @param code what that call returned, for {@link Waits#after}
     * @return what was granted, as numbers; null if it was at once
     * @throws InterruptedException if the thread is interrupted meanwhile
     * @throws RuntimeException if it comes to nothing
     */
    final long[] await(int code, Request request) throws InterruptedException {
        if (!Waits.isPending(code)) {
            Status status = Status.of(Waits.after(code));
            if (status != Status.ALLOWED) {
                throw failure(status, request, 0);
            }
            return null;
        }
        ParkedWait wait = new ParkedWait(this);
        Waits.after(code);
        Status status = wait.await();
        if (status != Status.ALLOWED) {
            throw failure(status, request, wait.elapsedNanos());
        }
        return wait.granted();
    }

    /**
     * {@link #await} as a future, if there was not at once what was asked for.
     *
     * @param value makes the future's value of what was granted
     * @throws RuntimeException at once, if it was a mistake to ask
     */
    final <T> CompletableFuture<T> future(int code, Request request, Function<long[], FutureWait.Granted<T>> value) {
        if (Waits.isPending(code)) {
            FutureWait<T> wait = new FutureWait<>(this, request, value);
            Waits.after(code);
            return wait.begin();
        }
        Status status = Status.of(Waits.after(code));
        RuntimeException failure = failure(status, request, 0);
        if (status.code() < 0) {
            throw failure;
        }
        return CompletableFuture.failedFuture(failure);
    }

    /** What a wait that came to nothing, or did not begin, is thrown as. */
    final RuntimeException failure(Status status, Request request, long elapsedNanos) {
        // Who closes a line may do so by leaving for those who wait.
        Status why = status == Status.CANCELLED && isClosed() ? Status.CLOSED : status;
        return switch (why) {
            case TIMED_OUT, QUEUE_FULL, KEYS_FULL, EXCEEDS_CAPACITY, CLOSED -> {
                Refusal refusal = refusal(why, request, elapsedNanos);
                String text = refusal.toString();
                yield switch (why) {
                    case TIMED_OUT -> new TimedOutException(text, refusal);
                    case QUEUE_FULL -> new QueueFullException(text, refusal);
                    case KEYS_FULL -> new RefusedException(text, why, null, refusal);
                    case EXCEEDS_CAPACITY -> new ExceedsCapacityException(never(request), refusal);
                    default -> new ClosedException(text, refusal);
                };
            }
            case INVALID_COST -> Mistake.of(argument, request.amount(), "1 to " + RateLimiter.MAX_COST);
            default -> why.failure(why.toString());
        };
    }
}

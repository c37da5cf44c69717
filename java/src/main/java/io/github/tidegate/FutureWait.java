package io.github.tidegate;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;
import java.util.function.Function;

/** A wait as a future. Completing it by other means, as a cancel or {@code orTimeout} do, ends the wait. */
final class FutureWait<T> extends Wait {
    @SuppressWarnings("rawtypes")
    private static final AtomicIntegerFieldUpdater<FutureWait> COMPLETED =
            AtomicIntegerFieldUpdater.newUpdater(FutureWait.class, "completed");

    private final CompletableFuture<T> future = new CompletableFuture<>();
    private final Request request;
    /** Makes the future's value of what is granted. */
    private final Function<long[], Granted<T>> value;

    /** Changed by whoever completes the future. */
    private Granted<T> mine;
    /** 1 once the future is completed. A plain field, to be set without a call. */
    private volatile int completed;

    private volatile Future<?> timer;

    /** The value of a future, and what to do with it if nobody wants it any more; or, if it is not null, why there is none. */
    record Granted<T>(T value, Runnable giveBack, RuntimeException failure) {
        Granted(T value, Runnable giveBack) {
            this(value, giveBack, null);
        }

        boolean complete(CompletableFuture<T> future) {
            return failure == null ? future.complete(value) : future.completeExceptionally(failure);
        }
    }

    /** Makes sure that this class is ready for use. */
    static void require() {}

    FutureWait(Line line, Request request, Function<long[], Granted<T>> value) {
        super(line);
        this.request = request;
        this.value = value;
    }

    CompletableFuture<T> begin() {
        enter();
        future.whenComplete((value, failure) -> leaveAndDisarm());
        proceed();
        return future;
    }

    /** Completes the future if the wait is over; else sees to it that somebody looks when it may be. */
    void proceed() {
        if (outcome() == null) {
            arm(poll());
        }
        if (outcome() != null) {
            if (Timers.isCurrentThread()) {
                // The caller's code must not hold up others' timers.
                Timers.POOL.execute(this::complete);
            } else {
                complete();
            }
        }
    }

    private void complete() {
        // By whoever sees first that the wait is over: it may have been told on another thread, or within a poll.
        if (!COMPLETED.compareAndSet(this, 0, 1)) {
            return;
        }
        try {
            if (outcome() == Status.ALLOWED) {
                mine = mine == null ? value.apply(granted()) : mine;
                if (!mine.complete(future)) {
                    mine.giveBack.run();
                }
            } else {
                future.completeExceptionally(line.failure(outcome(), request, elapsedNanos()));
            }
        } catch (Throwable noRoom) {
            // On the stack, or in memory: it is tried again.
            completed = 0;
            throw noRoom;
        }
    }

    private void arm(long wakeAfterNanos) {
        disarm();
        if (wakeAfterNanos != Decision.NEVER_NANOS && outcome() == null) {
            timer = Timers.after(wakeAfterNanos, this::proceed);
            if (future.isDone()) {
                disarm();
            }
        }
    }

    private void leaveAndDisarm() {
        leave();
        disarm();
    }

    private void disarm() {
        Future<?> armed = timer;
        if (armed != null) {
            armed.cancel(false);
        }
    }
}

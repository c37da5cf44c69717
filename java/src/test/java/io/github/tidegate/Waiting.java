package io.github.tidegate;

import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/** A call on a thread of its own, for tests of what waits. */
final class Waiting<T> {
    private static final int PATIENCE_SECONDS = 30;

    private final FutureTask<T> task;
    final Thread thread;

    private Waiting(Callable<T> call) {
        task = new FutureTask<>(call);
        thread = new Thread(task, "waiting");
        thread.setDaemon(true);
        thread.start();
    }

    /** Starts a call, and comes back once as many wait as are told. */
    static <T> Waiting<T> on(LongSupplier waiting, long expected, Callable<T> call) {
        Waiting<T> started = new Waiting<>(call);
        until(waiting, expected);
        return started;
    }

    static void until(LongSupplier figure, long expected) {
        long giveUpAtNanos = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE_SECONDS);
        while (figure.getAsLong() != expected) {
            assertTrue(System.nanoTime() < giveUpAtNanos, () -> "still " + figure.getAsLong() + ", not " + expected);
            Thread.yield();
        }
    }

    boolean isDone() {
        return task.isDone();
    }

    T get() throws Exception {
        return task.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
    }

    <E extends Throwable> E failure(Class<E> expected) {
        return assertThrows(expected, () -> {
            throw assertThrows(ExecutionException.class, this::get).getCause();
        });
    }

    /** What a future failed with. */
    static <E extends Throwable> E failure(Class<E> expected, CompletableFuture<?> future) {
        return assertThrows(expected, () -> {
            try {
                future.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
            } catch (ExecutionException failed) {
                throw failed.getCause();
            } catch (CompletionException failed) {
                throw failed.getCause();
            }
        });
    }
}

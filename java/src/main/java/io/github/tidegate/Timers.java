package io.github.tidegate;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * Wakes waits that are futures: one thread for all of them, which is there only while a timer is set, and keeps no process alive.
 * Not the one of {@link CompletableFuture#delayedExecutor}, which would keep each wait that was cancelled until its time.
 */
final class Timers {
    /** Where the code of callers runs that a timer brings about. */
    static final Executor POOL = new CompletableFuture<Void>().defaultExecutor();

    private static final long IDLE_SECONDS = 10;

    private static final ScheduledThreadPoolExecutor EXECUTOR = new ScheduledThreadPoolExecutor(1, TimerThread::new);

    static {
        EXECUTOR.setRemoveOnCancelPolicy(true);
        EXECUTOR.setKeepAliveTime(IDLE_SECONDS, TimeUnit.SECONDS);
        EXECUTOR.allowCoreThreadTimeOut(true);
    }

    private Timers() {}

    private static final class TimerThread extends Thread {
        TimerThread(Runnable work) {
            super(null, work, "tidegate timers", 0, false);
            setDaemon(true);
            // Nobody's classes are kept by it.
            setContextClassLoader(null);
        }
    }

    static Future<?> after(long nanos, Runnable task) {
        return EXECUTOR.schedule(task, nanos, TimeUnit.NANOSECONDS);
    }

    static boolean isCurrentThread() {
        return Thread.currentThread() instanceof TimerThread;
    }
}

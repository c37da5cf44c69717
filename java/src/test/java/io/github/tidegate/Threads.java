package io.github.tidegate;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/** Threads that start at once. */
final class Threads {
    private static final int PATIENCE_SECONDS = 120;

    private Threads() {}

    /** What one thread does; it is told its number, from 0. */
    interface Work {
        void run(int thread) throws Exception;
    }

    /** Runs the work on that many threads, all behind one barrier; throws what the first one threw that failed. */
    static void together(int count, Work work) throws Exception {
        CyclicBarrier barrier = new CyclicBarrier(count);
        ExecutorService pool = Executors.newFixedThreadPool(count);
        try {
            List<Future<?>> all = new ArrayList<>();
            for (int number = 0; number < count; number++) {
                int thread = number;
                all.add(pool.submit(() -> {
                    barrier.await();
                    work.run(thread);
                    return null;
                }));
            }
            for (Future<?> one : all) {
                one.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
            }
        } catch (ExecutionException failed) {
            if (failed.getCause() instanceof Exception exception) {
                throw exception;
            }
            throw (Error) failed.getCause();
        } finally {
            pool.shutdownNow();
        }
    }
}

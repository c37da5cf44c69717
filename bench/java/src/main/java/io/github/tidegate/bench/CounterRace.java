package io.github.tidegate.bench;

import io.github.tidegate.RateLimiter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;

/** Ten threads on one fixed window of 5,000,000 a second for 3.5 s, which sees exactly four windows. */
final class CounterRace {
    private static final int LIMIT = 5_000_000;
    private static final int THREADS = 10;
    private static final int RACES = Turns.QUICK ? 1 : 3;
    private static final Duration LENGTH = Duration.ofMillis(3_500);
    private static final int WINDOWS = 4;

    private CounterRace() {}

    /** Makes so many calls and tells how many were admitted, so that no call is dead code. */
    @FunctionalInterface
    private interface Loop {
        int admitted(int calls);
    }

    static void run() throws InterruptedException {
        double[] ours = new double[RACES];
        double[] theirs = new double[RACES];
        for (int race = 0; race < RACES; race++) {
            ours[race] = race("tidegate", tidegate());
            theirs[race] = race("AtomicInteger", atomic());
        }
        Row.print("counter race", "tidegate", Row.version(RateLimiter.class), "ops_per_s", ours);
        Row.print("counter race", "AtomicInteger", Row.version(AtomicInteger.class), "ops_per_s", theirs);
    }

    private static Loop tidegate() {
        RateLimiter window = RateLimiter.of(LIMIT + "/s fixed_window");
        return calls -> {
            int admitted = 0;
            for (int call = 0; call < calls; call++) {
                if (window.tryAcquire()) {
                    admitted++;
                }
            }
            return admitted;
        };
    }

    private static Loop atomic() {
        AtomicWindow window = new AtomicWindow(LIMIT, Duration.ofSeconds(1).toNanos());
        return calls -> {
            int admitted = 0;
            for (int call = 0; call < calls; call++) {
                if (window.tryAcquire()) {
                    admitted++;
                }
            }
            return admitted;
        };
    }

    /** Calls a second of all threads together. The clock of the race is read seldom, so that it is the limiter that is timed. */
    private static double race(String name, Loop loop) throws InterruptedException {
        LongAdder admitted = new LongAdder();
        LongAdder calls = new LongAdder();
        long[] start = new long[1];
        CyclicBarrier ready = new CyclicBarrier(THREADS, () -> start[0] = System.nanoTime());
        List<Thread> threads = new ArrayList<>();
        for (int number = 0; number < THREADS; number++) {
            Thread thread = new Thread(() -> {
                try {
                    ready.await();
                } catch (Exception error) {
                    throw new IllegalStateException(error);
                }
                while (System.nanoTime() - start[0] < LENGTH.toNanos()) {
                    admitted.add(loop.admitted(1_000));
                    calls.add(1_000);
                }
            });
            threads.add(thread);
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        double seconds = (System.nanoTime() - start[0]) / 1e9;
        if (admitted.sum() != (long) WINDOWS * LIMIT) {
            throw new IllegalStateException("counter race, " + name + ": admitted " + admitted);
        }
        return calls.sum() / seconds;
    }
}

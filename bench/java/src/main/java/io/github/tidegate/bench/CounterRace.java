package io.github.tidegate.bench;

import io.github.tidegate.RateLimiter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.atomic.LongAdder;

/** Ten threads on one fixed window of 5,000,000 a second for 3.5 s, which sees exactly four windows. */
final class CounterRace {
    private static final int LIMIT = 5_000_000;
    private static final int THREADS = 10;
    private static final int RACES = Rounds.QUICK ? 1 : 3;
    private static final Duration LENGTH = Duration.ofMillis(3_500);
    private static final int WINDOWS = 4;

    private CounterRace() {}

    static void run() throws InterruptedException {
        Subject ours = new Subject("tidegate", Harness.TIDEGATE, null);
        Subject theirs = new Subject("AtomicInteger", System.getProperty("java.version"), null);
        double[] oursPerSecond = new double[RACES];
        double[] theirsPerSecond = new double[RACES];
        for (int race = 0; race < RACES; race++) {
            oursPerSecond[race] = race(ours.name(), tidegate());
            theirsPerSecond[race] = race(theirs.name(), atomic());
        }
        Rounds.report("counter race", ours, "ops_per_s", oursPerSecond);
        Rounds.report("counter race", theirs, "ops_per_s", theirsPerSecond);
    }

    private static Subject.Loop tidegate() {
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

    private static Subject.Loop atomic() {
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
    private static double race(String name, Subject.Loop loop) throws InterruptedException {
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
        Rounds.check("counter race, " + name, admitted.sum(), (long) WINDOWS * LIMIT);
        return calls.sum() / seconds;
    }
}

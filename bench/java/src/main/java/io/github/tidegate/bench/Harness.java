package io.github.tidegate.bench;

import com.google.common.util.concurrent.RateLimiter;
import io.github.tidegate.ConcurrencyLimiter;
import io.github.tidegate.Permit;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Semaphore;

/** tidegate's jar beside its peers, interleaved in one process. Prints JSON lines; {@code bench/run.py} reads them. */
final class Harness {
    static final String TIDEGATE = Subject.version("io.github.tidegate", "tidegate");
    private static final String GUAVA = Subject.version("com.google.guava", "guava");

    /** More than any loop here can spend in a second. */
    static final int PLENTY = 1_000_000_000;

    private static final String ACQUIRE = "acquire + release";

    private Harness() {}

    public static void main(String[] arguments) throws InterruptedException {
        sameWork();
        KeyedBudgets.sameWork();
        rate();
        KeyedBudgets.run();
        concurrency();
        waiting();
        Gates.run();
        CounterRace.run();
    }

    /**
     * Both admit as many of the same calls, before anything is timed. Guava saves up to a second's permits but starts with
     * none, so both are asked until both have run dry. Guava goes by microseconds and each has a clock of its own, hence the
     * two calls that one may be ahead.
     */
    private static void sameWork() {
        int perSecond = 1_000;
        var ours = io.github.tidegate.RateLimiter.of(perSecond + "/s");
        var theirs = RateLimiter.create(perSecond);
        while (ours.tryAcquire() | theirs.tryAcquire()) {
            // Until both refuse.
        }
        int calls = 0;
        int admittedOurs = 0;
        int admittedTheirs = 0;
        long start = System.nanoTime();
        for (; System.nanoTime() - start < 500_000_000L; calls++) {
            admittedOurs += ours.tryAcquire() ? 1 : 0;
            admittedTheirs += theirs.tryAcquire() ? 1 : 0;
        }
        String told = "of " + calls + " calls in 0.5 s at " + perSecond + "/s tidegate admits " + admittedOurs
                + ", Guava " + admittedTheirs;
        if (admittedOurs < perSecond / 2 * 9 / 10 || Math.abs(admittedOurs - admittedTheirs) > 2) {
            throw new IllegalStateException(told);
        }
        System.err.println("same work: " + told);
    }

    private static Subject tidegate(io.github.tidegate.RateLimiter limiter) {
        return new Subject("tidegate", TIDEGATE, calls -> {
            int admitted = 0;
            for (int call = 0; call < calls; call++) {
                if (limiter.tryAcquire()) {
                    admitted++;
                }
            }
            return admitted;
        });
    }

    private static Subject guava(RateLimiter limiter) {
        return new Subject("Guava", GUAVA, calls -> {
            int admitted = 0;
            for (int call = 0; call < calls; call++) {
                if (limiter.tryAcquire()) {
                    admitted++;
                }
            }
            return admitted;
        });
    }

    private static void rate() {
        Rounds.together(
                "gcra allowed",
                true,
                List.of(tidegate(io.github.tidegate.RateLimiter.of(PLENTY + "/s")), guava(RateLimiter.create(PLENTY))));
        List<Subject> usedUp =
                List.of(tidegate(io.github.tidegate.RateLimiter.of("1/h")), guava(RateLimiter.create(1.0 / 3600)));
        for (Subject subject : usedUp) {
            Rounds.check(subject.name() + ", first call", subject.loop().admitted(1), 1);
        }
        Rounds.together("gcra refused", false, usedUp);
    }

    private static void concurrency() {
        ConcurrencyLimiter limiter = ConcurrencyLimiter.of(10);
        Subject ours = new Subject("tidegate", TIDEGATE, calls -> {
            int admitted = 0;
            for (int call = 0; call < calls; call++) {
                Optional<Permit> permit = limiter.tryAcquire();
                if (permit.isPresent()) {
                    permit.get().release();
                    admitted++;
                }
            }
            return admitted;
        });
        Semaphore semaphore = new Semaphore(10);
        Subject theirs = new Subject("j.u.c. Semaphore", System.getProperty("java.version"), calls -> {
            int admitted = 0;
            for (int call = 0; call < calls; call++) {
                if (semaphore.tryAcquire()) {
                    semaphore.release();
                    admitted++;
                }
            }
            return admitted;
        });
        Rounds.together("concurrency try_acquire + release", true, List.of(ours, theirs));
    }

    /** What may wait, where it need not. */
    private static void waiting() {
        ConcurrencyLimiter limiter = ConcurrencyLimiter.of(10);
        Subject ours = new Subject("tidegate", TIDEGATE, calls -> {
            for (int call = 0; call < calls; call++) {
                try {
                    limiter.acquire().release();
                } catch (InterruptedException interrupted) {
                    throw new IllegalStateException(interrupted);
                }
            }
            return calls;
        });
        Semaphore semaphore = new Semaphore(10);
        Subject theirs = new Subject("j.u.c. Semaphore", System.getProperty("java.version"), calls -> {
            for (int call = 0; call < calls; call++) {
                try {
                    semaphore.acquire();
                } catch (InterruptedException interrupted) {
                    throw new IllegalStateException(interrupted);
                }
                semaphore.release();
            }
            return calls;
        });
        // One that the compiler knows no better way for, and that has next to nothing to do.
        Object unlocked = new Object();
        Subject border = new Subject("two native calls of the JDK's", System.getProperty("java.version"), calls -> {
            int free = 0;
            for (int call = 0; call < calls; call++) {
                if (!Thread.holdsLock(unlocked) & !Thread.holdsLock(unlocked)) {
                    free++;
                }
            }
            return free;
        });
        Rounds.together(ACQUIRE, true, List.of(ours, theirs, border));
    }
}

package io.github.tidegate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** P13: a seeded storm of waits on eight threads, after which everything is back. */
@Timeout(120)
class WaitStormTest {
    private static final int THREADS = 8;
    private static final int ROUNDS = 100_000;
    private static final long SEED = 4;
    private static final long LIMIT = 8;

    private final ConcurrencyLimiter limiter =
            ConcurrencyLimiter.builder(LIMIT).maxWaiters(12).build();
    private final AtomicInteger inside = new AtomicInteger();
    private final AtomicInteger peak = new AtomicInteger();
    private final AtomicLong granted = new AtomicLong();

    @Test
    void p13_permitsAddUpAfterAStormOfWaitsTimeoutsInterruptsCancelsAndResizes() throws Exception {
        Thread[] threads = new Thread[THREADS];
        Threads.together(THREADS, number -> {
            threads[number] = Thread.currentThread();
            SplittableRandom random = new SplittableRandom(SEED * THREADS + number);
            for (int round = 0; round < ROUNDS / THREADS; round++) {
                try {
                    step(random, threads[random.nextInt(THREADS)]);
                } catch (InterruptedException | QueueFullException | TimedOutException | ExceedsCapacityException no) {
                    // One of the ends that a wait may have.
                }
            }
            // Or whoever is interrupted last would not come to the end of this test.
            Thread.interrupted();
        });
        limiter.setLimit(LIMIT);
        Waiting.until(limiter::waiting, 0);
        Waiting.until(limiter::inFlight, 0);
        Waiting.assertAtRest(limiter);
        Stats stats = limiter.stats();
        assertEquals(stats.allowed(), stats.releasedOk() + stats.releasedFailed());
        assertTrue(peak.get() >= 2 && peak.get() <= LIMIT, "peak " + peak);
        assertTrue(granted.get() > ROUNDS / 10, "granted " + granted);
        assertTrue(stats.timedOut() > 0 && stats.cancelled() > 0 && stats.denied() > 0, stats.toString());
    }

    private void step(SplittableRandom random, Thread victim) throws InterruptedException {
        int permits = random.nextInt(1, 4);
        Duration timeout = Duration.ofNanos(random.nextInt(200_000));
        switch (random.nextInt(16)) {
            case 0 -> limiter.setLimit(random.nextLong(1, LIMIT + 1));
            case 1 -> {
                if (victim != null) {
                    victim.interrupt();
                }
            }
            case 2 -> limiter.tryAcquire(permits).ifPresent(this::use);
            case 3, 4 -> leave(limiter.acquireAsync(permits, timeout));
            case 5, 6 -> limiter.acquireAsync(permits, Decision.NEVER).thenAccept(this::use);
            case 7, 8 -> {
                CompletableFuture<Permit> future = limiter.acquireAsync(permits, timeout);
                try {
                    use(future.get());
                } catch (InterruptedException left) {
                    leave(future);
                } catch (ExecutionException no) {
                    // Timed out, or the line is full.
                }
            }
            default -> use(limiter.acquire(permits, timeout));
        }
    }

    private void leave(CompletableFuture<Permit> future) {
        if (!future.cancel(true)) {
            future.thenAccept(this::use);
        }
    }

    private void use(Permit permit) {
        granted.incrementAndGet();
        int permits = (int) permit.permits();
        peak.accumulateAndGet(inside.addAndGet(permits), Math::max);
        inside.addAndGet(-permits);
        permit.release(permits != 2);
    }
}

package io.github.tidegate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.Arrays;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** P13: a seeded storm of waits on eight threads, after which everything is back: without keys, and with a few that all want. */
@Timeout(120)
class WaitStormTest {
    private static final int THREADS = 8;
    private static final int ROUNDS = 100_000;
    private static final long SEED = 4;
    private static final long LIMIT = 8;
    private static final int KEYS = 3;

    private static final int MAX_WAITERS = 12;

    /** What is lent; a limiter without keys, or some keys of one. */
    private Lending[] budgets;

    private final AtomicLong granted = new AtomicLong();
    private final AtomicInteger[] inside = new AtomicInteger[KEYS];
    private final AtomicInteger[] peak = new AtomicInteger[KEYS];

    @Test
    void p13_permitsAddUpAfterAStormOfWaitsTimeoutsInterruptsCancelsAndResizes() throws Exception {
        ConcurrencyLimiter limiter =
                ConcurrencyLimiter.builder(LIMIT).maxWaiters(MAX_WAITERS).build();
        storm(Lending.of(limiter));
    }

    @Test
    void p13_permitsOfEachKeyAddUpAfterAStormOfWaitsTimeoutsInterruptsCancelsAndResizes() throws Exception {
        KeyedConcurrencyLimiter limiter = KeyedConcurrencyLimiter.builder(LIMIT)
                .maxKeys(1_000)
                .maxWaiters(MAX_WAITERS)
                .build();
        storm(IntStream.range(0, KEYS)
                .mapToObj(key -> Lending.of(limiter, "key " + key))
                .toArray(Lending[]::new));
    }

    private void storm(Lending... budgets) throws Exception {
        this.budgets = budgets;
        Arrays.setAll(inside, key -> new AtomicInteger());
        Arrays.setAll(peak, key -> new AtomicInteger());
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
        budgets[0].setLimit(LIMIT);
        for (int key = 0; key < budgets.length; key++) {
            Lending budget = budgets[key];
            Waiting.until(budget::waiting, 0);
            Waiting.until(budget::inFlight, 0);
            budget.assertAtRest();
            assertTrue(peak[key].get() >= 2 && peak[key].get() <= LIMIT, "peak " + peak[key]);
        }
        Stats stats = budgets[0].stats();
        assertEquals(stats.allowed(), stats.releasedOk() + stats.releasedFailed());
        assertEquals(0, stats.waiting());
        assertEquals(0, stats.inFlight());
        assertTrue(granted.get() > ROUNDS / 10, "granted " + granted);
        assertTrue(stats.timedOut() > 0 && stats.cancelled() > 0 && stats.denied() > 0, stats.toString());
    }

    private void step(SplittableRandom random, Thread victim) throws InterruptedException {
        int key = random.nextInt(budgets.length);
        Lending limiter = budgets[key];
        int permits = random.nextInt(1, 4);
        Duration timeout = Duration.ofNanos(random.nextInt(200_000));
        switch (random.nextInt(16)) {
            case 0 -> limiter.setLimit(random.nextLong(1, LIMIT + 1));
            case 1 -> {
                if (victim != null) {
                    victim.interrupt();
                }
            }
            case 2 -> limiter.tryAcquire(permits).ifPresent(permit -> use(key, permit));
            case 3, 4 -> leave(key, limiter.acquireAsync(permits, timeout));
            case 5, 6 -> limiter.acquireAsync(permits, Decision.NEVER).thenAccept(permit -> use(key, permit));
            case 7, 8 -> {
                CompletableFuture<Permit> future = limiter.acquireAsync(permits, timeout);
                try {
                    use(key, future.get());
                } catch (InterruptedException left) {
                    leave(key, future);
                } catch (ExecutionException no) {
                    // Timed out, or the line is full.
                }
            }
            default -> use(key, limiter.acquire(permits, timeout));
        }
    }

    private void leave(int key, CompletableFuture<Permit> future) {
        if (!future.cancel(true)) {
            future.thenAccept(permit -> use(key, permit));
        }
    }

    private void use(int key, Permit permit) {
        granted.incrementAndGet();
        int permits = (int) permit.permits();
        peak[key].accumulateAndGet(inside[key].addAndGet(permits), Math::max);
        inside[key].addAndGet(-permits);
        permit.release(permits != 2);
    }
}

package io.github.tidegate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;

/** Calls for which the stack has no room, each at many depths: no permit is lost, and none is given back twice. */
class StackOverflowTest {
    private static final int ROUNDS = 40;
    private static final int STACK_BYTES = 256 << 10;
    private static final long PATIENCE_NANOS = 30_000_000_000L;

    /** Goes down until the stack is full and then tries, in each frame on the way up, until there is room for it. */
    private static void atTheEndOfTheStack(Runnable attempt) {
        try {
            atTheEndOfTheStack(attempt);
        } catch (StackOverflowError full) {
            attempt.run();
        }
    }

    /** The same from a depth of its own, so that the stack is full at another place of the attempt. */
    static long fromDepth(int depth, long padding, Runnable attempt) {
        if (depth > 0) {
            return padding + fromDepth(depth - 1, padding + 1, attempt);
        }
        atTheEndOfTheStack(attempt);
        return padding;
    }

    static void onASmallStack(Runnable work) throws InterruptedException {
        AtomicReference<Throwable> failure = new AtomicReference<>();
        Thread thread = new Thread(null, work, "small stack", STACK_BYTES);
        thread.setUncaughtExceptionHandler((ended, thrown) -> failure.set(thrown));
        thread.start();
        thread.join();
        assertNull(failure.get());
    }

    @Test
    void aReleaseThatOverflowsTheStackLeavesThePermitToBeReleased() throws InterruptedException {
        ConcurrencyLimiter limiter = ConcurrencyLimiter.of(2);
        release(limiter::tryAcquire, limiter::stats);
    }

    @Test
    void aReleaseOfAKeyThatOverflowsTheStackLeavesThePermitToBeReleased() throws InterruptedException {
        KeyedConcurrencyLimiter limiter =
                KeyedConcurrencyLimiter.builder(2).maxKeys(10).build();
        release(() -> limiter.tryAcquire("ann"), limiter::stats);
    }

    private static void release(Supplier<Optional<Permit>> lender, Supplier<Stats> stats) throws InterruptedException {
        Permit bystander = lender.get().orElseThrow();
        onASmallStack(() -> {
            for (int round = 0; round < ROUNDS; round++) {
                Permit permit = lender.get().orElseThrow();
                fromDepth(round % 64, 0, permit::close);
                assertEquals(1, stats.get().inFlight());
            }
        });
        bystander.release();
        assertEquals(0, stats.get().inFlight());
        assertEquals(ROUNDS + 1, stats.get().releasedOk());
    }

    @Test
    void anAcquireThatOverflowsTheStackKeepsNoPermit() throws InterruptedException {
        ConcurrencyLimiter limiter = ConcurrencyLimiter.of(ConcurrencyLimiter.MAX_LIMIT);
        acquire(limiter::tryAcquire, limiter::stats);
    }

    @Test
    void anAcquireThatMayWaitAndOverflowsTheStackKeepsNoPermit() throws InterruptedException {
        ConcurrencyLimiter limiter = ConcurrencyLimiter.of(ConcurrencyLimiter.MAX_LIMIT);
        Supplier<Optional<Permit>> acquire = () -> {
            try {
                return Optional.of(limiter.acquire());
            } catch (InterruptedException never) {
                throw new IllegalStateException(never);
            }
        };
        acquire(acquire, limiter::stats);
    }

    /** Who waits is told by the thread's next call at the latest. */
    @Test
    void aReleaseThatOverflowsTheStackHandsThePermitOverAllTheSame() throws InterruptedException {
        ConcurrencyLimiter limiter = ConcurrencyLimiter.of(1);
        onASmallStack(() -> {
            for (int round = 0; round < ROUNDS; round++) {
                Permit permit = limiter.tryAcquire().orElseThrow();
                CompletableFuture<Permit> next = limiter.acquireAsync();
                fromDepth(round % 64, 0, permit::close);
                limiter.setLimit(1);
                assertTrue(next.isDone(), "round " + round);
                next.join().release();
            }
        });
        assertEquals(0, limiter.waiting());
        assertEquals(1, limiter.available());
        assertEquals(2 * ROUNDS, limiter.stats().allowed());
    }

    @Test
    void anAcquireOfAKeyThatOverflowsTheStackKeepsNoPermit() throws InterruptedException {
        KeyedConcurrencyLimiter limiter = KeyedConcurrencyLimiter.builder(ConcurrencyLimiter.MAX_LIMIT)
                .maxKeys(10)
                .build();
        acquire(() -> limiter.tryAcquire("ann"), limiter::stats);
    }

    @Test
    void anAcquireOfAKeyThatMayWaitAndOverflowsTheStackKeepsNoPermit() throws InterruptedException {
        KeyedConcurrencyLimiter limiter = KeyedConcurrencyLimiter.builder(ConcurrencyLimiter.MAX_LIMIT)
                .maxKeys(10)
                .build();
        Supplier<Optional<Permit>> acquire = () -> {
            try {
                return Optional.of(limiter.acquire("ann"));
            } catch (InterruptedException never) {
                throw new IllegalStateException(never);
            }
        };
        acquire(acquire, limiter::stats);
    }

    private static void acquire(Supplier<Optional<Permit>> lender, Supplier<Stats> stats) throws InterruptedException {
        onASmallStack(() -> {
            for (int round = 0; round < ROUNDS; round++) {
                AtomicReference<Optional<Permit>> taken = new AtomicReference<>();
                fromDepth(round % 64, 0, () -> taken.set(lender.get()));
                taken.get().orElseThrow().release();
            }
        });
        // What was taken and then dropped by an overflow is the cleaner's.
        long giveUpAtNanos = System.nanoTime() + PATIENCE_NANOS;
        while (stats.get().inFlight() > 0 && System.nanoTime() < giveUpAtNanos) {
            System.gc();
        }
        Stats end = stats.get();
        assertEquals(0, end.inFlight());
        assertTrue(end.allowed() >= ROUNDS, end.toString());
        assertEquals(end.allowed(), end.releasedOk() + end.releasedFailed());
    }

    @Test
    void aRefundThatOverflowsTheStackLeavesTheDecisionToBeRefunded() throws InterruptedException {
        RateLimiter limiter =
                RateLimiter.builder("5/h").clock(new ManualClock()).build();
        KeyedRateLimiter keyed =
                KeyedRateLimiter.builder("5/h").clock(new ManualClock()).build();
        onASmallStack(() -> {
            for (int round = 0; round < ROUNDS / 2; round++) {
                Decision decision = limiter.decide(5);
                fromDepth(round % 64, 0, () -> limiter.refund(decision));
                Decision ofKey = keyed.decide("ann", 5);
                fromDepth(round % 64, 0, () -> keyed.refund("ann", ofKey));
                assertEquals(5, limiter.peek().remaining());
                assertEquals(5, keyed.peek("ann").remaining());
            }
        });
    }
}

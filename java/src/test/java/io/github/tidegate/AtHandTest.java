package io.github.tidegate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** That a permit which came back may stay in Java for the next caller shows nowhere. */
@Timeout(60)
class AtHandTest {
    private static final int ROUNDS = 20_000;
    private static final int LAST = -1;
    private static final long SECOND_NANOS = 1_000_000_000;

    private static void takeAndGiveBack(ConcurrencyLimiter limiter, boolean ok) {
        limiter.tryAcquire().orElseThrow().release(ok);
    }

    @Test
    void aPermitThatCameBackIsOutInNoFigureAndCountsEachTimeItIsLent() throws Exception {
        ConcurrencyLimiter limiter = ConcurrencyLimiter.of(2);
        for (int round = 0; round < 3; round++) {
            takeAndGiveBack(limiter, true);
            limiter.acquire().release();
        }
        assertEquals(2, limiter.available());
        takeAndGiveBack(limiter, true);
        assertEquals(0, limiter.inFlight());
        takeAndGiveBack(limiter, false);
        takeAndGiveBack(limiter, true);
        Permit held = limiter.acquire();
        Stats stats = limiter.stats();
        assertEquals(10, stats.allowed());
        assertEquals(8, stats.releasedOk());
        assertEquals(1, stats.releasedFailed());
        assertEquals(1, stats.inFlight());
        assertEquals(1, stats.available());
        held.release();
        assertEquals("ConcurrencyLimiter(0 of 2 out)", limiter.toString());
    }

    @Test
    void allPermitsCanBeHadAtOnceThoughOneCameBackBefore() {
        ConcurrencyLimiter limiter = ConcurrencyLimiter.of(3);
        takeAndGiveBack(limiter, true);
        limiter.tryAcquire(3).orElseThrow().release();
        takeAndGiveBack(limiter, true);
        limiter.setLimit(1);
        takeAndGiveBack(limiter, true);
        limiter.setLimit(0);
        assertTrue(limiter.tryAcquire().isEmpty());
    }

    @Test
    void whatComesBackWhileMoreAreOutThanALoweredLimitIsNotLentAgain() {
        ConcurrencyLimiter limiter = ConcurrencyLimiter.of(3);
        Permit first = limiter.tryAcquire().orElseThrow();
        Permit second = limiter.tryAcquire().orElseThrow();
        Permit third = limiter.tryAcquire().orElseThrow();
        limiter.setLimit(1);
        first.release();
        assertTrue(limiter.tryAcquire().isEmpty());
        second.release();
        assertTrue(limiter.tryAcquire().isEmpty());
        third.release();
        takeAndGiveBack(limiter, true);
        limiter.setLimit(2);
        takeAndGiveBack(limiter, true);
        assertEquals(2, limiter.available());
    }

    @Test
    void aClosedLimiterLendsNothingThatCameBackBeforeOrAfter() {
        ConcurrencyLimiter limiter = ConcurrencyLimiter.of(2);
        Permit late = limiter.tryAcquire().orElseThrow();
        takeAndGiveBack(limiter, true);
        limiter.close();
        assertThrows(ClosedException.class, limiter::tryAcquire);
        late.release();
        assertThrows(ClosedException.class, limiter::tryAcquire);
        assertThrows(ClosedException.class, limiter::acquire);
        assertEquals(0, limiter.inFlight());
    }

    @Test
    void aPermitThatCameBackIsThereForWhoeverComesNextThoughOthersAskMeanwhile() throws Exception {
        ConcurrencyLimiter limiter = ConcurrencyLimiter.of(1);
        AtomicBoolean isOver = new AtomicBoolean();
        Threads.together(3, number -> {
            if (number == 0) {
                try {
                    for (int round = 0; round < 10 * ROUNDS; round++) {
                        takeAndGiveBack(limiter, true);
                        assertEquals(0, limiter.inFlight());
                    }
                } finally {
                    isOver.set(true);
                }
            }
            while (!isOver.get()) {
                assertTrue(limiter.inFlight() <= 1);
                assertTrue(limiter.tryAcquire(2).isEmpty());
            }
        });
        assertEquals(10 * ROUNDS, limiter.stats().releasedOk());
    }

    /** Or it would be slow from then on. */
    @Test
    void nobodyIsTakenForOneWhoAsksOnceTheCallsAndWaitsAreOver() throws Exception {
        ConcurrencyLimiter limiter = ConcurrencyLimiter.builder(1).maxWaiters(2).build();
        Permit held = limiter.acquire();
        assertTrue(limiter.tryAcquire().isEmpty());
        assertThrows(RefusedException.class, () -> limiter.run(() -> {}));
        assertThrows(TimedOutException.class, () -> limiter.acquire(Duration.ZERO));
        assertThrows(TimedOutException.class, () -> limiter.acquire(Duration.ofMillis(1)));
        assertThrows(ExceedsCapacityException.class, () -> limiter.acquire(2));
        assertThrows(ConfigException.class, () -> limiter.tryAcquire(0));
        assertThrows(ConfigException.class, () -> limiter.acquireAsync(0, Duration.ZERO));
        assertTrue(limiter.acquireAsync().cancel(true));
        CompletableFuture<Permit> next = limiter.acquireAsync();
        CompletableFuture<Permit> last = limiter.acquireAsync();
        assertTrue(limiter.acquireAsync().isCompletedExceptionally());
        assertEquals(2, limiter.waiting());
        limiter.stats();
        assertEquals(2, limiter.atHand.asking);
        held.release();
        next.join().release();
        last.join().release();
        limiter.setLimit(2);
        assertEquals(0, limiter.atHand.asking);
    }

    @Test
    void whoWaitsGetsThePermitThatComesBackInTheSameMoment() throws Exception {
        ConcurrencyLimiter limiter = ConcurrencyLimiter.of(1);
        AtomicInteger inside = new AtomicInteger();
        Threads.together(3, number -> {
            for (int round = 0; round < ROUNDS; round++) {
                Permit permit =
                        number == 0 ? limiter.acquire() : limiter.acquireAsync().get();
                assertEquals(1, inside.incrementAndGet());
                inside.decrementAndGet();
                permit.release();
                limiter.tryAcquire().ifPresent(Permit::close);
            }
        });
        assertEquals(1, limiter.available());
        Stats stats = limiter.stats();
        assertEquals(stats.allowed(), stats.releasedOk());
    }

    /** For a second, since only threads that run at the same time meet. Nobody else calls, whose call would hand it over. */
    @Test
    void whoBeginsToWaitWhileTheOnlyPermitComesBackGetsIt() throws Exception {
        ConcurrencyLimiter limiter = ConcurrencyLimiter.of(1);
        AtomicInteger begun = new AtomicInteger();
        AtomicInteger over = new AtomicInteger();
        SplittableRandom random = new SplittableRandom(1);
        long began = System.nanoTime();
        Threads.together(2, number -> {
            for (int round = 1; begun.get() != LAST; round++) {
                if (number == 0) {
                    Permit held = limiter.acquire();
                    begun.set(round);
                    for (int moment = random.nextInt(20); moment > 0; moment--) {
                        Thread.onSpinWait();
                    }
                    held.release();
                    await(over, round);
                    begun.set(System.nanoTime() - began > SECOND_NANOS ? LAST : 0);
                } else if (await(begun, round) == round) {
                    limiter.acquire(Duration.ofSeconds(5)).release();
                    over.set(round);
                }
            }
        });
        assertEquals(1, limiter.available());
    }

    /** Waits for the value, or the last one, awake for some microseconds; returns which it was. */
    private static int await(AtomicInteger counter, int value) {
        int seen = counter.get();
        for (int look = 1; seen != value && seen != LAST; look++) {
            if (look % 3_000 == 0) {
                Thread.yield();
            } else {
                Thread.onSpinWait();
            }
            seen = counter.get();
        }
        return seen;
    }

    @Test
    void atMostAsManyAsTheLimitAreInsideAtAnyTime() throws Exception {
        ConcurrencyLimiter limiter = ConcurrencyLimiter.of(3);
        AtomicInteger inside = new AtomicInteger();
        AtomicInteger most = new AtomicInteger();
        Threads.together(5, number -> {
            for (int round = 0; round < ROUNDS; round++) {
                int permits = number == 4 ? 2 : 1;
                limiter.tryAcquire(permits).ifPresent(permit -> {
                    most.accumulateAndGet(inside.addAndGet(permits), Math::max);
                    inside.addAndGet(-permits);
                    permit.release();
                });
            }
        });
        assertTrue(most.get() <= 3, "most " + most);
        assertEquals(3, limiter.available());
    }
}

package io.github.tidegate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Waiting for permits, on threads and as futures: what holds without keys and for each key. */
@Timeout(60)
abstract class PermitWaitContract {
    static final Duration HOUR = Duration.ofHours(1);

    final ManualClock clock = new ManualClock();
    private final Lending limiter = limiter(1);

    /** @param clock null for real time */
    abstract Lending limiter(long limit, long maxWaiters, Clock clock);

    private Lending limiter(long limit) {
        return limiter(limit, RateLimiter.MAX_WAITERS, clock);
    }

    private Lending inRealTime(long limit) {
        return limiter(limit, RateLimiter.MAX_WAITERS, null);
    }

    private Waiting<Permit> waiting(long permits) {
        return Waiting.on(limiter::waiting, limiter.waiting() + 1, () -> limiter.acquire(permits));
    }

    @Test
    void aThreadWaitsUntilAPermitIsReleased() throws Exception {
        Permit held = limiter.acquire();
        Waiting<Permit> other = waiting(1);
        assertFalse(other.isDone());
        held.release();
        Permit granted = other.get();
        assertEquals(1, limiter.inFlight());
        granted.release();
        limiter.assertAtRest();
    }

    @Test
    void aFutureIsCompletedByTheReleaseBeforeThatReturns() throws Exception {
        Permit held = limiter.acquire();
        CompletableFuture<Permit> future = limiter.acquireAsync();
        assertEquals(1, limiter.waiting());
        assertFalse(future.isDone());
        AtomicReference<Thread> completedOn = new AtomicReference<>();
        CompletableFuture<Void> after = future.thenAccept(permit -> completedOn.set(Thread.currentThread()));
        held.release();
        assertTrue(after.isDone());
        assertEquals(Thread.currentThread(), completedOn.get());
        future.get().release();
        limiter.assertAtRest();
    }

    /** P7. */
    @Test
    void p7_aPermitIsHandedOverSoNobodyTakesItInBetween() throws Exception {
        Permit held = limiter.acquire();
        CompletableFuture<Permit> future = limiter.acquireAsync();
        assertTrue(limiter.tryAcquire().isEmpty());
        held.release();
        assertTrue(limiter.tryAcquire().isEmpty());
        future.get().release();
        limiter.tryAcquire().orElseThrow().release();
    }

    /** P14, P6: in order, threads and futures in one line; who leaves is passed over. */
    @Test
    void p6_whoComesFirstGoesFirst() throws Exception {
        Lending ten = limiter(10);
        Permit held = ten.acquire(10);
        List<String> order = new ArrayList<>();
        List<CompletableFuture<Permit>> futures = new ArrayList<>();
        long[] permits = {3, 8, 1, 1};
        for (int i = 0; i < permits.length; i++) {
            CompletableFuture<Permit> future = ten.acquireAsync(permits[i], HOUR);
            String name = i + "";
            future.thenRun(() -> order.add(name));
            futures.add(future);
        }
        assertTrue(futures.get(0).cancel(true));
        assertEquals(3, ten.waiting());
        held.release();
        // 8, 1 and 1 are 10.
        assertEquals(List.of("1", "2", "3"), order);
        for (int i = 1; i < permits.length; i++) {
            futures.get(i).get().release();
        }
        ten.assertAtRest();
    }

    /** P5. */
    @Test
    void p5_aWaitThatTimedOutLeavesNothingBehind() throws Exception {
        Permit held = limiter.acquire();
        CompletableFuture<Permit> future = limiter.acquireAsync(1, Duration.ofMillis(10));
        clock.advance(Duration.ofMillis(10));
        TimedOutException late = Waiting.failure(TimedOutException.class, future);
        assertEquals("timed_out after PT0.01S of PT0.01S: limit 1, 1 in flight, 0 waiting", late.getMessage());
        assertEquals(
                new Refusal(Status.TIMED_OUT, Duration.ofMillis(10), Duration.ofMillis(10), 1, 1, 0),
                late.refusal().orElseThrow());
        held.release();
        limiter.tryAcquire().orElseThrow().release();
        assertEquals(1, limiter.stats().timedOut());
    }

    @Test
    void aThreadWhoseTimeoutIsOverGoesOnWhenAManualClockSaysSo() throws Exception {
        Permit held = limiter.acquire();
        Waiting<Permit> other = Waiting.on(limiter::waiting, 1, () -> limiter.acquire(1, Duration.ofMillis(10)));
        clock.advance(Duration.ofMillis(9));
        assertEquals(1, limiter.waiting());
        clock.advance(Duration.ofMillis(1));
        assertEquals(Status.TIMED_OUT, other.failure(TimedOutException.class).status());
        held.release();
        limiter.assertAtRest();
    }

    @Test
    void timeoutsInRealTimeAreNotEarlyAndNeedNobodyToTellThem() throws Exception {
        Lending real = inRealTime(1);
        try (Permit held = real.acquire()) {
            assertEquals(1, held.permits());
            Duration timeout = Duration.ofMillis(20);
            long start = System.nanoTime();
            TimedOutException late = assertThrows(TimedOutException.class, () -> real.acquire(1, timeout));
            assertTrue(System.nanoTime() - start >= timeout.toNanos());
            assertTrue(late.refusal().orElseThrow().elapsed().compareTo(timeout) >= 0, late.getMessage());
            start = System.nanoTime();
            CompletableFuture<Permit> future = real.acquireAsync(1, timeout);
            CompletableFuture<Thread> on = future.handle((permit, failure) -> Thread.currentThread());
            Waiting.failure(TimedOutException.class, future);
            assertTrue(System.nanoTime() - start >= timeout.toNanos());
            // Whoever's code runs then must not hold up the timers of others.
            assertFalse(on.get().getName().startsWith("tidegate"));
        }
        real.assertAtRest();
        assertEquals(2, real.stats().timedOut());
    }

    /** P16. */
    @Test
    void p16_aTimeoutOfZeroTriesOnce() throws Exception {
        Permit held = limiter.acquire(1, Duration.ZERO);
        assertThrows(TimedOutException.class, () -> limiter.acquire(1, Duration.ZERO));
        Waiting.failure(TimedOutException.class, limiter.acquireAsync(1, Duration.ZERO));
        held.release();
        limiter.assertAtRest();
    }

    /** P11. */
    @Test
    void p11_moreThanTheLimitIsRefusedAtOnce() throws Exception {
        ExceedsCapacityException never = assertThrows(ExceedsCapacityException.class, () -> limiter.acquire(2));
        assertEquals(Status.EXCEEDS_CAPACITY, never.status());
        assertEquals("2 permits can never be had: the limit is 1", never.getMessage());
        assertEquals(Decision.NEVER, never.refusal().orElseThrow().timeout());
        Waiting.failure(ExceedsCapacityException.class, limiter.acquireAsync(2, HOUR));
        limiter.acquire().release();
    }

    @Test
    void asManyWaitAsMay() throws Exception {
        Lending none = limiter(1, 0, clock);
        Lending one = limiter(1, 1, clock);
        Permit held = none.acquire();
        QueueFullException full = assertThrows(QueueFullException.class, none::acquire);
        assertEquals(Status.QUEUE_FULL, full.status());
        assertEquals(1, full.refusal().orElseThrow().inFlight());
        held.release();
        held = one.acquire();
        CompletableFuture<Permit> future = one.acquireAsync();
        assertEquals(
                1,
                Waiting.failure(QueueFullException.class, one.acquireAsync())
                        .refusal()
                        .orElseThrow()
                        .waiting());
        held.release();
        future.get().release();
        for (long maxWaiters : new long[] {-1, RateLimiter.MAX_WAITERS + 1}) {
            assertEquals(
                    "maxWaiters: got " + maxWaiters + "; allowed: 0 to 4294967294",
                    assertThrows(ConfigException.class, () -> limiter(1, maxWaiters, clock))
                            .getMessage());
        }
    }

    /** L12. */
    @Test
    void l12_anInterruptedThreadLeavesTheLine() throws Exception {
        Permit held = limiter.acquire();
        Waiting<Permit> first = waiting(1);
        Waiting<Permit> second = waiting(1);
        first.thread.interrupt();
        first.failure(InterruptedException.class);
        assertEquals(1, limiter.waiting());
        held.release();
        second.get().release();
        limiter.assertAtRest();
        assertEquals(1, limiter.stats().cancelled());
    }

    @Test
    void anInterruptThatCameBeforeIsNoticedThoughThereIsAPermit() {
        Thread.currentThread().interrupt();
        assertThrows(InterruptedException.class, limiter::acquire);
        assertFalse(Thread.interrupted());
        limiter.assertAtRest();
    }

    /** L12. */
    @Test
    void l12_aCancelledFutureLeavesTheLineHoweverItIsEnded() throws Exception {
        Permit held = limiter.acquire();
        CompletableFuture<Permit> cancelled = limiter.acquireAsync();
        assertTrue(cancelled.cancel(false));
        assertThrows(CancellationException.class, cancelled::get);
        CompletableFuture<Permit> completed = limiter.acquireAsync();
        assertTrue(completed.complete(null));
        CompletableFuture<Permit> failed = limiter.acquireAsync();
        failed.completeExceptionally(new IllegalStateException());
        CompletableFuture<Permit> out = limiter.acquireAsync().orTimeout(1, TimeUnit.MILLISECONDS);
        Waiting.failure(TimeoutException.class, out);
        Waiting.until(limiter::waiting, 0);
        held.release();
        limiter.assertAtRest();
        assertEquals(4, limiter.stats().cancelled());
    }

    @Test
    void aPermitThatIsGrantedWhileItsFutureIsCancelledIsGivenBack() throws Exception {
        for (int round = 0; round < 2_000; round++) {
            Permit held = limiter.acquire();
            CompletableFuture<Permit> future = limiter.acquireAsync();
            Threads.together(2, thread -> {
                if (thread == 0) {
                    held.release();
                } else {
                    future.cancel(true);
                }
            });
            if (!future.isCancelled()) {
                future.get().release();
            }
            limiter.assertAtRest();
        }
    }

    @Test
    void aThreadThatIsInterruptedInTheInstantOfTheGrantHasOneOfBoth() throws Exception {
        AtomicInteger granted = new AtomicInteger();
        for (int round = 0; round < 500; round++) {
            Permit held = limiter.acquire();
            Waiting<Boolean> waiting = Waiting.on(limiter::waiting, 1, () -> {
                try {
                    limiter.acquire().release();
                    granted.incrementAndGet();
                    return Thread.interrupted();
                } catch (InterruptedException left) {
                    return true;
                }
            });
            if (round % 2 == 0) {
                waiting.thread.interrupt();
                held.release();
                assertTrue(waiting.get(), "the interrupt was lost");
            } else {
                held.release();
                waiting.thread.interrupt();
                waiting.get();
            }
            limiter.assertAtRest();
        }
        assertTrue(granted.get() >= 250, "granted " + granted);
    }

    /** P15, L12. */
    @Test
    void p15_closeEndsAllWaitsForEver() throws Exception {
        Permit held = limiter.acquire();
        Waiting<Permit> thread = waiting(1);
        CompletableFuture<Permit> future = limiter.acquireAsync();
        limiter.close();
        ClosedException closed = thread.failure(ClosedException.class);
        assertEquals("closed after PT0S: limit 1, 1 in flight, 0 waiting", closed.getMessage());
        assertEquals(Status.CLOSED, closed.refusal().orElseThrow().status());
        Waiting.failure(ClosedException.class, future);
        assertThrows(ClosedException.class, limiter::acquire);
        Waiting.failure(ClosedException.class, limiter.acquireAsync());
        ClosedException late = assertThrows(ClosedException.class, limiter::tryAcquire);
        assertEquals("limiter: got one that is closed; allowed: one that is open", late.getMessage());
        assertTrue(late.refusal().isEmpty());
        limiter.setLimit(5);
        held.release();
        assertThrows(ClosedException.class, limiter::acquire);
        assertEquals(0, limiter.available());
        assertEquals(0, limiter.inFlight());
    }

    /** L12: an error in each thread, never a crash. */
    @Test
    void l12_closeWhileEightThreadsWaitIsAnErrorInEachOfThem() throws Exception {
        for (int round = 0; round < 100; round++) {
            Lending contended = inRealTime(2);
            AtomicInteger errors = new AtomicInteger();
            AtomicInteger calls = new AtomicInteger();
            Threads.together(9, number -> {
                if (number == 8) {
                    while (calls.get() < 8) {
                        Thread.onSpinWait();
                    }
                    contended.close();
                    return;
                }
                try {
                    while (true) {
                        contended.acquire(1, Duration.ofSeconds(20)).release();
                        calls.incrementAndGet();
                    }
                } catch (ClosedException closed) {
                    errors.incrementAndGet();
                }
            });
            assertEquals(8, errors.get());
        }
    }

    /** P8. */
    @Test
    void p8_aLimitThatIsRaisedGrantsOnlyWhatIsFree() throws Exception {
        limiter.setLimit(2);
        Permit one = limiter.acquire();
        Permit two = limiter.acquire();
        limiter.setLimit(1);
        CompletableFuture<Permit> future = limiter.acquireAsync();
        limiter.setLimit(2);
        assertFalse(future.isDone());
        one.release();
        future.get().release();
        two.release();
        limiter.assertAtRest();
    }

    @Test
    void aLimitThatIsLoweredEndsWaitsForMoreAndOneOfZeroIsAPause() throws Exception {
        limiter.setLimit(3);
        Permit held = limiter.acquire(3);
        CompletableFuture<Permit> three = limiter.acquireAsync(3, HOUR);
        CompletableFuture<Permit> one = limiter.acquireAsync(1, HOUR);
        limiter.setLimit(2);
        Waiting.failure(ExceedsCapacityException.class, three);
        limiter.setLimit(0);
        held.release();
        assertFalse(one.isDone());
        limiter.setLimit(1);
        one.get().release();
        limiter.assertAtRest();
    }

    /** Each future, when it is completed, releases, which completes the next. */
    @Test
    void aChainOfReleasesDoesNotGrowTheStack() throws Exception {
        int length = 100_000;
        AtomicInteger done = new AtomicInteger();
        Permit held = limiter.acquire();
        for (int i = 0; i < length; i++) {
            limiter.acquireAsync().thenAccept(permit -> {
                done.incrementAndGet();
                permit.release();
            });
        }
        assertEquals(length, limiter.waiting());
        held.release();
        assertEquals(length, done.get());
        limiter.assertAtRest();
    }

    /** P12, with timers. */
    @Test
    void p12_waitsThatAreCancelledLeaveNothingBehind() throws Exception {
        Lending real = inRealTime(1);
        try (Permit held = real.acquire()) {
            assertEquals(1, held.permits());
            long used = 0;
            for (int round = 0; round < 20; round++) {
                for (int i = 0; i < 10_000; i++) {
                    real.acquireAsync(1, HOUR).cancel(true);
                }
                if (round == 2) {
                    used = usedBytes();
                }
            }
            assertEquals(0, real.waiting());
            long grown = usedBytes() - used;
            assertTrue(grown < 5_000_000, "grown by " + grown + " bytes");
        }
    }

    private static long usedBytes() {
        for (int i = 0; i < 3; i++) {
            System.gc();
        }
        return Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
    }

    /** P18: one timer thread for all. */
    @Test
    void p18_fiveThousandWaitersNeedOneThreadAndTheLastIsOnTime() throws Exception {
        Lending real = inRealTime(1);
        try (Permit held = real.acquire()) {
            assertEquals(1, held.permits());
            int before = Thread.activeCount();
            List<CompletableFuture<Permit>> futures = new ArrayList<>();
            for (int i = 0; i < 5_000; i++) {
                futures.add(real.acquireAsync(1, Duration.ofSeconds(1)));
            }
            assertTrue(Thread.activeCount() <= before + 2, "threads: " + Thread.activeCount() + " after " + before);
            for (CompletableFuture<Permit> future : futures) {
                Waiting.failure(TimedOutException.class, future);
            }
        }
        real.assertAtRest();
    }

    @Test
    void wrongArgumentsAreNamedAndNothingIsTaken() {
        for (Threads.Work call : List.<Threads.Work>of(
                number -> limiter.acquire(1, Duration.ofNanos(-1)),
                number -> limiter.acquireAsync(1, Duration.ofNanos(-1)))) {
            assertEquals(
                    "timeout: got PT-0.000000001S; allowed: a duration of zero or more",
                    assertThrows(ConfigException.class, () -> call.run(0)).getMessage());
        }
        assertEquals(
                "timeout: got null; allowed: a duration of zero or more",
                assertThrows(NullPointerException.class, () -> limiter.acquire(1, null))
                        .getMessage());
        for (long permits : new long[] {0, -1, Long.MIN_VALUE, RateLimiter.MAX_COST + 1}) {
            String text = "permits: got " + permits + "; allowed: 1 to 9007199254740991";
            assertEquals(
                    text,
                    assertThrows(ConfigException.class, () -> limiter.acquire(permits))
                            .getMessage());
            assertEquals(
                    text,
                    assertThrows(ConfigException.class, () -> limiter.acquireAsync(permits, HOUR))
                            .getMessage());
        }
        limiter.assertAtRest();
    }
}

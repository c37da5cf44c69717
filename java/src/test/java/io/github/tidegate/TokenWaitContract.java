package io.github.tidegate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Waiting for tokens, on threads and as futures, and reservations: what holds without keys and for each key. */
@Timeout(60)
abstract class TokenWaitContract {
    static final Duration SECOND = Duration.ofSeconds(1);

    final ManualClock clock = new ManualClock();

    /** @param clock null for real time */
    abstract Spending limiter(String quotas, long maxWaiters, Clock clock);

    final Spending limiter(String quotas) {
        return limiter(quotas, RateLimiter.MAX_WAITERS, clock);
    }

    private Spending inRealTime(String quotas) {
        return limiter(quotas, RateLimiter.MAX_WAITERS, null);
    }

    @Test
    void aFutureIsCompletedWhenTheClockSaysSo() throws Exception {
        Spending limiter = limiter("1/s");
        limiter.acquire();
        CompletableFuture<Void> first = limiter.acquireAsync();
        CompletableFuture<Void> second = limiter.acquireAsync();
        assertEquals(2, limiter.waiting());
        assertEquals(2, limiter.stats().waiting());
        clock.advanceNanos(999_999_999);
        assertFalse(first.isDone());
        clock.advanceNanos(1);
        assertTrue(first.isDone());
        assertFalse(second.isDone());
        clock.advance(SECOND);
        second.get();
        assertFalse(limiter.tryAcquire());
        assertEquals(3, limiter.stats().allowed());
    }

    @Test
    void aThreadGoesOnWhenTheClockSaysSo() throws Exception {
        Spending limiter = limiter("1/s");
        limiter.acquire();
        Waiting<Void> waiting = Waiting.on(limiter::waiting, 1, () -> {
            limiter.acquire(1, SECOND);
            return null;
        });
        clock.advance(SECOND);
        waiting.get();
        assertEquals(0, limiter.waiting());
    }

    @Test
    void nobodyOvertakesWhoWaits() throws Exception {
        Spending limiter = limiter("2/s");
        limiter.acquire(2);
        CompletableFuture<Void> both = limiter.acquireAsync(2, Decision.NEVER);
        clock.advance(Duration.ofMillis(500));
        assertFalse(limiter.tryAcquire());
        assertEquals(0, limiter.peek().remaining());
        clock.advance(Duration.ofMillis(500));
        both.get();
    }

    /** In real time: those who wait are charged when they are due, one after the other, by threads and by timers. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void inRealTimeTheyAreServedAtTheRateOfTheQuota(boolean threads) throws Exception {
        Spending limiter = inRealTime("200/s burst 1");
        limiter.acquire();
        long start = System.nanoTime();
        if (threads) {
            Threads.together(5, number -> {
                for (int i = 0; i < 4; i++) {
                    limiter.acquire();
                }
            });
        } else {
            List<CompletableFuture<Void>> futures = new ArrayList<>();
            for (int i = 0; i < 20; i++) {
                futures.add(limiter.acquireAsync());
            }
            for (CompletableFuture<Void> future : futures) {
                future.get(30, TimeUnit.SECONDS);
            }
        }
        assertTrue(System.nanoTime() - start >= 99_000_000, "20 tokens came in " + (System.nanoTime() - start) + " ns");
        assertEquals(0, limiter.waiting());
    }

    /** P17. */
    @Test
    void p17_aWaitThatWouldOutlastItsTimeoutIsRefusedAtOnceAndChargesNothing() throws Exception {
        Spending limiter = limiter("1/s");
        limiter.acquire();
        TimedOutException late = assertThrows(TimedOutException.class, () -> limiter.acquire(1, SECOND.minusNanos(1)));
        assertEquals(
                new Refusal(Status.TIMED_OUT, Duration.ZERO, SECOND.minusNanos(1), 1, -1, 0),
                late.refusal().orElseThrow());
        assertEquals("timed_out after PT0S of PT0.999999999S: limit 1, 0 waiting", late.getMessage());
        CompletableFuture<Void> first = limiter.acquireAsync(1, SECOND);
        Waiting.failure(TimedOutException.class, limiter.acquireAsync(1, SECOND));
        clock.advance(SECOND);
        first.get();
        assertEquals(2, limiter.stats().timedOut());
    }

    @Test
    void refusalsAtOnceAreNamed() throws Exception {
        Spending limiter = limiter("1/s", 0, clock);
        limiter.acquire();
        assertEquals(
                Status.QUEUE_FULL,
                assertThrows(QueueFullException.class, limiter::acquire).status());
        assertEquals(
                "cost 2 can never be had: 1/s holds at most 1",
                assertThrows(ExceedsCapacityException.class, () -> limiter.acquire(2))
                        .getMessage());
        assertEquals(
                "maxWaiters: got -1; allowed: 0 to 4294967294",
                assertThrows(ConfigException.class, () -> limiter("1/s", -1, clock))
                        .getMessage());
        for (long cost : new long[] {0, -1, Long.MIN_VALUE, RateLimiter.MAX_COST + 1}) {
            String text = "cost: got " + cost + "; allowed: 1 to 9007199254740991";
            assertEquals(
                    text,
                    assertThrows(ConfigException.class, () -> limiter.acquire(cost))
                            .getMessage());
        }
        assertEquals(
                "timeout: got PT-1S; allowed: a duration of zero or more",
                assertThrows(ConfigException.class, () -> limiter.acquire(1, SECOND.negated()))
                        .getMessage());
    }

    /** L12. */
    @Test
    void l12_whoLeavesIsChargedNothing() throws Exception {
        Spending limiter = limiter("1/s");
        limiter.acquire();
        Waiting<Void> thread = Waiting.on(limiter::waiting, 1, () -> {
            limiter.acquire();
            return null;
        });
        CompletableFuture<Void> future = limiter.acquireAsync();
        thread.thread.interrupt();
        thread.failure(InterruptedException.class);
        assertTrue(future.cancel(true));
        assertEquals(0, limiter.waiting());
        assertEquals(2, limiter.stats().cancelled());
        clock.advance(SECOND);
        assertTrue(limiter.tryAcquire());
    }

    /** On one thread: what goes on first cancels what was granted with it. */
    @Test
    void tokensThatAreGrantedBeforeTheirFutureIsCancelledGoToTheNext() throws Exception {
        Spending limiter = limiter("2/s");
        limiter.acquire(2);
        CompletableFuture<Void> first = limiter.acquireAsync();
        CompletableFuture<Void> second = limiter.acquireAsync();
        CompletableFuture<Void> third = limiter.acquireAsync();
        CompletableFuture<Boolean> cancelled = first.thenApply(granted -> second.cancel(true));
        clock.advance(SECOND);
        assertTrue(cancelled.get());
        assertTrue(second.isCancelled());
        assertTrue(third.isDone());
        assertEquals(0, limiter.waiting());
        assertFalse(limiter.tryAcquire());
    }

    @Test
    void tokensThatAreGrantedWhileTheirFutureIsCancelledAreSpentOrGivenBack() throws Exception {
        for (int round = 0; round < 500; round++) {
            Spending limiter = limiter("1/s");
            limiter.acquire();
            CompletableFuture<Void> future = limiter.acquireAsync();
            Threads.together(2, thread -> {
                if (thread == 0) {
                    clock.advance(SECOND);
                } else {
                    future.cancel(true);
                }
            });
            assertEquals(future.isCancelled(), limiter.tryAcquire());
        }
    }

    /** L12. */
    @Test
    void l12_closeEndsAllWaits() throws Exception {
        Spending limiter = limiter("1/s");
        Spending other = limiter("1/s");
        limiter.acquire();
        other.acquire();
        Waiting<Void> thread = Waiting.on(limiter::waiting, 1, () -> {
            limiter.acquire();
            return null;
        });
        CompletableFuture<Void> future = limiter.acquireAsync();
        CompletableFuture<Void> others = other.acquireAsync();
        limiter.close();
        limiter.close();
        assertEquals(
                Status.CLOSED,
                thread.failure(ClosedException.class).refusal().orElseThrow().status());
        Waiting.failure(ClosedException.class, future);
        assertThrows(ClosedException.class, limiter::acquire);
        Waiting.failure(ClosedException.class, limiter.acquireAsync());
        assertEquals(1, other.waiting());
        clock.advance(SECOND);
        others.get();
    }

    @Test
    void l12_closeWhileEightThreadsWaitIsAnErrorInEachOfThem() throws Exception {
        for (int round = 0; round < 100; round++) {
            Spending contended = inRealTime("100000/s burst 1");
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
                        contended.acquire();
                        calls.incrementAndGet();
                    }
                } catch (ClosedException closed) {
                    errors.incrementAndGet();
                }
            });
            assertEquals(8, errors.get());
        }
    }

    @Test
    void whatIsGivenBackOrChangedGoesToWhoWaits() throws Exception {
        Spending limiter = limiter("2/h");
        Decision decision = limiter.decide(2);
        CompletableFuture<Void> first = limiter.acquireAsync();
        limiter.refund(decision);
        first.get();
        assertTrue(limiter.tryAcquire());
        CompletableFuture<Void> second = limiter.acquireAsync();
        limiter.reset();
        second.get();
        assertTrue(limiter.tryAcquire());
        CompletableFuture<Void> third = limiter.acquireAsync();
        limiter.reconfigure("3/h");
        third.get();
        assertEquals(0, limiter.peek().remaining());
    }

    /** In real time: the head is told that it is due sooner than its timer says. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aFasterQuotaIsNoticedByWhoWaitsForTheSlowOne(boolean thread) throws Exception {
        Spending limiter = inRealTime("1/h");
        limiter.acquire();
        if (thread) {
            Waiting<Void> waiting = Waiting.on(limiter::waiting, 1, () -> {
                limiter.acquire();
                return null;
            });
            limiter.reconfigure("1000/s burst 1");
            waiting.get();
        } else {
            CompletableFuture<Void> waiting = limiter.acquireAsync();
            limiter.reconfigure("1000/s burst 1");
            waiting.get(30, TimeUnit.SECONDS);
        }
        assertEquals(0, limiter.waiting());
    }

    /** F10. */
    @Test
    void f10_aHoleAmongReservationsIsNotGivenAway() {
        Spending limiter = limiter("1/s");
        assertTrue(limiter.tryAcquire());
        Reservation first = limiter.reserve(1);
        limiter.reserve(1, Decision.NEVER);
        Reservation third = limiter.reserve(1, Duration.ofSeconds(3));
        assertEquals(SECOND, first.delay());
        assertEquals(3_000_000_000L, third.delayNanos());
        assertEquals(3_000_000_000L, third.dueNanos());
        assertEquals("Reservation(1, delay PT3S)", third.toString());
        clock.advance(Duration.ofMillis(500));
        assertFalse(first.cancel());
        assertEquals("Reservation(1, cancelled)", first.toString());
        assertEquals(Duration.ofMillis(3500), limiter.reserve(1).delay());
    }

    @Test
    void theLastReservationIsCreditedOnceIfItIsNotDueYet() {
        Spending limiter = limiter("2/s");
        Reservation now = limiter.reserve(2);
        assertEquals(Duration.ZERO, now.delay());
        assertEquals(2, now.cost());
        Reservation later = limiter.reserve(1);
        assertTrue(later.cancel());
        assertEquals(
                "reservation: got one that was cancelled before; allowed: a reservation, once",
                assertThrows(IllegalStateException.class, later::cancel).getMessage());
        assertFalse(now.cancel());
        assertEquals(Duration.ofMillis(500), limiter.reserve(1).delay());
    }

    @Test
    void aReservationThatCannotBeIsRefusedAndChargesNothing() {
        Spending limiter = limiter("1/s");
        assertTrue(limiter.tryAcquire());
        TimedOutException late =
                assertThrows(TimedOutException.class, () -> limiter.reserve(1, Duration.ofMillis(999)));
        assertEquals(Duration.ofMillis(999), late.refusal().orElseThrow().timeout());
        assertThrows(TimedOutException.class, () -> limiter.reserve(1, Duration.ZERO));
        assertThrows(ExceedsCapacityException.class, () -> limiter.reserve(2));
        assertEquals(SECOND, limiter.reserve(1, SECOND).delay());
        for (String other : List.of("1/s fixed_window", "1/s; 2/min")) {
            assertEquals(
                    "quota: got " + other + "; allowed: to reserve: one quota, with gcra",
                    assertThrows(
                                    UnsupportedOperationException.class,
                                    () -> limiter(other).reserve(1))
                            .getMessage());
        }
    }

    @Test
    void wrongArgumentsOfReservationsAreNamed() {
        Spending limiter = limiter("1/s");
        for (long cost : new long[] {0, -1, Long.MIN_VALUE, RateLimiter.MAX_COST + 1}) {
            assertEquals(
                    "cost: got " + cost + "; allowed: 1 to 9007199254740991",
                    assertThrows(ConfigException.class, () -> limiter.reserve(cost))
                            .getMessage());
        }
        assertEquals(
                "maxWait: got null; allowed: a duration of zero or more",
                assertThrows(NullPointerException.class, () -> limiter.reserve(1, null))
                        .getMessage());
        limiter.close();
        assertThrows(ClosedException.class, () -> limiter.reserve(1));
    }
}

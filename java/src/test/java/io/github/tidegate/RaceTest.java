package io.github.tidegate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.LongAdder;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Many threads on one limiter: totals are exact, and closing or dropping one while it is used is safe. */
class RaceTest {
    private static final int THREADS = 8;

    @ParameterizedTest
    @ValueSource(
            strings = {
                "50000/h",
                "50000/h fixed_window",
                "50000/h fixed_window anchor clock",
                "50000/h sliding_window",
                "50000/h sliding_log"
            })
    void threadsThatRaceForTokensGetExactlyTheLimit(String quota) throws Exception {
        RateLimiter limiter =
                RateLimiter.builder(quota).clock(new ManualClock()).build();
        LongAdder admitted = new LongAdder();
        Threads.together(THREADS, thread -> {
            long cost = 1 + thread % 3;
            while (limiter.tryAcquire(cost)) {
                admitted.add(cost);
            }
            while (limiter.tryAcquire()) {
                admitted.increment();
            }
        });
        assertEquals(50_000, admitted.sum());
        assertEquals(0, limiter.peek().remaining());
        assertTrue(limiter.stats().denied() >= THREADS);
    }

    @Test
    void threadsThatRaceForTwoQuotasNeverGetMoreThanTheSmaller() throws Exception {
        RateLimiter limiter = RateLimiter.builder("20000/h; 30000/h fixed_window")
                .clock(new ManualClock())
                .build();
        LongAdder admitted = new LongAdder();
        Threads.together(THREADS, thread -> {
            while (limiter.peek().allowed()) {
                admitted.add(limiter.tryAcquire() ? 1 : 0);
            }
        });
        assertEquals(20_000, admitted.sum());
    }

    @Test
    void ofEightThreadsThatRefundOneDecisionOneSucceeds() throws Exception {
        RateLimiter limiter =
                RateLimiter.builder("10/h").clock(new ManualClock()).build();
        for (int round = 0; round < 200; round++) {
            assertTrue(limiter.tryAcquire(5));
            Decision contended = limiter.decide(5);
            AtomicInteger errors = new AtomicInteger();
            Threads.together(THREADS, thread -> {
                try {
                    limiter.refund(contended);
                } catch (IllegalStateException error) {
                    errors.incrementAndGet();
                }
            });
            assertEquals(THREADS - 1, errors.get());
            assertEquals(5, limiter.peek().remaining());
            limiter.reset();
        }
    }

    @Test
    void aRefundSucceedsWhileAnotherLimiterIsAskedForItToo() throws Exception {
        RateLimiter limiter =
                RateLimiter.builder("5000/h").clock(new ManualClock()).build();
        RateLimiter wrong =
                RateLimiter.builder("5000/h").clock(new ManualClock()).build();
        AtomicReference<Decision> contended = new AtomicReference<>(limiter.decide());
        Threads.together(2, thread -> {
            if (thread == 0) {
                for (int round = 0; round < 2_000; round++) {
                    limiter.refund(contended.get());
                    contended.set(limiter.decide());
                }
                contended.set(null);
            } else {
                for (Decision next = contended.get(); next != null; next = contended.get()) {
                    Decision decision = next;
                    assertThrows(ConfigException.class, () -> wrong.refund(decision));
                }
            }
        });
        assertEquals(4_999, limiter.peek().remaining());
        assertEquals(5_000, wrong.peek().remaining());
    }

    @Test
    void permitsAddUpAfterAStormOfThreadsAndResizes() throws Exception {
        ConcurrencyLimiter limiter = ConcurrencyLimiter.of(16);
        AtomicInteger inside = new AtomicInteger();
        AtomicInteger peak = new AtomicInteger();
        Threads.together(THREADS, thread -> {
            ThreadLocalRandom random = ThreadLocalRandom.current();
            for (int round = 0; round < 5_000; round++) {
                int permits = random.nextInt(1, 6);
                limiter.tryAcquire(permits).ifPresent(permit -> {
                    peak.accumulateAndGet(inside.addAndGet(permits), Math::max);
                    inside.addAndGet(-permits);
                    permit.release(permits % 2 == 0);
                });
                if (thread == 0 && round % 100 == 0) {
                    limiter.setLimit(random.nextInt(1, 17));
                }
            }
        });
        assertTrue(peak.get() >= 1 && peak.get() <= 16, "peak " + peak);
        limiter.setLimit(16);
        assertEquals(0, limiter.inFlight());
        assertEquals(16, limiter.available());
        Stats stats = limiter.stats();
        assertEquals(stats.allowed(), stats.releasedOk() + stats.releasedFailed());
        assertEquals(THREADS * 5_000, stats.allowed() + stats.denied());
    }

    /** L12 of the field's cases: an error in each thread, never a crash. */
    @Test
    void closeWhileEightThreadsCallIsAnErrorInEachOfThem() throws Exception {
        for (int round = 0; round < 100; round++) {
            RateLimiter rate = RateLimiter.of("1000000/s");
            ConcurrencyLimiter concurrency = ConcurrencyLimiter.of(4);
            AtomicInteger errors = new AtomicInteger();
            AtomicInteger calls = new AtomicInteger();
            Threads.together(THREADS + 1, thread -> {
                if (thread == THREADS) {
                    while (calls.get() < THREADS) {
                        Thread.onSpinWait();
                    }
                    rate.close();
                    concurrency.close();
                    return;
                }
                try {
                    while (true) {
                        if (thread % 2 == 0) {
                            rate.tryAcquire();
                            rate.decide();
                        } else {
                            concurrency.tryAcquire().ifPresent(Permit::release);
                        }
                        calls.incrementAndGet();
                    }
                } catch (IllegalStateException closed) {
                    assertEquals("limiter: got one that is closed; allowed: one that is open", closed.getMessage());
                    errors.incrementAndGet();
                }
            });
            assertEquals(THREADS, errors.get());
        }
    }

    @Test
    void aLimiterIsNotFreedWhileACallOnItRuns() throws Exception {
        AtomicBoolean done = new AtomicBoolean();
        Threads.together(4, thread -> {
            if (thread == 0) {
                while (!done.get()) {
                    System.gc();
                }
                return;
            }
            try {
                for (int round = 0; round < 3_000; round++) {
                    // Each is garbage as soon as its last call has begun.
                    assertTrue(RateLimiter.of("5/s").tryAcquire(5));
                    assertTrue(RateLimiter.of("5/s; 9/h").decide(5).allowed());
                    assertEquals(5, ConcurrencyLimiter.of(5).available());
                }
            } finally {
                done.set(true);
            }
        });
    }
}

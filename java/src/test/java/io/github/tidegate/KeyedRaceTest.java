package io.github.tidegate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Many threads on the keys of one limiter: totals are exact, and closing or dropping one while it is used is safe. */
class KeyedRaceTest {
    private static final int THREADS = 8;

    private static KeyedRateLimiter limiter(String quotas) {
        return KeyedRateLimiter.builder(quotas)
                .maxKeys(100)
                .clock(new ManualClock())
                .build();
    }

    private static KeyedConcurrencyLimiter lender(long limit) {
        return KeyedConcurrencyLimiter.builder(limit).maxKeys(100).build();
    }

    @ParameterizedTest
    @ValueSource(strings = {"37/h", "37/h fixed_window", "37/h sliding_window", "37/h; 50/h fixed_window"})
    void k5_aHundredThreadsThatMeetANewKeyAreAdmittedExactlyAsOftenAsItsLimit(String quotas) throws Exception {
        KeyedRateLimiter limiter = limiter(quotas);
        for (int round = 0; round < 10; round++) {
            String key = "new " + round;
            LongAdder admitted = new LongAdder();
            Threads.together(100, thread -> admitted.add(limiter.tryAcquire(key) ? 1 : 0));
            assertEquals(37, admitted.sum());
        }
    }

    @Test
    void eachKeyIsAdmittedExactlyAsOftenAsItsLimitByTextByBytesAndInBatches() throws Exception {
        KeyedRateLimiter limiter = limiter("5000/h");
        List<String> keys = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            keys.add("key " + "x".repeat(i * 2) + i);
        }
        LongAdder admitted = new LongAdder();
        Threads.together(THREADS, thread -> {
            List<String> order = new ArrayList<>(keys);
            Collections.rotate(order, thread);
            for (int round = 0; round < 500; round++) {
                for (String key : order) {
                    admitted.add(limiter.tryAcquire(key) ? 1 : 0);
                    admitted.add(limiter.tryAcquire(Keys.bytes(key)) ? 1 : 0);
                }
                for (boolean allowed : limiter.tryAcquireMany(order)) {
                    admitted.add(allowed ? 1 : 0);
                }
            }
        });
        assertEquals(20 * 5_000, admitted.sum());
        assertEquals(20 * 5_000, limiter.stats().allowed());
        assertEquals(THREADS * 500 * 60 - 20 * 5_000, limiter.stats().denied());
    }

    @Test
    void k6_permitsOfOneKeyStayWithinTheLimitWhileOtherKeysComeAndGo() throws Exception {
        KeyedConcurrencyLimiter limiter = lender(2);
        AtomicInteger inside = new AtomicInteger();
        AtomicInteger peak = new AtomicInteger();
        Threads.together(THREADS, thread -> {
            for (int round = 0; round < 3_000; round++) {
                // Keys that nobody else uses, and more than there is room for in all.
                var other = limiter.tryAcquire(thread + " " + round);
                limiter.tryAcquire("shared").ifPresent(permit -> {
                    peak.accumulateAndGet(inside.incrementAndGet(), Math::max);
                    inside.decrementAndGet();
                    permit.release();
                });
                other.ifPresent(Permit::release);
            }
        });
        assertTrue(peak.get() >= 1 && peak.get() <= 2, "peak " + peak);
        assertEquals(0, limiter.inFlight("shared"));
        Stats stats = limiter.stats();
        assertEquals(0, stats.inFlight());
        assertEquals(0, stats.liveKeys());
        assertEquals(stats.allowed(), stats.releasedOk());
    }

    @Test
    void ofEightThreadsThatReleaseOnePermitOneSucceeds() throws Exception {
        KeyedConcurrencyLimiter limiter = lender(8);
        for (int round = 0; round < 100; round++) {
            Permit contended = limiter.tryAcquire("ann", 3).orElseThrow();
            Permit bystander = limiter.tryAcquire("ann", 5).orElseThrow();
            AtomicInteger errors = new AtomicInteger();
            Threads.together(THREADS, thread -> {
                try {
                    contended.release();
                } catch (IllegalStateException error) {
                    errors.incrementAndGet();
                }
            });
            assertEquals(THREADS - 1, errors.get());
            assertEquals(5, limiter.inFlight("ann"));
            bystander.release();
        }
    }

    @Test
    void ofEightThreadsThatRefundOneDecisionOneSucceeds() throws Exception {
        KeyedRateLimiter limiter = limiter("10/h");
        for (int round = 0; round < 100; round++) {
            assertTrue(limiter.tryAcquire("ann", 5));
            Decision contended = limiter.decide("ann", 5);
            AtomicInteger errors = new AtomicInteger();
            Threads.together(THREADS, thread -> {
                try {
                    limiter.refund("ann", contended);
                } catch (IllegalStateException error) {
                    errors.incrementAndGet();
                }
            });
            assertEquals(THREADS - 1, errors.get());
            assertEquals(5, limiter.peek("ann").remaining());
            limiter.reset("ann");
        }
    }

    @Test
    void quotasMayChangeAndKeysBeResetWhileAllDecide() throws Exception {
        KeyedRateLimiter limiter = limiter("5/h");
        Threads.together(THREADS, thread -> {
            for (int round = 0; round < 500; round++) {
                if (thread == 0) {
                    limiter.reconfigure((5 + round % 3) + "/h");
                } else if (thread == 1) {
                    limiter.reset("ann");
                }
                limiter.tryAcquire("ann");
                limiter.size();
            }
        });
        limiter.reset("ann");
        limiter.reconfigure("5/h");
        assertTrue(limiter.tryAcquire("ann", 5));
        assertEquals(0, limiter.peek("ann").remaining());
    }

    /** L12 of the field's cases: an error in each thread, never a crash. */
    @Test
    void closeWhileEightThreadsCallIsAnErrorInEachOfThem() throws Exception {
        for (int round = 0; round < 50; round++) {
            KeyedRateLimiter rate = limiter("1000000/s");
            KeyedConcurrencyLimiter concurrency = lender(4);
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
                            rate.tryAcquire("ann");
                            rate.decide("ann");
                        } else {
                            concurrency.tryAcquire("ann").ifPresent(Permit::release);
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
                for (int round = 0; round < 1_000; round++) {
                    // Each is garbage as soon as its last call has begun.
                    assertTrue(limiter("5/s").tryAcquire("ann", 5));
                    assertTrue(limiter("5/s; 9/h").decide("ann", 5).allowed());
                    assertTrue(limiter("5/s").tryAcquireMany(List.of("ann"))[0]);
                    assertEquals(5, lender(5).available("ann"));
                }
            } finally {
                done.set(true);
            }
        });
    }
}

package io.github.tidegate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.ref.WeakReference;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Faults of permits that were reported of limiters, those of P1 to P11 that need no waiting: each must be impossible. */
class PermitCasesTest {
    @Test
    void p1_tenCallersBehindABarrierAreNeverMoreThanThreeAtOnce() throws Exception {
        ConcurrencyLimiter limiter = ConcurrencyLimiter.of(3);
        AtomicInteger inside = new AtomicInteger();
        AtomicInteger peak = new AtomicInteger();
        Threads.together(10, thread -> {
            for (int round = 0; round < 2_000; round++) {
                limiter.tryAcquire().ifPresent(permit -> {
                    peak.accumulateAndGet(inside.incrementAndGet(), Math::max);
                    Thread.yield();
                    inside.decrementAndGet();
                    permit.release();
                });
            }
        });
        assertTrue(peak.get() >= 1 && peak.get() <= 3, "peak " + peak);
        assertEquals(0, limiter.inFlight());
        assertEquals(3, limiter.available());
        Stats stats = limiter.stats();
        assertEquals(20_000, stats.allowed() + stats.denied());
        assertEquals(stats.allowed(), stats.releasedOk());
    }

    @Test
    void p2_aRejectedCallLeavesTheCountAsItWas() {
        ConcurrencyLimiter limiter = ConcurrencyLimiter.of(1);
        limiter.run(() -> {
            assertThrows(RefusedException.class, () -> limiter.run(() -> {}));
            assertEquals(1, limiter.inFlight());
        });
        assertEquals(0, limiter.inFlight());
    }

    @Test
    void p2_aCallWhoseBodyFailsWithTheLimitersOwnErrorReleasesItsPermit() {
        ConcurrencyLimiter limiter = ConcurrencyLimiter.of(1);
        RefusedException own = new RefusedException("of the body", Status.DENIED, null);
        assertSame(
                own,
                assertThrows(
                        RefusedException.class,
                        () -> limiter.call(() -> {
                            throw own;
                        })));
        assertEquals(0, limiter.inFlight());
        assertEquals(1, limiter.stats().releasedFailed());
        assertEquals(0, limiter.stats().releasedOk());
    }

    @Test
    void p3_permitsAreReleasedInAnyOrderOnAnyThread() throws Exception {
        ConcurrencyLimiter limiter = ConcurrencyLimiter.of(2);
        Permit first = limiter.tryAcquire().orElseThrow();
        Permit second = limiter.tryAcquire().orElseThrow();
        first.release();
        Threads.together(1, thread -> second.release());
        assertEquals(2, limiter.available());
    }

    @Test
    void p4_aSecondReleaseIsAnErrorThatChangesNothing() {
        ConcurrencyLimiter limiter = ConcurrencyLimiter.of(2);
        Permit permit = limiter.tryAcquire().orElseThrow();
        Permit other = limiter.tryAcquire().orElseThrow();
        permit.release();
        for (boolean ok : new boolean[] {true, false}) {
            assertEquals(
                    "permit: got one that was released before; allowed: a permit that is still held",
                    assertThrows(IllegalStateException.class, () -> permit.release(ok))
                            .getMessage());
        }
        assertEquals(1, limiter.inFlight());
        assertEquals(1, limiter.stats().releasedOk());
        assertEquals(0, limiter.stats().releasedFailed());
        other.release();
    }

    @Test
    void p4_aPermitThatWasReleasedStaysSoWhateverIsLentAfterIt() {
        ConcurrencyLimiter limiter = ConcurrencyLimiter.of(2);
        KeyedConcurrencyLimiter keyed = KeyedConcurrencyLimiter.of(2);
        Permit first = limiter.tryAcquire().orElseThrow();
        first.release();
        Permit second = keyed.tryAcquire("ann", 2).orElseThrow();
        assertThrows(IllegalStateException.class, first::release);
        first.close();
        assertEquals("Permit(1, released)", first.toString());
        assertEquals("Permit(2, held)", second.toString());
        assertEquals(2, keyed.inFlight("ann"));
        second.release();
        assertThrows(IllegalStateException.class, second::release);
        assertEquals(0, keyed.inFlight("ann"));
        assertEquals(1, limiter.stats().releasedOk());
    }

    @Test
    void aThousandPermitsOfOneThreadAreLentAndReleasedAgainAndAgain() {
        ConcurrencyLimiter limiter = ConcurrencyLimiter.of(1_000);
        for (int round = 0; round < 3; round++) {
            List<Permit> held = IntStream.range(0, 1_000)
                    .mapToObj(number -> limiter.tryAcquire().orElseThrow())
                    .toList();
            assertTrue(limiter.tryAcquire().isEmpty());
            held.forEach(Permit::release);
            assertEquals(0, limiter.inFlight());
        }
    }

    @Test
    void aLimiterIsNotKeptByPermitsThatWereReleased() throws InterruptedException {
        WeakReference<ConcurrencyLimiter> limiter = new WeakReference<>(ConcurrencyLimiter.of(1));
        limiter.get().tryAcquire().orElseThrow().release();
        for (int attempt = 0; attempt < 1_000 && limiter.get() != null; attempt++) {
            System.gc();
            Thread.sleep(1);
        }
        assertNull(limiter.get());
    }

    @Test
    void p4_ofEightThreadsThatReleaseOnePermitOneSucceeds() throws Exception {
        ConcurrencyLimiter limiter = ConcurrencyLimiter.of(8);
        for (int round = 0; round < 200; round++) {
            Permit contended = limiter.tryAcquire(3).orElseThrow();
            Permit bystander = limiter.tryAcquire(5).orElseThrow();
            AtomicInteger errors = new AtomicInteger();
            Threads.together(8, thread -> {
                try {
                    contended.release();
                } catch (IllegalStateException error) {
                    errors.incrementAndGet();
                }
            });
            assertEquals(7, errors.get());
            assertEquals(5, limiter.inFlight());
            bystander.release();
        }
    }

    @Test
    void p8_aLimitLoweredAndRaisedLendsNothingBeforeARelease() {
        ConcurrencyLimiter limiter = ConcurrencyLimiter.of(2);
        List<Permit> held =
                List.of(limiter.tryAcquire().orElseThrow(), limiter.tryAcquire().orElseThrow());
        limiter.setLimit(1);
        assertTrue(limiter.tryAcquire().isEmpty());
        limiter.setLimit(2);
        assertTrue(limiter.tryAcquire().isEmpty());
        held.get(0).release();
        limiter.tryAcquire().orElseThrow().release();
        held.get(1).release();
    }

    @Test
    void p9_aLimitLoweredFromInsideATaskTakesEffectOnceFewEnoughAreOut() {
        ConcurrencyLimiter limiter = ConcurrencyLimiter.of(5);
        Permit four = limiter.tryAcquire(4).orElseThrow();
        limiter.run(() -> {
            limiter.setLimit(2);
            assertEquals(5, limiter.inFlight());
            assertEquals(0, limiter.available());
        });
        assertTrue(limiter.tryAcquire().isEmpty());
        four.release();
        assertEquals(2, limiter.available());
        limiter.tryAcquire().orElseThrow().release();
    }

    @Test
    void p11_moreThanTheLimitIsRefusedAtOnceAndTheNextOneWorks() {
        ConcurrencyLimiter limiter = ConcurrencyLimiter.of(2);
        assertTrue(limiter.tryAcquire(3).isEmpty());
        assertThrows(ExceedsCapacityException.class, () -> limiter.run(3, () -> {}));
        limiter.tryAcquire(1).orElseThrow().release();
    }
}

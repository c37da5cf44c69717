package io.github.tidegate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class ConcurrencyLimiterTest {
    @Test
    void permitsAreLentUpToTheLimit() {
        ConcurrencyLimiter limiter = ConcurrencyLimiter.of(3);
        Permit two = limiter.tryAcquire(2).orElseThrow();
        assertEquals(2, two.permits());
        assertTrue(limiter.tryAcquire(2).isEmpty());
        Permit one = limiter.tryAcquire().orElseThrow();
        assertEquals(1, one.permits());
        assertEquals(3, limiter.inFlight());
        assertEquals(0, limiter.available());
        assertEquals(3, limiter.limit());
        assertEquals("ConcurrencyLimiter(3 of 3 out)", limiter.toString());
        two.release();
        assertEquals(2, limiter.available());
        one.release(false);
        assertEquals(3, limiter.available());
    }

    @Test
    void aPermitIsReleasedAtTheEndOfItsScope() {
        ConcurrencyLimiter limiter = ConcurrencyLimiter.of(1);
        try (Permit permit = limiter.tryAcquire().orElseThrow()) {
            assertEquals(1, permit.permits());
            assertEquals(1, limiter.inFlight());
        }
        assertEquals(0, limiter.inFlight());
    }

    @Test
    void theEndOfAScopeAfterAReleaseIsNoError() {
        ConcurrencyLimiter limiter = ConcurrencyLimiter.of(2);
        try (Permit other = limiter.tryAcquire().orElseThrow()) {
            try (Permit permit = limiter.tryAcquire().orElseThrow()) {
                permit.release(false);
            }
            assertEquals(1, limiter.inFlight());
            assertEquals(1, other.permits());
        }
        Stats stats = limiter.stats();
        assertEquals(1, stats.releasedOk());
        assertEquals(1, stats.releasedFailed());
    }

    @Test
    void theLimitIsChangedWhileInUse() {
        ConcurrencyLimiter limiter = ConcurrencyLimiter.of(3);
        Permit held = limiter.tryAcquire(3).orElseThrow();
        limiter.setLimit(1);
        assertEquals(1, limiter.limit());
        assertEquals(3, limiter.inFlight());
        assertEquals(0, limiter.available());
        limiter.setLimit(5);
        assertEquals(2, limiter.available());
        limiter.setLimit(0);
        held.release();
        assertTrue(limiter.tryAcquire().isEmpty());
        limiter.setLimit(ConcurrencyLimiter.MAX_LIMIT);
        assertEquals(ConcurrencyLimiter.MAX_LIMIT, limiter.available());
    }

    @Test
    void statsCountCallsAndReleases() {
        ConcurrencyLimiter limiter = ConcurrencyLimiter.of(2);
        Permit two = limiter.tryAcquire(2).orElseThrow();
        assertEquals(Optional.empty(), limiter.tryAcquire());
        assertEquals(Optional.empty(), limiter.tryAcquire(3));
        two.release(false);
        limiter.tryAcquire().orElseThrow().release(true);
        Stats stats = limiter.stats();
        assertEquals(2, stats.allowed());
        assertEquals(2, stats.denied());
        assertEquals(1, stats.releasedOk());
        assertEquals(1, stats.releasedFailed());
        assertEquals(2, stats.limit());
        assertEquals(0, stats.inFlight());
        assertEquals(2, stats.available());
        assertEquals(Duration.ZERO, stats.holdTimeTotal());
    }

    @Test
    void holdTimesAreMeasuredWhereAskedFor() {
        ManualClock clock = new ManualClock();
        ConcurrencyLimiter limiter =
                ConcurrencyLimiter.builder(2).trackHoldTime(true).clock(clock).build();
        Permit first = limiter.tryAcquire().orElseThrow();
        clock.advance(Duration.ofMillis(3));
        Permit second = limiter.tryAcquire().orElseThrow();
        clock.advance(Duration.ofMillis(4));
        first.release();
        second.release();
        assertEquals(Duration.ofMillis(11), limiter.stats().holdTimeTotal());
        assertEquals(Duration.ofMillis(7), limiter.stats().holdTimeMax());
    }

    @Test
    void runAndCallHoldPermitsWhileTheTaskRuns() throws Exception {
        ConcurrencyLimiter limiter = ConcurrencyLimiter.of(3);
        limiter.run(() -> assertEquals(1, limiter.inFlight()));
        assertEquals(2L, limiter.call(2, limiter::inFlight));
        limiter.run(3, () -> {
            RefusedException refused = assertThrows(RefusedException.class, () -> limiter.call(() -> "not done"));
            assertEquals(Status.DENIED, refused.status());
            assertEquals(Optional.empty(), refused.decision());
            assertEquals("refused: 1 permit asked, 0 of 3 available", refused.getMessage());
        });
        assertEquals(
                "4 permits can never be had: the limit is 3",
                assertThrows(ExceedsCapacityException.class, () -> limiter.run(4, () -> {}))
                        .getMessage());
        assertEquals(0, limiter.inFlight());
        assertEquals(3, limiter.stats().releasedOk());
    }

    @Test
    void aRefusalNamesWhatWasAskedAndWhatStopsIt() {
        ConcurrencyLimiter limiter = ConcurrencyLimiter.of(3);
        limiter.run(
                2,
                () -> assertEquals(
                        "refused: 2 permits asked, 1 of 3 available",
                        assertThrows(RefusedException.class, () -> limiter.run(2, () -> {}))
                                .getMessage()));
        limiter.setLimit(0);
        assertEquals(
                "refused: 1 permit asked, the limit is 0",
                assertThrows(RefusedException.class, () -> limiter.run(() -> {}))
                        .getMessage());
    }

    @Test
    void aPermitSaysWhetherItIsHeld() {
        Permit permit = ConcurrencyLimiter.of(3).tryAcquire(2).orElseThrow();
        assertEquals("Permit(2, held)", permit.toString());
        permit.release();
        assertEquals("Permit(2, released)", permit.toString());
    }

    @Test
    void aScopeThatIsLeftByAnExceptionCountsAsGoneWellUnlessItWasSaidToHaveFailed() {
        ConcurrencyLimiter limiter = ConcurrencyLimiter.of(1);
        for (boolean told : new boolean[] {false, true}) {
            assertThrows(IllegalStateException.class, () -> {
                try (Permit permit = limiter.tryAcquire().orElseThrow()) {
                    if (told) {
                        permit.release(false);
                    }
                    throw new IllegalStateException("of the work");
                }
            });
        }
        assertEquals(1, limiter.stats().releasedOk());
        assertEquals(1, limiter.stats().releasedFailed());
    }

    @Test
    void missingArgumentsAreNamed() {
        ConcurrencyLimiter limiter = ConcurrencyLimiter.of(1);
        assertEquals(
                "task: got null; allowed: a Runnable",
                assertThrows(NullPointerException.class, () -> limiter.run(null))
                        .getMessage());
        assertEquals(
                "task: got null; allowed: a Callable",
                assertThrows(NullPointerException.class, () -> limiter.call(null))
                        .getMessage());
        assertEquals(
                "clock: got null; allowed: a Clock",
                assertThrows(
                                NullPointerException.class,
                                () -> ConcurrencyLimiter.builder(1).clock(null))
                        .getMessage());
        assertEquals(0, limiter.inFlight());
    }

    static Stream<Executable> callsThatAskForPermits() {
        ConcurrencyLimiter limiter = ConcurrencyLimiter.of(5);
        limiter.close();
        limiter.close();
        return Stream.of(
                limiter::tryAcquire,
                () -> limiter.tryAcquire(2),
                () -> limiter.call(() -> ""),
                () -> limiter.run(() -> {}));
    }

    @ParameterizedTest
    @MethodSource("callsThatAskForPermits")
    void aClosedLimiterLendsNothing(Executable call) {
        assertEquals(
                "limiter: got one that is closed; allowed: one that is open",
                assertThrows(ClosedException.class, call).getMessage());
    }

    @Test
    void howAClosedLimiterStandsCanBeRead() {
        ConcurrencyLimiter limiter = ConcurrencyLimiter.of(5);
        Permit permit = limiter.tryAcquire(2).orElseThrow();
        limiter.close();
        limiter.setLimit(3);
        assertEquals(3, limiter.limit());
        assertEquals(2, limiter.inFlight());
        assertEquals(0, limiter.available());
        assertEquals(0, limiter.waiting());
        assertThrows(ClosedException.class, limiter::tryAcquire);
        permit.release();
        assertEquals(0, limiter.stats().inFlight());
        assertEquals(1, limiter.stats().denied());
    }

    @Test
    void aPermitThatIsOutWhenItsLimiterIsClosedCanBeReleasedOnce() {
        ConcurrencyLimiter limiter = ConcurrencyLimiter.of(1);
        Permit permit = limiter.tryAcquire().orElseThrow();
        limiter.close();
        assertEquals("ConcurrencyLimiter(closed)", limiter.toString());
        permit.release();
        assertThrows(IllegalStateException.class, permit::release);
    }
}

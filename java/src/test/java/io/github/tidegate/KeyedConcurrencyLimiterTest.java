package io.github.tidegate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class KeyedConcurrencyLimiterTest {
    private static final byte[] ANN = "ann".getBytes(StandardCharsets.UTF_8);

    @Test
    void eachKeyHasItsOwnPermits() {
        KeyedConcurrencyLimiter limiter = KeyedConcurrencyLimiter.of(2);
        Permit one = limiter.tryAcquire("ann").orElseThrow();
        Permit two = limiter.tryAcquire(ANN).orElseThrow();
        assertEquals(Optional.empty(), limiter.tryAcquire("ann"));
        Permit other = limiter.tryAcquire("bob", 2).orElseThrow();
        assertEquals(2, other.permits());
        assertEquals(2, limiter.inFlight("ann"));
        assertEquals(2, limiter.inFlight(ANN));
        assertEquals(0, limiter.available("ann"));
        assertEquals(2, limiter.available("eve".getBytes(StandardCharsets.UTF_8)));
        assertEquals(2, limiter.stats().liveKeys());
        one.release();
        assertEquals(1, limiter.inFlight("ann"));
        assertEquals(2, limiter.inFlight("bob"));
        two.release(false);
        other.release();
        Stats stats = limiter.stats();
        assertEquals(3, stats.allowed());
        assertEquals(1, stats.denied());
        assertEquals(2, stats.limit());
        assertEquals(0, stats.inFlight());
        assertEquals(2, stats.releasedOk());
        assertEquals(1, stats.releasedFailed());
        assertEquals(0, stats.liveKeys());
        assertEquals(KeyedRateLimiter.DEFAULT_MAX_KEYS, stats.capacity());
    }

    @Test
    void aPermitIsReleasedAtTheEndOfItsScope() {
        KeyedConcurrencyLimiter limiter = KeyedConcurrencyLimiter.of(1);
        try (Permit permit = limiter.tryAcquire("ann").orElseThrow()) {
            assertEquals("Permit(1, held)", permit.toString());
            assertEquals(1, limiter.inFlight("ann"));
        }
        assertEquals(0, limiter.inFlight("ann"));
    }

    @Test
    void aPermitGoesBackToItsKeyWhateverBecameOfTheBytesThatNamedIt() {
        KeyedConcurrencyLimiter limiter = KeyedConcurrencyLimiter.of(2);
        byte[] key = ANN.clone();
        Permit permit = limiter.tryAcquire(key).orElseThrow();
        key[0] = 'b';
        permit.release();
        assertEquals(0, limiter.inFlight("ann"));
    }

    @Test
    void p4_aSecondReleaseIsAnErrorThatChangesNothing() {
        KeyedConcurrencyLimiter limiter = KeyedConcurrencyLimiter.of(2);
        Permit permit = limiter.tryAcquire("ann").orElseThrow();
        Permit other = limiter.tryAcquire("ann").orElseThrow();
        permit.release();
        assertEquals(
                "permit: got one that was released before; allowed: a permit that is still held",
                assertThrows(IllegalStateException.class, permit::release).getMessage());
        permit.close();
        assertEquals(1, limiter.inFlight("ann"));
        assertEquals(1, limiter.stats().releasedOk());
        other.release();
    }

    /** A new key is refused, however many come: those with permits out are never evicted. */
    @Test
    void keysWithPermitsOutKeepTheirPlaces() {
        KeyedConcurrencyLimiter limiter =
                KeyedConcurrencyLimiter.builder(1).maxKeys(3).build();
        List<Permit> held = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            held.add(limiter.tryAcquire("key " + i).orElseThrow());
        }
        assertTrue(limiter.tryAcquire("new").isEmpty());
        RefusedException refused = assertThrows(RefusedException.class, () -> limiter.run("new", () -> {}));
        assertEquals(Status.KEYS_FULL, refused.status());
        assertEquals("refused: 1 permit asked, no room for another key", refused.getMessage());
        assertEquals(0, limiter.stats().evictedLive());
        held.remove(0).release();
        held.add(limiter.tryAcquire("new").orElseThrow());
        held.forEach(Permit::release);
        assertEquals(0, limiter.stats().inFlight());
    }

    @Test
    void theLimitOfAllKeysIsChangedWhileInUse() {
        KeyedConcurrencyLimiter limiter =
                KeyedConcurrencyLimiter.builder(3).maxKeys(10).build();
        assertEquals("KeyedConcurrencyLimiter(3 each, 10 keys)", limiter.toString());
        Permit held = limiter.tryAcquire("ann", 3).orElseThrow();
        limiter.setLimit(1);
        assertEquals(1, limiter.limit());
        assertEquals(3, limiter.inFlight("ann"));
        assertEquals(0, limiter.available("ann"));
        assertEquals(1, limiter.available("bob"));
        limiter.setLimit(0);
        held.release();
        assertTrue(limiter.tryAcquire("ann").isEmpty());
        limiter.setLimit(ConcurrencyLimiter.MAX_LIMIT);
        assertEquals(ConcurrencyLimiter.MAX_LIMIT, limiter.available("ann"));
        assertEquals(10, limiter.capacity());
    }

    @Test
    void holdTimesAreMeasuredOverAllKeysOnlyIfAskedFor() {
        for (boolean track : new boolean[] {true, false}) {
            ManualClock clock = new ManualClock();
            KeyedConcurrencyLimiter limiter = KeyedConcurrencyLimiter.builder(2)
                    .trackHoldTime(track)
                    .clock(clock)
                    .build();
            Permit ann = limiter.tryAcquire("ann").orElseThrow();
            clock.advanceNanos(70);
            Permit bob = limiter.tryAcquire("bob", 2).orElseThrow();
            clock.advanceNanos(30);
            ann.release();
            bob.release();
            Stats stats = limiter.stats();
            assertEquals(track ? Duration.ofNanos(130) : Duration.ZERO, stats.holdTimeTotal());
            assertEquals(track ? Duration.ofNanos(100) : Duration.ZERO, stats.holdTimeMax());
        }
        assertEquals(
                "clock: got null; allowed: a Clock",
                assertThrows(
                                NullPointerException.class,
                                () -> KeyedConcurrencyLimiter.builder(1).clock(null))
                        .getMessage());
    }

    @Test
    void runAndCallHoldPermitsOfTheKeyWhileTheTaskRuns() throws Exception {
        KeyedConcurrencyLimiter limiter = KeyedConcurrencyLimiter.of(3);
        limiter.run("ann", () -> assertEquals(1, limiter.inFlight("ann")));
        limiter.run(ANN, () -> assertEquals(1, limiter.inFlight("ann")));
        assertEquals(1L, limiter.call("ann", () -> limiter.inFlight("ann")));
        assertEquals(2L, limiter.call(ANN, 2, () -> limiter.inFlight("ann")));
        limiter.run("ann", 2, () -> {
            RefusedException refused = assertThrows(RefusedException.class, () -> limiter.call(ANN, 2, () -> "no"));
            assertEquals("refused: 2 permits asked, 1 of 3 available", refused.getMessage());
            assertEquals(Optional.empty(), refused.decision());
            limiter.run("bob", 3, () -> {});
        });
        assertEquals(
                "4 permits can never be had: the limit is 3",
                assertThrows(ExceedsCapacityException.class, () -> limiter.run("ann", 4, () -> {}))
                        .getMessage());
        assertThrows(
                IllegalStateException.class,
                () -> limiter.call("ann", () -> {
                    throw new IllegalStateException("of the task");
                }));
        limiter.setLimit(0);
        assertEquals(
                "refused: 1 permit asked, the limit is 0",
                assertThrows(RefusedException.class, () -> limiter.run("ann", () -> {}))
                        .getMessage());
        assertEquals(0, limiter.stats().inFlight());
        assertEquals(1, limiter.stats().releasedFailed());
        assertEquals(6, limiter.stats().releasedOk());
    }

    @ParameterizedTest
    @ValueSource(longs = {0, -1, Long.MIN_VALUE, RateLimiter.MAX_COST + 1, Long.MAX_VALUE})
    void aWrongNumberOfPermitsIsNamedAndNothingIsTaken(long permits) {
        KeyedConcurrencyLimiter limiter = KeyedConcurrencyLimiter.of(2);
        for (Runnable call : List.<Runnable>of(
                () -> limiter.tryAcquire("ann", permits),
                () -> limiter.tryAcquire(ANN, permits),
                () -> limiter.run("ann", permits, () -> {}))) {
            assertEquals(
                    "permits: got " + permits + "; allowed: 1 to 9007199254740991",
                    assertThrows(ConfigException.class, call::run).getMessage());
        }
        assertEquals(0, limiter.stats().inFlight());
    }

    @Test
    void wrongOptionsAreNamed() {
        for (long limit : new long[] {-1, ConcurrencyLimiter.MAX_LIMIT + 1}) {
            String text = "limit: got " + limit + "; allowed: 0 to 2147483647";
            assertEquals(
                    text,
                    assertThrows(ConfigException.class, () -> KeyedConcurrencyLimiter.of(limit))
                            .getMessage());
            KeyedConcurrencyLimiter limiter = KeyedConcurrencyLimiter.of(1);
            assertEquals(
                    text,
                    assertThrows(ConfigException.class, () -> limiter.setLimit(limit))
                            .getMessage());
        }
        for (long maxKeys : new long[] {0, -1, KeyedRateLimiter.MAX_KEYS + 1}) {
            assertEquals(
                    "maxKeys: got " + maxKeys + "; allowed: 1 to 4294967296",
                    assertThrows(
                                    ConfigException.class,
                                    () -> KeyedConcurrencyLimiter.builder(1).maxKeys(maxKeys))
                            .getMessage());
        }
    }

    @Test
    void missingArgumentsAreNamedAndNothingIsTaken() {
        KeyedConcurrencyLimiter limiter = KeyedConcurrencyLimiter.of(2);
        String text = null;
        byte[] bytes = null;
        for (Runnable call : List.<Runnable>of(
                () -> limiter.tryAcquire(text),
                () -> limiter.tryAcquire(bytes),
                () -> limiter.inFlight(text),
                () -> limiter.inFlight(bytes),
                () -> limiter.available(text),
                () -> limiter.available(bytes),
                () -> limiter.run(text, () -> {}),
                () -> limiter.run(bytes, () -> {}))) {
            assertEquals(
                    "key: got null; allowed: a string or bytes",
                    assertThrows(NullPointerException.class, call::run).getMessage());
        }
        assertEquals(
                "task: got null; allowed: a Runnable",
                assertThrows(NullPointerException.class, () -> limiter.run("ann", null))
                        .getMessage());
        assertEquals(
                "task: got null; allowed: a Callable",
                assertThrows(NullPointerException.class, () -> limiter.call("ann", null))
                        .getMessage());
        assertEquals(0, limiter.stats().allowed());
    }

    @Test
    void aClosedLimiterLendsNothingAndCanBeRead() {
        KeyedConcurrencyLimiter limiter =
                KeyedConcurrencyLimiter.builder(5).maxKeys(10).build();
        limiter.close();
        limiter.close();
        for (Runnable call : List.<Runnable>of(
                () -> limiter.tryAcquire("ann"), () -> limiter.tryAcquire(ANN), () -> limiter.run("ann", () -> {}))) {
            assertEquals(
                    "limiter: got one that is closed; allowed: one that is open",
                    assertThrows(ClosedException.class, call::run).getMessage());
        }
        limiter.setLimit(3);
        assertEquals(3, limiter.limit());
        assertEquals(0, limiter.inFlight("ann"));
        assertEquals(0, limiter.available("ann"));
        assertEquals(10, limiter.capacity());
        assertEquals(3, limiter.stats().denied());
    }

    @Test
    void aPermitThatIsOutWhenItsLimiterIsClosedCanBeReleasedOnce() {
        KeyedConcurrencyLimiter limiter = KeyedConcurrencyLimiter.of(1);
        Permit permit = limiter.tryAcquire("ann").orElseThrow();
        limiter.close();
        assertEquals("KeyedConcurrencyLimiter(closed)", limiter.toString());
        permit.release();
        assertThrows(IllegalStateException.class, permit::release);
    }
}

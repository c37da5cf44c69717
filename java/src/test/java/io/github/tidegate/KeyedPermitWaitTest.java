package io.github.tidegate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** All that holds for a limiter without keys holds for one key; and what is said of keys. */
class KeyedPermitWaitTest extends PermitWaitContract {
    private static final byte[] ANN = "ann".getBytes(StandardCharsets.UTF_8);

    @Override
    Lending limiter(long limit, long maxWaiters, Clock clock) {
        KeyedConcurrencyLimiter.Builder builder =
                KeyedConcurrencyLimiter.builder(limit).maxKeys(10).maxWaiters(maxWaiters);
        return Lending.of(clock == null ? builder.build() : builder.clock(clock).build(), "ann");
    }

    @Test
    void whatIsThereIsTakenAtOnce() throws Exception {
        KeyedConcurrencyLimiter limiter = KeyedConcurrencyLimiter.of(2);
        try (Permit permit = limiter.acquire("ann")) {
            assertEquals(1, permit.permits());
            assertEquals(1, limiter.inFlight("ann"));
            assertEquals(0, limiter.inFlight("bob"));
        }
        limiter.acquire("ann", 2).release();
        limiter.acquire("ann", Duration.ZERO).release();
        limiter.acquire("ann", 2, HOUR).release();
        limiter.acquire(ANN).release();
        limiter.acquire(ANN, 2).release();
        limiter.acquire(ANN, Duration.ZERO).release();
        limiter.acquire(ANN, 2, HOUR).release();
        limiter.acquireAsync("ann").get().release();
        limiter.acquireAsync("ann", HOUR).get().release(false);
        limiter.acquireAsync("ann", 2, HOUR).get().release();
        limiter.acquireAsync(ANN).get().release();
        limiter.acquireAsync(ANN, HOUR).get().release();
        limiter.acquireAsync(ANN, 2, HOUR).get().release();
        Lending.of(limiter, "ann").assertAtRest();
        assertEquals(14, limiter.stats().allowed());
        assertEquals(1, limiter.stats().releasedFailed());
    }

    @Test
    void eachKeyHasALineOfItsOwn() throws Exception {
        KeyedConcurrencyLimiter limiter = KeyedConcurrencyLimiter.of(1);
        Permit ann = limiter.acquire("ann");
        CompletableFuture<Permit> second = limiter.acquireAsync("ann");
        CompletableFuture<Permit> third = limiter.acquireAsync(ANN);
        Permit bob = limiter.acquire("bob", Duration.ZERO);
        CompletableFuture<Permit> ofBob = limiter.acquireAsync("bob");
        assertEquals(2, limiter.waiting("ann"));
        assertEquals(1, limiter.waiting("bob"));
        assertEquals(0, limiter.waiting("eve"));
        assertEquals(3, limiter.stats().waiting());
        bob.release();
        assertTrue(ofBob.isDone());
        assertFalse(second.isDone());
        ann.release();
        assertFalse(third.isDone());
        second.get().release();
        third.get().release();
        ofBob.get().release();
        assertEquals(0, limiter.stats().inFlight());
    }

    @Test
    void aRefusalTellsOfItsKeyAlone() throws Exception {
        KeyedConcurrencyLimiter limiter =
                KeyedConcurrencyLimiter.builder(3).maxKeys(10).clock(clock).build();
        Permit ann = limiter.acquire("ann", 2);
        Permit bob = limiter.acquire("bob", 3);
        byte[] key = ANN.clone();
        CompletableFuture<Permit> late = limiter.acquireAsync(key, 2, Duration.ofNanos(5));
        CompletableFuture<Permit> other = limiter.acquireAsync("ann", 3, HOUR);
        // Whatever becomes of the bytes that named it.
        key[0] = 'b';
        clock.advanceNanos(5);
        assertEquals(
                new Refusal(Status.TIMED_OUT, Duration.ofNanos(5), Duration.ofNanos(5), 3, 2, 1),
                Waiting.failure(TimedOutException.class, late).refusal().orElseThrow());
        ann.release();
        other.get().release();
        bob.release();
    }

    /** A new key that finds no room is refused at once; one that is waited for keeps its place. */
    @Test
    void whereThereIsNoRoomForAnotherKeyNobodyWaits() throws Exception {
        KeyedConcurrencyLimiter limiter =
                KeyedConcurrencyLimiter.builder(1).maxKeys(3).clock(clock).build();
        List<Permit> held = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            held.add(limiter.acquire("key " + i));
        }
        RefusedException full = assertThrows(RefusedException.class, () -> limiter.acquire("new", HOUR));
        assertEquals(Status.KEYS_FULL, full.status());
        assertEquals("keys_full after PT0S of PT1H: limit 1, 0 in flight, 0 waiting", full.getMessage());
        assertEquals(
                Status.KEYS_FULL,
                Waiting.failure(RefusedException.class, limiter.acquireAsync("new"))
                        .status());
        CompletableFuture<Permit> waiting = limiter.acquireAsync("key 0");
        held.remove(0).release();
        assertThrows(RefusedException.class, () -> limiter.acquire("new"));
        waiting.get().release();
        held.add(limiter.acquire("new"));
        held.forEach(Permit::release);
    }

    @Test
    void closeEndsTheWaitsOfAllKeys() throws Exception {
        KeyedConcurrencyLimiter limiter = KeyedConcurrencyLimiter.of(1);
        Permit ann = limiter.acquire("ann");
        Permit bob = limiter.acquire("bob");
        Waiting<Permit> thread = Waiting.on(() -> limiter.waiting("ann"), 1, () -> limiter.acquire("ann"));
        CompletableFuture<Permit> future = limiter.acquireAsync("bob");
        limiter.close();
        thread.failure(ClosedException.class);
        Waiting.failure(ClosedException.class, future);
        Waiting.failure(ClosedException.class, limiter.acquireAsync("eve"));
        ann.release();
        bob.release();
        assertEquals(0, limiter.stats().inFlight());
    }

    @Test
    void aMissingKeyIsNamed() {
        KeyedConcurrencyLimiter limiter = KeyedConcurrencyLimiter.of(1);
        String text = null;
        byte[] bytes = null;
        for (Threads.Work call : List.<Threads.Work>of(
                number -> limiter.acquire(text),
                number -> limiter.acquire(bytes),
                number -> limiter.acquire(text, HOUR),
                number -> limiter.acquire(bytes, HOUR),
                number -> limiter.acquireAsync(text),
                number -> limiter.acquireAsync(bytes),
                number -> limiter.waiting(text),
                number -> limiter.waiting(bytes))) {
            assertEquals(
                    "key: got null; allowed: a string or bytes",
                    assertThrows(NullPointerException.class, () -> call.run(0)).getMessage());
        }
    }
}

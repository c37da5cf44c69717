package io.github.tidegate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** All that holds for a limiter without keys holds for one key; and what is said of keys. */
class KeyedTokenWaitTest extends TokenWaitContract {
    private static final byte[] ANN = "ann".getBytes(StandardCharsets.UTF_8);

    @Override
    Spending limiter(String quotas, long maxWaiters, Clock clock) {
        KeyedRateLimiter.Builder builder =
                KeyedRateLimiter.builder(quotas).maxKeys(10).maxWaiters(maxWaiters);
        return Spending.of(
                clock == null ? builder.build() : builder.clock(clock).build(), "ann");
    }

    private KeyedRateLimiter keyed(String quotas) {
        return KeyedRateLimiter.builder(quotas).maxKeys(100).clock(clock).build();
    }

    @Test
    void whatIsThereIsTakenAtOnce() throws Exception {
        KeyedRateLimiter limiter = keyed("18/s");
        limiter.acquire("ann");
        limiter.acquire("ann", 1);
        limiter.acquire("ann", Duration.ZERO);
        limiter.acquire("ann", 1, SECOND);
        limiter.acquire(ANN);
        limiter.acquire(ANN, 1);
        limiter.acquire(ANN, Duration.ZERO);
        limiter.acquire(ANN, 1, SECOND);
        limiter.acquireAsync("ann").get();
        limiter.acquireAsync("ann", SECOND).get();
        limiter.acquireAsync("ann", 1, SECOND).get();
        limiter.acquireAsync(ANN).get();
        limiter.acquireAsync(ANN, SECOND).get();
        limiter.acquireAsync(ANN, 1, SECOND).get();
        assertEquals(0, limiter.reserve("ann", 1).delayNanos());
        assertEquals(0, limiter.reserve("ann", 1, SECOND).delayNanos());
        assertEquals(0, limiter.reserve(ANN, 1).delayNanos());
        assertEquals(0, limiter.reserve(ANN, 1, SECOND).delayNanos());
        assertEquals(0, limiter.peek("ann").remaining());
        assertEquals(18, limiter.peek("bob").remaining());
        assertEquals(18, limiter.stats().allowed());
    }

    @Test
    void aReservationKnowsItsKeyWhateverBecameOfTheBytesThatNamedIt() {
        KeyedRateLimiter limiter = keyed("1/s");
        assertEquals(Duration.ZERO, limiter.reserve("bob", 1).delay());
        byte[] key = ANN.clone();
        assertEquals(Duration.ZERO, limiter.reserve(key, 1).delay());
        Reservation later = limiter.reserve(key, 1);
        assertEquals(SECOND, later.delay());
        key[0] = 'b';
        assertTrue(later.cancel());
        assertEquals(SECOND, limiter.reserve(ANN, 1).delay());
    }

    @Test
    void eachKeyHasALineOfItsOwn() throws Exception {
        KeyedRateLimiter limiter = keyed("1/s");
        limiter.acquire("ann");
        CompletableFuture<Void> second = limiter.acquireAsync("ann");
        CompletableFuture<Void> third = limiter.acquireAsync(ANN);
        limiter.acquire("bob", Duration.ZERO);
        CompletableFuture<Void> ofBob = limiter.acquireAsync("bob");
        assertEquals(2, limiter.waiting("ann"));
        assertEquals(2, limiter.waiting(ANN));
        assertEquals(1, limiter.waiting("bob"));
        assertEquals(0, limiter.waiting("eve"));
        assertEquals(3, limiter.stats().waiting());
        clock.advance(SECOND);
        assertTrue(second.isDone());
        assertTrue(ofBob.isDone());
        assertFalse(third.isDone());
        clock.advance(SECOND);
        third.get();
    }

    @Test
    void aQuotaOfItsOwnReachesWhoWaitsForTheKey() throws Exception {
        KeyedRateLimiter limiter = keyed("1/h");
        limiter.acquire("ann");
        limiter.acquire("bob");
        CompletableFuture<Void> ann = limiter.acquireAsync("ann");
        CompletableFuture<Void> bob = limiter.acquireAsync("bob");
        limiter.setQuota("ann", "2/h");
        assertTrue(ann.isDone());
        limiter.setQuota("ann", "4/h");
        CompletableFuture<Void> four = limiter.acquireAsync("ann", 4, Decision.NEVER);
        limiter.clearQuota("ann");
        Waiting.failure(ExceedsCapacityException.class, four);
        assertFalse(bob.isDone());
        assertEquals(1, limiter.waiting("bob"));
    }

    /** A new key that finds no room is refused at once; one that is waited for keeps its place. */
    @Test
    void whereThereIsNoRoomForAnotherKeyNobodyWaits() throws Exception {
        KeyedRateLimiter limiter = KeyedRateLimiter.builder("1/h")
                .maxKeys(3)
                .whenFull(WhenFull.DENY_NEW)
                .clock(clock)
                .build();
        for (int i = 0; i < 8; i++) {
            limiter.acquire("key " + i);
        }
        RefusedException full = assertThrows(RefusedException.class, () -> limiter.acquire("new"));
        assertEquals(Status.KEYS_FULL, full.status());
        assertEquals("keys_full after PT0S: limit 1, 0 waiting", full.getMessage());
        assertEquals(
                Status.KEYS_FULL,
                assertThrows(RefusedException.class, () -> limiter.reserve("new", 1))
                        .status());
        Waiting.failure(RefusedException.class, limiter.acquireAsync("new"));
        CompletableFuture<Void> waiting = limiter.acquireAsync("key 0");
        clock.advance(Duration.ofHours(1));
        waiting.get();
        limiter.acquire("new");
    }

    @Test
    void closeEndsTheWaitsOfAllKeysAndOfNoOtherLimiter() throws Exception {
        KeyedRateLimiter limiter = keyed("1/h");
        KeyedRateLimiter other = keyed("1/h");
        limiter.acquire("ann");
        limiter.acquire("bob");
        other.acquire("ann");
        Waiting<Void> thread = Waiting.on(() -> limiter.waiting("ann"), 1, () -> {
            limiter.acquire("ann");
            return null;
        });
        CompletableFuture<Void> future = limiter.acquireAsync("bob");
        CompletableFuture<Void> others = other.acquireAsync("ann");
        limiter.close();
        thread.failure(ClosedException.class);
        Waiting.failure(ClosedException.class, future);
        Waiting.failure(ClosedException.class, limiter.acquireAsync("eve"));
        assertThrows(ClosedException.class, () -> limiter.waiting("ann"));
        assertFalse(others.isDone());
    }

    @Test
    void aMissingKeyIsNamed() {
        KeyedRateLimiter limiter = KeyedRateLimiter.of("1/s");
        String text = null;
        byte[] bytes = null;
        for (Threads.Work call : List.<Threads.Work>of(
                number -> limiter.acquire(text),
                number -> limiter.acquire(bytes),
                number -> limiter.acquire(text, SECOND),
                number -> limiter.acquire(bytes, SECOND),
                number -> limiter.acquireAsync(text),
                number -> limiter.acquireAsync(bytes),
                number -> limiter.reserve(text, 1),
                number -> limiter.reserve(bytes, 1),
                number -> limiter.waiting(text),
                number -> limiter.waiting(bytes))) {
            assertEquals(
                    "key: got null; allowed: a string or bytes",
                    assertThrows(NullPointerException.class, () -> call.run(0)).getMessage());
        }
    }
}

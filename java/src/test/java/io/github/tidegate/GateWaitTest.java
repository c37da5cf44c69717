package io.github.tidegate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.tidegate.Rule.Match;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongSupplier;
import org.junit.jupiter.api.Test;

class GateWaitTest {
    private static final Duration SECOND = Duration.ofSeconds(1);
    private static final Attributes REQUEST = Attributes.of("path", "/files/cats");

    private final ManualClock clock = new ManualClock();

    private Gate gate(Rule... rules) {
        return Gate.builder().rules(rules).clock(clock).build();
    }

    private static Rule files(long permits) {
        return Rule.of("files").match("path", Match.prefix("/files/")).concurrency(permits);
    }

    private static Stats files(Gate gate) {
        return gate.stats().rule("files").orElseThrow().limiter();
    }

    private static LongSupplier waiting(Gate gate) {
        return () -> files(gate).waiting();
    }

    @Test
    void aThreadWaitsUntilAnotherReleases() throws Exception {
        Gate gate = gate(files(1).timeout(SECOND));
        Entry first = gate.enter(REQUEST);
        Waiting<Entry> second = Waiting.on(waiting(gate), 1, () -> gate.enter(REQUEST));
        assertFalse(second.isDone());
        assertTrue(gate.tryEnter(REQUEST).isEmpty());
        first.release();
        assertEquals(Status.ALLOWED, second.get().status());
        second.get().release();
        assertEquals(0, files(gate).inFlight());
    }

    @Test
    void aWaitEndsByItsTimeoutAndSaysHowItStood() throws Exception {
        Gate gate = gate(files(1).timeoutOfCall());
        Entry first = gate.enter(REQUEST);
        assertEquals(
                Status.DENIED,
                assertThrows(GateRefusedException.class, () -> gate.enter(REQUEST))
                        .status());
        Waiting<Entry> second = Waiting.on(waiting(gate), 1, () -> gate.enter(REQUEST, 1, SECOND));
        CompletableFuture<Entry> third = gate.enterAsync(REQUEST, 1, SECOND);
        clock.advance(SECOND);
        GateRefusal late = second.failure(GateRefusedException.class).why();
        assertEquals(Status.TIMED_OUT, late.status());
        assertEquals(SECOND, late.elapsed());
        assertEquals(SECOND, late.timeout());
        assertEquals(
                Status.TIMED_OUT,
                Waiting.failure(GateRefusedException.class, third).status());
        assertEquals(0, files(gate).waiting());
        first.release();
        gate.enter(REQUEST).release();
    }

    @Test
    void aWaitByRealTimeEnds() {
        Gate gate = Gate.of(files(1).timeout(Duration.ofMillis(20)));
        Entry first = gate.tryEnter(REQUEST).orElseThrow();
        assertEquals(
                Status.TIMED_OUT,
                assertThrows(GateRefusedException.class, () -> gate.enter(REQUEST))
                        .status());
        assertEquals(
                Status.TIMED_OUT,
                Waiting.failure(GateRefusedException.class, gate.enterAsync(REQUEST))
                        .status());
        first.release();
    }

    @Test
    void tokensAreWaitedForByRealTime() throws Exception {
        Gate gate = Gate.of(Rule.of("paced").quota("100/s burst 1").timeout(SECOND));
        for (int i = 0; i < 3; i++) {
            gate.enter(REQUEST).release();
            gate.enterAsync(REQUEST).get(30, TimeUnit.SECONDS).release();
        }
        assertEquals(6, gate.stats().admitted());
    }

    @Test
    void whoIsInterruptedTakesNothing() throws Exception {
        Gate gate = gate(files(1).timeout(SECOND));
        Entry first = gate.enter(REQUEST);
        Waiting<Entry> second = Waiting.on(waiting(gate), 1, () -> gate.enter(REQUEST));
        second.thread.interrupt();
        second.failure(InterruptedException.class);
        assertEquals(0, files(gate).waiting());
        first.release();
        assertEquals(0, files(gate).inFlight());
        Thread.currentThread().interrupt();
        assertThrows(InterruptedException.class, () -> gate.enter(REQUEST));
        assertEquals(0, files(gate).inFlight());
    }

    @Test
    void aCancelledFutureGivesItsPlaceBack() throws Exception {
        Gate gate = gate(files(1).timeout(SECOND));
        Entry first = gate.enter(REQUEST);
        CompletableFuture<Entry> second = gate.enterAsync(REQUEST);
        CompletableFuture<Entry> third = gate.enterAsync(REQUEST);
        assertEquals(2, files(gate).waiting());
        assertTrue(second.cancel(true));
        assertThrows(CancellationException.class, second::join);
        assertEquals(1, files(gate).waiting());
        first.release();
        third.join().release();
        assertFalse(third.cancel(true));
        assertEquals(0, files(gate).inFlight());
    }

    @Test
    void asManyWaitAsMay() {
        Gate gate = gate(files(1).timeout(SECOND).maxWaiters(1));
        Entry first = gate.tryEnter(REQUEST).orElseThrow();
        CompletableFuture<Entry> second = gate.enterAsync(REQUEST);
        GateRefusedException full = assertThrows(GateRefusedException.class, () -> gate.enter(REQUEST));
        assertEquals(Status.QUEUE_FULL, full.status());
        assertEquals(1, full.why().waiting());
        CompletionException failed = assertThrows(
                CompletionException.class, () -> gate.enterAsync(REQUEST).join());
        assertEquals(Status.QUEUE_FULL, ((GateRefusedException) failed.getCause()).status());
        first.release();
        second.join().release();
    }

    @Test
    void whoWaitsIsLetInWhenTheLimitIsRaised() throws Exception {
        Gate gate = gate(files(1).timeout(SECOND));
        Entry first = gate.enter(REQUEST);
        Waiting<Entry> second = Waiting.on(waiting(gate), 1, () -> gate.enter(REQUEST));
        CompletableFuture<Entry> third = gate.enterAsync(REQUEST);
        gate.reload(files(3).timeout(SECOND));
        second.get().release();
        third.join().release();
        first.release();
    }

    @Test
    void aChainOfFuturesHoweverLongNeedsNoMoreStackThanOne() throws Exception {
        Gate gate = gate(files(1).timeout(SECOND));
        Entry first = gate.enter(REQUEST);
        AtomicInteger entered = new AtomicInteger();
        List<CompletableFuture<?>> all = new ArrayList<>();
        for (int i = 0; i < 10_000; i++) {
            all.add(gate.enterAsync(REQUEST).thenAccept(entry -> {
                entered.incrementAndGet();
                entry.release();
            }));
        }
        first.release();
        CompletableFuture.allOf(all.toArray(CompletableFuture[]::new)).get(30, TimeUnit.SECONDS);
        assertEquals(10_000, entered.get());
        assertEquals(0, files(gate).inFlight());
    }

    @Test
    void inAStormOfAllKindsNoPermitIsLostAndNoneIsLentTwice() throws Exception {
        Gate gate = Gate.of(
                files(3).timeout(Duration.ofMillis(5)),
                Rule.of("clients").key("client").concurrency(2).timeout(Duration.ofMillis(2)));
        AtomicInteger inside = new AtomicInteger();
        AtomicInteger admitted = new AtomicInteger();
        Threads.together(8, thread -> {
            Attributes request = REQUEST.with("client", "client " + thread % 3);
            for (int i = 0; i < 500; i++) {
                Entry entry = null;
                if ((i + thread) % 3 == 0) {
                    CompletableFuture<Entry> future = gate.enterAsync(request);
                    if (i % 2 == 0) {
                        Thread.yield();
                        future.cancel(true);
                    }
                    try {
                        entry = future.join();
                    } catch (CancellationException | CompletionException refused) {
                        continue;
                    }
                } else {
                    try {
                        entry = gate.enter(request);
                    } catch (GateRefusedException refused) {
                        continue;
                    }
                }
                admitted.incrementAndGet();
                assertTrue(inside.incrementAndGet() <= 3);
                Thread.yield();
                inside.decrementAndGet();
                entry.release();
            }
        });
        Waiting.until(() -> files(gate).inFlight(), 0);
        assertEquals(0, files(gate).waiting());
        assertTrue(admitted.get() > 0);
    }

    @Test
    void anEntryThatIsDroppedIsReleasedByTheCollector() throws Exception {
        Gate gate = gate(files(1));
        enterAndDrop(gate);
        Waiting.until(
                () -> {
                    System.gc();
                    return files(gate).inFlight();
                },
                0);
        gate.enter(REQUEST).release();
    }

    private static void enterAndDrop(Gate gate) {
        assertEquals(
                "Entry(allowed, held)", gate.tryEnter(REQUEST).orElseThrow().toString());
    }
}

package io.github.tidegate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;

/** Calls of a gate for which the stack has no room, each at many depths: no entry is lost, and none is given back twice. */
class GateStackTest {
    private static final int ROUNDS = 16;
    private static final Attributes REQUEST = Attributes.of("path", "/");

    private static Stats permits(Gate gate) {
        return gate.stats().rules().get(0).limiter();
    }

    @Test
    void aReleaseThatOverflowsTheStackLeavesTheEntryToBeReleased() throws Exception {
        Gate gate = Gate.of(Rule.of("permits").concurrency(2));
        Entry bystander = gate.enter(REQUEST);
        StackOverflowTest.onASmallStack(() -> {
            for (int round = 0; round < ROUNDS; round++) {
                Entry entry = gate.tryEnter(REQUEST).orElseThrow();
                StackOverflowTest.fromDepth(round % 64, 0, entry::close);
                assertEquals(1, permits(gate).inFlight());
            }
        });
        bystander.release();
        assertEquals(0, permits(gate).inFlight());
        assertEquals(ROUNDS + 1, gate.stats().releasedOk());
    }

    @Test
    void aReleaseThatOverflowsTheStackLetsTheNextOneInAllTheSame() throws Exception {
        Gate gate = Gate.of(Rule.of("permits").concurrency(1).timeout(Duration.ofSeconds(60)));
        StackOverflowTest.onASmallStack(() -> {
            for (int round = 0; round < ROUNDS; round++) {
                Entry entry = gate.tryEnter(REQUEST).orElseThrow();
                CompletableFuture<Entry> next = gate.enterAsync(REQUEST);
                StackOverflowTest.fromDepth(round % 64, 0, entry::close);
                gate.rules();
                assertTrue(next.isDone(), "round " + round);
                next.join().release();
            }
        });
        assertEquals(0, permits(gate).inFlight());
    }

    @Test
    void anEnterThatOverflowsTheStackKeepsNothing() throws Exception {
        Gate gate = Gate.of(Rule.of("permits").concurrency(1_000_000));
        keepsNothing(gate, () -> gate.tryEnter(REQUEST).orElseThrow());
        keepsNothing(gate, () -> gate.enterAsync(REQUEST).join());
        keepsNothing(gate, () -> {
            try {
                return gate.enter(REQUEST);
            } catch (InterruptedException never) {
                throw new IllegalStateException(never);
            }
        });
    }

    private static void keepsNothing(Gate gate, Supplier<Entry> enter) throws InterruptedException {
        StackOverflowTest.onASmallStack(() -> {
            for (int round = 0; round < ROUNDS; round++) {
                AtomicReference<Entry> entered = new AtomicReference<>();
                StackOverflowTest.fromDepth(round % 64, 0, () -> entered.set(enter.get()));
                entered.get().release();
            }
        });
        // What was admitted and then dropped by an overflow is the cleaner's.
        Waiting.until(
                () -> {
                    System.gc();
                    return permits(gate).inFlight();
                },
                0);
        GateStats stats = gate.stats();
        assertEquals(stats.admitted(), stats.releasedOk() + stats.releasedFailed());
    }
}

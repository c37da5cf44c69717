package io.github.tidegate.moving;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.resilience4j.bulkhead.Bulkhead;
import io.github.resilience4j.bulkhead.BulkheadConfig;
import io.github.resilience4j.bulkhead.BulkheadFullException;
import io.github.resilience4j.bulkhead.BulkheadRegistry;
import io.github.resilience4j.bulkhead.ThreadPoolBulkhead;
import io.github.resilience4j.bulkhead.ThreadPoolBulkheadConfig;
import io.github.resilience4j.ratelimiter.RateLimiterConfig;
import io.github.resilience4j.ratelimiter.RateLimiterRegistry;
import io.github.resilience4j.ratelimiter.RequestNotPermitted;
import io.github.resilience4j.ratelimiter.event.RateLimiterOnFailureEvent;
import io.github.resilience4j.ratelimiter.internal.AtomicRateLimiter;
import io.github.tidegate.Attributes;
import io.github.tidegate.ConcurrencyLimiter;
import io.github.tidegate.Gate;
import io.github.tidegate.GateEvent;
import io.github.tidegate.KeyedConcurrencyLimiter;
import io.github.tidegate.Permit;
import io.github.tidegate.RefusedException;
import io.github.tidegate.Reservation;
import io.github.tidegate.Rule;
import io.github.tidegate.TimedOutException;
import io.github.tidegate.Watch;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

class Resilience4jTest extends PageTest {
    private static final Duration MINUTE = Duration.ofMinutes(1);

    Resilience4jTest() throws Exception {
        super("resilience4j");
    }

    /** Stand for our classes of the same names, on the clock of the tests. */
    private static final class RateLimiter {
        static io.github.tidegate.RateLimiter of(String quota) {
            return io.github.tidegate.RateLimiter.builder(quota)
                    .clock(Time.OURS)
                    .build();
        }
    }

    private static final class KeyedRateLimiter {
        static io.github.tidegate.KeyedRateLimiter.Builder builder(String quota) {
            return io.github.tidegate.KeyedRateLimiter.builder(quota).clock(Time.OURS);
        }
    }

    private static RateLimiterConfig config(Duration timeout) {
        return RateLimiterConfig.custom()
                .limitForPeriod(5)
                .limitRefreshPeriod(Duration.ofMinutes(1))
                .timeoutDuration(timeout)
                .build();
    }

    private static AtomicRateLimiter theirs(Duration timeout) {
        return new AtomicRateLimiter("calls", config(timeout), Time::nanos);
    }

    private static io.github.tidegate.RateLimiter ours() {
        return RateLimiter.of("5/min fixed_window");
    }

    private static BulkheadConfig.Builder two() {
        return BulkheadConfig.custom().maxConcurrentCalls(2).maxWaitDuration(Duration.ZERO);
    }

    @Test
    @Row("`limitForPeriod(5)`")
    void aCycleGoesOnThereAndBeginsByACallHere() {
        RateLimiterConfig config = RateLimiterConfig.custom()
                .limitForPeriod(5)
                .limitRefreshPeriod(Duration.ofMinutes(1))
                .timeoutDuration(Duration.ZERO)
                .build();
        AtomicRateLimiter rateLimiter = new AtomicRateLimiter("calls", config, Time::nanos);
        io.github.tidegate.RateLimiter limiter = RateLimiter.of("5/min fixed_window");
        for (int minute = 0; minute < 3; minute++) {
            assertEquals(5, admitted(9, rateLimiter::acquirePermission));
            assertEquals(5, admitted(9, limiter::tryAcquire));
            Time.advance(MINUTE);
        }
        Time.advance(MINUTE.dividedBy(2));
        assertEquals(5, admitted(9, rateLimiter::acquirePermission));
        assertEquals(5, admitted(9, limiter::tryAcquire));
        Time.advance(MINUTE.dividedBy(2));
        assertEquals(5, admitted(9, rateLimiter::acquirePermission));
        assertEquals(0, admitted(9, limiter::tryAcquire));
    }

    @Test
    @Row("`timeoutDuration(Duration.ZERO)`")
    void withoutATimeoutNobodyWaits() {
        RateLimiterConfig config = RateLimiterConfig.from(config(Duration.ofMinutes(2)))
                .timeoutDuration(Duration.ZERO)
                .build();
        AtomicRateLimiter rateLimiter = new AtomicRateLimiter("calls", config, Time::nanos);
        io.github.tidegate.RateLimiter limiter = ours();
        assertEquals(5, admitted(9, rateLimiter::acquirePermission));
        assertEquals(5, admitted(9, () -> limiter.tryAcquire()));
    }

    @Test
    @Row("`timeoutDuration(Duration.ofMillis(50))`")
    void whatTakesLongerThanTheTimeoutIsRefusedAfterItThereAndAtOnceHere() throws InterruptedException {
        RateLimiterConfig config = RateLimiterConfig.from(config(Duration.ZERO))
                .timeoutDuration(Duration.ofMillis(50))
                .build();
        // By the true time: how long it waits is the subject.
        AtomicRateLimiter rateLimiter = new AtomicRateLimiter("calls", config, System::nanoTime);
        io.github.tidegate.RateLimiter limiter = ours();
        for (int call = 0; call < 5; call++) {
            assertTrue(rateLimiter.acquirePermission());
            limiter.acquire(Duration.ofMillis(50));
        }
        long start = System.nanoTime();
        assertFalse(rateLimiter.acquirePermission());
        assertTrue(System.nanoTime() - start >= 50_000_000);
        // On a clock that stands still, a wait would never end.
        assertThrows(TimedOutException.class, () -> limiter.acquire(Duration.ofMillis(50)));
    }

    @Test
    @Row("`rateLimiter.acquirePermission()`")
    void oneIsAdmittedAsOne() {
        AtomicRateLimiter rateLimiter = theirs(Duration.ZERO);
        io.github.tidegate.RateLimiter limiter = ours();
        for (int cycle = 0; cycle < 20; cycle++) {
            assertAdmitTheSame(Duration.ZERO, () -> rateLimiter.acquirePermission(), () -> limiter.tryAcquire());
            Time.advance(MINUTE);
        }
    }

    @Test
    @Row("`rateLimiter.acquirePermission(3)`")
    void threeAreAdmittedAsThree() {
        AtomicRateLimiter rateLimiter = theirs(Duration.ZERO);
        io.github.tidegate.RateLimiter limiter = ours();
        for (boolean admitted : new boolean[] {true, false}) {
            assertEquals(admitted, rateLimiter.acquirePermission(3));
            assertEquals(admitted, limiter.tryAcquire(3));
        }
        assertTrue(rateLimiter.acquirePermission(2) & limiter.tryAcquire(2));
    }

    @Test
    @Row("`rateLimiter.reservePermission()`")
    void aReservationSaysHowLongToWait() {
        AtomicRateLimiter rateLimiter = theirs(Duration.ofMinutes(2));
        io.github.tidegate.RateLimiter limiter = RateLimiter.of("5/min");
        for (int call = 0; call < 5; call++) {
            assertEquals(0, rateLimiter.reservePermission());
            assertEquals(0, limiter.reserve(1, Duration.ofMinutes(2)).delayNanos());
        }
        assertEquals(MINUTE.toNanos(), rateLimiter.reservePermission());
        Reservation sixth = limiter.reserve(1, Duration.ofMinutes(2));
        assertEquals(MINUTE.dividedBy(5).toNanos(), sixth.delayNanos());
        assertTrue(sixth.cancel());
        admitted(9, () -> rateLimiter.reservePermission() >= 0);
        assertEquals(-1, rateLimiter.reservePermission());
        for (int call = 0; call < 10; call++) {
            limiter.reserve(1, Duration.ofMinutes(2));
        }
        assertThrows(TimedOutException.class, () -> limiter.reserve(1, Duration.ofMinutes(2)));
    }

    @Test
    @Row("`rateLimiter.drainPermissions()`")
    void whatIsLeftCanBeTaken() {
        AtomicRateLimiter rateLimiter = theirs(Duration.ZERO);
        io.github.tidegate.RateLimiter limiter = ours();
        assertTrue(rateLimiter.acquirePermission() & limiter.tryAcquire());
        rateLimiter.drainPermissions();
        limiter.tryAcquire(limiter.peek().remaining());
        assertFalse(rateLimiter.acquirePermission() | limiter.tryAcquire());
    }

    @Test
    @Row("`rateLimiter.changeLimitForPeriod(7)`")
    void anotherLimitHoldsFromTheNextCycleOnThereAndAtOnceHere() {
        AtomicRateLimiter rateLimiter = theirs(Duration.ZERO);
        io.github.tidegate.RateLimiter limiter = ours();
        assertTrue(rateLimiter.acquirePermission() & limiter.tryAcquire());
        rateLimiter.changeLimitForPeriod(7);
        limiter.reconfigure("7/min fixed_window");
        assertEquals(4, admitted(9, rateLimiter::acquirePermission));
        assertEquals(6, admitted(9, limiter::tryAcquire));
        Time.advance(MINUTE);
        assertEquals(7, admitted(9, rateLimiter::acquirePermission));
        assertEquals(7, admitted(9, limiter::tryAcquire));
    }

    @Test
    @Row("`rateLimiter.executeSupplier(task)`")
    void aTaskRunsIfItIsAdmitted() throws Exception {
        AtomicRateLimiter rateLimiter = theirs(Duration.ZERO);
        io.github.tidegate.RateLimiter limiter = ours();
        for (int call = 0; call < 5; call++) {
            {
                java.util.function.Supplier<String> task = () -> "done";
                assertEquals("done", rateLimiter.executeSupplier(task));
            }
            java.util.concurrent.Callable<String> task = () -> "done";
            assertEquals("done", limiter.call(task));
        }
        assertThrows(RequestNotPermitted.class, () -> rateLimiter.executeSupplier(() -> "done"));
        assertThrows(RefusedException.class, () -> limiter.call(() -> "done"));
    }

    @Test
    @Row("`rateLimiter.getMetrics().getAvailablePermissions()`")
    void whatIsLeftIsKnown() {
        AtomicRateLimiter rateLimiter = theirs(Duration.ZERO);
        io.github.tidegate.RateLimiter limiter = ours();
        for (int left = 4; left >= 0; left--) {
            assertTrue(rateLimiter.acquirePermission() & limiter.tryAcquire());
            assertEquals(left, rateLimiter.getMetrics().getAvailablePermissions());
            assertEquals(left, limiter.peek().remaining());
        }
    }

    @Test
    @Row("`rateLimiter.getMetrics().getNumberOfWaitingThreads()`")
    void whoWaitsIsCounted() {
        AtomicRateLimiter rateLimiter = theirs(Duration.ZERO);
        io.github.tidegate.RateLimiter limiter = ours();
        assertEquals(5, admitted(5, limiter::tryAcquire));
        assertEquals(0, rateLimiter.getMetrics().getNumberOfWaitingThreads());
        assertEquals(0, limiter.waiting());
        CompletableFuture<Void> waiting = limiter.acquireAsync();
        assertEquals(1, limiter.waiting());
        waiting.cancel(true);
    }

    @Test
    @Row("`rateLimiter.getEventPublisher().onFailure(listener)`")
    void aGateTellsOfRefusals() throws InterruptedException {
        BlockingQueue<Object> told = new LinkedBlockingQueue<>();
        AtomicRateLimiter rateLimiter = theirs(Duration.ZERO);
        {
            io.github.resilience4j.core.EventConsumer<RateLimiterOnFailureEvent> listener = told::add;
            rateLimiter.getEventPublisher().onFailure(listener);
        }
        assertEquals(5, admitted(6, rateLimiter::acquirePermission));
        assertEquals(1, told.size());
        told.clear();
        Gate gate = Gate.of(Rule.of("calls").quota("5/min fixed_window"));
        Consumer<GateEvent> listener = told::add;
        try (Watch watch = gate.listen(listener)) {
            assertEquals(5, admitted(6, () -> gate.tryEnter(Attributes.of()).isPresent()));
            assertTrue(told.poll(10, TimeUnit.SECONDS) != null, "told of the refusal");
        }
    }

    @Test
    @Row("`RateLimiterRegistry.of(config)`")
    void eachNameHasABudget() {
        RateLimiterConfig config = config(Duration.ZERO);
        RateLimiterRegistry registry = RateLimiterRegistry.of(config);
        io.github.tidegate.KeyedRateLimiter keyed =
                KeyedRateLimiter.builder("5/min").maxKeys(1000).build();
        assertEquals(5, admitted(9, () -> registry.rateLimiter("ann").acquirePermission()));
        assertEquals(5, admitted(9, () -> keyed.tryAcquire("ann")));
        assertTrue(registry.rateLimiter("bob").acquirePermission() & keyed.tryAcquire("bob"));
        assertEquals(2, registry.getAllRateLimiters().size());
        for (int name = 0; name < 5000; name++) {
            keyed.tryAcquire("name " + name);
        }
        assertTrue(keyed.size() < 3000, "no room for each");
    }

    @Test
    @Row({"`maxConcurrentCalls(2)`", "`bulkhead.tryAcquirePermission()`", "`bulkhead.onComplete()`"})
    void permitsAreLentAndComeBack() {
        Bulkhead bulkhead = Bulkhead.of(
                "calls",
                BulkheadConfig.custom()
                        .maxConcurrentCalls(2)
                        .maxWaitDuration(Duration.ZERO)
                        .build());
        ConcurrencyLimiter limiter = ConcurrencyLimiter.of(2);
        List<Permit> permits = new ArrayList<>();
        for (int round = 0; round < 3; round++) {
            assertEquals(2, admitted(5, () -> bulkhead.tryAcquirePermission()));
            assertEquals(
                    2, admitted(5, () -> limiter.tryAcquire().map(permits::add).orElse(false)));
            for (Permit permit : permits) {
                bulkhead.onComplete();
                permit.release();
                assertThrows(IllegalStateException.class, () -> permit.release());
            }
            permits.clear();
        }
        bulkhead.onComplete();
        assertEquals(3, admitted(5, bulkhead::tryAcquirePermission), "once too often");
    }

    @Test
    @Row("`maxWaitDuration(Duration.ofMillis(20))`")
    void whoFindsNoPermitWaits() throws InterruptedException {
        BulkheadConfig config = BulkheadConfig.custom()
                .maxConcurrentCalls(1)
                .maxWaitDuration(Duration.ofMillis(20))
                .build();
        Bulkhead bulkhead = Bulkhead.of("calls", config);
        ConcurrencyLimiter limiter = ConcurrencyLimiter.of(1);
        assertTrue(bulkhead.tryAcquirePermission());
        assertFalse(bulkhead.tryAcquirePermission());
        Permit permit = limiter.acquire(Duration.ofMillis(20));
        assertThrows(TimedOutException.class, () -> limiter.acquire(Duration.ofMillis(20)));
        permit.release();
    }

    @Test
    @Row("`fairCallHandlingStrategyEnabled(true)`")
    void whoCameFirstGoesFirst() {
        BulkheadConfig config = two().fairCallHandlingStrategyEnabled(true).build();
        assertTrue(config.isFairCallHandlingEnabled());
        ConcurrencyLimiter limiter = ConcurrencyLimiter.of(1);
        Permit permit = limiter.tryAcquire().orElseThrow();
        CompletableFuture<Permit> first = limiter.acquireAsync();
        CompletableFuture<Permit> second = limiter.acquireAsync();
        permit.release();
        assertTrue(first.isDone() && !second.isDone());
        first.join().release();
        second.join().release();
    }

    @Test
    @Row("`bulkhead.executeSupplier(task)`")
    void aTaskHoldsAPermit() throws Exception {
        Bulkhead bulkhead = Bulkhead.of("calls", two().build());
        ConcurrencyLimiter limiter = ConcurrencyLimiter.of(2);
        {
            java.util.function.Supplier<Integer> task =
                    () -> bulkhead.getMetrics().getAvailableConcurrentCalls();
            assertEquals(1, bulkhead.executeSupplier(task));
        }
        java.util.concurrent.Callable<Long> task = limiter::available;
        assertEquals(1, limiter.call(task));
        admitted(2, bulkhead::tryAcquirePermission);
        limiter.setLimit(0);
        assertThrows(BulkheadFullException.class, () -> bulkhead.executeSupplier(() -> 0));
        assertThrows(RefusedException.class, () -> limiter.call(task));
    }

    @Test
    @Row("`bulkhead.changeConfig(config)`")
    void theLimitChangesInUse() {
        Bulkhead bulkhead = Bulkhead.of("calls", two().build());
        ConcurrencyLimiter limiter = ConcurrencyLimiter.of(2);
        assertTrue(bulkhead.tryAcquirePermission());
        Permit permit = limiter.tryAcquire().orElseThrow();
        BulkheadConfig config = two().maxConcurrentCalls(3).build();
        bulkhead.changeConfig(config);
        limiter.setLimit(3);
        assertEquals(2, bulkhead.getMetrics().getAvailableConcurrentCalls());
        assertEquals(2, limiter.available());
        limiter.setLimit(0);
        assertEquals(1, limiter.inFlight());
        permit.release();
    }

    @Test
    @Row("`bulkhead.getMetrics().getAvailableConcurrentCalls()`")
    void howManyAreFreeIsKnown() {
        Bulkhead bulkhead = Bulkhead.of("calls", two().build());
        ConcurrencyLimiter limiter = ConcurrencyLimiter.of(2);
        assertTrue(bulkhead.tryAcquirePermission());
        Permit permit = limiter.tryAcquire().orElseThrow();
        assertEquals(1, bulkhead.getMetrics().getAvailableConcurrentCalls());
        assertEquals(1, limiter.available());
        permit.release();
    }

    @Test
    @Row("`BulkheadRegistry.of(config)`")
    void eachNameHasPermits() {
        BulkheadConfig config = two().build();
        BulkheadRegistry registry = BulkheadRegistry.of(config);
        KeyedConcurrencyLimiter keyed = KeyedConcurrencyLimiter.of(2);
        List<Permit> held = new ArrayList<>();
        assertEquals(2, admitted(5, () -> registry.bulkhead("ann").tryAcquirePermission()));
        assertEquals(2, admitted(5, () -> keyed.tryAcquire("ann").map(held::add).orElse(false)));
        assertTrue(registry.bulkhead("bob").tryAcquirePermission());
        assertTrue(keyed.tryAcquire("bob").map(held::add).orElse(false));
        held.forEach(Permit::release);
    }

    @Test
    @Row("`ThreadPoolBulkhead`")
    void thereIsAPoolThere() throws Exception {
        try (ThreadPoolBulkhead pool = ThreadPoolBulkhead.of("calls", ThreadPoolBulkheadConfig.ofDefaults())) {
            assertEquals(
                    "done",
                    pool.executeSupplier(() -> "done").toCompletableFuture().get());
        }
    }
}

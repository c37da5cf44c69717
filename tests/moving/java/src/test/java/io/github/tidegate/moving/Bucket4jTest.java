package io.github.tidegate.moving;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.bucket4j.BandwidthBuilder.BandwidthBuilderBuildStage;
import io.github.bucket4j.BandwidthBuilder.BandwidthBuilderCapacityStage;
import io.github.bucket4j.Bucket;
import io.github.bucket4j.BucketConfiguration;
import io.github.bucket4j.ConsumptionProbe;
import io.github.bucket4j.TimeMeter;
import io.github.bucket4j.TokensInheritanceStrategy;
import io.github.bucket4j.distributed.proxy.ProxyManager;
import io.github.bucket4j.local.LocalBucketBuilder;
import io.github.tidegate.Decision;
import io.github.tidegate.ManualClock;
import io.github.tidegate.TimedOutException;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.function.Function;
import org.junit.jupiter.api.Test;

class Bucket4jTest extends PageTest {
    private static final Duration MINUTE = Duration.ofMinutes(1);

    /** What a bucket of ten a minute makes one token in. */
    private static final Duration TOKEN = MINUTE.dividedBy(10);

    Bucket4jTest() throws Exception {
        super("bucket4j");
    }

    /** Their clock, as the tests move it. */
    private static final class Meter implements TimeMeter {
        @Override
        public long currentTimeNanos() {
            return Time.nanos();
        }

        @Override
        public boolean isWallClockBased() {
            return false;
        }
    }

    private final Meter meter = new Meter();

    /** Stand for our classes of the same names, on the clock of the tests. */
    private static final class RateLimiter {
        static io.github.tidegate.RateLimiter of(String quota) {
            return builder(quota).clock(Time.OURS).build();
        }

        static io.github.tidegate.RateLimiter.Builder builder(String quota) {
            return io.github.tidegate.RateLimiter.builder(quota);
        }
    }

    private static final class KeyedRateLimiter {
        static io.github.tidegate.KeyedRateLimiter.Builder builder(String quota) {
            return io.github.tidegate.KeyedRateLimiter.builder(quota).clock(Time.OURS);
        }
    }

    @SafeVarargs
    private Bucket bucket(Function<BandwidthBuilderCapacityStage, BandwidthBuilderBuildStage>... limits) {
        LocalBucketBuilder builder = Bucket.builder().withCustomTimePrecision(meter);
        for (var limit : limits) {
            builder.addLimit(limit);
        }
        return builder.build();
    }

    private Bucket ten() {
        return bucket(limit -> limit.capacity(10).refillGreedy(10, Duration.ofMinutes(1)));
    }

    @Test
    @Row({"`capacity(10).refillGreedy(10,", "`capacity(50).refillGreedy(10,"})
    void aBucketThatRefillsGreedilyIsGcra() {
        Bucket bucket = bucket(limit -> limit.capacity(10).refillGreedy(10, Duration.ofMinutes(1)));
        io.github.tidegate.RateLimiter limiter = RateLimiter.of("10/min");
        assertAdmitTheSame(TOKEN.dividedBy(8), () -> bucket.tryConsume(1), limiter::tryAcquire);
        Bucket larger = bucket(limit -> limit.capacity(50).refillGreedy(10, Duration.ofMinutes(1)));
        io.github.tidegate.RateLimiter fifty = RateLimiter.of("10/min burst 50");
        assertAdmitTheSame(TOKEN.dividedBy(8), () -> larger.tryConsume(1), fifty::tryAcquire);
        Time.advance(Duration.ofHours(1));
        assertEquals(50, admitted(60, () -> larger.tryConsume(1)));
        assertEquals(50, admitted(60, fifty::tryAcquire));
    }

    @Test
    @Row("`capacity(10).refillIntervally(10,")
    void anIntervalGoesOnThereAndAWindowBeginsByACallHere() {
        Bucket bucket = bucket(limit -> limit.capacity(10).refillIntervally(10, Duration.ofMinutes(1)));
        io.github.tidegate.RateLimiter limiter = RateLimiter.of("10/min fixed_window");
        for (int minute = 0; minute < 3; minute++) {
            assertEquals(10, admitted(15, () -> bucket.tryConsume(1)));
            assertEquals(10, admitted(15, limiter::tryAcquire));
            Time.advance(MINUTE);
        }
        Time.advance(MINUTE.dividedBy(2));
        assertTrue(bucket.tryConsume(10) & limiter.tryAcquire(10));
        Time.advance(MINUTE.dividedBy(2));
        assertTrue(bucket.tryConsume(1));
        assertFalse(limiter.tryAcquire(1));
    }

    @Test
    @Row("`initialTokens(0)`")
    void aNewLimiterIsEmptyOnceAllWasTaken() {
        Bucket bucket =
                bucket(limit -> limit.capacity(10).refillGreedy(10, MINUTE).initialTokens(0));
        io.github.tidegate.RateLimiter limiter = RateLimiter.of("10/min");
        assertTrue(limiter.tryAcquire(10));
        assertAdmitTheSame(TOKEN.dividedBy(8), () -> bucket.tryConsume(1), limiter::tryAcquire);
    }

    @Test
    @Row("two times `addLimit`")
    void twoLimitsAreOneDecision() {
        Bucket bucket = Bucket.builder()
                .withCustomTimePrecision(meter)
                .addLimit(limit -> limit.capacity(2).refillGreedy(2, Duration.ofSeconds(1)))
                .addLimit(limit -> limit.capacity(5).refillGreedy(5, MINUTE))
                .build();
        io.github.tidegate.RateLimiter limiter = RateLimiter.of("2/s; 5/min");
        assertAdmitTheSame(Duration.ofMillis(125), () -> bucket.tryConsume(1), limiter::tryAcquire);
    }

    @Test
    @Row({"`withNanosecondPrecision()`", "`withCustomTimePrecision(meter)`"})
    void theClockCanBeChosen() {
        Bucket precise = Bucket.builder()
                .withNanosecondPrecision()
                .addLimit(limit -> limit.capacity(10).refillGreedy(10, MINUTE))
                .build();
        assertTrue(precise.tryConsume(10) & RateLimiter.of("10/min").tryAcquire(10));
        Bucket bucket = Bucket.builder()
                .withCustomTimePrecision(meter)
                .addLimit(limit -> limit.capacity(10).refillGreedy(10, MINUTE))
                .build();
        ManualClock clock = Time.OURS;
        io.github.tidegate.RateLimiter limiter =
                RateLimiter.builder("10/min").clock(clock).build();
        assertTrue(bucket.tryConsume(10) & limiter.tryAcquire(10));
        Time.advance(TOKEN.minusNanos(1));
        assertFalse(bucket.tryConsume(1) | limiter.tryAcquire());
        Time.advance(Duration.ofNanos(1));
        assertTrue(bucket.tryConsume(1) & limiter.tryAcquire());
    }

    @Test
    @Row("`Map<String, Bucket>`")
    void eachNameHasABudget() {
        Map<String, Bucket> buckets = new ConcurrentHashMap<>();
        Function<String, Bucket> full = name -> ten();
        io.github.tidegate.KeyedRateLimiter keyed =
                KeyedRateLimiter.builder("10/min").maxKeys(1000).build();
        assertEquals(10, admitted(15, () -> buckets.computeIfAbsent("ann", full).tryConsume(1)));
        assertEquals(10, admitted(15, () -> keyed.tryAcquire("ann")));
        assertTrue(buckets.computeIfAbsent("bob", full).tryConsume(1) & keyed.tryAcquire("bob"));
        for (int name = 0; name < 5000; name++) {
            keyed.tryAcquire("name " + name);
        }
        assertTrue(keyed.size() < 3000, "no room for each");
    }

    @Test
    @Row("`ProxyManager`")
    void machinesShareABudgetThere() {
        assertTrue(ProxyManager.class.isInterface());
    }

    @Test
    @Row("`bucket.tryConsume(3)`")
    void threeAreAdmittedAsThree() {
        Bucket bucket = ten();
        io.github.tidegate.RateLimiter limiter = RateLimiter.of("10/min");
        assertAdmitTheSame(TOKEN.dividedBy(2), () -> bucket.tryConsume(3), () -> limiter.tryAcquire(3));
    }

    @Test
    @Row({
        "`bucket.tryConsumeAndReturnRemaining(1)`",
        "`bucket.estimateAbilityToConsume(1)`",
        "`bucket.getAvailableTokens()`"
    })
    void figuresAreTheSame() {
        Bucket bucket = ten();
        io.github.tidegate.RateLimiter limiter = RateLimiter.of("10/min");
        for (int call = 0; call < 30; call++) {
            assertEquals(
                    bucket.estimateAbilityToConsume(1).canBeConsumed(),
                    limiter.peek().allowed());
            assertEquals(bucket.getAvailableTokens(), limiter.peek().remaining());
            ConsumptionProbe probe = bucket.tryConsumeAndReturnRemaining(1);
            Decision decision = limiter.decide();
            assertEquals(probe.isConsumed(), decision.allowed());
            assertEquals(probe.getRemainingTokens(), decision.remaining());
            assertEquals(probe.getNanosToWaitForRefill(), decision.retryAfterNanos());
            assertEquals(probe.getNanosToWaitForReset(), decision.resetAfter().toNanos());
            Time.advance(TOKEN.dividedBy(4));
        }
    }

    @Test
    @Row("`bucket.asBlocking().tryConsume(1, Duration.ofSeconds(2))`")
    void bothRefuseAtOnceWhatTakesTooLong() throws InterruptedException {
        Bucket bucket = ten();
        io.github.tidegate.RateLimiter limiter = RateLimiter.of("10/min");
        for (int call = 0; call < 10; call++) {
            assertTrue(bucket.asBlocking().tryConsume(1, Duration.ofSeconds(2)));
            limiter.acquire(Duration.ofSeconds(2));
        }
        assertFalse(bucket.asBlocking().tryConsume(1, Duration.ofSeconds(2)));
        assertThrows(TimedOutException.class, () -> limiter.acquire(Duration.ofSeconds(2)));
    }

    @Test
    @Row("`bucket.asBlocking().consume(1)`")
    void whoCameFirstGoesFirst() throws InterruptedException {
        Bucket bucket = ten();
        io.github.tidegate.RateLimiter limiter = RateLimiter.of("10/min");
        bucket.asBlocking().consume(1);
        limiter.acquire();
        limiter.tryAcquire(9);
        CompletableFuture<Void> large = limiter.acquireAsync(3, MINUTE);
        Time.advance(TOKEN);
        assertFalse(limiter.tryAcquire(), "one is there, but somebody waits");
        Time.advance(TOKEN.multipliedBy(2));
        large.join();
    }

    @Test
    @Row("`bucket.asScheduler().consume(1, executor)`")
    void whatIsThereNeedsNoThread() {
        ScheduledExecutorService executor = Executors.newSingleThreadScheduledExecutor();
        try {
            Bucket bucket = ten();
            io.github.tidegate.RateLimiter limiter = RateLimiter.of("10/min");
            bucket.asScheduler().consume(1, executor).join();
            limiter.acquireAsync().join();
            assertEquals(9, bucket.getAvailableTokens());
            assertEquals(9, limiter.peek().remaining());
        } finally {
            executor.shutdown();
        }
    }

    @Test
    @Row("`bucket.consumeIgnoringRateLimits(3)`")
    void whatIsntThereIsTakenAhead() {
        Bucket bucket = ten();
        io.github.tidegate.RateLimiter limiter = RateLimiter.of("10/min");
        assertTrue(bucket.tryConsume(8) & limiter.tryAcquire(8));
        assertEquals(TOKEN.toNanos(), bucket.consumeIgnoringRateLimits(3));
        assertEquals(TOKEN, limiter.reserve(3).delay());
        assertAdmitTheSame(TOKEN.dividedBy(8), () -> bucket.tryConsume(1), limiter::tryAcquire);
    }

    @Test
    @Row("`bucket.addTokens(3)`")
    void whatADecisionTookComesBack() {
        Bucket bucket = ten();
        io.github.tidegate.RateLimiter limiter = RateLimiter.of("10/min");
        assertTrue(bucket.tryConsume(3));
        Decision decision = limiter.decide(3);
        bucket.addTokens(3);
        limiter.refund(decision);
        assertEquals(10, bucket.getAvailableTokens());
        assertEquals(10, limiter.peek().remaining());
        assertThrows(IllegalStateException.class, () -> limiter.refund(decision));
    }

    @Test
    @Row("`bucket.reset()`")
    void allIsUnspentAgain() {
        Bucket bucket = ten();
        io.github.tidegate.RateLimiter limiter = RateLimiter.of("10/min");
        assertTrue(bucket.tryConsume(10) & limiter.tryAcquire(10));
        bucket.reset();
        limiter.reset();
        assertTrue(bucket.tryConsume(10) & limiter.tryAcquire(10));
    }

    @Test
    @Row("`bucket.replaceConfiguration(more,")
    void whatIsUsedStaysUsedWhenTheLimitChanges() {
        Bucket bucket =
                bucket(limit -> limit.capacity(10).refillGreedy(10, MINUTE).id("calls"));
        io.github.tidegate.RateLimiter limiter = RateLimiter.of("10/min");
        assertTrue(bucket.tryConsume(4) & limiter.tryAcquire(4));
        BucketConfiguration more = BucketConfiguration.builder()
                .addLimit(limit -> limit.capacity(20).refillGreedy(20, MINUTE).id("calls"))
                .build();
        bucket.replaceConfiguration(more, TokensInheritanceStrategy.ADDITIVE);
        limiter.reconfigure("20/min");
        assertEquals(16, bucket.getAvailableTokens());
        assertEquals(16, limiter.peek().remaining());
    }
}

package io.github.tidegate.bench;

import com.alibaba.csp.sentinel.Entry;
import com.alibaba.csp.sentinel.SphU;
import com.alibaba.csp.sentinel.slots.block.BlockException;
import com.alibaba.csp.sentinel.slots.block.RuleConstant;
import com.google.common.util.concurrent.RateLimiter;
import com.netflix.concurrency.limits.Limiter;
import io.github.bucket4j.Bucket;
import io.github.resilience4j.bulkhead.Bulkhead;
import io.github.resilience4j.ratelimiter.RateLimiterRegistry;
import io.github.tidegate.ConcurrencyLimiter;
import io.github.tidegate.KeyedRateLimiter;
import io.github.tidegate.Permit;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.Semaphore;
import java.util.function.BooleanSupplier;
import java.util.function.Predicate;

/** Before anything is timed: all admit as many of the same calls. */
final class SameWork {
    private static final int LIMIT = Tidegate.LIMIT;
    private static final Duration HOUR = Duration.ofHours(1);

    private SameWork() {}

    static void prove() {
        rates();
        guava();
        keys();
        permits();
    }

    /** Of budgets of ten, ten calls are admitted. */
    private static void rates() {
        for (int quotas = 1; quotas <= 3; quotas++) {
            var ours = Tidegate.limiter(LIMIT, HOUR, quotas);
            Bucket theirs = Bucket4j.bucket(LIMIT, HOUR, quotas);
            admits("tidegate, " + quotas + " quotas", LIMIT, ours::tryAcquire);
            admits("bucket4j, " + quotas + " quotas", LIMIT, () -> theirs.tryConsume(1));
        }
        Sentinel.load(RuleConstant.FLOW_GRADE_QPS, 0);
        admits("Sentinel, 0/s", 0, () -> Sentinel.enter(Sentinel.RESOURCE));
        Sentinel.load(RuleConstant.FLOW_GRADE_QPS, LIMIT);
        admits("Sentinel, 10/s", LIMIT, () -> Sentinel.enter(Sentinel.RESOURCE));
    }

    /**
     * Guava saves up to a second's permits but starts with none, so both are asked until both have run dry. Guava goes by
     * microseconds and each has a clock of its own, hence the two calls that one may be ahead.
     */
    private static void guava() {
        int perSecond = 1_000;
        var ours = io.github.tidegate.RateLimiter.of(perSecond + "/s");
        var theirs = RateLimiter.create(perSecond);
        while (ours.tryAcquire() | theirs.tryAcquire()) {
            // Until both refuse.
        }
        int admittedOurs = 0;
        int admittedTheirs = 0;
        long start = System.nanoTime();
        while (System.nanoTime() - start < 500_000_000L) {
            admittedOurs += ours.tryAcquire() ? 1 : 0;
            admittedTheirs += theirs.tryAcquire() ? 1 : 0;
        }
        String told = "in 0.5 s at " + perSecond + "/s tidegate admits " + admittedOurs + ", Guava " + admittedTheirs;
        if (admittedOurs < perSecond / 2 * 9 / 10 || Math.abs(admittedOurs - admittedTheirs) > 2) {
            throw new IllegalStateException(told);
        }
        System.err.println("same work: " + told);
    }

    /** Each key has a budget of its own. */
    private static void keys() {
        KeyedRateLimiter ours = Tidegate.keyed(LIMIT, HOUR, 1_000);
        Bucket4j.Buckets buckets = new Bucket4j.Buckets(LIMIT, HOUR);
        RateLimiterRegistry registry = RateLimiterRegistry.of(Resilience4j.config(LIMIT, HOUR));
        admitsKeys("tidegate", ours::tryAcquire);
        admitsKeys("bucket4j", buckets::tryConsume);
        admitsKeys("resilience4j", key -> registry.rateLimiter(key).acquirePermission());
    }

    private static void admitsKeys(String name, Predicate<String> decider) {
        for (int key = 0; key < 100; key++) {
            String text = "203.0.113." + key;
            admits(name + ", key " + text, LIMIT, () -> decider.test(text));
        }
    }

    /** Of ten permits ten are lent; and ten again, once they came back. */
    private static void permits() {
        ConcurrencyLimiter ours = ConcurrencyLimiter.of(LIMIT);
        Deque<Permit> held = new ArrayDeque<>();
        lends(
                "tidegate",
                () -> ours.tryAcquire().map(held::add).orElse(false),
                () -> held.pop().release());

        Semaphore semaphore = new Semaphore(LIMIT);
        lends("Semaphore", semaphore::tryAcquire, semaphore::release);

        Bulkhead bulkhead = Resilience4j.bulkhead(Duration.ZERO);
        lends("resilience4j", bulkhead::tryAcquirePermission, bulkhead::onComplete);

        Limiter<Void> limiter = ConcurrencyLimits.limiter();
        Deque<Limiter.Listener> out = new ArrayDeque<>();
        lends(
                "concurrency-limits",
                () -> limiter.acquire(null).map(out::add).orElse(false),
                () -> out.pop().onSuccess());

        Sentinel.load(RuleConstant.FLOW_GRADE_THREAD, LIMIT);
        Deque<Entry> entries = new ArrayDeque<>();
        BooleanSupplier enter = () -> {
            try {
                return entries.add(SphU.entry(Sentinel.RESOURCE));
            } catch (BlockException refused) {
                return false;
            }
        };
        // The last one first: an entry knows the one that it came within.
        lends("Sentinel", enter, () -> entries.removeLast().exit());
    }

    private static void lends(String name, BooleanSupplier acquire, Runnable release) {
        for (int round = 0; round < 2; round++) {
            admits(name + ", permits", LIMIT, acquire);
            for (int permit = 0; permit < LIMIT; permit++) {
                release.run();
            }
        }
    }

    private static void admits(String name, int limit, BooleanSupplier call) {
        List<Boolean> seen = new ArrayList<>();
        List<Boolean> expected = new ArrayList<>();
        for (int number = 0; number < 2 * LIMIT; number++) {
            seen.add(call.getAsBoolean());
            expected.add(number < limit);
        }
        if (!seen.equals(expected)) {
            throw new IllegalStateException(name + ": admitted " + seen + "; expected the first " + limit);
        }
    }
}

package io.github.tidegate.bench;

import io.github.resilience4j.bulkhead.Bulkhead;
import io.github.resilience4j.bulkhead.BulkheadConfig;
import io.github.resilience4j.ratelimiter.RateLimiter;
import io.github.resilience4j.ratelimiter.RateLimiterConfig;
import io.github.resilience4j.ratelimiter.RateLimiterRegistry;
import java.time.Duration;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;

/** resilience4j's RateLimiter, a fixed window, and its Bulkhead, a semaphore that tells listeners. With keys: its registry. */
public class Resilience4j {
    static RateLimiterConfig config(int limit, Duration period) {
        return RateLimiterConfig.custom()
                .limitForPeriod(limit)
                .limitRefreshPeriod(period)
                .timeoutDuration(Duration.ZERO)
                .build();
    }

    static Bulkhead bulkhead(Duration maxWait) {
        BulkheadConfig config = BulkheadConfig.custom()
                .maxConcurrentCalls(Tidegate.LIMIT)
                .maxWaitDuration(maxWait)
                .build();
        return Bulkhead.of("calls", config);
    }

    @State(Scope.Benchmark)
    public static class Rate {
        @Param
        public Outcome outcome;

        RateLimiter limiter;

        @Setup
        public void make() {
            limiter = RateLimiter.of("calls", config(outcome.limit, outcome.period));
            outcome.spent(limiter.acquirePermission());
        }
    }

    @Benchmark
    public boolean rate(Rate rate) {
        return rate.outcome.seen(rate.limiter.acquirePermission());
    }

    @State(Scope.Benchmark)
    public static class Keyed {
        final RateLimiterRegistry registry =
                RateLimiterRegistry.of(config(Outcome.ALLOWED.limit, Outcome.ALLOWED.period));

        @Setup
        public void make(Visits visits) {
            for (int client = 0; client < visits.clients; client++) {
                registry.rateLimiter(visits.text(client)).acquirePermission();
            }
        }
    }

    @Benchmark
    @OperationsPerInvocation(Visits.AT_ONCE)
    public void keyed(Keyed keyed, Visits visits) {
        for (String key : visits.next) {
            Outcome.ALLOWED.seen(keyed.registry.rateLimiter(key).acquirePermission());
        }
    }

    @State(Scope.Benchmark)
    public static class Permits {
        final Bulkhead refusing = bulkhead(Duration.ZERO);
        final Bulkhead waiting = bulkhead(Duration.ofHours(1));
    }

    @Benchmark
    public boolean permit(Permits permits) {
        boolean admitted = Outcome.ALLOWED.seen(permits.refusing.tryAcquirePermission());
        permits.refusing.onComplete();
        return admitted;
    }

    @Benchmark
    public void acquire(Permits permits) {
        permits.waiting.acquirePermission();
        permits.waiting.onComplete();
    }
}

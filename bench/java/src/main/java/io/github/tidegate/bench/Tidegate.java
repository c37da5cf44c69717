package io.github.tidegate.bench;

import io.github.tidegate.Attributes;
import io.github.tidegate.ConcurrencyLimiter;
import io.github.tidegate.Decision;
import io.github.tidegate.Gate;
import io.github.tidegate.KeyedRateLimiter;
import io.github.tidegate.Quota;
import io.github.tidegate.RateLimiter;
import io.github.tidegate.Rule;
import io.github.tidegate.Rule.Match;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;

/** The subject of ours. */
public class Tidegate {
    static final int LIMIT = 10;

    static RateLimiter limiter(int limit, Duration period, int quotas) {
        List<Quota> all = new ArrayList<>();
        for (int number = 0; number < quotas; number++) {
            all.add(Quota.of(limit, period.multipliedBy(1 + 59L * number)));
        }
        return RateLimiter.of(all);
    }

    static KeyedRateLimiter keyed(int limit, Duration period, int keys) {
        return KeyedRateLimiter.builder(Quota.of(limit, period)).maxKeys(keys).build();
    }

    @State(Scope.Benchmark)
    public static class Rate {
        @Param
        public Outcome outcome;

        @Param("1")
        public int quotas;

        RateLimiter limiter;

        @Setup
        public void make() {
            limiter = limiter(outcome.limit, outcome.period, quotas);
            outcome.spent(limiter.tryAcquire());
        }
    }

    @Benchmark
    public boolean rate(Rate rate) {
        return rate.outcome.seen(rate.limiter.tryAcquire());
    }

    @Benchmark
    public Decision figures(Rate rate) {
        Decision decision = rate.limiter.decide();
        rate.outcome.seen(decision.allowed());
        return decision;
    }

    @State(Scope.Benchmark)
    public static class Keyed {
        KeyedRateLimiter limiter;

        @Setup
        public void make(Visits visits) {
            limiter = keyed(Outcome.ALLOWED.limit, Outcome.ALLOWED.period, visits.clients);
            for (int client = 0; client < visits.clients; client++) {
                limiter.tryAcquire(visits.text(client));
            }
        }
    }

    @Benchmark
    @OperationsPerInvocation(Visits.AT_ONCE)
    public void keyed(Keyed keyed, Visits visits) {
        for (String key : visits.next) {
            Outcome.ALLOWED.seen(keyed.limiter.tryAcquire(key));
        }
    }

    /** A hundred keys, known before. */
    @State(Scope.Benchmark)
    public static class Hundred {
        static final int KEYS = 100;
        final KeyedRateLimiter limiter = keyed(Outcome.ALLOWED.limit, Outcome.ALLOWED.period, 1_000);
        final List<String> keys = new ArrayList<>();

        @Setup
        public void make() {
            for (int number = 0; number < KEYS; number++) {
                keys.add("203.0.113." + number);
            }
        }
    }

    @Benchmark
    public boolean[] batch(Hundred hundred) {
        return hundred.limiter.tryAcquireMany(hundred.keys);
    }

    @Benchmark
    public boolean[] singleCalls(Hundred hundred) {
        boolean[] admitted = new boolean[Hundred.KEYS];
        for (int number = 0; number < Hundred.KEYS; number++) {
            admitted[number] = hundred.limiter.tryAcquire(hundred.keys.get(number));
        }
        return admitted;
    }

    @State(Scope.Benchmark)
    public static class Permits {
        final ConcurrencyLimiter limiter = ConcurrencyLimiter.of(LIMIT);
    }

    @Benchmark
    public void permit(Permits permits) {
        permits.limiter.tryAcquire().orElseThrow().release();
    }

    @Benchmark
    public void acquire(Permits permits) throws InterruptedException {
        permits.limiter.acquire().release();
    }

    /** These are not at hand in Java. */
    @Benchmark
    public void acquireTwo(Permits permits) throws InterruptedException {
        permits.limiter.acquire(2).release();
    }

    @State(Scope.Benchmark)
    public static class OneRule {
        final Gate gate =
                Gate.of(Rule.of("api").match("path", Match.prefix("/api/")).concurrency(100));
    }

    /** There is no peer that does the same. */
    @Benchmark
    public void gate(OneRule rule) throws InterruptedException {
        rule.gate.enter(Attributes.of("path", "/api/users/17")).release();
    }
}

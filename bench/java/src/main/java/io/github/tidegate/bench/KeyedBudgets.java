package io.github.tidegate.bench;

import io.github.bucket4j.Bucket;
import io.github.resilience4j.ratelimiter.RateLimiterConfig;
import io.github.resilience4j.ratelimiter.RateLimiterRegistry;
import io.github.tidegate.KeyedRateLimiter;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;

/** A budget for each key, beside what Java's peers do: a bucket of bucket4j's in a map, resilience4j's registry. */
final class KeyedBudgets {
    private static final String BUCKET4J = Subject.version("com.bucket4j", "bucket4j_jdk17-core");

    /** Not Maven's: it isn't built by it. */
    private static final String RESILIENCE4J =
            RateLimiterRegistry.class.getPackage().getImplementationVersion();

    private KeyedBudgets() {}

    /** Decides on each key; how many were admitted. */
    @FunctionalInterface
    private interface Decider {
        int admitted(String[] keys);
    }

    /** Each admits as much of each key, before anything is timed. */
    static void sameWork() {
        int limit = 10;
        String[] keys = new Visits(100).all();
        Map<String, Decider> deciders = Map.of(
                "tidegate", tidegate(limit, Duration.ofHours(1)),
                "bucket4j", bucket4j(limit, Duration.ofHours(1)),
                "resilience4j", resilience4j(limit, Duration.ofHours(1)));
        deciders.forEach((name, decider) -> {
            for (int round = 0; round < 2 * limit; round++) {
                Rounds.check(name + ", round " + round, decider.admitted(keys), round < limit ? keys.length : 0);
            }
        });
        System.err.println("same work: each of " + deciders.keySet() + " admits 10 of 20 calls of each of 100 keys");
    }

    static void run() {
        int clients = 1_000;
        Duration second = Duration.ofSeconds(1);
        Rounds.together(
                "keyed gcra, 1,000 keys",
                true,
                List.of(
                        subject("tidegate", Harness.TIDEGATE, clients, tidegate(Harness.PLENTY, second)),
                        subject("bucket4j", BUCKET4J, clients, bucket4j(Harness.PLENTY, second)),
                        subject("resilience4j", RESILIENCE4J, clients, resilience4j(Harness.PLENTY, second))));
    }

    private static Subject subject(String name, String version, int clients, Decider decider) {
        Visits visits = new Visits(clients);
        decider.admitted(visits.all());
        return new Subject(name, version, calls -> decider.admitted(visits.next()), visits::prepare);
    }

    private static Decider tidegate(int limit, Duration period) {
        KeyedRateLimiter limiter = KeyedRateLimiter.builder(limit + "/" + period.toSeconds() + "s")
                .maxKeys(1_000)
                .build();
        return keys -> {
            int admitted = 0;
            for (String key : keys) {
                if (limiter.tryAcquire(key)) {
                    admitted++;
                }
            }
            return admitted;
        };
    }

    private static Decider bucket4j(int limit, Duration period) {
        ConcurrentHashMap<String, Bucket> buckets = new ConcurrentHashMap<>();
        Function<String, Bucket> full = key -> Bucket.builder()
                .addLimit(bandwidth -> bandwidth.capacity(limit).refillGreedy(limit, period))
                .build();
        return keys -> {
            int admitted = 0;
            for (String key : keys) {
                if (buckets.computeIfAbsent(key, full).tryConsume(1)) {
                    admitted++;
                }
            }
            return admitted;
        };
    }

    private static Decider resilience4j(int limit, Duration period) {
        RateLimiterConfig config = RateLimiterConfig.custom()
                .limitForPeriod(limit)
                .limitRefreshPeriod(period)
                .timeoutDuration(Duration.ZERO)
                .build();
        RateLimiterRegistry registry = RateLimiterRegistry.of(config);
        return keys -> {
            int admitted = 0;
            for (String key : keys) {
                if (registry.rateLimiter(key).acquirePermission()) {
                    admitted++;
                }
            }
            return admitted;
        };
    }
}

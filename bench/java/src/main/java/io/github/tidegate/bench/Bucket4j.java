package io.github.tidegate.bench;

import io.github.bucket4j.Bucket;
import io.github.bucket4j.ConsumptionProbe;
import io.github.bucket4j.local.LocalBucketBuilder;
import java.time.Duration;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;

/** bucket4j's token buckets without locks, by its default clock, which goes by milliseconds. With keys: each one's in a map. */
public class Bucket4j {
    static Bucket bucket(int limit, Duration period, int bandwidths) {
        LocalBucketBuilder builder = Bucket.builder();
        for (int number = 0; number < bandwidths; number++) {
            Duration longer = period.multipliedBy(1 + 59L * number);
            builder.addLimit(bandwidth -> bandwidth.capacity(limit).refillGreedy(limit, longer));
        }
        return builder.build();
    }

    /** Decides on a key, by its bucket. */
    static final class Buckets {
        private final ConcurrentHashMap<String, Bucket> buckets = new ConcurrentHashMap<>();
        private final Function<String, Bucket> full;

        Buckets(int limit, Duration period) {
            full = key -> bucket(limit, period, 1);
        }

        boolean tryConsume(String key) {
            return buckets.computeIfAbsent(key, full).tryConsume(1);
        }
    }

    @State(Scope.Benchmark)
    public static class Rate {
        @Param
        public Outcome outcome;

        @Param("1")
        public int quotas;

        Bucket bucket;

        @Setup
        public void make() {
            bucket = bucket(outcome.limit, outcome.period, quotas);
            outcome.spent(bucket.tryConsume(1));
        }
    }

    @Benchmark
    public boolean rate(Rate rate) {
        return rate.outcome.seen(rate.bucket.tryConsume(1));
    }

    @Benchmark
    public ConsumptionProbe figures(Rate rate) {
        ConsumptionProbe probe = rate.bucket.tryConsumeAndReturnRemaining(1);
        rate.outcome.seen(probe.isConsumed());
        return probe;
    }

    @State(Scope.Benchmark)
    public static class Keyed {
        final Buckets buckets = new Buckets(Outcome.ALLOWED.limit, Outcome.ALLOWED.period);

        @Setup
        public void make(Visits visits) {
            for (int client = 0; client < visits.clients; client++) {
                buckets.tryConsume(visits.text(client));
            }
        }
    }

    @Benchmark
    @OperationsPerInvocation(Visits.AT_ONCE)
    public void keyed(Keyed keyed, Visits visits) {
        for (String key : visits.next) {
            Outcome.ALLOWED.seen(keyed.buckets.tryConsume(key));
        }
    }
}

package io.github.tidegate.bench;

import com.google.common.util.concurrent.RateLimiter;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;

/** Guava's RateLimiter: what one call takes too much, the next one waits for. */
public class Guava {
    @State(Scope.Benchmark)
    public static class Rate {
        @Param
        public Outcome outcome;

        RateLimiter limiter;

        @Setup
        public void make() {
            limiter = RateLimiter.create((double) outcome.limit / outcome.period.toSeconds());
            outcome.spent(limiter.tryAcquire());
        }
    }

    @Benchmark
    public boolean rate(Rate rate) {
        return rate.outcome.seen(rate.limiter.tryAcquire());
    }
}

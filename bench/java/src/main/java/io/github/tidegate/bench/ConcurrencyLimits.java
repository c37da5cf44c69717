package io.github.tidegate.bench;

import com.netflix.concurrency.limits.Limiter;
import com.netflix.concurrency.limits.limit.FixedLimit;
import com.netflix.concurrency.limits.limiter.SimpleLimiter;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;

/** The simple limiter of Netflix' concurrency-limits under a limit that is fixed. It measures how long each permit is out. */
public class ConcurrencyLimits {
    static Limiter<Void> limiter() {
        return SimpleLimiter.newBuilder().limit(FixedLimit.of(Tidegate.LIMIT)).build();
    }

    @State(Scope.Benchmark)
    public static class Permits {
        final Limiter<Void> limiter = limiter();
    }

    @Benchmark
    public void permit(Permits permits) {
        permits.limiter.acquire(null).orElseThrow().onSuccess();
    }
}

package io.github.tidegate.bench;

import java.util.concurrent.Semaphore;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;

/** The JDK's own: a Semaphore, and what two native calls cost. */
public class Jdk {
    @State(Scope.Benchmark)
    public static class Permits {
        final Semaphore semaphore = new Semaphore(Tidegate.LIMIT);
    }

    @Benchmark
    public boolean permit(Permits permits) {
        boolean admitted = Outcome.ALLOWED.seen(permits.semaphore.tryAcquire());
        permits.semaphore.release();
        return admitted;
    }

    @Benchmark
    public void acquire(Permits permits) throws InterruptedException {
        permits.semaphore.acquire();
        permits.semaphore.release();
    }

    @State(Scope.Benchmark)
    public static class Unlocked {
        final Object object = new Object();
    }

    /** One that the compiler knows no better way for, and that has next to nothing to do. */
    @Benchmark
    public boolean twoNativeCalls(Unlocked unlocked) {
        return Thread.holdsLock(unlocked.object) | Thread.holdsLock(unlocked.object);
    }
}

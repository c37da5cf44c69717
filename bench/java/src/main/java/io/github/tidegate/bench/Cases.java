package io.github.tidegate.bench;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Semaphore;
import java.util.stream.Stream;

/** What is measured: who takes part in which case, by which method. */
final class Cases {
    private static final Subject TIDEGATE =
            new Subject("tidegate", Tidegate.class, io.github.tidegate.RateLimiter.class);
    private static final Subject GUAVA =
            new Subject("Guava", Guava.class, com.google.common.util.concurrent.RateLimiter.class);
    private static final Subject BUCKET4J = new Subject("bucket4j", Bucket4j.class, io.github.bucket4j.Bucket.class);
    private static final Subject RESILIENCE4J =
            new Subject("resilience4j", Resilience4j.class, io.github.resilience4j.ratelimiter.RateLimiter.class);
    private static final Subject SENTINEL =
            new Subject("Sentinel", Sentinel.class, com.alibaba.csp.sentinel.SphU.class).warmedUp(4);
    private static final Subject CONCURRENCY_LIMITS =
            new Subject("concurrency-limits", ConcurrencyLimits.class, com.netflix.concurrency.limits.Limiter.class);
    private static final Subject SEMAPHORE = new Subject("j.u.c. Semaphore", Jdk.class, Semaphore.class);

    /** Who keeps a budget for each key. */
    static final List<Subject> KEYED = by("keyed", TIDEGATE, BUCKET4J, RESILIENCE4J);

    private Cases() {}

    /**
     * Who takes part.
     *
     * @param benchmarks the class with the methods that JMH times
     * @param version of what is measured
     * @param warmUps how often it is warmed up: what is much code is compiled late
     */
    record Subject(String name, Class<?> benchmarks, String method, String version, int warmUps) {
        Subject(String name, Class<?> benchmarks, Class<?> part) {
            this(name, benchmarks, null, Row.version(part), 1);
        }

        Subject by(String method) {
            return new Subject(name, benchmarks, method, version, warmUps);
        }

        Subject called(String name) {
            return new Subject(name, benchmarks, method, version, warmUps);
        }

        Subject warmedUp(int warmUps) {
            return new Subject(name, benchmarks, method, version, warmUps);
        }
    }

    /** Subjects that do the same work, on so many threads. */
    record Case(String name, int threads, Map<String, String> parameters, List<Subject> subjects) {}

    /** All of them; a short run leaves out what only tells how cost grows. */
    static List<Case> all() {
        List<Case> all = new ArrayList<>();
        List<Subject> rates = by("rate", TIDEGATE, GUAVA, BUCKET4J, RESILIENCE4J, SENTINEL);
        for (Outcome outcome : Outcome.values()) {
            for (int threads : Turns.QUICK ? new int[] {1, 2} : new int[] {1, 2, 10}) {
                String name = "gcra " + outcome.name().toLowerCase(Locale.ROOT)
                        + (threads == 1 ? "" : ", " + threads + " threads");
                all.add(new Case(name, threads, Map.of("outcome", outcome.name()), rates));
            }
        }
        for (int clients : Turns.QUICK ? new int[] {1, 1_000, 1_000_000} : new int[] {1, 1_000, 100_000, 1_000_000}) {
            String name = "keyed gcra, " + (clients == 1 ? "1 key" : String.format(Locale.ROOT, "%,d keys", clients));
            all.add(new Case(name, 1, Map.of("clients", "" + clients), KEYED));
            if (clients > 1_000 && !Turns.QUICK) {
                all.add(new Case(name + ", Zipf", 1, Map.of("clients", "" + clients, "zipf", "true"), KEYED));
            }
        }
        all.add(alone(
                "keyed gcra, 100 keys in one call",
                TIDEGATE.by("batch"),
                TIDEGATE.by("singleCalls").called("tidegate single calls")));
        all.add(alone(
                "concurrency try_acquire + release",
                by("permit", TIDEGATE, SEMAPHORE, RESILIENCE4J, CONCURRENCY_LIMITS, SENTINEL)));
        List<Subject> waiting = new ArrayList<>(by("acquire", TIDEGATE, SEMAPHORE, RESILIENCE4J));
        waiting.add(TIDEGATE.by("acquireTwo").called("tidegate 2 permits at once"));
        waiting.add(SEMAPHORE.by("twoNativeCalls").called("two native calls of the JDK's"));
        all.add(alone("acquire + release", waiting));
        String allowed = Outcome.ALLOWED.name();
        all.add(new Case("check with figures", 1, Map.of("outcome", allowed), by("figures", TIDEGATE, BUCKET4J)));
        for (int quotas : new int[] {1, 2, 3}) {
            String name = quotas == 1 ? "1 quota" : quotas + " quotas";
            Map<String, String> several = Map.of("outcome", allowed, "quotas", "" + quotas);
            all.add(new Case(name, 1, several, by("rate", TIDEGATE, BUCKET4J)));
        }
        all.add(alone("gate, 1 rule", TIDEGATE.by("gate").warmedUp(4)));
        return all;
    }

    private static List<Subject> by(String method, Subject... subjects) {
        return Stream.of(subjects).map(subject -> subject.by(method)).toList();
    }

    private static Case alone(String name, Subject... subjects) {
        return alone(name, List.of(subjects));
    }

    private static Case alone(String name, List<Subject> subjects) {
        return new Case(name, 1, Map.of(), subjects);
    }
}

package io.github.tidegate.bench;

import io.github.resilience4j.ratelimiter.RateLimiterRegistry;
import io.github.tidegate.KeyedRateLimiter;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.function.Predicate;

/**
 * What a process grows by while a million keys enter, for each key; a process a subject.
 *
 * <p>On the heap that is what is left of it after a collection. It is touched as a whole before, so that what the resident memory
 * grows by comes on top of it. Where the system doesn't tell what is resident, nothing is measured.
 */
final class Memory {
    private static final int KEYS = 1_000_000;
    private static final Path STATUS = Path.of("/proc/self/status");

    private Memory() {}

    static void run() throws IOException, InterruptedException {
        if (!Files.isReadable(STATUS)) {
            return;
        }
        for (Cases.Subject subject : Cases.KEYED) {
            Process process = new ProcessBuilder(
                            Path.of(System.getProperty("java.home"), "bin", "java")
                                    .toString(),
                            "-Xms2g",
                            "-Xmx2g",
                            "-XX:+AlwaysPreTouch",
                            "-XX:+UseSerialGC",
                            // The other compiler takes megabytes for a while.
                            "-XX:TieredStopAtLevel=1",
                            "-cp",
                            System.getProperty("java.class.path"),
                            Memory.class.getName(),
                            subject.name())
                    .redirectError(ProcessBuilder.Redirect.INHERIT)
                    .start();
            String told = new String(process.getInputStream().readAllBytes());
            if (process.waitFor() != 0) {
                throw new IllegalStateException("memory, " + subject.name() + ": exit code " + process.exitValue());
            }
            double[] bytes = {Double.parseDouble(told)};
            Row.print("memory, 1,000,000 keys", subject.name(), subject.version(), "bytes_per_key", bytes);
        }
    }

    /** The process of one subject. */
    public static void main(String[] arguments) throws IOException {
        Visits visits = new Visits();
        visits.clients = 1;
        visits.know();
        // Classes are loaded before.
        decider(arguments[0], 1).test(visits.text(0));
        visits.clients = KEYS;
        visits.know();
        long before = used();
        Predicate<String> decider = decider(arguments[0], KEYS);
        for (int client = 0; client < KEYS; client++) {
            if (!decider.test(visits.text(client))) {
                throw new IllegalStateException("key " + client + " was refused");
            }
        }
        System.out.print((double) (used() - before) / KEYS);
        if (!decider.test(visits.text(0))) {
            throw new IllegalStateException("a second call was refused");
        }
    }

    private static Predicate<String> decider(String subject, int keys) {
        int limit = Outcome.ALLOWED.limit;
        Duration period = Outcome.ALLOWED.period;
        switch (subject) {
            case "tidegate":
                KeyedRateLimiter limiter = Tidegate.keyed(limit, period, keys);
                return limiter::tryAcquire;
            case "bucket4j":
                Bucket4j.Buckets buckets = new Bucket4j.Buckets(limit, period);
                return buckets::tryConsume;
            case "resilience4j":
                RateLimiterRegistry registry = RateLimiterRegistry.of(Resilience4j.config(limit, period));
                return key -> registry.rateLimiter(key).acquirePermission();
            default:
                throw new IllegalArgumentException(subject);
        }
    }

    private static long used() throws IOException {
        System.gc();
        List<String> status = Files.readAllLines(STATUS);
        String resident = status.stream()
                .filter(line -> line.startsWith("VmRSS:"))
                .findFirst()
                .orElseThrow()
                .replaceAll("\\D", "");
        return ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed() + 1024 * Long.parseLong(resident);
    }
}

package io.github.tidegate;

import java.io.IOException;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;

/** Programs for JVMs of their own. Each prints what it saw. */
final class Probe {
    private Probe() {}

    public static void main(String[] arguments) throws Exception {
        switch (arguments[0]) {
            case "everything" -> everything();
            case "panic" -> panic();
            case "drop" -> drop();
            case "memory" -> memory();
            case "virtual" -> virtualThreads();
            case "files" -> System.out.println(RateLimiter.of("1/s").tryAcquire());
            default -> throw new IllegalArgumentException(arguments[0]);
        }
    }

    /** Calls each native method. */
    private static void everything() throws Exception {
        ManualClock clock = new ManualClock();
        clock.set(Duration.ofSeconds(1));
        clock.advance(Duration.ofSeconds(1));
        RateLimiter rate = RateLimiter.builder("5/s; 50/min").clock(clock).build();
        Decision decision = rate.decide(2);
        rate.refund(decision);
        rate.reconfigure("6/s; 60/min");
        rate.reset();
        ConcurrencyLimiter concurrency =
                ConcurrencyLimiter.builder(3).trackHoldTime(true).clock(clock).build();
        Permit permit = concurrency.tryAcquire(2).orElseThrow();
        concurrency.setLimit(4);
        System.out.println(clock + " " + rate.tryAcquire() + " " + rate.peek().remaining() + " " + rate.quotas() + " "
                + rate.stats().allowed() + " " + concurrency.limit() + " " + concurrency.inFlight() + " "
                + concurrency.available());
        permit.release();
        System.out.println(
                concurrency.stats().releasedOk() + " " + (Clock.monotonic().nowNanos() > 0));
        everythingThatWaits(clock);
        everythingWithKeys(clock);
    }

    private static void everythingThatWaits(ManualClock clock) throws Exception {
        RateLimiter rate = RateLimiter.builder("1/s").maxWaiters(9).clock(clock).build();
        rate.acquire();
        boolean credited = rate.reserve(1).cancel();
        CompletableFuture<Void> tokens = rate.acquireAsync();
        CompletableFuture<Void> left = rate.acquireAsync();
        left.cancel(true);
        ConcurrencyLimiter concurrency =
                ConcurrencyLimiter.builder(1).maxWaiters(9).clock(clock).build();
        Permit permit = concurrency.acquire();
        CompletableFuture<Permit> permits = concurrency.acquireAsync();
        CompletableFuture<Permit> late = concurrency.acquireAsync(Duration.ofSeconds(1));
        System.out.println(credited + " " + rate.waiting() + " " + concurrency.waiting());
        clock.advance(Duration.ofSeconds(1));
        permit.release();
        permits.get().release();
        CompletableFuture<Permit> closed = concurrency.acquireAsync(2, Decision.NEVER);
        concurrency.close();
        System.out.println(tokens.isDone() + " " + late.isCompletedExceptionally() + " "
                + closed.isCompletedExceptionally() + " " + concurrency.stats().timedOut());
    }

    /**
     * Two hundred virtual threads on one carrier: whoever waited on it instead of leaving it would keep all others from going on.
     * Called by reflection, which older versions compile too.
     */
    private static void virtualThreads() throws Exception {
        ConcurrencyLimiter concurrency = ConcurrencyLimiter.of(2);
        RateLimiter rate = RateLimiter.of("10000/s burst 1");
        KeyedConcurrencyLimiter keyedConcurrency = KeyedConcurrencyLimiter.of(1);
        KeyedRateLimiter keyedRate = KeyedRateLimiter.of("10000/s burst 1");
        AtomicInteger done = new AtomicInteger();
        AtomicInteger inside = new AtomicInteger();
        AtomicInteger peak = new AtomicInteger();
        Method start = Thread.class.getMethod("startVirtualThread", Runnable.class);
        List<Thread> threads = new ArrayList<>();
        for (int number = 0; number < 200; number++) {
            threads.add((Thread) start.invoke(null, (Runnable) () -> {
                try (Permit permit = concurrency.acquire(1, Duration.ofMinutes(1));
                        Permit ofAnn = keyedConcurrency.acquire("ann", 1, Duration.ofMinutes(1))) {
                    peak.accumulateAndGet(inside.addAndGet((int) ofAnn.permits()), Math::max);
                    rate.acquire(permit.permits());
                    keyedRate.acquire("ann");
                    // Holds the permit while another thread has the carrier.
                    Thread.sleep(1);
                    inside.decrementAndGet();
                    done.incrementAndGet();
                } catch (InterruptedException never) {
                    throw new IllegalStateException(never);
                }
            }));
        }
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.println(done + " " + peak + " " + concurrency.available() + " " + concurrency.waiting() + " "
                + rate.stats().allowed() + " " + keyedRate.stats().allowed());
    }

    private static void everythingWithKeys(ManualClock clock) throws Exception {
        byte[] key = Keys.of("ann", Long.toString(Keys.ip("203.0.113.7").length));
        KeyedRateLimiter rate = KeyedRateLimiter.builder("5/s; 50/min")
                .maxKeys(10)
                .whenFull(WhenFull.DENY_NEW)
                .trackDenied(5)
                .clock(clock)
                .build();
        rate.refund(key, rate.decide(key, 2));
        rate.reconfigure("6/s; 60/min");
        rate.reset(key);
        rate.setQuota("bob", "1/s; 2/min");
        rate.decide("bob", 2);
        rate.clearQuota("bob");
        KeyedConcurrencyLimiter concurrency = KeyedConcurrencyLimiter.of(3);
        Permit permit = concurrency.tryAcquire(key, 2).orElseThrow();
        concurrency.setLimit(4);
        System.out.println(rate.tryAcquire("ann") + " " + rate.tryAcquire(key) + " "
                + rate.tryAcquireMany(new byte[][] {key}, 5)[0] + " "
                + rate.peek(key).remaining() + " " + rate + " "
                + rate.size() + " " + rate.stats().allowed() + " " + concurrency + " " + concurrency.inFlight(key)
                + " " + concurrency.available(key) + " " + rate.topDenied(1));
        permit.release();
        System.out.println(concurrency.stats().releasedOk());
        everythingThatWaitsForKeys(clock);
    }

    private static void everythingThatWaitsForKeys(ManualClock clock) throws Exception {
        KeyedRateLimiter rate =
                KeyedRateLimiter.builder("1/s").maxWaiters(9).clock(clock).build();
        rate.acquire("ann");
        boolean credited = rate.reserve("ann", 1).cancel();
        CompletableFuture<Void> tokens = rate.acquireAsync("ann");
        CompletableFuture<Void> left = rate.acquireAsync("ann");
        left.cancel(true);
        KeyedConcurrencyLimiter concurrency =
                KeyedConcurrencyLimiter.builder(1).maxWaiters(9).clock(clock).build();
        Permit permit = concurrency.acquire("ann");
        CompletableFuture<Permit> permits = concurrency.acquireAsync("ann");
        CompletableFuture<Permit> late = concurrency.acquireAsync("ann", Duration.ofSeconds(1));
        System.out.println(credited + " " + rate.waiting("ann") + " " + concurrency.waiting("ann"));
        clock.advance(Duration.ofSeconds(1));
        permit.release();
        permits.get().release();
        concurrency.close();
        System.out.println(tokens.isDone() + " " + late.isCompletedExceptionally() + " "
                + concurrency.acquireAsync("ann").isCompletedExceptionally() + " "
                + concurrency.stats().timedOut());
    }

    /** Asks the library that was built for it to panic, wherever it can, and goes on. */
    private static void panic() {
        long trigger = 666_666_666;
        RateLimiter rate = RateLimiter.of("5/s");
        ConcurrencyLimiter concurrency = ConcurrencyLimiter.of(5);
        KeyedRateLimiter keyedRate = KeyedRateLimiter.of("5/s");
        KeyedConcurrencyLimiter keyedConcurrency = KeyedConcurrencyLimiter.of(5);
        byte[] key = {1};
        Runnable[] calls = {
            () -> Quota.parse("test-panic"),
            () -> RateLimiter.of("5/s;test-panic"),
            () -> rate.reconfigure("test-panic"),
            () -> rate.tryAcquire(trigger),
            () -> rate.decide(trigger),
            () -> rate.peek(trigger),
            () -> rate.run(trigger, () -> System.out.println("ran")),
            () -> rate.acquireAsync(trigger, Duration.ZERO),
            () -> rate.reserve(trigger),
            () -> concurrency.acquireAsync(trigger, Duration.ZERO),
            () -> concurrency.tryAcquire(trigger),
            () -> concurrency.run(trigger, () -> System.out.println("ran")),
            () -> KeyedRateLimiter.of("5/s;test-panic"),
            () -> keyedRate.reconfigure("test-panic"),
            () -> keyedRate.tryAcquire("ann", trigger),
            () -> keyedRate.tryAcquire(key, trigger),
            () -> keyedRate.tryAcquireMany(new byte[][] {key}, trigger),
            () -> keyedRate.decide("ann", trigger),
            () -> keyedRate.peek("ann", trigger),
            () -> keyedRate.run("ann", trigger, () -> System.out.println("ran")),
            () -> keyedRate.acquireAsync("ann", trigger, Duration.ZERO),
            () -> keyedRate.reserve("ann", trigger),
            () -> keyedConcurrency.acquireAsync("ann", trigger, Duration.ZERO),
            () -> keyedConcurrency.tryAcquire("ann", trigger),
            () -> keyedConcurrency.run("ann", trigger, () -> System.out.println("ran")),
        };
        for (Runnable call : calls) {
            try {
                call.run();
                System.out.println("no panic");
            } catch (InternalException panic) {
                System.out.println(panic.status());
            }
        }
        System.out.println(rate.tryAcquire(5) + " " + concurrency.tryAcquire(5).isPresent() + " "
                + keyedRate.tryAcquire("ann", 5) + " "
                + keyedConcurrency.tryAcquire("ann", 5).isPresent());
    }

    /** Drops permits without releasing them. */
    private static void drop() throws InterruptedException {
        ConcurrencyLimiter limiter = ConcurrencyLimiter.of(3);
        KeyedConcurrencyLimiter keyed = KeyedConcurrencyLimiter.of(3);
        limiter.tryAcquire(1).orElseThrow().release();
        limiter.tryAcquire(2).orElseThrow();
        limiter.tryAcquire(1).orElseThrow().release();
        keyed.tryAcquire("ann", 3).orElseThrow();
        while (limiter.inFlight() != 0 || keyed.inFlight("ann") != 0) {
            System.gc();
            Thread.sleep(1);
        }
        System.out.println(limiter.available() + " " + keyed.available("ann"));
        // The log line follows the release, on the one thread that also does what is registered here.
        CountDownLatch logged = new CountDownLatch(1);
        NativeLibrary.CLEANER.register(new Object(), logged::countDown);
        while (!logged.await(1, TimeUnit.MILLISECONDS)) {
            System.gc();
        }
    }

    /**
     * P12: a million waits, half of them for any of ten thousand keys, are begun and cancelled, in a small heap. Prints by how many MB
     * the process has grown since the first fifth of them; up to 8 is none, which is less than 11 bytes for each.
     */
    private static void memory() throws Exception {
        int keys = 10_000;
        ConcurrencyLimiter concurrency = ConcurrencyLimiter.of(1);
        RateLimiter rate = RateLimiter.of("1/h");
        KeyedConcurrencyLimiter keyedConcurrency =
                KeyedConcurrencyLimiter.builder(1).maxKeys(4L * keys).build();
        KeyedRateLimiter keyedRate =
                KeyedRateLimiter.builder("1/h").maxKeys(4L * keys).build();
        List<Permit> held = new ArrayList<>(List.of(concurrency.acquire()));
        rate.acquire();
        for (int key = 0; key < keys; key++) {
            held.add(keyedConcurrency.acquire("key " + key));
            keyedRate.acquire("key " + key);
        }
        Duration hour = Duration.ofHours(2);
        long before = 0;
        for (int round = 0; round < 250_000; round++) {
            String key = "key " + round * 7919L % keys;
            concurrency.acquireAsync(hour).cancel(true);
            rate.acquireAsync(hour).cancel(true);
            keyedConcurrency.acquireAsync(key, hour).cancel(true);
            keyedRate.acquireAsync(key, hour).cancel(true);
            if (round == 50_000) {
                before = residentMegabytes();
            }
        }
        long grown = residentMegabytes() - before;
        held.forEach(Permit::release);
        System.out.println((grown <= 8 ? 0 : grown) + " " + concurrency.stats().cancelled() + " "
                + rate.stats().cancelled() + " " + keyedConcurrency.stats().cancelled() + " "
                + keyedRate.stats().cancelled() + " " + keyedConcurrency.stats().waiting());
    }

    /** Of this process; 0 where nobody tells. */
    private static long residentMegabytes() throws IOException {
        Path status = Path.of("/proc/self/status");
        if (!Files.isReadable(status)) {
            return 0;
        }
        System.gc();
        try (Stream<String> lines = Files.lines(status)) {
            return lines.filter(line -> line.startsWith("VmRSS:"))
                    .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")) >> 10)
                    .sum();
        }
    }
}

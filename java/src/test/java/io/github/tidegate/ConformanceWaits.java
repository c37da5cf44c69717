package io.github.tidegate;

import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.BiConsumer;

/** The waits and reservations of a script. On a manual clock each wait is over within the call that ends it. */
final class ConformanceWaits {
    private final Map<String, CompletableFuture<?>> waits = new HashMap<>();
    /** Those that go on, by name. */
    private final TreeMap<String, CompletableFuture<?>> pending = new TreeMap<>();

    private final Map<String, Reserved> reservations = new HashMap<>();
    /** Where a wait's permit is kept under the wait's name. */
    private final BiConsumer<String, Permit> keep;

    private record Reserved(Reservation reservation, ConformanceBudget.Tokens by) {}

    ConformanceWaits(BiConsumer<String, Permit> keep) {
        this.keep = keep;
    }

    /** Begins to wait; what came of it at once. */
    String begin(String name, CompletableFuture<?> wait) {
        waits.put(name, wait);
        if (!wait.isDone()) {
            pending.put(name, wait);
            return "pending";
        }
        return ended(name, wait);
    }

    String cancel(String name) {
        CompletableFuture<?> wait = Optional.ofNullable(waits.get(name)).orElseThrow();
        pending.remove(name);
        // A future that was cancelled before says so again.
        return !wait.isDone() && wait.cancel(true) ? "cancelled" : "too_late";
    }

    /** Takes note of those that the last command has ended; a line for each. */
    String settled(int number) {
        StringBuilder lines = new StringBuilder();
        pending.entrySet().removeIf(entry -> {
            if (!entry.getValue().isDone()) {
                return false;
            }
            lines.append(number).append(' ').append(entry.getKey()).append(' ');
            lines.append(ended(entry.getKey(), entry.getValue())).append('\n');
            return true;
        });
        return lines.toString();
    }

    private String ended(String name, CompletableFuture<?> wait) {
        try {
            if (wait.join() instanceof Permit permit) {
                keep.accept(name, permit);
            }
            return "granted";
        } catch (CompletionException failed) {
            return failed.getCause() instanceof ClosedException
                    ? Status.CLOSED.toString()
                    : ((TidegateException) failed.getCause()).status().toString();
        } catch (CancellationException cancelled) {
            throw new AssertionError(name + " was told twice", cancelled);
        }
    }

    String reserve(ConformanceBudget.Tokens limiter, Map<String, String> options) {
        try {
            Reservation reservation =
                    limiter.reserve(Long.parseLong(options.getOrDefault("cost", "1")), duration(options, "max_wait"));
            if (options.containsKey("as")) {
                reservations.put(options.get("as"), new Reserved(reservation, limiter));
            }
            return "granted wait=" + reservation.delayNanos();
        } catch (TimedOutException | RefusedException refused) {
            return refused.status().toString();
        }
    }

    String unreserve(ConformanceBudget.Tokens limiter, String id) {
        Reserved reserved = Optional.ofNullable(reservations.remove(id)).orElseThrow();
        if (!reserved.by.equals(limiter)) {
            // In Java it knows its own.
            throw Mistake.of("reservation", "one of another limiter or key", "one of this");
        }
        return reserved.reservation.cancel() ? "credited" : "not_credited";
    }

    /** A time of a command; without it, for ever. */
    static Duration duration(Map<String, String> options, String name) {
        return options.containsKey(name) ? Duration.ofNanos(Long.parseLong(options.get(name))) : Decision.NEVER;
    }
}

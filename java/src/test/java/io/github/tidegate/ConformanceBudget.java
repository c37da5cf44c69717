package io.github.tidegate;

import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/** What the commands of a script go to: a limiter without keys, or one key of a limiter with. */
final class ConformanceBudget {
    /** A key of a script; as a text, where it is one, so that both kinds are given. */
    record Key(byte[] bytes, String text) {
        @Override
        public boolean equals(Object other) {
            return other instanceof Key key && Arrays.equals(bytes, key.bytes);
        }

        @Override
        public int hashCode() {
            return Arrays.hashCode(bytes);
        }

        /** Reads percent-encoded bytes. */
        static Key of(String encoded) {
            String decoded = URLDecoder.decode(encoded.replace("+", "%2B"), StandardCharsets.ISO_8859_1);
            byte[] bytes = decoded.getBytes(StandardCharsets.ISO_8859_1);
            String text = new String(bytes, StandardCharsets.UTF_8);
            return new Key(bytes, Arrays.equals(bytes, text.getBytes(StandardCharsets.UTF_8)) ? text : null);
        }

        /** The keys of a list; it has one more than commas. */
        static Key[] all(String encoded) {
            return Arrays.stream(encoded.split(",", -1)).map(Key::of).toArray(Key[]::new);
        }
    }

    private ConformanceBudget() {}

    /** Tokens; {@code key} is null exactly if the limiter has none. */
    record Tokens(RateLimiter plain, KeyedRateLimiter keyed, Key key) {
        boolean tryAcquire(long cost) {
            return key == null
                    ? plain.tryAcquire(cost)
                    : key.text != null ? keyed.tryAcquire(key.text, cost) : keyed.tryAcquire(key.bytes, cost);
        }

        CompletableFuture<Void> acquireAsync(long cost, Duration timeout) {
            return key == null
                    ? plain.acquireAsync(cost, timeout)
                    : key.text != null
                            ? keyed.acquireAsync(key.text, cost, timeout)
                            : keyed.acquireAsync(key.bytes, cost, timeout);
        }

        Decision decide(long cost) {
            return key == null
                    ? plain.decide(cost)
                    : key.text != null ? keyed.decide(key.text, cost) : keyed.decide(key.bytes, cost);
        }

        Decision peek(long cost) {
            return key == null
                    ? plain.peek(cost)
                    : key.text != null ? keyed.peek(key.text, cost) : keyed.peek(key.bytes, cost);
        }

        Reservation reserve(long cost, Duration maxWait) {
            return key == null
                    ? plain.reserve(cost, maxWait)
                    : key.text != null
                            ? keyed.reserve(key.text, cost, maxWait)
                            : keyed.reserve(key.bytes, cost, maxWait);
        }

        void refund(Decision decision) {
            if (key == null) {
                plain.refund(decision);
            } else if (key.text != null) {
                keyed.refund(key.text, decision);
            } else {
                keyed.refund(key.bytes, decision);
            }
        }

        void reset() {
            if (key == null) {
                plain.reset();
            } else if (key.text != null) {
                keyed.reset(key.text);
            } else {
                keyed.reset(key.bytes);
            }
        }

        void setQuota(List<Quota> quotas) {
            if (key.text != null) {
                keyed.setQuota(key.text, quotas);
            } else {
                keyed.setQuota(key.bytes, quotas);
            }
        }

        void clearQuota() {
            if (key.text != null) {
                keyed.clearQuota(key.text);
            } else {
                keyed.clearQuota(key.bytes);
            }
        }
    }

    /** Permits; {@code key} is null exactly if the limiter has none. */
    record Permits(ConcurrencyLimiter plain, KeyedConcurrencyLimiter keyed, Key key) {
        Optional<Permit> tryAcquire(long permits) {
            return key == null
                    ? plain.tryAcquire(permits)
                    : key.text != null ? keyed.tryAcquire(key.text, permits) : keyed.tryAcquire(key.bytes, permits);
        }

        CompletableFuture<Permit> acquireAsync(long permits, Duration timeout) {
            return key == null
                    ? plain.acquireAsync(permits, timeout)
                    : key.text != null
                            ? keyed.acquireAsync(key.text, permits, timeout)
                            : keyed.acquireAsync(key.bytes, permits, timeout);
        }

        long inFlight() {
            return key.text != null ? keyed.inFlight(key.text) : keyed.inFlight(key.bytes);
        }
    }

    /** The answers to many keys at once. */
    static boolean[] tryAcquireMany(KeyedRateLimiter limiter, Key[] keys, long cost) {
        return Arrays.stream(keys).allMatch(key -> key.text != null)
                ? limiter.tryAcquireMany(Arrays.stream(keys).map(Key::text).toList(), cost)
                : limiter.tryAcquireMany(Arrays.stream(keys).map(Key::bytes).toArray(byte[][]::new), cost);
    }

    /** The key of several parts. */
    static byte[] keyOf(Key[] parts) {
        return Arrays.stream(parts).allMatch(part -> part.text != null)
                ? Keys.of(Arrays.stream(parts).map(Key::text).toArray(String[]::new))
                : Keys.of(Arrays.stream(parts).map(Key::bytes).toArray(byte[][]::new));
    }

    /** The key of a command's fields, or null. */
    static Key keyIn(Map<String, String> fields) {
        return fields.containsKey("key") ? Key.of(fields.get("key")) : null;
    }
}

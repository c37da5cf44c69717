package io.github.tidegate;

import java.io.IOException;
import java.io.PrintStream;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** Runs conformance scripts (docs/design.md, section 12) and prints their transcript. Arguments: the files. */
public final class ConformanceDriver {
    /** The arguments that go by another name in Java. */
    private static final Map<String, String> ARGUMENTS = Map.of(
            "maxKeys", "max_keys", "whenFull", "when_full", "trackDenied", "track_denied", "maxWaiters", "max_waiters");

    /** The fields of a limiter, which may stand among those of its quotas. */
    private static final Set<String> OF_LIMITER = Set.of("max_keys", "when_full", "track_denied", "max_waiters");

    private ConformanceDriver() {}

    /** Runs the files in one go and ends the process with 1 at the first fault of a script. */
    public static void main(String[] files) throws IOException {
        try (PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8)) {
            for (String file : files) {
                run(Path.of(file), out);
            }
        }
    }

    static void run(Path file, PrintStream out) throws IOException {
        out.print("file " + file.getFileName() + "\n");
        Script script = new Script();
        int number = 0;
        for (String text : Files.readAllLines(file)) {
            number++;
            String line = text.strip();
            if (line.startsWith("script ")) {
                script.end();
                script = new Script();
                out.print(line + "\n");
            } else if (!line.isEmpty() && !line.startsWith("#")) {
                out.print(number + " " + script.answer(line.split(" +")) + "\n");
                out.print(script.waits.settled(number));
            }
        }
        script.end();
    }

    /** What one script has made so far. */
    private static final class Script {
        private final ManualClock clock = new ManualClock();
        private final Map<String, RateLimiter> rates = new HashMap<>();
        private final Map<String, KeyedRateLimiter> keyedRates = new HashMap<>();
        private final Map<String, ConcurrencyLimiter> concurrencies = new HashMap<>();
        private final Map<String, KeyedConcurrencyLimiter> keyedConcurrencies = new HashMap<>();
        private final Map<String, Decision> decisions = new HashMap<>();
        /** Empty: refused, which is as good as spent. */
        private final Map<String, Optional<Permit>> permits = new HashMap<>();

        /** Concurrency limiters that track hold times. */
        private final Set<String> tracked = new HashSet<>();

        private final List<Permit> granted = new ArrayList<>();
        private final ConformanceWaits waits = new ConformanceWaits((name, permit) -> keep(name, Optional.of(permit)));

        /** The answer to one command; a mistake that the library names is an answer too. */
        String answer(String[] words) {
            try {
                return run(words);
            } catch (IllegalArgumentException | IllegalStateException | UnsupportedOperationException mistake) {
                String text = String.valueOf(mistake.getMessage());
                int colon = text.indexOf(": got ");
                if (colon < 0) {
                    throw mistake;
                }
                String argument = text.substring(0, colon);
                return "error " + ARGUMENTS.getOrDefault(argument, argument);
            }
        }

        private String run(String[] words) {
            Map<String, String> options = new HashMap<>();
            Arrays.stream(words)
                    .map(word -> word.split("=", 2))
                    .filter(pair -> pair.length == 2)
                    .forEach(pair -> options.put(pair[0], pair[1]));
            switch (words[0]) {
                case "advance" -> clock.advanceNanos(Long.parseLong(words[1]));
                case "set_clock" -> clock.setNanos(Long.parseLong(words[1]));
                case "parse" -> {
                    return "ok " + Quota.text(quotas(words, 1));
                }
                case "rate" -> buildRate(words, options);
                case "conc" -> buildConcurrency(words[1], options);
                case "try" -> {
                    return word(tryAcquire(words[1], options));
                }
                case "many" -> {
                    return "ok " + many(words[1], options);
                }
                case "decide" -> {
                    Decision decision = tokens(words[1], options).decide(cost(options));
                    if (options.containsKey("as")) {
                        decisions.put(options.get("as"), decision);
                    }
                    return figures(decision);
                }
                case "peek" -> {
                    return figures(tokens(words[1], options).peek(cost(options)));
                }
                case "refund" -> tokens(words[1], options).refund(known(decisions, words[2]));
                case "release" ->
                    known(permits, words[1])
                            .orElseThrow(() -> Mistake.of("permit", "one that was refused", "one that is held"))
                            .release(words.length == 2);
                case "reset" -> tokens(words[1], options).reset();
                case "wait" -> {
                    return waits.begin(words[1], begin(words[2], options));
                }
                case "cancel" -> {
                    return waits.cancel(words[1]);
                }
                case "close" -> lender(words[1]).close();
                case "waiting" -> {
                    return "ok " + waiting(words[1]);
                }
                case "reserve" -> {
                    return waits.reserve(tokens(words[1], options), options);
                }
                case "unreserve" -> {
                    return waits.unreserve(tokens(words[1], options), words[2]);
                }
                case "quota" -> tokens(words[1], options).setQuota(quotas(words, 3));
                case "clear" -> tokens(words[1], options).clearQuota();
                case "top" -> {
                    return "ok" + top(known(keyedRates, words[1]).topDenied(Integer.parseInt(options.get("n"))));
                }
                case "reconfigure" -> reconfigure(words[1], quotas(words, 2));
                case "limit" -> lender(words[1]).setLimit(Long.parseLong(words[2]));
                case "in_flight" -> {
                    return "ok " + permits(words[1], options).inFlight();
                }
                case "key" -> {
                    return "ok " + hex(ConformanceBudget.keyOf(ConformanceBudget.Key.all(options.get("parts"))));
                }
                case "ip" -> {
                    return "ok " + hex(addressKey(options));
                }
                case "stats" -> {
                    return "ok " + stats(words[1]);
                }
                default -> throw new AssertionError("no such command: " + words[0]);
            }
            return "ok";
        }

        private void buildRate(String[] words, Map<String, String> options) {
            List<Quota> quotas = quotas(words, 2);
            if (!options.containsKey("max_keys")) {
                RateLimiter.Builder builder = RateLimiter.builder(quotas).clock(clock);
                maxWaiters(options).ifPresent(builder::maxWaiters);
                rates.put(words[1], builder.build());
                return;
            }
            WhenFull whenFull = named(WhenFull.values(), options.getOrDefault("when_full", "evict"));
            KeyedRateLimiter.Builder builder =
                    KeyedRateLimiter.builder(quotas).whenFull(whenFull).clock(clock);
            builder.maxKeys(Long.parseLong(options.get("max_keys")));
            maxWaiters(options).ifPresent(builder::maxWaiters);
            builder.trackDenied(Integer.parseInt(options.getOrDefault("track_denied", "0")));
            keyedRates.put(words[1], builder.build());
        }

        private void buildConcurrency(String name, Map<String, String> options) {
            long limit = Long.parseLong(options.get("limit"));
            boolean trackHoldTime = options.containsKey("track_hold_time");
            if (options.containsKey("max_keys")) {
                KeyedConcurrencyLimiter.Builder builder =
                        KeyedConcurrencyLimiter.builder(limit).maxKeys(Long.parseLong(options.get("max_keys")));
                maxWaiters(options).ifPresent(builder::maxWaiters);
                keyedConcurrencies.put(
                        name, builder.trackHoldTime(trackHoldTime).clock(clock).build());
            } else {
                ConcurrencyLimiter.Builder builder = ConcurrencyLimiter.builder(limit);
                maxWaiters(options).ifPresent(builder::maxWaiters);
                concurrencies.put(
                        name, builder.trackHoldTime(trackHoldTime).clock(clock).build());
            }
            if (trackHoldTime) {
                tracked.add(name);
            } else {
                tracked.remove(name);
            }
        }

        private boolean tryAcquire(String name, Map<String, String> options) {
            if (rates.containsKey(name) || keyedRates.containsKey(name)) {
                return tokens(name, options).tryAcquire(cost(options));
            }
            Optional<Permit> permit = permit(name, options);
            keep(options.get("as"), permit);
            return permit.isPresent();
        }

        private Optional<Permit> permit(String name, Map<String, String> options) {
            try {
                return permits(name, options).tryAcquire(cost(options));
            } catch (ClosedException closed) {
                return Optional.empty();
            }
        }

        /** Keeps a permit, under a name if there is one. */
        private void keep(String name, Optional<Permit> permit) {
            permit.ifPresent(granted::add);
            if (name != null) {
                permits.put(name, permit);
            }
        }

        private CompletableFuture<?> begin(String name, Map<String, String> options) {
            Duration timeout = ConformanceWaits.duration(options, "timeout");
            return rates.containsKey(name) || keyedRates.containsKey(name)
                    ? tokens(name, options).acquireAsync(cost(options), timeout)
                    : permits(name, options).acquireAsync(cost(options), timeout);
        }

        private String waiting(String name) {
            Stats stats = statsOf(name);
            return "waiting=" + stats.waiting() + " timed_out=" + stats.timedOut() + " cancelled=" + stats.cancelled();
        }

        private Stats statsOf(String name) {
            if (rates.containsKey(name)) {
                return rates.get(name).stats();
            }
            if (keyedRates.containsKey(name)) {
                return keyedRates.get(name).stats();
            }
            return lender(name).stats();
        }

        private Lender lender(String name) {
            return concurrencies.containsKey(name) ? concurrencies.get(name) : known(keyedConcurrencies, name);
        }

        private String many(String name, Map<String, String> options) {
            ConformanceBudget.Key[] keys = ConformanceBudget.Key.all(options.get("keys"));
            boolean[] allowed = ConformanceBudget.tryAcquireMany(known(keyedRates, name), keys, cost(options));
            return IntStream.range(0, allowed.length)
                    .mapToObj(index -> word(allowed[index]))
                    .collect(Collectors.joining(","));
        }

        private void reconfigure(String name, List<Quota> quotas) {
            if (rates.containsKey(name)) {
                rates.get(name).reconfigure(quotas);
            } else {
                known(keyedRates, name).reconfigure(quotas);
            }
        }

        private String stats(String name) {
            Stats stats = statsOf(name);
            if (rates.containsKey(name)) {
                return calls(stats);
            }
            if (keyedRates.containsKey(name)) {
                return calls(stats) + " evicted_live=" + stats.evictedLive() + " capacity=" + stats.capacity();
            }
            if (keyedConcurrencies.containsKey(name)) {
                return "limit=" + stats.limit() + " " + calls(stats) + releases(stats) + " capacity=" + stats.capacity()
                        + holdTimes(name, stats);
            }
            return "limit=" + stats.limit() + " in_flight=" + stats.inFlight() + " available=" + stats.available() + " "
                    + calls(stats) + releases(stats) + holdTimes(name, stats);
        }

        private String holdTimes(String name, Stats stats) {
            return tracked.contains(name)
                    ? " hold_total=" + stats.holdTimeTotal().toNanos() + " hold_max="
                            + stats.holdTimeMax().toNanos()
                    : "";
        }

        private ConformanceBudget.Tokens tokens(String name, Map<String, String> options) {
            ConformanceBudget.Key key = ConformanceBudget.keyIn(options);
            return key == null
                    ? new ConformanceBudget.Tokens(known(rates, name), null, null)
                    : new ConformanceBudget.Tokens(null, known(keyedRates, name), key);
        }

        private ConformanceBudget.Permits permits(String name, Map<String, String> options) {
            ConformanceBudget.Key key = ConformanceBudget.keyIn(options);
            return key == null
                    ? new ConformanceBudget.Permits(known(concurrencies, name), null, null)
                    : new ConformanceBudget.Permits(null, known(keyedConcurrencies, name), key);
        }

        /** Permits are kept until the script ends, those without a name too. */
        void end() {
            granted.forEach(Permit::close);
        }
    }

    private static <T> T known(Map<String, T> kept, String name) {
        if (!kept.containsKey(name)) {
            throw new AssertionError("the script never made " + name);
        }
        return kept.get(name);
    }

    private static String word(boolean allowed) {
        return allowed ? "allowed" : "refused";
    }

    private static String calls(Stats stats) {
        return "allowed=" + stats.allowed() + " denied=" + stats.denied();
    }

    private static String releases(Stats stats) {
        return " released_ok=" + stats.releasedOk() + " released_failed=" + stats.releasedFailed();
    }

    private static String top(List<DeniedKey> keys) {
        return keys.stream()
                .map(key -> " " + hex(key.key()) + ":" + key.count() + ":" + key.error())
                .collect(Collectors.joining());
    }

    private static String hex(byte[] key) {
        return HexFormat.of().formatHex(key);
    }

    private static byte[] addressKey(Map<String, String> options) {
        String address = text(options.get("address"));
        return options.containsKey("prefix")
                ? Keys.ip(address, Integer.parseInt(options.get("prefix")))
                : Keys.ip(address);
    }

    private static OptionalLong maxWaiters(Map<String, String> options) {
        return options.containsKey("max_waiters")
                ? OptionalLong.of(Long.parseLong(options.get("max_waiters")))
                : OptionalLong.empty();
    }

    private static long cost(Map<String, String> options) {
        return Long.parseLong(options.getOrDefault("cost", "1"));
    }

    /**
     * {@code limit= per= [burst= algorithm= anchor=] [+ ...]}, or {@code text=%XX}; the fields of a limiter with keys may stand
     * anywhere.
     */
    private static List<Quota> quotas(String[] words, int from) {
        List<String> fields = Arrays.stream(words, from, words.length)
                .filter(word -> !OF_LIMITER.contains(word.split("=")[0]))
                .toList();
        if (fields.get(0).startsWith("text=")) {
            return Quota.parseList(text(fields.get(0).substring("text=".length())));
        }
        List<Quota> quotas = new ArrayList<>();
        Map<String, String> parts = new HashMap<>();
        for (String word : fields) {
            if (word.equals("+")) {
                quotas.add(quota(parts));
                parts.clear();
            } else {
                String[] pair = word.split("=", 2);
                parts.put(pair[0], pair[1]);
            }
        }
        quotas.add(quota(parts));
        return quotas;
    }

    private static String text(String encoded) {
        return URLDecoder.decode(encoded.replace("+", "%2B"), StandardCharsets.UTF_8);
    }

    private static Quota quota(Map<String, String> parts) {
        Quota quota = Quota.of(Long.parseLong(parts.get("limit")), Duration.ofNanos(Long.parseLong(parts.get("per"))));
        if (parts.containsKey("burst")) {
            quota = quota.withBurst(Long.parseLong(parts.get("burst")));
        }
        if (parts.containsKey("algorithm")) {
            quota = quota.withAlgorithm(named(Algorithm.values(), parts.get("algorithm")));
        }
        if (parts.containsKey("anchor")) {
            quota = quota.withAnchor(named(Anchor.values(), parts.get("anchor")));
        }
        return quota;
    }

    private static <T> T named(T[] all, String name) {
        return Arrays.stream(all)
                .filter(one -> one.toString().equals(name))
                .findFirst()
                .orElseThrow();
    }

    private static String figures(Decision decision) {
        long retryAfter = decision.retryAfterNanos();
        return decision.status() + " limit=" + decision.limit() + " remaining=" + decision.remaining() + " retry_after="
                + (retryAfter == Decision.NEVER_NANOS ? "never" : retryAfter) + " reset_after="
                + decision.resetAfterNanos() + " quota=" + decision.quota();
    }
}

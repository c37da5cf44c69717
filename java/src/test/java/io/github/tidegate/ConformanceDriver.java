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
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** Runs conformance scripts (docs/design.md, section 12) and prints their transcript. Arguments: the files. */
public final class ConformanceDriver {
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
            }
        }
        script.end();
    }

    /** What one script has made so far. */
    private static final class Script {
        private final ManualClock clock = new ManualClock();
        private final Map<String, RateLimiter> rates = new HashMap<>();
        private final Map<String, ConcurrencyLimiter> concurrencies = new HashMap<>();
        private final Map<String, Decision> decisions = new HashMap<>();
        /** Empty: refused, which is as good as spent. */
        private final Map<String, Optional<Permit>> permits = new HashMap<>();

        /** Concurrency limiters that track hold times. */
        private final Set<String> tracked = new HashSet<>();

        private final List<Permit> granted = new ArrayList<>();

        /** The answer to one command; a mistake that the library names is an answer too. */
        String answer(String[] words) {
            try {
                return run(words);
            } catch (IllegalArgumentException | IllegalStateException mistake) {
                String text = String.valueOf(mistake.getMessage());
                int colon = text.indexOf(": got ");
                if (colon < 0) {
                    throw mistake;
                }
                return "error " + text.substring(0, colon);
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
                case "rate" ->
                    rates.put(
                            words[1],
                            RateLimiter.builder(quotas(words, 2)).clock(clock).build());
                case "conc" ->
                    build(words[1], Long.parseLong(options.get("limit")), options.containsKey("track_hold_time"));
                case "try" -> {
                    return tryAcquire(words[1], cost(options), options.get("as")) ? "allowed" : "refused";
                }
                case "decide" -> {
                    Decision decision = rate(words[1]).decide(cost(options));
                    if (options.containsKey("as")) {
                        decisions.put(options.get("as"), decision);
                    }
                    return figures(decision);
                }
                case "peek" -> {
                    return figures(rate(words[1]).peek(cost(options)));
                }
                case "refund" -> rate(words[1]).refund(known(decisions, words[2]));
                case "release" ->
                    known(permits, words[1])
                            .orElseThrow(() -> Mistake.of("permit", "one that was refused", "one that is held"))
                            .release(words.length == 2);
                case "reset" -> rate(words[1]).reset();
                case "reconfigure" -> rate(words[1]).reconfigure(quotas(words, 2));
                case "limit" -> known(concurrencies, words[1]).setLimit(Long.parseLong(words[2]));
                case "stats" -> {
                    return rates.containsKey(words[1]) ? rateStats(words[1]) : concurrencyStats(words[1]);
                }
                default -> throw new AssertionError("no such command: " + words[0]);
            }
            return "ok";
        }

        private boolean tryAcquire(String name, long cost, String id) {
            if (rates.containsKey(name)) {
                return rate(name).tryAcquire(cost);
            }
            Optional<Permit> permit = known(concurrencies, name).tryAcquire(cost);
            permit.ifPresent(granted::add);
            if (id != null) {
                permits.put(id, permit);
            }
            return permit.isPresent();
        }

        private void build(String name, long limit, boolean trackHoldTime) {
            concurrencies.put(
                    name,
                    ConcurrencyLimiter.builder(limit)
                            .trackHoldTime(trackHoldTime)
                            .clock(clock)
                            .build());
            if (trackHoldTime) {
                tracked.add(name);
            } else {
                tracked.remove(name);
            }
        }

        private String rateStats(String name) {
            Stats stats = rate(name).stats();
            return "ok allowed=" + stats.allowed() + " denied=" + stats.denied();
        }

        private String concurrencyStats(String name) {
            Stats stats = known(concurrencies, name).stats();
            String text = "ok limit=" + stats.limit() + " in_flight=" + stats.inFlight() + " available="
                    + stats.available() + " allowed=" + stats.allowed() + " denied=" + stats.denied() + " released_ok="
                    + stats.releasedOk() + " released_failed=" + stats.releasedFailed();
            if (tracked.contains(name)) {
                text += " hold_total=" + stats.holdTimeTotal().toNanos() + " hold_max="
                        + stats.holdTimeMax().toNanos();
            }
            return text;
        }

        private RateLimiter rate(String name) {
            return known(rates, name);
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

    private static long cost(Map<String, String> options) {
        return Long.parseLong(options.getOrDefault("cost", "1"));
    }

    /** {@code limit= per= [burst= algorithm= anchor=] [+ ...]}, or {@code text=%XX}. */
    private static List<Quota> quotas(String[] words, int from) {
        if (words[from].startsWith("text=")) {
            String text = words[from].substring("text=".length()).replace("+", "%2B");
            return Quota.parseList(URLDecoder.decode(text, StandardCharsets.UTF_8));
        }
        List<Quota> quotas = new ArrayList<>();
        Map<String, String> parts = new HashMap<>();
        for (String word : Arrays.copyOfRange(words, from, words.length)) {
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

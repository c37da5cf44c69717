package io.github.tidegate;

import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Runs the vectors of the gate (tests/vectors/gate) and prints its answers. Arguments: the files. */
public final class GateDriver {
    private GateDriver() {}

    /** Runs the files in one go and ends the process with 1 at the first fault of a script. */
    public static void main(String[] files) throws IOException, InterruptedException {
        try (PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8)) {
            for (String file : files) {
                run(Path.of(file), out);
            }
        }
    }

    private static void run(Path file, PrintStream out) throws IOException, InterruptedException {
        out.print("file " + file.getFileName() + "\n");
        Script script = new Script(file.getParent());
        int number = 0;
        for (String line : Files.readAllLines(file)) {
            number++;
            if (line.startsWith("script ")) {
                script.end();
                script = new Script(file.getParent());
                out.print(line + "\n");
            } else if (!line.isEmpty() && !line.startsWith("#") && !line.startsWith("=")) {
                out.print(number + " " + script.answer(List.of(line.split(" "))) + "\n");
            }
        }
        script.end();
    }

    /** The gates and entries of one script. */
    private static final class Script {
        private final Path folder;
        private final ManualClock clock = new ManualClock();
        private final Map<String, Gate> gates = new HashMap<>();
        private final Map<String, Entry> entries = new HashMap<>();

        Script(Path folder) {
            this.folder = folder;
        }

        /** What one command prints after its line's number; rules that are wrong, and refusals, are answers too. */
        String answer(List<String> words) throws InterruptedException {
            String name = words.get(1);
            Gate gate = gates.get(name);
            List<String> rest = words.subList(2, words.size());
            try {
                return switch (words.get(0)) {
                    case "gate" -> {
                        Path file = folder.resolve(rest.get(0));
                        gates.put(name, Gate.builder().file(file).clock(clock).build());
                        yield "ok";
                    }
                    case "reload" -> changes(gate.reload(folder.resolve(rest.get(0))));
                    case "enter" -> enter(gate, Asked.of(rest));
                    case "leave" -> {
                        entries.remove(name).release(!rest.contains("failed"));
                        yield "ok";
                    }
                    case "explain" -> explain(gate, Asked.of(rest));
                    case "stats" -> stats(gate.stats());
                    case "advance" -> {
                        clock.advanceNanos(Long.parseLong(name));
                        yield "ok";
                    }
                    default -> throw new IllegalArgumentException(words + ": no such command");
                };
            } catch (RulesException wrong) {
                return told(wrong);
            } catch (GateRefusedException refused) {
                return told(refused.why());
            }
        }

        private String enter(Gate gate, Asked asked) throws InterruptedException {
            Entry entry = gate.enter(asked.attributes(), asked.cost(), Duration.ZERO);
            String rules = entry.rules().stream().sorted().collect(Collectors.joining(","));
            String told =
                    entry.applies() ? "allowed rules=" + rules : entry.status().toString();
            if (asked.kept() == null) {
                entry.release();
            } else {
                entries.put(asked.kept(), entry);
            }
            return told;
        }

        void end() {
            entries.values().forEach(Entry::release);
        }
    }

    /** {@code NAME=VALUE… [cost=] [as=]}; the entry is kept under a name, unless that is null. */
    private record Asked(Attributes attributes, long cost, String kept) {
        static Asked of(List<String> words) {
            Map<String, String> given = new LinkedHashMap<>();
            words.stream().map(word -> word.split("=", 2)).forEach(pair -> given.put(pair[0], pair[1]));
            String cost = given.remove("cost");
            String kept = given.remove("as");
            return new Asked(Attributes.of(given), cost == null ? 1 : Long.parseLong(cost), kept);
        }
    }

    private static String changes(Reloaded done) {
        Map<String, List<String>> kinds = new LinkedHashMap<>();
        kinds.put("changed", done.changed());
        kinds.put("restarted", done.restarted());
        kinds.put("added", done.added());
        kinds.put("removed", done.removed());
        kinds.put("unchanged", done.unchanged());
        kinds.values().removeIf(List::isEmpty);
        return line(
                "ok", kinds.entrySet().stream().map(kind -> kind.getKey() + "=" + String.join(",", kind.getValue())));
    }

    private static String explain(Gate gate, Asked asked) {
        Object json = Json.parse(gate.explain(asked.attributes(), asked.cost()).getBytes(StandardCharsets.UTF_8));
        return line(
                Json.text(json, "status"),
                Json.list(Json.field(json, "rules")).stream().map(GateDriver::traced));
    }

    private static String traced(Object rule) {
        String told = "unmatched";
        if (Json.text(rule, "mode").equals("off")) {
            told = "off";
        } else if (Json.field(rule, "matched").equals(true)) {
            told = Json.text(rule, "status") + ":" + Json.number(rule, "remaining");
        }
        return Json.text(rule, "rule") + "=" + told;
    }

    private static String stats(GateStats stats) {
        String figures = "ok admitted=" + stats.admitted() + " refused=" + stats.refused() + " unmatched="
                + stats.unmatched() + " ok=" + stats.releasedOk() + " failed=" + stats.releasedFailed();
        return line(
                figures,
                stats.rules().stream()
                        .map(rule -> rule.name() + "=" + rule.admitted() + ":" + rule.refused() + ":"
                                + rule.limiter().inFlight()));
    }

    private static String told(RulesException wrong) {
        Stream<String> places = wrong.faults().stream().map(fault -> {
            String line = fault.line().isPresent() ? String.valueOf(fault.line().getAsInt()) : "-";
            return line + ":" + (fault.rule() == null ? "-" : fault.rule()) + ":" + fault.argument();
        });
        return line("faults", places);
    }

    private static String told(GateRefusal refusal) {
        String waits = "others";
        if (Decision.NEVER.equals(refusal.retryAfter())) {
            waits = "never";
        } else if (refusal.retryAfter() != null) {
            waits = String.valueOf(refusal.retryAfter().toNanos());
        }
        return refusal.status() + " rule=" + refusal.rule() + " limit=" + refusal.limit() + " remaining="
                + refusal.remaining() + " retry_after=" + waits
                + (refusal.key() == null ? "" : " key=" + refusal.key());
    }

    private static String line(String first, Stream<String> rest) {
        return Stream.concat(Stream.of(first), rest).collect(Collectors.joining(" "));
    }
}

package io.github.tidegate;

import java.util.ArrayList;
import java.util.List;
import java.util.OptionalInt;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * One thing that is wrong with rules: where, what was written, and what is allowed.
 *
 * @param file the file that the rules were read from; null if there is none
 * @param line the line, from 1
 * @param rule the rule's name; or, if it has none, its place, such as {@code #3}; null if it is of none
 * @param argument what is wrong, such as {@code quota} or {@code match.path}
 * @param value what was written
 * @param allowed what could have been
 * @param message all of it
 */
public record RuleFault(
        String file, OptionalInt line, String rule, String argument, String value, String allowed, String message) {
    /** {@code FILE:LINE: rule NAME: ARGUMENT: got VALUE; allowed: WHAT}, without what isn't known; or {@code line LINE: …}. */
    private static final Pattern TEXT = Pattern.compile(
            "(?:line (?<line>\\d+): |(?<file>.*?):(?<fileLine>\\d+): |(?<only>.*?\\.(?i:toml|json|ya?ml)): )?"
                    + "(?:rule (?<rule>.*?): )?(?<argument>[^:]*(?:\\.[^:]*)*): got (?<value>.*); allowed: (?<allowed>.*)",
            Pattern.DOTALL);

    /** The faults that the native library puts together, a line each; a value may have several. */
    static List<RuleFault> all(String text) {
        List<RuleFault> faults = new ArrayList<>();
        StringBuilder fault = new StringBuilder();
        for (String line : text.split("\n", -1)) {
            fault.append(fault.isEmpty() ? "" : "\n").append(line);
            if (line.contains("; allowed: ")) {
                faults.add(read(fault.toString()));
                fault.setLength(0);
            }
        }
        if (!fault.isEmpty()) {
            faults.add(read(fault.toString()));
        }
        return List.copyOf(faults);
    }

    private static RuleFault read(String text) {
        Matcher parts = TEXT.matcher(text);
        if (!parts.matches()) {
            return new RuleFault(null, OptionalInt.empty(), null, "", text, "", text);
        }
        String line = parts.group("line") == null ? parts.group("fileLine") : parts.group("line");
        return new RuleFault(
                parts.group("file") == null ? parts.group("only") : parts.group("file"),
                line == null ? OptionalInt.empty() : OptionalInt.of(Integer.parseInt(line)),
                parts.group("rule"),
                parts.group("argument"),
                parts.group("value"),
                parts.group("allowed"),
                text);
    }
}

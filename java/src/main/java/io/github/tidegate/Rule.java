package io.github.tidegate;

import java.time.Duration;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * One rule of a {@link Gate} in code: which requests it is about, and the limiter that must admit them. It says what a rule in a file
 * says; the gate checks it. Immutable: each method returns another rule.
 *
 * <pre>{@code
 * Gate gate = Gate.of(
 *         Rule.of("search").match("path", Rule.Match.prefix("/search")).key("client").quota("100/min burst 20"),
 *         Rule.of("downloads").match("path", Rule.Match.glob("/files/**")).concurrency(4).timeout(Duration.ofMillis(50)));
 * }</pre>
 */
public final class Rule {
    /** The fields, as a file has them. */
    private final Map<String, Object> fields;

    private Rule(Map<String, Object> fields) {
        this.fields = fields;
    }

    /**
     * How the value of an attribute is compared: always the whole value.
     *
     * @param mode {@code exact}, {@code prefix}, {@code glob} or {@code regex}
     * @param texts any of which will do
     */
    public record Match(String mode, List<String> texts) {
        /** The value is one of the texts. */
        public static Match exact(String... texts) {
            return new Match("exact", List.of(texts));
        }

        /** The value begins with one of the texts. */
        public static Match prefix(String... texts) {
            return new Match("prefix", List.of(texts));
        }

        /**
         * {@code ?} is one character and {@code *} any number of them, but no {@code /}; {@code **} is any number of them; {@code [ab]} and
         * {@code [!ab]} are one character of a set, <code>{a,b}</code> is either.
         */
        public static Match glob(String... texts) {
            return new Match("glob", List.of(texts));
        }

        /** A regular expression for the whole value, without look-around and back references. */
        public static Match regex(String... texts) {
            return new Match("regex", List.of(texts));
        }
    }

    /**
     * A rule about every request, which has yet to be given a quota or a concurrency.
     *
     * @param name what refusals, events and counters call it
     */
    public static Rule of(String name) {
        return new Rule(Map.of()).with("name", Mistake.nonNull("name", name, "a text"));
    }

    /** Only about requests that have this attribute, with a value that matches. */
    public Rule match(String attribute, Match match) {
        Mistake.nonNull("match", match, "a Match");
        return within("match", attribute, Map.of(match.mode(), match.texts()));
    }

    /** A budget for each combination of values of these attributes. One that a request doesn't have counts as empty. */
    public Rule key(String... attributes) {
        return with("key", List.of(attributes));
    }

    /** Quotas that all must admit, such as {@code 100/s burst 20}. */
    public Rule quota(String... quotas) {
        return with("quota", List.of(quotas));
    }

    /** How many requests may be inside at once. */
    public Rule concurrency(long permits) {
        return with("concurrency", permits);
    }

    /** How long a request may wait to be admitted. By default it doesn't wait. */
    public Rule timeout(Duration timeout) {
        return with("timeout", Long.toUnsignedString(Nanos.unsigned("timeout", timeout)) + "ns");
    }

    /** A request may wait to be admitted for as long as the call says. */
    public Rule timeoutOfCall() {
        return with("timeout", "call");
    }

    /** How many requests may wait at once, for each key. By default as many as come. */
    public Rule maxWaiters(long maxWaiters) {
        return with("max_waiters", maxWaiters);
    }

    /** Counts what it would refuse, and refuses nothing. */
    public Rule shadow() {
        return with("mode", "shadow");
    }

    /** Out of use. */
    public Rule off() {
        return with("mode", "off");
    }

    /** What a request of cost 1 costs here, in tokens or permits. By default 1. */
    public Rule cost(long cost) {
        return with("cost", cost);
    }

    /** For how many keys that count at once there is room. By default 100,000. */
    public Rule maxKeys(long maxKeys) {
        return with("max_keys", maxKeys);
    }

    /** What becomes of a new key when there is no room. */
    public Rule whenFull(WhenFull whenFull) {
        return with(
                "when_full",
                Mistake.nonNull("whenFull", whenFull, "one of WhenFull").toString());
    }

    /** Quotas of a single key, in place of the rule's. For rules with a quota whose key is one attribute. */
    public Rule override(String key, String... quotas) {
        return within("overrides", key, List.of(quotas));
    }

    private Rule with(String field, Object value) {
        Map<String, Object> more = new LinkedHashMap<>(fields);
        more.put(field, value);
        return new Rule(more);
    }

    private Rule within(String field, String name, Object value) {
        Map<String, Object> more = new LinkedHashMap<>();
        ((Map<?, ?>) fields.getOrDefault(field, Map.of())).forEach((key, old) -> more.put((String) key, old));
        more.put(Mistake.nonNull("name", name, "a text"), value);
        return with(field, more);
    }

    /** A text of rules in JSON. */
    static String json(Rule... rules) {
        return json(
                Map.of("rules", Arrays.stream(rules).map(rule -> rule.fields).toList()));
    }

    private static String json(Object value) {
        if (value instanceof Map<?, ?> map) {
            return map.entrySet().stream()
                    .map(field -> json(field.getKey()) + ":" + json(field.getValue()))
                    .collect(Collectors.joining(",", "{", "}"));
        } else if (value instanceof List<?> list) {
            return list.stream().map(Rule::json).collect(Collectors.joining(",", "[", "]"));
        } else if (value instanceof String text) {
            return Json.quote(text);
        }
        return value.toString();
    }

    /** The rule in JSON. */
    @Override
    public String toString() {
        return json(fields);
    }
}

package io.github.tidegate;

import java.util.List;
import java.util.Optional;

/**
 * What a {@link Gate} has done since it was made.
 *
 * @param admitted requests that were admitted by rules
 * @param refused requests that were refused
 * @param unmatched requests that no rule is about
 * @param releasedOk entries that held permits and whose work went well
 * @param releasedFailed entries that held permits and whose work failed
 * @param rules the same by rule, as they are written
 */
public record GateStats(
        long admitted, long refused, long unmatched, long releasedOk, long releasedFailed, List<RuleStats> rules) {
    /**
     * What one rule has done.
     *
     * @param name the rule's name
     * @param mode {@code enforce}, {@code shadow} or {@code off}
     * @param admitted requests that it admitted
     * @param refused requests that it refused; in shadow: that it would have refused
     * @param limiter the statistics of its limiter
     */
    public record RuleStats(String name, String mode, long admitted, long refused, Stats limiter) {}

    /** The order of the record Stats. */
    private static final List<String> LIMITER = List.of(
            "allowed",
            "denied",
            "timed_out",
            "cancelled",
            "limit",
            "in_flight",
            "available",
            "waiting",
            "evicted_live",
            "released_ok",
            "released_failed",
            "hold_time_total_ns",
            "hold_time_max_ns",
            "live_keys",
            "capacity");

    /** That of a rule. */
    public Optional<RuleStats> rule(String name) {
        return rules.stream().filter(rule -> rule.name().equals(name)).findFirst();
    }

    static GateStats of(Object json) {
        return new GateStats(
                Json.number(json, "admitted"),
                Json.number(json, "refused"),
                Json.number(json, "unmatched"),
                Json.number(json, "released_ok"),
                Json.number(json, "released_failed"),
                Json.list(Json.field(json, "rules")).stream()
                        .map(GateStats::rule)
                        .toList());
    }

    private static RuleStats rule(Object json) {
        Object limiter = Json.field(json, "limiter");
        long[] figures =
                LIMITER.stream().mapToLong(name -> Json.number(limiter, name)).toArray();
        return new RuleStats(
                Json.text(json, "name"),
                Json.text(json, "mode"),
                Json.number(json, "admitted"),
                Json.number(json, "refused"),
                Stats.of(figures));
    }
}

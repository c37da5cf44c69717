package io.github.tidegate;

import java.time.Duration;

/**
 * How a rule's quota stood when a request was admitted.
 *
 * @param rule the rule's name
 * @param limit tokens per period, of the quota of the rule that has least left
 * @param period its period
 * @param burst the most tokens of it that can be had at once
 * @param remaining tokens of it that are left
 * @param resetAfter how long until nothing of it counts any more, if nobody asks
 * @param quota which of the rule's quotas it is, from 0
 * @param quotas how many quotas the rule has
 */
public record QuotaFigures(
        String rule,
        long limit,
        Duration period,
        long burst,
        long remaining,
        Duration resetAfter,
        int quota,
        int quotas) {
    /** How many numbers the figures are across the native border. */
    static final int FIGURES = 7;
}

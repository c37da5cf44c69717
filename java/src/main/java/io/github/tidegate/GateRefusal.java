package io.github.tidegate;

import java.io.Serializable;
import java.time.Duration;
import java.util.Optional;

/**
 * Why a {@link Gate} refused a request. If several rules refuse, it is of the one that has to be waited for longest.
 *
 * @param rule the name of the rule that refused
 * @param key whose budget it is: values of the request or, unless the rules say {@code show_keys}, {@code #} and digits that stand for
 *     them in this process; null if the rule has one budget for all
 * @param status why: {@link Status#DENIED}, {@link Status#EXCEEDS_CAPACITY}, {@link Status#KEYS_FULL}, {@link Status#TIMED_OUT} or
 *     {@link Status#QUEUE_FULL}
 * @param limit tokens per period, or permits
 * @param remaining tokens or permits that could be taken
 * @param quota the quota that refused, such as {@code 100/s burst 20}; null for permits
 * @param quotaIndex which of the rule's quotas it is, from 0
 * @param quotas how many quotas the rule has; 0 for permits
 * @param retryAfter how long until the rule would admit the same request, if nobody else asks; {@link Decision#NEVER} for never; null if
 *     that depends on others that are inside
 * @param inFlight how many permits are out, for permits
 * @param waiting how many wait
 * @param elapsed how long it was waited
 * @param timeout the call's timeout; {@link Decision#NEVER} if it had none
 * @param message all in a line, for logs
 */
public record GateRefusal(
        String rule,
        String key,
        Status status,
        long limit,
        long remaining,
        String quota,
        int quotaIndex,
        int quotas,
        Duration retryAfter,
        long inFlight,
        long waiting,
        Duration elapsed,
        Duration timeout,
        String message)
        implements Serializable {
    /** All in a line, for logs. */
    @Override
    public String toString() {
        return message;
    }

    /** {@link #retryAfter()} in whole seconds, rounded up, at least 1; empty if it is never, or not known. */
    public Optional<Long> retryAfterSeconds() {
        return Optional.ofNullable(retryAfter)
                .filter(time -> !time.equals(Decision.NEVER))
                .map(time -> Math.max(1, time.getSeconds() + (time.getNano() > 0 ? 1 : 0)));
    }
}

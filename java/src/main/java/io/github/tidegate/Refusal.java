package io.github.tidegate;

import java.io.Serializable;
import java.time.Duration;

/**
 * How a limiter stood when a wait came to nothing, or did not begin.
 *
 * @param status why: {@link Status#TIMED_OUT}, {@link Status#QUEUE_FULL}, {@link Status#EXCEEDS_CAPACITY} or {@link Status#CLOSED}
 * @param elapsed how long it was waited, on the limiter's clock
 * @param timeout how long it would have been at most; {@link Decision#NEVER} if for ever
 * @param limit the limit: permits at once, or tokens in a period (of the first quota)
 * @param inFlight permits that are out; -1 of a rate limiter, which lends none
 * @param waiting how many others wait
 */
public record Refusal(Status status, Duration elapsed, Duration timeout, long limit, long inFlight, long waiting)
        implements Serializable {
    /** The figures, for people. */
    @Override
    public String toString() {
        return status + " after " + elapsed + (timeout.equals(Decision.NEVER) ? "" : " of " + timeout) + ": limit "
                + limit + (inFlight < 0 ? "" : ", " + inFlight + " in flight") + ", " + waiting + " waiting";
    }
}

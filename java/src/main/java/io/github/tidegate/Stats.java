package io.github.tidegate;

import java.time.Duration;

/**
 * What a limiter has done since it was built, and how it stands. Counts are of calls, not tokens; a figure that doesn't apply
 * to the kind of limiter is 0.
 *
 * @param allowed calls that were admitted
 * @param denied calls that were refused
 * @param timedOut waits that outlasted their timeout
 * @param cancelled waits that were cancelled
 * @param limit the limit at the moment (concurrency limiters)
 * @param inFlight permits out at the moment (concurrency limiters)
 * @param available permits that could be taken at the moment (concurrency limiters)
 * @param waiting callers that wait at the moment
 * @param evictedLive keys that were forgotten for new ones though they owed something (keyed rate limiters)
 * @param releasedOk releases whose work went well
 * @param releasedFailed releases whose work failed
 * @param holdTimeTotal how long permits were held, in total; only if hold times are tracked
 * @param holdTimeMax how long the longest-held permit was held; only if hold times are tracked
 * @param liveKeys keys that owe something, or have permits out, at the moment (keyed limiters). Of keyed rate limiters about:
 *     exact up to a {@code maxKeys} of some 6,000, else from a sample
 * @param capacity for how many such keys there is room (keyed limiters)
 */
public record Stats(
        long allowed,
        long denied,
        long timedOut,
        long cancelled,
        long limit,
        long inFlight,
        long available,
        long waiting,
        long evictedLive,
        long releasedOk,
        long releasedFailed,
        Duration holdTimeTotal,
        Duration holdTimeMax,
        long liveKeys,
        long capacity) {
    /** How many numbers the figures are across the native border, in the order of the record. */
    static final int FIGURES = 15;

    static final int ALLOWED = 0;
    static final int RELEASED_OK = 9;

    static Stats of(long[] figures) {
        return new Stats(
                figures[0],
                figures[1],
                figures[2],
                figures[3],
                figures[4],
                figures[5],
                figures[6],
                figures[7],
                figures[8],
                figures[9],
                figures[10],
                Duration.ofNanos(figures[11]),
                Duration.ofNanos(figures[12]),
                figures[13],
                figures[14]);
    }
}

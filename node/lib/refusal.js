'use strict';

const { ClosedError, ExceedsCapacityError, QueueFullError, RefusedError, TimedOutError } = require('./errors.js');

/** Of a rate limiter; `quota` is the one that the decision names, if it is known: a key may have another. */
function rateRefusal(decision, cost, quota) {
  if (decision.status === 'exceeds_capacity') {
    const why = quota ? `${quota} holds at most ${quota.burst}` : 'it is more than the burst';
    const message = `cost ${cost} can never be had: ${why}`;
    return new ExceedsCapacityError(message, decision);
  }
  const { limit, remaining, retryAfterMs } = decision;
  if (decision.status === 'keys_full') {
    const when = `there is in ${retryAfterMs} ms`;
    return new RefusedError(`refused: cost ${cost} asked, no room for another key; ${when}`, decision);
  }
  if (limit === 0)
    return new RefusedError(`refused: cost ${cost} asked, the limit is 0${quota ? ` (${quota})` : ''}`, decision);
  const when = retryAfterMs === Infinity ? 'never again' : `in ${retryAfterMs} ms`;
  const who = quota ?? "the key's quota";
  return new RefusedError(`refused: cost ${cost} asked, ${remaining} remaining; ${who} allows it ${when}`, decision);
}

const permitsText = (permits) => `${permits} ${permits === 1 ? 'permit' : 'permits'}`;

/** Of a concurrency limiter, of which so many permits are available. */
function permitsRefusal(permits, limit, available, isClosed) {
  const asked = permitsText(permits);
  if (isClosed) return new ClosedError(`closed: ${asked} asked`);
  if (limit === 0) return new RefusedError(`refused: ${asked} asked, the limit is 0`);
  if (permits > limit) return new ExceedsCapacityError(`${asked} can never be had: the limit is ${limit}`);
  if (permits <= available) return new RefusedError(`refused: ${asked} asked, no room for another key`);
  return new RefusedError(`refused: ${asked} asked, ${available} of ${limit} available`);
}

/**
 * Of a wait. `asked` is its text, `status` the native library's, `never` says why it can never be had; `figures` are those of
 * the limiter, `elapsedMs` and `timeoutMs` those of the wait.
 */
function waitRefusal(asked, status, never, figures) {
  const { elapsedMs, timeoutMs, limit, inFlight, waiting } = figures;
  const rest = inFlight === undefined ? `${waiting} waiting` : `${inFlight} of ${limit} out, ${waiting} waiting`;
  switch (status) {
    case 2:
      return new ExceedsCapacityError(`${asked} can never be had: ${never}`, undefined, figures);
    case 3: {
      const after = elapsedMs > 0 ? `timed out after ${Math.round(elapsedMs)} ms` : 'can not be had in time';
      return new TimedOutError(`${after}: ${asked} asked within ${timeoutMs} ms, ${rest}`, figures);
    }
    case 4:
      return new ClosedError(`closed: ${asked} asked`, figures);
    case 5:
      return new QueueFullError(`the queue is full: ${asked} asked, ${rest}`, figures);
    case 6:
      return new RefusedError(`refused: ${asked} asked, no room for another key`);
    default:
      return new RefusedError(`refused: ${asked} asked, ${rest}`);
  }
}

module.exports = { rateRefusal, permitsRefusal, permitsText, waitRefusal };

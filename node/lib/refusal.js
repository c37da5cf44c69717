'use strict';

const { ExceedsCapacityError, RefusedError } = require('./errors.js');

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

/** Of a concurrency limiter, of which so many permits are available. */
function permitsRefusal(permits, limit, available) {
  const asked = `${permits} ${permits === 1 ? 'permit' : 'permits'}`;
  if (limit === 0) return new RefusedError(`refused: ${asked} asked, the limit is 0`);
  if (permits > limit) return new ExceedsCapacityError(`${asked} can never be had: the limit is ${limit}`);
  if (permits <= available) return new RefusedError(`refused: ${asked} asked, no room for another key`);
  return new RefusedError(`refused: ${asked} asked, ${available} of ${limit} available`);
}

module.exports = { rateRefusal, permitsRefusal };

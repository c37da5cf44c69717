'use strict';
// Calls for which the stack has no room, each at many depths: no permit is lost, and none is given back twice.

const assert = require('node:assert/strict');
const { describe, test } = require('node:test');
const { ConcurrencyLimiter, KeyedConcurrencyLimiter } = require('tidegate');

const ROUNDS = 500;

/** Goes down until the stack is full and then tries, in each frame on the way up, until there is room for it. */
function atTheEndOfTheStack(attempt) {
  try {
    atTheEndOfTheStack(attempt);
  } catch {
    attempt();
  }
}

/** The same from a depth of its own, so that the stack is full at another place of the attempt. */
function fromDepth(depth, attempt, ...padding) {
  if (depth > 0) return fromDepth(depth - 1, attempt, ...padding) + 1;
  atTheEndOfTheStack(attempt);
  return 0;
}

const overflow = (round, attempt) => fromDepth(round % 64, attempt, ...new Array(round % 7));

for (const [name, limiter, tryAcquire, inFlight] of [
  ['a concurrency limiter', new ConcurrencyLimiter(1e6), (it) => it.tryAcquire(), (it) => it.inFlight],
  ['a keyed one', new KeyedConcurrencyLimiter(1e6), (it) => it.tryAcquire('ann'), (it) => it.inFlight('ann')],
]) {
  describe(`on a full stack, ${name}`, () => {
    test('keeps no permit that the caller does not get, and releases the others once', () => {
      const bystander = tryAcquire(limiter);
      for (let round = 0; round < ROUNDS; round++) {
        let permit;
        overflow(round, () => {
          permit = tryAcquire(limiter);
        });
        assert.equal(inFlight(limiter), 2);
        overflow(round, () => {
          if (!permit.released) permit.release();
        });
        assert.deepEqual([inFlight(limiter), permit.released], [1, true]);
      }
      bystander.release();
      const { allowed, releasedOk, releasedFailed } = limiter.stats();
      assert.deepEqual([inFlight(limiter), releasedOk], [0, ROUNDS + 1]);
      assert.equal(releasedOk + releasedFailed, allowed);
    });
  });
}

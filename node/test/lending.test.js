'use strict';
// Permits that came back are kept at hand for the next caller, which must show nowhere. A limiter that measures hold times keeps
// none: so the two, given the same calls, must stand the same after each.

const assert = require('node:assert/strict');
const { test } = require('node:test');
const { ConcurrencyLimiter, ManualClock } = require('tidegate');

const CALLS = 5_000;
const turn = () => new Promise(setImmediate);

/** Numbers below `bound`, the same for the same seed (a linear congruential generator). */
function randomNumbers(seed) {
  let state = seed;
  return (bound) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * bound);
  };
}

/** A limiter with what it lent, by number. */
function lender(options) {
  const limiter = new ConcurrencyLimiter(4, { clock: new ManualClock(), ...options });
  const [held, pending] = [new Map(), new Map()];
  const keep = (number, permit) => permit !== null && held.set(number, permit);
  const calls = {
    tryAcquire(number, permits) {
      keep(number, limiter.tryAcquire(permits));
    },
    acquire(number, permits) {
      const controller = new AbortController();
      pending.set(number, controller);
      limiter
        .acquire(permits, { signal: controller.signal })
        .then(
          (permit) => keep(number, permit),
          () => {},
        )
        .finally(() => pending.delete(number));
    },
    run(_number, permits) {
      limiter.run(turn, { permits, timeoutMs: 0 }).catch(() => {});
    },
    release(number) {
      const [oldest] = held.keys();
      if (oldest === undefined) return;
      held.get(oldest).release(number % 3 > 0);
      held.delete(oldest);
    },
    abort() {
      const [oldest] = pending.keys();
      pending.get(oldest)?.abort();
    },
    setLimit(_number, permits) {
      limiter.limit = permits + 1;
    },
  };
  const standing = () => {
    const { allowed, denied, releasedOk, releasedFailed, cancelled, timedOut } = limiter.stats();
    const counts = [allowed, denied, releasedOk, releasedFailed, cancelled, timedOut];
    return [[...held.keys()], limiter.inFlight, limiter.available, limiter.waiting, String(limiter), counts];
  };
  return { limiter, calls, standing };
}

for (const look of [1, 7]) {
  test(`a limiter that keeps permits at hand stands as one that keeps none (asked at every ${look}th call)`, async () => {
    const random = randomNumbers(7 + look);
    const [keeps, keepsNone] = [lender({}), lender({ trackHoldTime: true })];
    const kinds = Object.keys(keeps.calls);
    for (let number = 0; number < CALLS; number++) {
      const kind = random(12) < 10 ? kinds[random(4)] : kinds[random(kinds.length)];
      const permits = 1 + (random(3) === 0 ? random(4) : 0);
      for (const { calls } of [keeps, keepsNone]) calls[kind](number, permits);
      if (random(3) === 0) await turn();
      if (number % look === 0) assert.deepEqual(keeps.standing(), keepsNone.standing(), `after ${kind} ${number}`);
    }
    for (const { limiter } of [keeps, keepsNone]) limiter.close();
    await turn();
    for (let call = 0; call < 50; call++) for (const { calls } of [keeps, keepsNone]) calls.release(call);
    await turn();
    assert.deepEqual(keeps.standing(), keepsNone.standing());
    assert.deepEqual([keeps.limiter.tryAcquire(), keeps.limiter.inFlight], [null, 0]);
  });
}

test('what comes back while more are out than a lowered limit is not lent again', () => {
  const limiter = new ConcurrencyLimiter(3);
  const held = [1, 2, 3].map(() => limiter.tryAcquire());
  limiter.limit = 1;
  held.pop().release();
  assert.equal(limiter.tryAcquire(), null);
  held.pop().release();
  assert.equal(limiter.tryAcquire(), null);
  held.pop().release();
  assert.ok(limiter.tryAcquire());
});

test('what comes back after close is not lent again', () => {
  const limiter = new ConcurrencyLimiter(1);
  limiter.tryAcquire().release();
  const permit = limiter.tryAcquire();
  limiter.close();
  permit.release();
  assert.deepEqual([limiter.tryAcquire(), limiter.inFlight], [null, 0]);
});

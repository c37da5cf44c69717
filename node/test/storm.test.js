'use strict';
// A storm of acquire, abort, time-out, release and resize: nothing is lost, and the bound holds at every step.

const assert = require('node:assert/strict');
const { test } = require('node:test');
const { ManualClock } = require('tidegate');
const { concurrencySets, rateSets } = require('./fixtures/one-key.js');
const { turn } = require('./fixtures/waits.js');

const ROUNDS = 20_000;

/** Numbers below `bound`, the same for the same seed (xorshift). */
function randomNumbers(seed) {
  let state = seed;
  return (bound) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % bound;
  };
}

async function permitStorm(make, seed) {
  const random = randomNumbers(seed);
  const clock = new ManualClock();
  const limiters = make(8, { clock, maxWaiters: 6 });
  const [held, controllers, running] = [[], [], new Set()];
  const counts = {};
  const count = (what) => {
    counts[what] = (counts[what] ?? 0) + 1;
  };
  const pick = () => limiters[random(limiters.length)];
  for (let round = 0; round < ROUNDS; round++) {
    const kind = random(10);
    if (kind < 5) {
      const controller = new AbortController();
      controllers.push(controller);
      if (controllers.length > 20) controllers.shift();
      const timeoutMs = [undefined, 0, 1 + random(5)][random(3)];
      const wait = pick()
        .acquire(1 + random(4), { timeoutMs, signal: controller.signal })
        .then(
          (permit) => held.push(permit) && count('granted'),
          (error) => count(error.code ?? error),
        )
        .finally(() => running.delete(wait));
      running.add(wait);
    } else if (kind < 8) {
      held.splice(random(held.length || 1), 1)[0]?.release(random(2) === 0);
    } else if (kind === 8) {
      controllers[random(controllers.length || 1)]?.abort('aborted');
      clock.advance(random(3));
    } else {
      limiters[0].limit = 4 + random(6);
    }
    if (random(3) === 0) await turn();
    for (const { inFlight } of limiters) assert.ok(inFlight <= 9, `${inFlight} in flight`);
  }
  while (running.size > 0 || held.length > 0) {
    for (const permit of held.splice(0)) permit.release();
    await turn();
  }
  const { allowed, timedOut, cancelled, releasedOk, releasedFailed, inFlight, waiting } = limiters[0].stats();
  for (const limiter of limiters) assert.deepEqual([limiter.available, limiter.waiting], [limiter.limit, 0]);
  assert.deepEqual([inFlight, waiting, releasedOk + releasedFailed], [0, 0, allowed]);
  // One that is aborted in the instant of its grant or time-out was granted or timed out, for the core.
  assert.equal(allowed + timedOut + cancelled, counts.granted + counts.ERR_TIDEGATE_TIMED_OUT + counts.aborted);
  assert.ok(Object.keys(counts).length >= 4, JSON.stringify(counts));
}

for (const [kind, make] of concurrencySets) {
  for (const seed of [1, 0x7ea5e, Date.now() % 2 ** 31 || 1]) {
    test(`permits${kind} are all back after ${ROUNDS} rounds (seed ${seed})`, () => permitStorm(make, seed));
  }
}

for (const [kind, make] of rateSets) {
  test(`tokens${kind} in a storm: never more than the quota, and whoever waits for ever has them in the end`, async () => {
    const random = randomNumbers(12345);
    const clock = new ManualClock();
    const limiters = make('10/s burst 5', { clock });
    const spent = limiters.map(() => 0);
    let open = 0;
    for (let round = 0; round < ROUNDS; round++) {
      if (random(4) < 2) {
        const [index, cost, controller] = [random(limiters.length), 1 + random(3), new AbortController()];
        const timeoutMs = random(2) ? random(2_000) : undefined;
        open++;
        limiters[index]
          .acquire(cost, { timeoutMs, signal: controller.signal })
          .then(
            () => {
              spent[index] += cost;
            },
            () => {},
          )
          .finally(() => {
            open--;
          });
        if (random(4) === 0) controller.abort();
      } else {
        clock.advance(random(200));
      }
      if (random(3) === 0) await turn();
      for (const tokens of spent) assert.ok(tokens <= 5 + Number(clock.nowNs()) / 1e8);
    }
    while (open > 0) {
      clock.advance(1_000);
      await turn();
    }
    for (const limiter of limiters) assert.equal(limiter.waiting, 0);
  });
}

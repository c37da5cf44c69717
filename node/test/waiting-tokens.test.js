'use strict';
// Waiting for tokens, and reserving them. Manual clocks but where timers are the subject.

const assert = require('node:assert/strict');
const { describe, test } = require('node:test');
const { ExceedsCapacityError, RateLimiter, Reservation, TimedOutError } = require('tidegate');
const { rateKinds } = require('./fixtures/one-key.js');
const { atClock, keepAlive, names, turn } = require('./fixtures/waits.js');

keepAlive();

for (const [kind, Limiter] of rateKinds) {
  describe(`waiting for tokens${kind}`, () => {
    const rateAt = (quotas) => atClock(Limiter, quotas);

    for (const algorithm of ['gcra', 'fixed_window', 'sliding_window', ...(kind ? [] : ['sliding_log'])]) {
      test(`${algorithm}: advancing the clock settles what is due, in order`, async () => {
        const { clock, limiter } = rateAt(`2/s ${algorithm}`);
        await limiter.acquire(2);
        const waits = [limiter.acquire(2), limiter.acquire(2)];
        assert.deepEqual([limiter.waiting, limiter.tryAcquire(), limiter.peek().remaining], [2, false, 0]);
        clock.advance(499);
        assert.deepEqual(await names(waits), ['wait', 'wait']);
        clock.advance(1501);
        assert.equal(limiter.waiting > 0, (await names(waits))[1] === 'wait');
        clock.advance(2000);
        assert.deepEqual(await names(waits), ['got', 'got']);
        assert.equal(await waits[0], undefined);
      });
    }

    test('is charged when it is due, and a wait that would outlast its timeout is refused at once', async () => {
      const { clock, limiter } = rateAt('1/s');
      await limiter.acquire();
      const wait = limiter.acquire(1, { timeoutMs: 1000 });
      await assert.rejects(limiter.acquire(1, { timeoutMs: 1999 }), {
        constructor: TimedOutError,
        message: 'can not be had in time: cost 1 asked within 1999 ms, 1 waiting',
        elapsedMs: 0,
        limit: 1,
      });
      clock.advance(1000);
      await wait;
      const { allowed, timedOut } = limiter.stats();
      assert.deepEqual([allowed, timedOut, limiter.peek().retryAfterMs], [2, 1, 1000]);
    });

    test('more than the burst is refused at once', async () => {
      const { limiter } = rateAt('10/s; 5/s burst 3');
      await assert.rejects(limiter.acquire(4), {
        constructor: ExceedsCapacityError,
        message: 'cost 4 can never be had: 10/s; 5/s burst 3 holds at most 3',
      });
    });

    test('takes turns in real time, no sooner than the rate', async () => {
      const limiter = new Limiter('100/s burst 1');
      const began = performance.now();
      await Promise.all(Array.from({ length: 11 }, () => limiter.acquire()));
      const elapsed = performance.now() - began;
      assert.ok(elapsed >= 99.9 && elapsed < 1_000, `${elapsed} ms`);
    });

    test('a reconfigure or reset makes a wait due sooner', async () => {
      const { clock, limiter } = rateAt('1/h');
      await limiter.acquire();
      const wait = limiter.acquire();
      limiter.reconfigure('1/s');
      clock.advance(1000);
      await wait;
      const next = limiter.acquire();
      limiter.reset();
      await next;
      const real = new Limiter('1/h');
      await real.acquire();
      const sooner = real.acquire();
      real.reconfigure('100/s burst 1');
      await sooner;
    });

    test('run waits for its turn', async () => {
      const { clock, limiter } = rateAt('1/s');
      assert.equal(await limiter.run(() => 'first'), 'first');
      const ran = limiter.run(async () => 'second', { cost: 1 });
      assert.deepEqual(await names([ran]), ['wait']);
      clock.advance(1000);
      assert.equal(await ran, 'second');
    });
  });
}

test('map waits for a turn for each item, and pulls none before', async () => {
  const { clock, limiter } = atClock(RateLimiter, '1/s');
  await limiter.acquire();
  const pulled = [];
  const items = (function* () {
    for (let item = 1; item <= 3; item++) {
      pulled.push(item);
      yield item;
    }
  })();
  const mapped = limiter.map(items, (item) => item * 10);
  for (let seconds = 1; seconds <= 3; seconds++) {
    clock.advance(1000);
    await turn();
    assert.equal(pulled.length, seconds);
  }
  clock.advance(1000);
  assert.deepEqual(await mapped, [10, 20, 30]);
});

for (const [kind, Limiter] of rateKinds) {
  describe(`reserving${kind}`, () => {
    const rateAt = (quotas) => atClock(Limiter, quotas);

    test('charges at once, and names the time', () => {
      const { clock, limiter } = rateAt('1/s');
      const [now, later] = [limiter.reserve(), limiter.reserve(1, { maxWaitMs: 1000 })];
      assert.deepEqual([now.waitMs, later.waitMs, later.waitNs], [0, 1000, 1_000_000_000n]);
      assert.throws(() => limiter.reserve(1, { maxWaitMs: 1999 }), TimedOutError);
      assert.throws(() => limiter.reserve(2), ExceedsCapacityError);
      assert.equal(limiter.tryAcquire(), false);
      assert.ok(now instanceof Reservation);
      assert.equal(String(later), 'Reservation(1000 ms)');
      clock.advance(2000);
      assert.equal(limiter.tryAcquire(), true);
    });

    test('is credited when cancelled before it is due, if nobody reserved after it', () => {
      const { clock, limiter } = rateAt('1/s');
      limiter.tryAcquire();
      const [first, , third] = [limiter.reserve(), limiter.reserve(), limiter.reserve()];
      clock.advance(500);
      assert.equal(first.cancel(), false);
      assert.equal(limiter.reserve().waitMs, 3500);
      assert.equal(third.cancel(), false);
      assert.throws(() => third.cancel(), { code: 'ERR_TIDEGATE_RESERVATION', argument: 'reservation' });
      const last = limiter.reserve();
      assert.equal(last.cancel(), true);
      assert.equal(limiter.reserve().waitMs, 4500);
    });

    test('is for gcra with one quota; mistakes are named', () => {
      const { limiter } = rateAt('1/s fixed_window');
      assert.throws(() => limiter.reserve(), { argument: 'quota' });
      const { limiter: gcra } = rateAt('1/s');
      assert.throws(() => gcra.reserve(0), { name: 'RangeError', argument: 'cost' });
      assert.throws(() => gcra.reserve(1, { maxWaitMs: -1 }), { name: 'RangeError', argument: 'maxWaitMs' });
      assert.throws(() => gcra.reserve(1, { timeoutMs: 5 }), { argument: 'options.timeoutMs' });
      assert.throws(() => new Reservation(), { name: 'TypeError', argument: 'Reservation' });
    });
  });
}

'use strict';

const assert = require('node:assert/strict');
const { describe, test } = require('node:test');
const { ConfigError, ExceedsCapacityError, KeyedConcurrencyLimiter, ManualClock, RefusedError } = require('tidegate');
const { guardsEachKindOfFunction } = require('./guards.js');

describe('a keyed concurrency limiter', () => {
  test('lends each key its own permits', () => {
    const limiter = new KeyedConcurrencyLimiter(2);
    const [one, two] = [limiter.tryAcquire('ann'), limiter.tryAcquire(Buffer.from('ann'))];
    assert.deepEqual([one.permits, two.released, limiter.tryAcquire('ann')], [1, false, null]);
    const other = limiter.tryAcquire('bob', 2);
    assert.deepEqual([limiter.inFlight('ann'), limiter.available('ann'), limiter.available('eve')], [2, 0, 2]);
    one.release();
    assert.deepEqual([limiter.inFlight('ann'), limiter.inFlight('bob')], [1, 2]);
    two.release(false);
    other.release();
    const { allowed, denied, limit, inFlight, releasedOk, releasedFailed, liveKeys, capacity } = limiter.stats();
    assert.deepEqual([allowed, denied, limit, inFlight], [3, 1, 2, 0]);
    assert.deepEqual([releasedOk, releasedFailed, liveKeys, capacity], [2, 1, 0, 100_000]);
  });

  test('a second release is an error that changes nothing', () => {
    const limiter = new KeyedConcurrencyLimiter(2);
    const [one, two] = [limiter.tryAcquire('ann'), limiter.tryAcquire('ann')];
    one.release();
    assert.throws(() => one.release(), { code: 'ERR_TIDEGATE_PERMIT', argument: 'permit' });
    assert.equal(limiter.inFlight('ann'), 1);
    two[Symbol.dispose]?.();
    two[Symbol.dispose]?.();
    assert.equal(two.released, Symbol.dispose !== undefined);
  });

  test('a permit gives back to the key it was lent to, whatever became of the bytes that named it', () => {
    const limiter = new KeyedConcurrencyLimiter(2);
    const key = Buffer.from('ann');
    const permit = limiter.tryAcquire(key);
    key.write('bob');
    permit.release();
    assert.deepEqual([limiter.inFlight('ann'), limiter.inFlight('bob')], [0, 0]);
  });

  test('measures how long permits of all keys are held, if asked to', () => {
    const clock = new ManualClock();
    const limiter = new KeyedConcurrencyLimiter(2, { trackHoldTime: true, clock });
    const [ann, bob] = [limiter.tryAcquire('ann'), limiter.tryAcquire('bob', 2)];
    clock.advance(70);
    ann.release();
    clock.advanceNs(500_000);
    bob.release(false);
    const stats = limiter.stats();
    assert.deepEqual([stats.holdTimeTotalMs, stats.holdTimeMaxMs], [140.5, 70.5]);
    assert.deepEqual([stats.holdTimeTotalNs, stats.holdTimeMaxNs], [140_500_000n, 70_500_000n]);
    assert.equal(JSON.parse(JSON.stringify(stats)).holdTimeTotalNs, '140500000');
    assert.equal('holdTimeTotalMs' in new KeyedConcurrencyLimiter(1).stats(), false);
  });

  test('permits of one key are kept while other keys churn', () => {
    const limiter = new KeyedConcurrencyLimiter(2, { maxKeys: 100 });
    const [one, two] = [limiter.tryAcquire('kept'), limiter.tryAcquire('kept')];
    for (let i = 0; i < 20_000; i++) {
      limiter.tryAcquire(`churn ${i}`).release();
      assert.equal(limiter.tryAcquire('kept'), null);
    }
    one.release();
    two.release();
    assert.deepEqual([limiter.inFlight('kept'), limiter.stats().liveKeys], [0, 0]);
  });

  test('a ninth key with permits out is refused where there are eight slots', () => {
    const limiter = new KeyedConcurrencyLimiter(1, { maxKeys: 3 });
    const held = Array.from({ length: 8 }, (_, i) => limiter.tryAcquire(`key ${i}`));
    assert.ok(held.every(Boolean));
    assert.equal(limiter.tryAcquire('new'), null);
    const guarded = limiter.guard(() => assert.fail('called'), { key: 'new' });
    assert.throws(guarded, { name: 'RefusedError', message: 'refused: 1 permit asked, no room for another key' });
    held[3].release();
    assert.equal(limiter.tryAcquire('new').permits, 1);
  });

  test('the limit is that of each key and may be set', () => {
    const limiter = new KeyedConcurrencyLimiter(2);
    const held = limiter.tryAcquire('ann', 2);
    limiter.limit = 1;
    assert.deepEqual([limiter.limit, limiter.inFlight('ann'), limiter.available('ann')], [1, 2, 0]);
    assert.equal(limiter.tryAcquire('ann'), null);
    held.release();
    assert.deepEqual([limiter.tryAcquire('ann', 2), limiter.available('ann')], [null, 1]);
    limiter.limit = 0;
    assert.equal(limiter.tryAcquire('ann'), null);
  });

  test('shows what it lends', () => {
    assert.equal(String(new KeyedConcurrencyLimiter(4)), 'KeyedConcurrencyLimiter(4 each, 100000 keys)');
  });

  test('mistakes are named, and nothing is taken', async () => {
    const limiter = new KeyedConcurrencyLimiter(2);
    for (const permits of [0, -1, 1.5, Number.NaN, 2 ** 53]) {
      assert.throws(() => limiter.tryAcquire('ann', permits), { name: 'RangeError', argument: 'permits' });
    }
    assert.throws(() => limiter.tryAcquire('ann', '1'), { name: 'TypeError', argument: 'permits' });
    for (const limit of [-1, 0.5, 2 ** 31]) {
      assert.throws(() => new KeyedConcurrencyLimiter(limit), { constructor: ConfigError, argument: 'limit' });
      assert.throws(() => Object.assign(limiter, { limit }), { constructor: ConfigError, argument: 'limit' });
    }
    for (const maxKeys of [0, 2 ** 32 + 1]) {
      assert.throws(() => new KeyedConcurrencyLimiter(1, { maxKeys }), { name: 'ConfigError', argument: 'maxKeys' });
    }
    assert.throws(() => new KeyedConcurrencyLimiter(1, { clock: {} }), { name: 'TypeError', argument: 'clock' });
    assert.throws(() => new KeyedConcurrencyLimiter(1, { trackHoldTime: 1 }), { argument: 'trackHoldTime' });
    assert.throws(() => new KeyedConcurrencyLimiter(1, { max_keys: 1 }), { argument: 'options.max_keys' });
    await assert.rejects(
      limiter.run(() => {}),
      { name: 'TypeError', argument: 'key' },
    );
    assert.deepEqual([limiter.limit, limiter.stats().allowed], [2, 0]);
  });
});

describe('run and guard of a keyed concurrency limiter', () => {
  guardsEachKindOfFunction(
    (fn) => new KeyedConcurrencyLimiter(1).guard(fn, { key: 'ann' }),
    (fn) => new KeyedConcurrencyLimiter(0).guard(fn, { key: 'ann' }),
  );

  test('run holds permits of the key until the work settles', async () => {
    const limiter = new KeyedConcurrencyLimiter(2);
    let finish;
    const work = () =>
      new Promise((resolve) => {
        finish = resolve;
      });
    const running = limiter.run('ann', work, { permits: 2 });
    assert.equal(limiter.inFlight('ann'), 2);
    await assert.rejects(
      limiter.run('ann', () => assert.fail('called'), { timeoutMs: 0 }),
      { name: 'TimedOutError', message: 'can not be had in time: 1 permit asked within 0 ms, 2 of 2 out, 0 waiting' },
    );
    assert.equal(await limiter.run('bob', () => 5), 5);
    finish('done');
    assert.equal(await running, 'done');
    await assert.rejects(limiter.run('ann', () => Promise.reject(new Error('of the work'))));
    assert.deepEqual([limiter.inFlight('ann'), limiter.stats().releasedFailed], [0, 1]);
  });

  test('guard takes the key from what the call gets', async () => {
    const limiter = new KeyedConcurrencyLimiter(1);
    const finishers = [];
    const fetched = limiter.guard((_host) => new Promise((resolve) => finishers.push(resolve)), {
      key: (host) => host,
    });
    const running = [fetched('a'), fetched('b')];
    assert.throws(() => fetched('a'), RefusedError);
    assert.throws(
      limiter.guard(() => {}, { key: 'a', permits: 2 }),
      ExceedsCapacityError,
    );
    for (const finish of finishers) finish();
    await Promise.all(running);
    assert.deepEqual([limiter.inFlight('a'), limiter.inFlight('b'), limiter.stats().inFlight], [0, 0, 0]);
  });
});

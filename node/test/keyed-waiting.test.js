'use strict';
// What is special about waiting with keys; what each key has in common with a limiter of its own is in waiting-*.test.js.

const assert = require('node:assert/strict');
const { describe, test } = require('node:test');
const {
  ClosedError,
  ExceedsCapacityError,
  KeyedConcurrencyLimiter,
  KeyedRateLimiter,
  QueueFullError,
  RefusedError,
  keyOf,
} = require('tidegate');
const { atClock, keepAlive, names } = require('./fixtures/waits.js');

keepAlive();

const reason = new Error('enough');

describe('waiting for permits of keys', () => {
  test('each key has a queue of its own', async () => {
    const limiter = new KeyedConcurrencyLimiter(1);
    const permits = await Promise.all(['ann', 'bob'].map((key) => limiter.acquire(key)));
    const waits = ['ann', 'ann', 'bob'].map((key) => limiter.acquire(key));
    assert.deepEqual([limiter.waiting('ann'), limiter.waiting('bob'), limiter.waiting('eve')], [2, 1, 0]);
    assert.deepEqual([limiter.stats().waiting, limiter.tryAcquire('ann')], [3, null]);
    limiter.tryAcquire('eve').release();
    permits[1].release();
    assert.deepEqual(await names(waits), ['wait', 'wait', 'got']);
    permits[0].release();
    assert.deepEqual(await names(waits), ['got', 'wait', 'got']);
    (await waits[0]).release();
    for (const wait of waits.slice(1)) (await wait).release();
    assert.deepEqual([limiter.stats().waiting, limiter.stats().inFlight, limiter.stats().liveKeys], [0, 0, 0]);
  });

  test('maxWaiters is for each key', async () => {
    const limiter = new KeyedConcurrencyLimiter(0, { maxWaiters: 1 });
    const waits = ['ann', 'bob'].map((key) => limiter.acquire(key));
    await assert.rejects(limiter.acquire('ann'), {
      constructor: QueueFullError,
      message: 'the queue is full: 1 permit asked, 0 of 0 out, 1 waiting',
    });
    limiter.limit = 1;
    for (const wait of waits) (await wait).release();
  });

  test('close ends the waits of all keys', async () => {
    const limiter = new KeyedConcurrencyLimiter(1);
    const permit = await limiter.acquire('ann');
    const waits = [limiter.acquire('ann'), limiter.acquire('ann', 1, { timeoutMs: 1e6 })];
    limiter.limit = 0;
    waits.push(limiter.acquire('bob'));
    assert.equal(limiter.isClosed, false);
    limiter.close();
    assert.deepEqual(await names(waits), ['ClosedError', 'ClosedError', 'ClosedError']);
    permit.release();
    assert.deepEqual([limiter.isClosed, limiter.tryAcquire('new'), limiter.stats().inFlight], [true, null, 0]);
    await assert.rejects(limiter.acquire('new'), { constructor: ClosedError, message: 'closed: 1 permit asked' });
    assert.throws(
      limiter.guard(() => assert.fail('called'), { key: 'new' }),
      ClosedError,
    );
  });

  test('a new key without room is refused, and one that is waited for keeps its place', async () => {
    const limiter = new KeyedConcurrencyLimiter(1, { maxKeys: 1 });
    const permits = [];
    while (permits.at(-1) !== null) permits.push(limiter.tryAcquire(`key ${permits.length}`));
    const none = `key ${permits.length - 1}`;
    await assert.rejects(limiter.acquire(none), {
      constructor: RefusedError,
      message: 'refused: 1 permit asked, no room for another key',
    });
    const wait = limiter.acquire('key 0');
    permits[0].release();
    assert.equal(limiter.tryAcquire(none), null);
    (await wait).release();
    limiter.tryAcquire(none).release();
  });

  test('keys may be strings or bytes, and bytes that change meanwhile are as they were', async () => {
    const limiter = new KeyedConcurrencyLimiter(1);
    const key = Buffer.from('ann');
    const permit = await limiter.acquire('ann');
    const wait = limiter.acquire(key, 1, { timeoutMs: 5 });
    assert.equal(limiter.waiting(Uint8Array.from(key)), 1);
    key.fill('x');
    await assert.rejects(wait, { inFlight: 1, waiting: 0 });
    permit.release();
    const parts = keyOf('tenant', 'user');
    const held = await limiter.acquire(parts, 1);
    assert.deepEqual([limiter.inFlight(parts), limiter.inFlight('tenant'), limiter.inFlight('')], [1, 0, 0]);
    held.release();
  });

  test('what was waited for is held since it was granted', async () => {
    const { clock, limiter } = atClock(KeyedConcurrencyLimiter, 1, { trackHoldTime: true });
    clock.advance(1000);
    const permit = await limiter.acquire('ann');
    const wait = limiter.acquire('ann');
    clock.advance(500);
    permit.release();
    const next = await wait;
    clock.advance(70);
    next.release();
    const { holdTimeTotalMs, holdTimeMaxMs } = limiter.stats();
    assert.deepEqual([holdTimeTotalMs, holdTimeMaxMs], [570, 500]);
  });

  test('the wrong key is a rejection that names it, before all else', async () => {
    const limiter = new KeyedConcurrencyLimiter(1);
    const keyed = new KeyedRateLimiter('1/s');
    const fn = () => assert.fail('called');
    for (const key of [undefined, null, 5, {}, ['ann'], new Uint8Array(new SharedArrayBuffer(4))]) {
      const expected = { name: 'TypeError', argument: 'key' };
      for (const it of [limiter, keyed]) {
        await assert.rejects(it.acquire(key), expected);
        await assert.rejects(it.acquire(key, 0), expected);
        await assert.rejects(it.run(key, fn), expected);
        assert.throws(() => it.waiting(key), expected);
        assert.throws(() => it.guard(fn, { key: undefined, timeoutMs: 5 }), expected);
        await assert.rejects(it.guard(fn, { key: () => key, timeoutMs: 5 })(), expected);
      }
    }
    await assert.rejects(limiter.run('ann', 'fn'), { name: 'TypeError', argument: 'fn' });
    await assert.rejects(limiter.run('ann', fn, { key: 'ann' }), { name: 'TypeError', argument: 'options.key' });
    assert.deepEqual([limiter.stats().allowed, keyed.stats().allowed], [0, 0]);
    for (const maxWaiters of [-1, 0.5, 2 ** 32]) {
      const expected = { name: 'ConfigError', argument: 'maxWaiters' };
      assert.throws(() => new KeyedConcurrencyLimiter(1, { maxWaiters }), expected);
      assert.throws(() => new KeyedRateLimiter('1/s', { maxWaiters }), expected);
    }
  });
});

describe('waiting for tokens of keys', () => {
  test('each key is due in its own time', async () => {
    const { clock, limiter } = atClock(KeyedRateLimiter, '1/s');
    for (const key of ['ann', 'bob']) await limiter.acquire(key);
    clock.advance(500);
    limiter.reset('bob');
    await limiter.acquire('bob');
    const waits = ['ann', 'ann', 'bob'].map((key) => limiter.acquire(key));
    assert.deepEqual([limiter.waiting('ann'), limiter.waiting('bob'), limiter.stats().waiting], [2, 1, 3]);
    clock.advance(500);
    assert.deepEqual(await names(waits), ['got', 'wait', 'wait']);
    clock.advance(500);
    assert.deepEqual(await names(waits), ['got', 'wait', 'got']);
    clock.advance(500);
    assert.deepEqual(await names(waits), ['got', 'got', 'got']);
  });

  test('takes turns in real time for each key', async () => {
    const limiter = new KeyedRateLimiter('100/s burst 1', { maxKeys: 100 });
    const began = performance.now();
    const all = ['ann', 'bob', 'eve'].flatMap((key) => Array.from({ length: 6 }, () => limiter.acquire(key)));
    await Promise.all(all);
    const elapsed = performance.now() - began;
    assert.ok(elapsed >= 49.9 && elapsed < 1_000, `${elapsed} ms`);
  });

  test('a signal in the instant of the grant gives the tokens back to that key', async () => {
    const { clock, limiter } = atClock(KeyedRateLimiter, '1/s');
    const key = Buffer.from('ann');
    limiter.tryAcquire('ann');
    limiter.tryAcquire('bob');
    const controller = new AbortController();
    const wait = limiter.acquire(key, 1, { signal: controller.signal });
    key.fill('bob');
    clock.advance(1000);
    assert.equal(limiter.peek('ann').remaining, 0);
    controller.abort(reason);
    await assert.rejects(wait, (error) => error === reason);
    assert.equal(limiter.peek('ann').remaining, 1);
  });

  test('a key with quotas of its own waits by those', async () => {
    const { clock, limiter } = atClock(KeyedRateLimiter, '1/s');
    await assert.rejects(limiter.acquire('ann', 2), {
      constructor: ExceedsCapacityError,
      message: 'cost 2 can never be had: 1/s holds at most 1',
    });
    limiter.setQuota('ann', '2/s');
    await assert.rejects(limiter.acquire('ann', 3), { message: 'cost 3 can never be had: it is more than the burst' });
    await limiter.acquire('ann', 2);
    const waits = [limiter.acquire('ann'), limiter.acquire('ann', 2)];
    clock.advance(500);
    assert.deepEqual(await names(waits), ['got', 'wait']);
    limiter.clearQuota('ann');
    assert.deepEqual(await names(waits), ['got', 'ExceedsCapacityError']);
  });

  test('a new key without room is refused', async () => {
    const { limiter } = atClock(KeyedRateLimiter, '1/s', { maxKeys: 1, whenFull: 'deny_new' });
    let keys = 0;
    while (limiter.tryAcquire(`key ${keys}`)) keys++;
    await assert.rejects(limiter.acquire(`key ${keys}`), {
      constructor: RefusedError,
      message: 'refused: cost 1 asked, no room for another key',
    });
  });

  test('tokens are reserved of each key, by its own quota, and credited to it', () => {
    const { clock, limiter } = atClock(KeyedRateLimiter, '1/s');
    const key = Buffer.from('ann');
    const [, mine, other] = ['ann', key, 'bob'].map((one) => limiter.reserve(one));
    assert.deepEqual([mine.waitMs, other.waitMs], [1000, 0]);
    key.fill('bob');
    assert.deepEqual([mine.cancel(), limiter.reserve('ann').waitMs], [true, 1000]);
    limiter.setQuota('eve', '1/h');
    limiter.reserve('eve');
    assert.equal(limiter.reserve('eve').waitMs, 3_600_000);
    const wait = limiter.acquire('bob');
    assert.throws(() => limiter.reserve('bob', 1, { maxWaitMs: 10_000 }), { name: 'TimedOutError', waiting: 1 });
    clock.advance(1000);
    for (const wrong of [undefined, 5]) assert.throws(() => limiter.reserve(wrong), { argument: 'key' });
    return wait;
  });
});

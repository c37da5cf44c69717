'use strict';
// Waiting for permits: order, timeouts, closing, limits that change. Manual clocks but where timers are the subject.

const assert = require('node:assert/strict');
const { describe, test } = require('node:test');
const { ClosedError, ExceedsCapacityError, ManualClock, QueueFullError, TimedOutError } = require('tidegate');
const { concurrencyKinds } = require('./fixtures/one-key.js');
const { keepAlive, names, turn } = require('./fixtures/waits.js');

keepAlive();

for (const [kind, ConcurrencyLimiter] of concurrencyKinds) {
  describe(`waiting for permits${kind}`, () => {
    test('who needs not wait has a promise that is resolved already', async () => {
      const limiter = new ConcurrencyLimiter(2);
      const order = [];
      const acquired = limiter.acquire().then(() => order.push('acquired'));
      const next = Promise.resolve().then(() => order.push('next'));
      await Promise.all([acquired, next]);
      assert.deepEqual([order, limiter.inFlight, limiter.waiting], [['acquired', 'next'], 1, 0]);
    });

    test('is first come, first served, and try_acquire does not go ahead', async () => {
      const limiter = new ConcurrencyLimiter(2);
      const [one, two] = [await limiter.acquire(), await limiter.acquire()];
      const waits = [limiter.acquire(2), limiter.acquire(), limiter.acquire()];
      assert.deepEqual([limiter.waiting, limiter.tryAcquire(), limiter.stats().waiting], [3, null, 3]);
      one.release();
      assert.equal(limiter.tryAcquire(), null);
      assert.deepEqual(await names(waits), ['wait', 'wait', 'wait']);
      two.release();
      assert.deepEqual(await names(waits), ['got', 'wait', 'wait']);
      (await waits[0]).release();
      // Handed over already, before anybody who waited has run.
      assert.deepEqual([limiter.inFlight, limiter.tryAcquire()], [2, null]);
      assert.deepEqual(await names(waits), ['got', 'got', 'got']);
    });

    test('settles within the microtasks of the release', async () => {
      const limiter = new ConcurrencyLimiter(1);
      const permit = await limiter.acquire();
      let granted = false;
      const wait = limiter.acquire().then(() => {
        granted = true;
      });
      setImmediate(() => permit.release());
      await new Promise((resolve) =>
        setImmediate(() => {
          assert.equal(granted, true);
          resolve();
        }),
      );
      await wait;
    });

    test('a timeout is a TimedOutError with the figures, and leaves the queue to others', async () => {
      const limiter = new ConcurrencyLimiter(1);
      const permit = await limiter.acquire();
      const late = limiter.acquire(1, { timeoutMs: 10 });
      const next = limiter.acquire();
      await assert.rejects(late, (error) => {
        assert.ok(error instanceof TimedOutError && error.elapsedMs >= 10);
        const { code, timeoutMs, limit, inFlight, waiting } = error;
        assert.deepEqual([code, timeoutMs, limit, inFlight, waiting], ['ERR_TIDEGATE_TIMED_OUT', 10, 1, 1, 1]);
        assert.match(error.message, /^timed out after \d+ ms: 1 permit asked within 10 ms, 1 of 1 out, 1 waiting$/);
        return true;
      });
      permit.release();
      (await next).release();
      assert.equal(limiter.tryAcquire().permits, 1);
      assert.equal(limiter.stats().timedOut, 1);
    });

    test('a timeout is measured on the manual clock, if there is one', async () => {
      const clock = new ManualClock();
      const limiter = new ConcurrencyLimiter(1, { clock });
      const permit = await limiter.acquire();
      const waits = [limiter.acquire(1, { timeoutMs: 100 }), limiter.acquire(1, { timeoutMs: 50 }), limiter.acquire()];
      clock.advance(50);
      assert.equal(limiter.waiting, 2);
      clock.advance(49.999999);
      assert.deepEqual(await names(waits), ['wait', 'TimedOutError', 'wait']);
      clock.advanceNs(1);
      await assert.rejects(waits[0], { elapsedMs: 100, timeoutMs: 100 });
      permit.release();
      assert.deepEqual(await names(waits), ['TimedOutError', 'TimedOutError', 'got']);
    });

    test('a timeout of 0 tries once', async () => {
      const limiter = new ConcurrencyLimiter(1);
      const permit = await limiter.acquire(1, { timeoutMs: 0 });
      await assert.rejects(limiter.acquire(1, { timeoutMs: 0 }), {
        name: 'TimedOutError',
        message: 'can not be had in time: 1 permit asked within 0 ms, 1 of 1 out, 0 waiting',
        elapsedMs: 0,
      });
      permit.release();
      assert.equal((await limiter.acquire(1, { timeoutMs: 0 })).permits, 1);
    });

    test('a timeout that is longer than timers can be, or none, waits', async () => {
      const limiter = new ConcurrencyLimiter(1);
      const permit = await limiter.acquire();
      const timeouts = [2 ** 31, 2 ** 40, 1e300, Infinity, undefined];
      const waits = timeouts.map((timeoutMs) => limiter.acquire(1, { timeoutMs }));
      await new Promise((resolve) => setTimeout(resolve, 5));
      assert.equal(limiter.waiting, 5);
      permit.release();
      for (const wait of waits) (await wait).release();
    });

    test('more than the limit is refused at once, and the next call works', async () => {
      const limiter = new ConcurrencyLimiter(2);
      await assert.rejects(limiter.acquire(3), {
        constructor: ExceedsCapacityError,
        message: '3 permits can never be had: the limit is 2',
        limit: 2,
        waiting: 0,
      });
      assert.equal((await limiter.acquire()).permits, 1);
    });

    test('maxWaiters says how many may wait', async () => {
      const limiter = new ConcurrencyLimiter(1, { maxWaiters: 1 });
      const permit = await limiter.acquire();
      const wait = limiter.acquire();
      await assert.rejects(limiter.acquire(), {
        constructor: QueueFullError,
        code: 'ERR_TIDEGATE_QUEUE_FULL',
        message: 'the queue is full: 1 permit asked, 1 of 1 out, 1 waiting',
        waiting: 1,
      });
      permit.release();
      await wait;
      const none = new ConcurrencyLimiter(1, { maxWaiters: 0 });
      const held = await none.acquire();
      await assert.rejects(none.acquire(), QueueFullError);
      held.release();
    });

    test('close ends all waits, and nothing is lent any more', async () => {
      const limiter = new ConcurrencyLimiter(1);
      const permit = await limiter.acquire();
      const waits = [limiter.acquire(), limiter.acquire()];
      limiter.close();
      limiter.close();
      assert.deepEqual(await names(waits), ['ClosedError', 'ClosedError']);
      permit.release();
      limiter.limit = 5;
      assert.deepEqual([limiter.isClosed, limiter.tryAcquire(), limiter.waiting, limiter.inFlight], [true, null, 0, 0]);
      await assert.rejects(limiter.acquire(), { constructor: ClosedError, code: 'ERR_TIDEGATE_CLOSED' });
      await assert.rejects(
        limiter.run(() => assert.fail('called')),
        ClosedError,
      );
      assert.throws(
        limiter.guard(() => assert.fail('called')),
        ClosedError,
      );
    });

    test('a lowered limit holds waits back, a raised one lets them go, and what can never be had ends', async () => {
      const limiter = new ConcurrencyLimiter(2);
      const held = [await limiter.acquire(), await limiter.acquire()];
      limiter.limit = 1;
      const wait = limiter.acquire();
      limiter.limit = 2;
      assert.deepEqual(await names([wait]), ['wait']);
      limiter.limit = 3;
      assert.deepEqual(await names([wait]), ['got']);
      const large = limiter.acquire(3);
      limiter.limit = 2;
      assert.deepEqual(await names([large]), ['ExceedsCapacityError']);
      limiter.limit = 0;
      const paused = limiter.acquire();
      for (const permit of [...held, await wait]) permit.release();
      assert.deepEqual(await names([paused]), ['wait']);
      limiter.limit = 1;
      assert.deepEqual(await names([paused]), ['got']);
    });

    test('a limit that is set by who was just granted does not recurse', async () => {
      const limiter = new ConcurrencyLimiter(5);
      const held = await Promise.all(Array.from({ length: 5 }, () => limiter.acquire()));
      const waits = Array.from({ length: 3 }, () =>
        limiter.acquire().then((permit) => {
          limiter.limit = 2;
          return permit;
        }),
      );
      held.pop().release();
      assert.deepEqual(await names(waits), ['got', 'wait', 'wait']);
      for (const permit of held.splice(0, 3)) permit.release();
      assert.deepEqual([await names(waits), limiter.inFlight], [['got', 'wait', 'wait'], 2]);
      held.pop().release();
      assert.deepEqual(await names(waits), ['got', 'got', 'wait']);
    });

    test('a stream of light ones does not starve a heavy one', async () => {
      const limiter = new ConcurrencyLimiter(10);
      const light = await Promise.all(Array.from({ length: 10 }, () => limiter.acquire()));
      let heavy = 0;
      const wait = limiter.acquire(8).then((permit) => {
        heavy = permit.permits;
        permit.release();
      });
      for (let round = 0; heavy === 0 && round < 20; round++) {
        light.shift().release();
        void limiter.acquire().then((permit) => light.push(permit));
        await turn();
      }
      await wait;
      assert.equal(heavy, 8);
      await turn();
      for (const permit of light) permit.release();
      assert.equal(limiter.inFlight, 0);
    });

    test('two that ask for all go one after the other', async () => {
      const limiter = new ConcurrencyLimiter(5);
      let most = 0;
      const all = () =>
        limiter.run(
          async () => {
            most = Math.max(most, limiter.inFlight);
            await turn();
          },
          { permits: 5 },
        );
      await Promise.all([all(), all(), all()]);
      assert.deepEqual([most, limiter.inFlight], [5, 0]);
    });

    test('5,000 waiters: the last one is in time, and the event loop goes on', async () => {
      const limiter = new ConcurrencyLimiter(1);
      const permit = await limiter.acquire();
      const waits = Array.from({ length: 5_000 }, (_, index) => limiter.acquire(1, { timeoutMs: 50 + (index % 7) }));
      const began = performance.now();
      const settled = await Promise.allSettled(waits);
      assert.ok(settled.every(({ reason }) => reason instanceof TimedOutError));
      assert.ok(performance.now() - began < 2_000);
      permit.release();
      assert.equal(limiter.available, 1);
    });

    test('wrong arguments are rejections that name them, and take nothing', async () => {
      const limiter = new ConcurrencyLimiter(2);
      for (const permits of [0, -1, 0.5, NaN, 2 ** 53]) {
        await assert.rejects(limiter.acquire(permits), { name: 'RangeError', argument: 'permits' });
      }
      for (const permits of ['1', 1n, null, {}]) {
        await assert.rejects(limiter.acquire(permits), { name: 'TypeError', argument: 'permits' });
      }
      for (const timeoutMs of [-1, NaN]) {
        const expected = { name: 'RangeError', argument: 'timeoutMs' };
        await assert.rejects(limiter.acquire(1, { timeoutMs }), expected);
        await assert.rejects(
          limiter.run(() => {}, { timeoutMs }),
          expected,
        );
      }
      await assert.rejects(limiter.acquire(1, { timeoutMs: '5' }), { name: 'TypeError', argument: 'timeoutMs' });
      await assert.rejects(limiter.acquire(1, { signal: {} }), { name: 'TypeError', argument: 'signal' });
      await assert.rejects(limiter.acquire(1, { timeout: 5 }), { argument: 'options.timeout' });
      assert.equal(limiter.inFlight, 0);
      for (const maxWaiters of [-1, 0.5, 2 ** 32]) {
        const expected = { name: 'ConfigError', argument: 'maxWaiters' };
        assert.throws(() => new ConcurrencyLimiter(1, { maxWaiters }), expected);
      }
    });
  });
}

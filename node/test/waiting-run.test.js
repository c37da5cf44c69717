'use strict';
// What runs under a limiter, when its turn has come: run and map.

const assert = require('node:assert/strict');
const { AsyncLocalStorage } = require('node:async_hooks');
const { getEventListeners } = require('node:events');
const { describe, test } = require('node:test');
const { ConcurrencyLimiter, RefusedError, TimedOutError } = require('tidegate');
const { concurrencyKinds } = require('./fixtures/one-key.js');
const { keepAlive, turn } = require('./fixtures/waits.js');

keepAlive();

for (const [kind, Limiter] of concurrencyKinds) {
  describe(`run, waiting${kind}`, () => {
    test('calls the function in the same step if there is room, else in its turn', async () => {
      const limiter = new Limiter(2);
      const order = [];
      const work = (name) => async () => {
        order.push(`${name} begins`);
        await turn();
        order.push(`${name} ends`);
        return name;
      };
      const running = ['a', 'b', 'c'].map((name) => limiter.run(work(name)));
      assert.deepEqual(order, ['a begins', 'b begins']);
      assert.deepEqual(await Promise.all(running), ['a', 'b', 'c']);
      assert.ok(order.indexOf('c begins') > order.indexOf('a ends'));
      assert.deepEqual([limiter.inFlight, limiter.stats().releasedOk], [0, 3]);
    });

    test('has the AsyncLocalStorage of its caller after the wait', async () => {
      const store = new AsyncLocalStorage();
      const limiter = new Limiter(1);
      const permit = await limiter.acquire();
      const inside = (name) =>
        store.run(name, async () => {
          const ran = limiter.run(() => store.getStore());
          const acquired = await limiter.acquire(1, { timeoutMs: 10_000 });
          acquired.release();
          return [await ran, store.getStore()];
        });
      const all = ['a', 'b', 'c'].map(inside);
      store.run('the one that releases', () => permit.release());
      assert.deepEqual(
        await Promise.all(all),
        ['a', 'b', 'c'].map((name) => [name, name]),
      );
    });
  });
}

describe('map', () => {
  /** Items 1 to `count`, and which were pulled. */
  function source(count) {
    const seen = { pulled: 0, isClosed: false };
    function* items() {
      try {
        while (seen.pulled < count) yield ++seen.pulled;
      } finally {
        seen.isClosed = true;
      }
    }
    return { seen, items };
  }

  test('pulls an item when there is room for its call, from sync and async iterables', async () => {
    for (const isAsync of [false, true]) {
      const limiter = new ConcurrencyLimiter(3);
      const { seen, items } = source(20);
      let [running, finished, most] = [0, 0, 0];
      const iterable = isAsync
        ? (async function* () {
            yield* items();
          })()
        : items();
      const results = await limiter.map(iterable, async (item, index) => {
        running++;
        most = Math.max(most, running);
        assert.ok(seen.pulled <= finished + 3, `${seen.pulled} pulled, ${finished} finished`);
        await turn();
        if (index % 2) await turn();
        running--;
        finished++;
        return item * 10 + (index + 1 - item);
      });
      assert.deepEqual(
        results,
        Array.from({ length: 20 }, (_, index) => (index + 1) * 10),
      );
      assert.deepEqual([most, limiter.inFlight, seen.isClosed], [3, 0, true]);
    }
    assert.deepEqual(await new ConcurrencyLimiter(1).map([], () => assert.fail('called')), []);
    assert.deepEqual(await new ConcurrencyLimiter(1).map('ab', (letter) => letter), ['a', 'b']);
  });

  test('stops pulling at a failure, closes the source, and rejects when what runs has settled', async () => {
    const limiter = new ConcurrencyLimiter(3);
    const { seen, items } = source(100);
    const failure = new Error('of the work');
    let running = 0;
    const mapping = limiter.map(items(), async (item) => {
      if (item === 2) throw failure;
      running++;
      await turn();
      running--;
    });
    await assert.rejects(mapping, (error) => error === failure);
    assert.equal(running, 0);
    assert.ok(seen.pulled <= 4 && seen.isClosed, `${seen.pulled} pulled`);
    assert.deepEqual([limiter.inFlight, limiter.stats().releasedFailed], [0, 1]);
  });

  test('a failure ends the wait for the next item', async () => {
    const limiter = new ConcurrencyLimiter(2);
    const other = await limiter.acquire();
    const { seen, items } = source(10);
    let fail;
    const mapping = limiter.map(items(), () => new Promise((_, reject) => (fail = reject)));
    await turn();
    const taken = limiter.acquire();
    fail(new Error('of the work'));
    await assert.rejects(mapping, { message: 'of the work' });
    assert.deepEqual([seen.pulled, limiter.waiting, limiter.inFlight], [1, 0, 2]);
    (await taken).release();
    other.release();
  });

  test('passes on what the source throws, and releases', async () => {
    const limiter = new ConcurrencyLimiter(2);
    const failure = new Error('of the source');
    const failing = {
      [Symbol.asyncIterator]: () => ({
        next: async () => {
          throw failure;
        },
        return: () => assert.fail('closed, though it failed itself'),
      }),
    };
    await assert.rejects(
      limiter.map(failing, () => {}),
      (error) => error === failure,
    );
    assert.equal(limiter.inFlight, 0);
  });

  test('a signal stops it; what runs goes on to its end', async () => {
    const limiter = new ConcurrencyLimiter(2);
    const { seen, items } = source(100);
    const controller = new AbortController();
    let finished = 0;
    const mapping = limiter.map(
      items(),
      async () => {
        await turn();
        finished++;
      },
      { signal: controller.signal },
    );
    controller.abort(new Error('enough'));
    await assert.rejects(mapping, { message: 'enough' });
    assert.deepEqual([finished, seen.pulled, limiter.inFlight, limiter.waiting], [finished, finished, 0, 0]);
    assert.ok(seen.pulled <= 2);
    assert.equal(getEventListeners(controller.signal, 'abort').length, 0);
  });

  test('a signal that is aborted before is the reason, and wrong arguments are rejections', async () => {
    const limiter = new ConcurrencyLimiter(1);
    const never = () => assert.fail('called');
    const reason = new Error('enough');
    await assert.rejects(limiter.map([1], never, { signal: AbortSignal.abort(reason) }), (error) => error === reason);
    for (const timeoutMs of [-1, NaN]) {
      await assert.rejects(limiter.map([1], never, { timeoutMs }), { name: 'RangeError', argument: 'timeoutMs' });
    }
    await assert.rejects(limiter.map(5, never), { name: 'TypeError', argument: 'iterable' });
    assert.equal(limiter.stats().allowed, 0);
  });

  test('a timeout is for each wait', async () => {
    const limiter = new ConcurrencyLimiter(1);
    const held = await limiter.acquire();
    await assert.rejects(
      limiter.map([1], () => assert.fail('called'), { timeoutMs: 1, permits: 1 }),
      TimedOutError,
    );
    held.release();
    assert.ok(new RefusedError('') instanceof Error);
  });
});

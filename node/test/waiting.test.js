'use strict';
// Waiting for permits and tokens: order, timeouts, signals, closing. Manual clocks but where timers are the subject.

const assert = require('node:assert/strict');
const { AsyncLocalStorage } = require('node:async_hooks');
const { getEventListeners } = require('node:events');
const { after, before, describe, test } = require('node:test');
const {
  ClosedError,
  ConcurrencyLimiter,
  ExceedsCapacityError,
  ManualClock,
  QueueFullError,
  RateLimiter,
  RefusedError,
  Reservation,
  TimedOutError,
} = require('tidegate');

// Waits keep no process alive, and so no test.
let alive;
before(() => {
  alive = setInterval(() => {}, 60_000);
});
after(() => clearInterval(alive));

const turn = () => new Promise(setImmediate);

/** What became of promises so far: their values, `wait` for those that wait, or what they were rejected with. */
async function standing(promises) {
  const seen = promises.map(() => 'wait');
  for (const [index, promise] of promises.entries()) {
    promise.then(
      (value) => {
        seen[index] = value;
      },
      (error) => {
        seen[index] = error;
      },
    );
  }
  await turn();
  return seen;
}

/** How each stands: `got`, `wait`, or the name of an error. */
const names = async (promises) =>
  (await standing(promises)).map((one) => (one === 'wait' ? one : one instanceof Error ? one.name : 'got'));

function rateAt(quotas, options) {
  const clock = new ManualClock();
  return { clock, limiter: new RateLimiter(quotas, { ...options, clock }) };
}

describe('waiting for permits', () => {
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
      await assert.rejects(
        limiter.map([1], () => {}, { timeoutMs }),
        expected,
      );
    }
    await assert.rejects(limiter.acquire(1, { timeoutMs: '5' }), { name: 'TypeError', argument: 'timeoutMs' });
    await assert.rejects(limiter.acquire(1, { signal: {} }), { name: 'TypeError', argument: 'signal' });
    await assert.rejects(limiter.acquire(1, { timeout: 5 }), { argument: 'options.timeout' });
    await assert.rejects(
      limiter.map(5, () => {}),
      { name: 'TypeError', argument: 'iterable' },
    );
    assert.equal(limiter.inFlight, 0);
    for (const maxWaiters of [-1, 0.5, 2 ** 32]) {
      const expected = { name: 'ConfigError', argument: 'maxWaiters' };
      assert.throws(() => new ConcurrencyLimiter(1, { maxWaiters }), expected);
      assert.throws(() => new RateLimiter('1/s', { maxWaiters }), expected);
    }
  });
});

describe('waiting for tokens', () => {
  for (const algorithm of ['gcra', 'fixed_window', 'sliding_window', 'sliding_log']) {
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
    const limiter = new RateLimiter('100/s burst 1');
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
    const real = new RateLimiter('1/h');
    await real.acquire();
    const sooner = real.acquire();
    real.reconfigure('100/s burst 1');
    await sooner;
  });

  test('run and map wait for their turns', async () => {
    const { clock, limiter } = rateAt('1/s');
    assert.equal(await limiter.run(() => 'first'), 'first');
    const ran = limiter.run(async () => 'second', { cost: 1 });
    assert.deepEqual(await names([ran]), ['wait']);
    clock.advance(1000);
    assert.equal(await ran, 'second');
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
});

describe('reserving', () => {
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

describe('a signal', () => {
  const reason = new Error('enough');
  const isReason = (error) => error === reason;

  test('that is aborted before rejects with its reason, and takes nothing', async () => {
    const limiter = new ConcurrencyLimiter(1);
    const signal = AbortSignal.abort(reason);
    await assert.rejects(limiter.acquire(1, { signal }), isReason);
    await assert.rejects(
      limiter.run(() => assert.fail('called'), { signal }),
      isReason,
    );
    await assert.rejects(
      limiter.map([1], () => assert.fail('called'), { signal }),
      isReason,
    );
    assert.deepEqual([limiter.inFlight, limiter.stats().allowed], [0, 0]);
  });

  test('that is aborted meanwhile leaves the queue to the next, and the listener goes', async () => {
    const limiter = new ConcurrencyLimiter(1);
    const permit = await limiter.acquire();
    const controller = new AbortController();
    const { signal } = controller;
    const waits = [limiter.acquire(1, { signal }), limiter.acquire()];
    assert.equal(getEventListeners(signal, 'abort').length, 1);
    controller.abort(reason);
    assert.equal(limiter.waiting, 1);
    await assert.rejects(waits[0], isReason);
    assert.equal(getEventListeners(signal, 'abort').length, 0);
    permit.release();
    await waits[1];
    assert.deepEqual([limiter.stats().cancelled, limiter.inFlight], [1, 1]);
  });

  test('that is aborted in the instant of the grant gives the permit to the next', async () => {
    const limiter = new ConcurrencyLimiter(1);
    const permit = await limiter.acquire();
    const controller = new AbortController();
    const { signal } = controller;
    const waits = [limiter.acquire(1, { signal }), limiter.acquire()];
    permit.release();
    controller.abort(reason);
    await assert.rejects(waits[0], isReason);
    (await waits[1]).release();
    assert.deepEqual([limiter.available, limiter.waiting, getEventListeners(signal, 'abort').length], [1, 0, 0]);
  });

  test('that is aborted after the grant changes nothing', async () => {
    const limiter = new ConcurrencyLimiter(1);
    const first = await limiter.acquire();
    const controller = new AbortController();
    const { signal } = controller;
    const wait = limiter.acquire(1, { signal });
    first.release();
    const permit = await wait;
    assert.equal(getEventListeners(signal, 'abort').length, 0);
    controller.abort(reason);
    assert.deepEqual([permit.released, limiter.inFlight], [false, 1]);
    permit.release();
    const free = await limiter.acquire(1, { signal: new AbortController().signal });
    free.release();
  });

  test('is let go of when the wait times out or the limiter closes', async () => {
    const limiter = new ConcurrencyLimiter(0);
    const { signal } = new AbortController();
    await assert.rejects(limiter.acquire(1, { signal, timeoutMs: 1 }), TimedOutError);
    const wait = limiter.acquire(1, { signal });
    limiter.close();
    await assert.rejects(wait, ClosedError);
    assert.equal(getEventListeners(signal, 'abort').length, 0);
  });

  test('may be shared by many waits, and AbortSignal.timeout is one', async () => {
    const limiter = new ConcurrencyLimiter(0);
    const warned = [];
    const onWarning = (warning) => warned.push(warning);
    process.on('warning', onWarning);
    const signal = AbortSignal.timeout(5);
    const waits = Array.from({ length: 100 }, () => limiter.acquire(1, { signal }));
    for (const wait of waits) await assert.rejects(wait, { name: 'TimeoutError' });
    await turn();
    process.off('warning', onWarning);
    assert.deepEqual([warned, limiter.waiting], [[], 0]);
  });

  test('that is aborted in the instant of the grant gives the tokens back', async () => {
    const { clock, limiter } = rateAt('1/s');
    await limiter.acquire();
    const controller = new AbortController();
    const wait = limiter.acquire(1, { signal: controller.signal });
    clock.advance(1000);
    controller.abort(reason);
    await assert.rejects(wait, isReason);
    assert.equal(limiter.peek().remaining, 1);
  });

  test('ends a wait for tokens', async () => {
    const { clock, limiter } = rateAt('1/s');
    await limiter.acquire();
    const controller = new AbortController();
    const waits = [limiter.acquire(1, { signal: controller.signal }), limiter.acquire()];
    controller.abort(reason);
    await assert.rejects(waits[0], isReason);
    clock.advance(1000);
    await waits[1];
    assert.equal(limiter.stats().cancelled, 1);
  });
});

describe('run, waiting', () => {
  test('calls the function in the same step if there is room, else in its turn', async () => {
    const limiter = new ConcurrencyLimiter(2);
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
    const limiter = new ConcurrencyLimiter(1);
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

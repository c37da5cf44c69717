'use strict';

const assert = require('node:assert/strict');
const { describe, test } = require('node:test');
const { setImmediate: turn } = require('node:timers/promises');
const {
  ConcurrencyLimiter,
  ExceedsCapacityError,
  ManualClock,
  Permit,
  RefusedError,
  TidegateError,
  TimedOutError,
} = require('tidegate');
const { guardsEachKindOfFunction } = require('./guards.js');

/** How a limiter stands. */
const standing = ({ limit, inFlight, available }) => ({ limit, inFlight, available });

/** A promise to be settled by hand. */
function deferred() {
  const settle = {};
  const promise = new Promise((resolve, reject) => Object.assign(settle, { resolve, reject }));
  return { promise, ...settle };
}

describe('concurrency limiter', () => {
  test('lends so many permits at once and no more', () => {
    const limiter = new ConcurrencyLimiter(2);
    const first = limiter.tryAcquire();
    assert.ok(first instanceof Permit);
    assert.equal(first.permits, 1);
    limiter.tryAcquire();
    assert.deepEqual(standing(limiter), { limit: 2, inFlight: 2, available: 0 });
    assert.equal(limiter.tryAcquire(), null);
    first.release();
    assert.deepEqual(standing(limiter), { limit: 2, inFlight: 1, available: 1 });
  });

  test('never has more than 3 of 10 callers in at once', async () => {
    const limiter = new ConcurrencyLimiter(3);
    let inside = 0;
    let peak = 0;
    const visit = async () => {
      let permit = limiter.tryAcquire();
      while (!permit) {
        await turn();
        permit = limiter.tryAcquire();
      }
      peak = Math.max(peak, ++inside);
      await turn();
      inside--;
      permit.release();
    };
    await Promise.all(Array.from({ length: 10 }, visit));
    assert.equal(peak, 3);
    assert.deepEqual(standing(limiter), { limit: 3, inFlight: 0, available: 3 });
  });

  test('permits may be released in any order and from other tasks', async () => {
    const limiter = new ConcurrencyLimiter(2);
    const [a, b] = [limiter.tryAcquire(), limiter.tryAcquire()];
    a.release();
    await Promise.resolve().then(() => b.release());
    assert.equal(limiter.inFlight, 0);
  });

  test('a second release is an error and changes nothing', () => {
    const limiter = new ConcurrencyLimiter(2);
    const [permit] = [limiter.tryAcquire(2)];
    permit.release();
    const other = limiter.tryAcquire();
    assert.throws(
      () => permit.release(),
      (error) =>
        error instanceof TidegateError &&
        error.code === 'ERR_TIDEGATE_PERMIT' &&
        error.argument === 'permit' &&
        error.message === 'permit: got one that was released before; allowed: a permit that is still held',
    );
    assert.deepEqual([permit.permits, permit.released, other.released], [2, true, false]);
    assert.deepEqual(standing(limiter), { limit: 2, inFlight: 1, available: 1 });
    other.release();
  });

  test('only limiters make permits', () => {
    assert.throws(() => new Permit(), TypeError);
    assert.throws(() => Permit.prototype.release.call({}), TypeError);
  });

  test('leaving a scope releases what is still held, once', () => {
    const limiter = new ConcurrencyLimiter(1);
    limiter.tryAcquire()[Symbol.dispose]();
    assert.equal(limiter.inFlight, 0);
    const permit = limiter.tryAcquire();
    permit.release(false);
    permit[Symbol.dispose]();
    assert.deepEqual([limiter.inFlight, limiter.stats().releasedOk, limiter.stats().releasedFailed], [0, 1, 1]);
  });

  test('a limit of 0 refuses all', () => {
    const limiter = new ConcurrencyLimiter(0);
    assert.equal(limiter.tryAcquire(), null);
    assert.deepEqual(standing(limiter), { limit: 0, inFlight: 0, available: 0 });
  });

  test('3 permits of a limit of 2 are refused at once, and then 1 can be had', () => {
    const limiter = new ConcurrencyLimiter(2);
    assert.equal(limiter.tryAcquire(3), null);
    assert.ok(limiter.tryAcquire(1));
  });

  test('after the limit went down and up again, permits that are out still count', () => {
    const limiter = new ConcurrencyLimiter(2);
    const permits = [limiter.tryAcquire(), limiter.tryAcquire()];
    limiter.limit = 1;
    assert.equal(limiter.tryAcquire(), null);
    limiter.limit = 2;
    assert.equal(limiter.tryAcquire(), null);
    permits[0].release();
    assert.ok(limiter.tryAcquire());
  });

  test('a limit set below what is out, from inside a call, takes effect at once and lends again below it', async () => {
    const limiter = new ConcurrencyLimiter(5);
    const permits = Array.from({ length: 4 }, () => limiter.tryAcquire());
    await limiter.run(() => {
      limiter.limit = 2;
      assert.deepEqual(standing(limiter), { limit: 2, inFlight: 5, available: 0 });
    });
    permits.pop().release();
    permits.pop().release();
    assert.equal(limiter.tryAcquire(), null);
    permits.pop().release();
    assert.ok(limiter.tryAcquire());
  });

  test('counts what was admitted, refused and released, as ok or failed', () => {
    const limiter = new ConcurrencyLimiter(2);
    const permit = limiter.tryAcquire(2);
    limiter.tryAcquire();
    permit.release(false);
    limiter.tryAcquire().release();
    limiter.tryAcquire().release(true);
    assert.deepEqual(limiter.stats(), {
      allowed: 3,
      denied: 1,
      timedOut: 0,
      cancelled: 0,
      waiting: 0,
      limit: 2,
      inFlight: 0,
      available: 2,
      releasedOk: 2,
      releasedFailed: 1,
    });
  });

  test('hold times are written to JSON, nanoseconds as decimal strings', () => {
    const clock = new ManualClock();
    const limiter = new ConcurrencyLimiter(1, { trackHoldTime: true, clock });
    const permit = limiter.tryAcquire();
    clock.advanceNs(1_500_000);
    permit.release();
    const { holdTimeTotalNs, holdTimeMaxNs, holdTimeTotalMs, allowed } = JSON.parse(JSON.stringify(limiter.stats()));
    assert.deepEqual([holdTimeTotalNs, holdTimeMaxNs, holdTimeTotalMs, allowed], ['1500000', '1500000', 1.5, 1]);
    assert.equal(Object.keys(limiter.stats()).includes('toJSON'), false);
  });

  test('measures hold times only when told to, on the clock that it is given', () => {
    const clock = new ManualClock();
    const limiter = new ConcurrencyLimiter(2, { trackHoldTime: true, clock });
    const long = limiter.tryAcquire();
    clock.advance(5);
    const short = limiter.tryAcquire();
    clock.advanceNs(1_500_000);
    short.release();
    long.release();
    const { holdTimeTotalNs, holdTimeTotalMs, holdTimeMaxNs, holdTimeMaxMs } = limiter.stats();
    assert.deepEqual([holdTimeTotalNs, holdTimeMaxNs], [8_000_000n, 6_500_000n]);
    assert.deepEqual([holdTimeTotalMs, holdTimeMaxMs], [8, 6.5]);
  });

  test('hold times are exact at the end of time', () => {
    const clock = new ManualClock();
    clock.setNs(2n ** 64n - 10n);
    const limiter = new ConcurrencyLimiter(1, { trackHoldTime: true, clock });
    const permit = limiter.tryAcquire();
    clock.advanceNs(3);
    permit.release();
    assert.equal(limiter.stats().holdTimeTotalNs, 3n);
  });

  test('wrong limits are named with their value and what is allowed, and change nothing', () => {
    const limiter = new ConcurrencyLimiter(1);
    const allowed = 'a whole number from 0 to 2147483647';
    const set = (limit) => {
      limiter.limit = limit;
    };
    for (const make of [(limit) => new ConcurrencyLimiter(limit), set]) {
      for (const limit of [-1, 1.5, NaN, Infinity, 2 ** 31, 2 ** 32 + 1, 2 ** 64]) {
        assert.throws(() => make(limit), {
          name: 'ConfigError',
          code: 'ERR_TIDEGATE_CONFIG',
          argument: 'limit',
          message: `limit: got ${limit}; allowed: ${allowed}`,
        });
      }
      for (const limit of ['1', 1n, null, undefined, true, {}]) {
        assert.throws(() => make(limit), { name: 'TypeError', argument: 'limit' });
      }
    }
    assert.equal(limiter.limit, 1);
    set(2 ** 31 - 1);
    assert.equal(limiter.available, 2 ** 31 - 1);
  });

  test('wrong permits are named with their value and what is allowed, and take nothing', () => {
    const limiter = new ConcurrencyLimiter(5);
    for (const permits of [0, -1, 0.5, NaN, Infinity, 2 ** 53, 2 ** 64]) {
      assert.throws(() => limiter.tryAcquire(permits), {
        name: 'RangeError',
        code: 'ERR_TIDEGATE_OUT_OF_RANGE',
        message: `permits: got ${permits}; allowed: a whole number from 1 to 9007199254740991`,
      });
    }
    for (const permits of ['1', 1n, true, null, {}]) {
      assert.throws(() => limiter.tryAcquire(permits), { name: 'TypeError', argument: 'permits' });
    }
    assert.equal(limiter.tryAcquire(2 ** 32 + 1), null);
    assert.equal(limiter.inFlight, 0);
  });

  test('wrong options are named', () => {
    for (const [options, argument] of [
      [{ trackHoldTime: 1 }, 'trackHoldTime'],
      [{ trackHoldTimes: true }, 'options.trackHoldTimes'],
      [null, 'options'],
      [new ManualClock(), 'options'],
      [[], 'options'],
      [new Date(), 'options'],
    ]) {
      assert.throws(() => new ConcurrencyLimiter(1, options), { name: 'TypeError', argument });
    }
  });

  test('ok is true or false; anything else keeps the permit', () => {
    const limiter = new ConcurrencyLimiter(1);
    const permit = limiter.tryAcquire();
    assert.throws(() => permit.release('no'), { name: 'TypeError', message: "ok: got 'no'; allowed: true, false" });
    assert.equal(limiter.inFlight, 1);
    permit.release();
  });
});

describe('run', () => {
  test('holds the permit until the promise settles, and passes on its value', async () => {
    const limiter = new ConcurrencyLimiter(1);
    const { promise, resolve } = deferred();
    const running = limiter.run(() => promise);
    assert.equal(limiter.inFlight, 1);
    await turn();
    assert.equal(limiter.inFlight, 1);
    resolve('done');
    assert.equal(await running, 'done');
    assert.deepEqual([limiter.inFlight, limiter.stats().releasedOk], [0, 1]);
  });

  test('releases as failed when the promise rejects or the function throws', async () => {
    const limiter = new ConcurrencyLimiter(1);
    const failure = new Error('of the work');
    const isFailure = (error) => error === failure;
    await assert.rejects(
      limiter.run(() => Promise.reject(failure)),
      isFailure,
    );
    const throwing = limiter.run(() => {
      throw failure;
    });
    await assert.rejects(throwing, isFailure);
    assert.deepEqual([limiter.inFlight, limiter.stats().releasedFailed], [0, 2]);
  });

  test('releases once, whatever the promise that the function returns is like', async () => {
    const failure = new Error('of the promise');
    const fail = () => {
      throw failure;
    };
    const own = (name, property) => Object.defineProperty(Promise.resolve(5), name, property);
    const foreign = (then) => ({ then });
    const both = (resolve, reject) => {
      resolve(5);
      reject(failure);
      resolve(6);
      fail();
    };
    for (const [make, ok] of [
      [() => own('constructor', { get: fail }), false],
      [() => own('then', { value: fail }), true],
      [() => own('then', { get: fail }), false],
      [() => foreign(fail), false],
      [() => foreign(both), true],
    ]) {
      const limiter = new ConcurrencyLimiter(2);
      const other = limiter.tryAcquire();
      const guarded = limiter.guard(make);
      for (const call of [() => limiter.run(make), async () => guarded()]) {
        if (ok) assert.equal(await call(), 5);
        else await assert.rejects(call, (error) => error === failure);
        assert.equal(limiter.inFlight, 1, String(make));
      }
      const { releasedOk, releasedFailed } = limiter.stats();
      assert.deepEqual([releasedOk, releasedFailed], ok ? [2, 0] : [0, 2], String(make));
      other.release();
    }
  });

  test('releases when the work fails with the error of a limiter', async () => {
    const [outer, inner] = [new ConcurrencyLimiter(1), new ConcurrencyLimiter(0)];
    await assert.rejects(
      outer.run(() => inner.run(() => assert.fail('called though refused'), { timeoutMs: 0 })),
      TimedOutError,
    );
    assert.deepEqual([outer.inFlight, outer.available], [0, 1]);
  });

  test('rejects at once when no permit can be had and it may not wait', async () => {
    const limiter = new ConcurrencyLimiter(1);
    const permit = limiter.tryAcquire();
    await assert.rejects(
      limiter.run(() => assert.fail('called though refused'), { timeoutMs: 0 }),
      { constructor: TimedOutError, message: /^can not be had in time: 1 permit asked within 0 ms, 1 of 1 out/ },
    );
    permit.release();
    assert.equal(await limiter.run(() => 5), 5);
  });

  test('rejects what can never be had as such', async () => {
    const limiter = new ConcurrencyLimiter(2);
    await assert.rejects(
      limiter.run(() => {}, { permits: 3 }),
      (error) =>
        error instanceof ExceedsCapacityError &&
        error instanceof RefusedError &&
        error.message === '3 permits can never be had: the limit is 2',
    );
    assert.equal(await limiter.run(() => limiter.inFlight, { permits: 2 }), 2);
  });

  test('wrong arguments are rejections that name them', async () => {
    const limiter = new ConcurrencyLimiter(2);
    await assert.rejects(limiter.run(5), { name: 'TypeError', argument: 'fn' });
    await assert.rejects(
      limiter.run(() => {}, { permits: 0 }),
      { name: 'RangeError', argument: 'permits' },
    );
    for (const options of [new ManualClock(), [2], limiter]) {
      await assert.rejects(
        limiter.run(() => {}, options),
        { name: 'TypeError', argument: 'options' },
      );
      assert.throws(() => limiter.guard(() => {}, options), { name: 'TypeError', argument: 'options' });
    }
  });
});

describe('concurrency limiter guard', () => {
  test('says how many permits were asked for, and that the limit is 0', () => {
    const refused = (limiter, permits) => limiter.guard(() => assert.fail('called though refused'), { permits });
    assert.throws(refused(new ConcurrencyLimiter(0), 2), {
      name: 'RefusedError',
      message: 'refused: 2 permits asked, the limit is 0',
    });
    const limiter = new ConcurrencyLimiter(1);
    const permit = limiter.tryAcquire();
    assert.throws(refused(limiter, 1), {
      name: 'RefusedError',
      decision: undefined,
      message: 'refused: 1 permit asked, 0 of 1 available',
    });
    permit.release();
  });

  test('holds a permit during each call', async () => {
    const limiter = new ConcurrencyLimiter(1);
    const inside = limiter.guard(() => limiter.inFlight);
    assert.deepEqual([inside(), inside(), limiter.inFlight], [1, 1, 0]);
    const later = limiter.guard(async () => {
      await turn();
      return limiter.inFlight;
    });
    const running = later();
    assert.throws(inside, RefusedError);
    assert.deepEqual([await running, limiter.inFlight], [1, 0]);
  });

  test('counts what throws or rejects as failed', async () => {
    const limiter = new ConcurrencyLimiter(1);
    const failure = new Error('of the work');
    assert.throws(
      limiter.guard(() => {
        throw failure;
      }),
      failure,
    );
    await assert.rejects(limiter.guard(async () => Promise.reject(failure))(), failure);
    await assert.rejects(limiter.guard(() => Promise.reject(failure))(), failure);
    const { inFlight, releasedFailed, releasedOk } = limiter.stats();
    assert.deepEqual([inFlight, releasedFailed, releasedOk], [0, 3, 0]);
  });

  test('holds a permit while a generator runs: to its end, its failure, or until it is left', () => {
    const limiter = new ConcurrencyLimiter(1);
    const numbers = limiter.guard(function* () {
      yield limiter.inFlight;
      yield limiter.inFlight;
    });
    assert.deepEqual([...numbers(), limiter.inFlight], [1, 1, 0]);
    for (const seen of numbers()) {
      assert.equal(seen, 1);
      break;
    }
    const running = numbers();
    running.next();
    assert.throws(() => running.throw(new Error('of the caller')), /of the caller/);
    const { inFlight, releasedOk, releasedFailed } = limiter.stats();
    assert.deepEqual([inFlight, releasedOk, releasedFailed], [0, 2, 1]);
  });

  test('takes several permits a call', () => {
    const limiter = new ConcurrencyLimiter(5);
    assert.equal(limiter.guard(() => limiter.inFlight, { permits: 3 })(), 3);
    assert.throws(
      limiter.guard(() => {}, { permits: 6 }),
      ExceedsCapacityError,
    );
  });

  guardsEachKindOfFunction(
    (fn) => new ConcurrencyLimiter(1).guard(fn),
    (fn) => new ConcurrencyLimiter(0).guard(fn),
  );
});

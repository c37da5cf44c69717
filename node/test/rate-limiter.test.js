'use strict';

const assert = require('node:assert/strict');
const { describe, test } = require('node:test');
const { inspect } = require('node:util');
const { runInNewContext } = require('node:vm');
const {
  ConcurrencyLimiter,
  ExceedsCapacityError,
  ManualClock,
  NEVER_NS,
  Quota,
  RateLimiter,
  RefusedError,
  TidegateError,
} = require('tidegate');
const { guardsEachKindOfFunction } = require('./guards.js');

describe('rate limiter', () => {
  test('is built from a quota, its text, its parts, or a list of these', () => {
    for (const [quotas, texts] of [
      [new Quota({ limit: 5, perMs: 1000 }), ['5/s']],
      ['5/s', ['5/s']],
      ['2/s; 100/h', ['2/s', '100/h']],
      [{ limit: 5, perMs: 1000, burst: 2 }, ['5/s burst 2']],
      [
        [Quota.parse('2/s'), '3/min', { limit: 4, perMs: 3_600_000 }],
        ['2/s', '3/min', '4/h'],
      ],
    ]) {
      const limiter = new RateLimiter(quotas);
      assert.deepEqual(limiter.quotas.map(String), texts);
      assert.equal(String(limiter.quota), texts[0]);
    }
  });

  test('spends one token unless told otherwise, and says what is left', () => {
    const limiter = new RateLimiter('5/s', { clock: new ManualClock() });
    assert.equal(limiter.tryAcquire(), true);
    assert.equal(limiter.tryAcquire(2), true);
    assert.equal(limiter.tryAcquire(undefined), true);
    assert.equal(limiter.peek().remaining, 1);
    assert.equal(limiter.tryAcquire(2), false);
    assert.equal(limiter.decide().remaining, 0);
  });

  test('tells all figures of a decision, which is immutable', () => {
    const limiter = new RateLimiter('2/s; 4/min', { clock: new ManualClock() });
    assert.deepEqual(
      { ...limiter.decide(2) },
      {
        allowed: true,
        status: 'allowed',
        limit: 2,
        remaining: 0,
        retryAfterMs: 0,
        retryAfterSeconds: 0,
        retryAfterNs: 0n,
        resetAfterMs: 30_000,
        resetAfterNs: 30_000_000_000n,
        quota: 0,
      },
    );
    const refused = limiter.decide(4);
    assert.deepEqual([refused.allowed, refused.status, refused.quota], [false, 'exceeds_capacity', 0]);
    assert.ok(Object.isFrozen(refused));
    assert.throws(() => new refused.constructor(), TypeError);
  });

  test('tells whole seconds for a Retry-After header: rounded up, never 0 when refused, null for never', () => {
    const clock = new ManualClock();
    const seconds = (quota) => {
      const limiter = new RateLimiter(quota, { clock });
      return [limiter.decide().retryAfterSeconds, limiter.decide().retryAfterSeconds];
    };
    assert.deepEqual(seconds('1/ns fixed_window'), [0, 1]);
    assert.deepEqual(seconds('1/s'), [0, 1]);
    assert.deepEqual(seconds('1/1001ms'), [0, 2]);
    assert.deepEqual(seconds('1/728d'), [0, 62_899_200]);
    assert.deepEqual(seconds('0/s'), [null, null]);
    assert.equal(new RateLimiter('5/s').decide(6).retryAfterSeconds, null);
  });

  test('a decision is written to JSON, exact times as decimal strings', () => {
    const limiter = new RateLimiter('1/3s', { clock: new ManualClock() });
    limiter.tryAcquire();
    assert.deepEqual(JSON.parse(JSON.stringify([limiter.decide()])), [
      {
        allowed: false,
        status: 'denied',
        limit: 1,
        remaining: 0,
        retryAfterMs: 3000,
        retryAfterSeconds: 3,
        retryAfterNs: '3000000000',
        resetAfterMs: 3000,
        resetAfterNs: '3000000000',
        quota: 0,
      },
    ]);
    const { retryAfterMs, retryAfterNs } = JSON.parse(JSON.stringify(limiter.peek(2)));
    assert.deepEqual([retryAfterMs, retryAfterNs], [null, String(NEVER_NS)]);
  });

  test('peek spends nothing and counts nowhere', () => {
    const limiter = new RateLimiter('1/s', { clock: new ManualClock() });
    for (let call = 0; call < 5; call++) assert.equal(limiter.peek().allowed, true);
    assert.deepEqual(limiter.stats(), { allowed: 0, denied: 0, timedOut: 0, cancelled: 0, waiting: 0 });
  });

  test('counts calls that were admitted and refused', () => {
    const limiter = new RateLimiter('2/s', { clock: new ManualClock() });
    limiter.tryAcquire();
    limiter.decide();
    limiter.tryAcquire();
    limiter.decide(3);
    assert.throws(() => limiter.tryAcquire(0));
    assert.deepEqual(limiter.stats(), { allowed: 2, denied: 2, timedOut: 0, cancelled: 0, waiting: 0 });
  });

  test('a refund gives back what was taken', () => {
    const limiter = new RateLimiter('5/s', { clock: new ManualClock() });
    limiter.refund(limiter.decide(3));
    assert.equal(limiter.peek().remaining, 5);
  });

  test('a reset makes everything unspent and voids refunds from before', () => {
    const limiter = new RateLimiter('5/s; 5/min fixed_window', { clock: new ManualClock() });
    const before = limiter.decide(3);
    limiter.reset();
    limiter.tryAcquire(4);
    limiter.refund(before);
    assert.equal(limiter.peek().remaining, 1);
  });

  test('a reconfiguration that does not fit names what must stay, and changes nothing', () => {
    const limiter = new RateLimiter('5/s', { clock: new ManualClock() });
    limiter.tryAcquire(2);
    for (const quotas of ['5/s; 6/min', '5/s fixed_window', '5/M']) {
      assert.throws(() => limiter.reconfigure(quotas), { name: 'ConfigError', argument: 'quota' });
    }
    assert.throws(() => limiter.reconfigure([]), { name: 'ConfigError', argument: 'quotas' });
    assert.deepEqual(limiter.quotas.map(String), ['5/s']);
    assert.equal(limiter.peek().remaining, 3);
  });

  test('1 to 16 quotas make a limiter', () => {
    const some = (count) => Array(count).fill('1/s');
    assert.equal(new RateLimiter(some(16)).quotas.length, 16);
    for (const count of [0, 17]) {
      assert.throws(() => new RateLimiter(some(count)), {
        name: 'ConfigError',
        message: `quotas: got ${count} quotas; allowed: 1 to 16 quotas`,
      });
    }
  });

  for (const method of ['tryAcquire', 'decide', 'peek']) {
    test(`${method}: a wrong cost is named with its value and what is allowed, and nothing is spent`, () => {
      const limiter = new RateLimiter('5/s', { clock: new ManualClock() });
      const allowed = 'a whole number from 1 to 9007199254740991';
      for (const cost of [0, -0, -1, 0.5, 1.5, NaN, Infinity, -Infinity, 2 ** 53, 2 ** 64, 1e300]) {
        const text = Object.is(cost, -0) ? '-0' : String(cost);
        assert.throws(() => limiter[method](cost), {
          name: 'RangeError',
          code: 'ERR_TIDEGATE_OUT_OF_RANGE',
          argument: 'cost',
          message: `cost: got ${text}; allowed: ${allowed}`,
        });
      }
      for (const [cost, text] of [
        ['1', "'1'"],
        [1n, '1n'],
        [true, 'true'],
        [null, 'null'],
        [[1], '[ 1 ]'],
      ]) {
        assert.throws(() => limiter[method](cost), {
          name: 'TypeError',
          code: 'ERR_TIDEGATE_INVALID_TYPE',
          argument: 'cost',
          message: `cost: got ${text}; allowed: ${allowed}`,
        });
      }
      assert.throws(() => limiter[method]({ valueOf: () => assert.fail('foreign code was run') }), TypeError);
      assert.equal(limiter.peek().remaining, 5);
      assert.deepEqual(limiter.stats(), { allowed: 0, denied: 0, timedOut: 0, cancelled: 0, waiting: 0 });
    });
  }

  test('2³²+1 is not 1, and the largest cost is taken whole', () => {
    const limiter = new RateLimiter({ limit: 2 ** 32, perMs: 1000 }, { clock: new ManualClock() });
    assert.equal(limiter.tryAcquire(2 ** 32 + 1), false);
    assert.equal(limiter.peek(Number.MAX_SAFE_INTEGER).status, 'exceeds_capacity');
    assert.equal(limiter.tryAcquire(2 ** 32), true);
  });

  test('what is no plain object is refused as options, such as a clock that is meant to be one of them', () => {
    const clock = new ManualClock();
    for (const [options, text] of [
      [clock, 'ManualClock {}'],
      [[clock], '[ ManualClock {} ]'],
      [new Date(0), '1970-01-01T00:00:00.000Z'],
      [new (class Settings {})(), 'Settings {}'],
      [null, 'null'],
    ]) {
      assert.throws(() => new RateLimiter('5/s', options), {
        name: 'TypeError',
        code: 'ERR_TIDEGATE_INVALID_TYPE',
        message: `options: got ${text}; allowed: a plain object { clock, maxWaiters, shared }`,
      });
    }
    for (const options of [{ clock }, { __proto__: null, clock }, runInNewContext('({ clock })', { clock })]) {
      const limiter = new RateLimiter('1/s', options);
      clock.advance(1000);
      assert.deepEqual([limiter.tryAcquire(), limiter.tryAcquire()], [true, false]);
    }
  });

  test('what is wrong in a list is named with its place', () => {
    for (const [quotas, argument, value] of [
      [['1/s', 3], 'quotas[1]', '3'],
      // biome-ignore lint/suspicious/noSparseArray: that is what is tested
      [['1/s', , '2/s'], 'quotas[1]', 'undefined'],
      [new Array(3), 'quotas[0]', 'undefined'],
      [['1/s', Object.create(Quota.prototype)], 'quotas[1]', 'Quota {}'],
      [['1/s', new Proxy(Quota.parse('5/s'), {})], 'quotas[1]', inspect(Quota.parse('5/s'), { breakLength: Infinity })],
      [Object.create(Quota.prototype), 'quota', 'Quota {}'],
      [['1/s', '5/M'], 'quotas[1]', '"5/M"'],
      [['5/s burst 0', 3], 'quotas[0].burst', '0'],
      [['1/s', { limit: -1, perMs: 1 }], 'quotas[1].limit', '-1'],
      [['1/s', { limit: 1 }], 'quotas[1].perMs', 'undefined'],
      [['1/s', { limit: 1, perMs: 1, burts: 2 }], 'quotas[1].burts', '2'],
      [['1/s', { limit: 1, perMs: 1e20 }], 'quotas[1].perMs', '100000000000000000000'],
    ]) {
      const wrong = (error) =>
        error instanceof TidegateError &&
        error.argument === argument &&
        error.value === value &&
        error.message === `${argument}: got ${value}; allowed: ${error.allowed}`;
      assert.throws(() => new RateLimiter(quotas), wrong, argument);
      assert.throws(() => new RateLimiter('1/s').reconfigure(quotas), wrong, argument);
    }
  });

  test('without a quota, the error tells all that may be given', () => {
    for (const quotas of [undefined, null, 5]) {
      assert.throws(() => new RateLimiter(quotas), {
        name: 'TypeError',
        argument: 'quotas',
        allowed: "a Quota, its text such as '100/s', or { limit, perMs, burst }, or a list of these",
      });
    }
  });

  test('errors bear the argument, its value and what is allowed, from wherever they come', () => {
    const limiter = new RateLimiter('5/s');
    const permit = new ConcurrencyLimiter(1).tryAcquire();
    permit.release();
    for (const [call, argument, value, allowed] of [
      [() => limiter.tryAcquire(0), 'cost', '0', 'a whole number from 1 to 9007199254740991'],
      [() => limiter.decide('1'), 'cost', "'1'", 'a whole number from 1 to 9007199254740991'],
      [() => Quota.parse('5/s burst 0'), 'burst', '0', '1 to 9007199254740991'],
      [() => Quota.parse('; allowed: 5'), 'quota', '"; allowed: 5"', /^one quota; /],
      [() => new ConcurrencyLimiter(-1), 'limit', '-1', 'a whole number from 0 to 2147483647'],
      [() => permit.release(), 'permit', 'one that was released before', 'a permit that is still held'],
    ]) {
      assert.throws(call, { argument, value, allowed });
    }
  });

  test('misspelt options are refused', () => {
    assert.throws(() => new RateLimiter('5/s', { clok: 1 }), {
      name: 'TypeError',
      message: 'options.clok: got 1; allowed: clock, maxWaiters, shared',
    });
    assert.throws(() => new RateLimiter('5/s', 5), { name: 'TypeError', argument: 'options' });
  });

  test('a method on something else is a TypeError, not a crash', () => {
    for (const method of ['tryAcquire', 'decide', 'peek', 'reset', 'stats']) {
      assert.throws(() => RateLimiter.prototype[method].call({}), TypeError);
    }
  });

  test('errors of arguments are RangeErrors or TypeErrors, and TidegateErrors, but no other of ours', () => {
    const limiter = new RateLimiter('5/s');
    assert.throws(
      () => limiter.tryAcquire(NaN),
      (error) => error instanceof RangeError && error instanceof TidegateError,
    );
    assert.throws(
      () => limiter.tryAcquire(''),
      (error) => error instanceof TypeError && error instanceof TidegateError,
    );
    assert.throws(
      () => limiter.tryAcquire(NaN),
      (error) => !(error instanceof RefusedError),
    );
    for (const foreign of [new RangeError('x'), new TypeError('x'), undefined, 5]) {
      assert.equal(foreign instanceof TidegateError, false);
    }
  });
});

describe('rate limiter guard', () => {
  test('spends for each call, and refuses with the decision', () => {
    const clock = new ManualClock();
    const limiter = new RateLimiter('2/s', { clock });
    const double = limiter.guard((x) => 2 * x);
    assert.deepEqual([double(1), double(2)], [2, 4]);
    assert.throws(
      () => double(3),
      (error) =>
        error instanceof RefusedError &&
        error.code === 'ERR_TIDEGATE_REFUSED' &&
        error.message === 'refused: cost 1 asked, 0 remaining; 2/s allows it in 500 ms' &&
        error.decision.retryAfterMs === 500,
    );
    clock.advance(500);
    assert.equal(double(3), 6);
  });

  test('spends a cost of its own', () => {
    const limiter = new RateLimiter('5/s', { clock: new ManualClock() });
    limiter.guard(() => {}, { cost: 4 })();
    assert.equal(limiter.peek().remaining, 1);
  });

  test('a cost above the burst can never be had', () => {
    const limiter = new RateLimiter('100/s; 5/s burst 4', { clock: new ManualClock() });
    assert.throws(
      limiter.guard(() => {}, { cost: 6 }),
      (error) =>
        error instanceof ExceedsCapacityError &&
        error instanceof RefusedError &&
        error.message === 'cost 6 can never be had: 5/s burst 4 holds at most 4' &&
        error.decision.status === 'exceeds_capacity',
    );
  });

  test('limit 0 says that the limit is 0', () => {
    assert.throws(
      new RateLimiter('0/s').guard(() => {}),
      { name: 'RefusedError', message: 'refused: cost 1 asked, the limit is 0 (0/s)' },
    );
  });

  test('wrong arguments are refused when the guard is made', () => {
    const limiter = new RateLimiter('5/s');
    assert.throws(() => limiter.guard(5), {
      name: 'TypeError',
      argument: 'fn',
      message: 'fn: got 5; allowed: a function',
    });
    assert.throws(() => limiter.guard(() => {}, { cost: 0 }), { name: 'RangeError', argument: 'cost' });
    assert.throws(() => limiter.guard(() => {}, { costs: 1 }), { name: 'TypeError', argument: 'options.costs' });
    assert.throws(() => limiter.guard(() => {}, new ManualClock()), { name: 'TypeError', argument: 'options' });
  });

  guardsEachKindOfFunction(
    (fn) => new RateLimiter('1/h').guard(fn),
    (fn) => new RateLimiter('0/h').guard(fn),
  );
});

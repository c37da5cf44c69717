'use strict';

const assert = require('node:assert/strict');
const { describe, test } = require('node:test');
const { ConfigError, Quota, RateLimiter, TidegateError } = require('tidegate');

describe('quota', () => {
  test('says its parts, in milliseconds and exactly', () => {
    const { limit, perMs, periodNs, burst, algorithm, anchor } = new Quota({ limit: 100, perMs: 1000, burst: 20 });
    assert.deepEqual(
      { limit, perMs, periodNs, burst, algorithm, anchor },
      { limit: 100, perMs: 1000, periodNs: 1_000_000_000n, burst: 20, algorithm: 'gcra', anchor: 'first' },
    );
    assert.equal(new Quota({ limit: 3, perMs: 1000 }).burst, 3);
  });

  test('reads text and writes it back in canonical form', () => {
    for (const [text, canonical] of [
      ['100/s', '100/s'],
      ['5 per 30s', '5/30s'],
      ['2/3s', '2/3s'],
      ['100/minute burst 20', '100/min burst 20'],
      ['3/2s fixed_window anchor clock', '3/2s fixed_window anchor clock'],
      ['100/week', '100/w'],
      [' 10 / s ', '10/s'],
      ['10/3600s burst 10 gcra anchor first', '10/h'],
    ]) {
      const quota = Quota.parse(text);
      assert.equal(String(quota), canonical);
      assert.deepEqual(new Quota(String(quota)), quota);
    }
  });

  test('reads a list', () => {
    assert.deepEqual(Quota.parseList('2/s; 100/h').map(String), ['2/s', '100/h']);
  });

  for (const text of ['5/M', '10/month', '100/s burst', '1e3/s', '١٠/s', '', '5', '-5/s', '5//s', 'constructor']) {
    test(`does not guess what ${JSON.stringify(text)} may mean: the error shows the text and what is allowed`, () => {
      for (const read of [Quota.parse, Quota.parseList, (given) => new RateLimiter(given)]) {
        assert.throws(
          () => read(text),
          (error) =>
            error instanceof ConfigError &&
            error.argument === 'quota' &&
            error.message.startsWith(`quota: got ${JSON.stringify(text)}`) &&
            /^(LIMIT\/UNIT|the units ns, us), /.test(error.allowed),
        );
      }
    });
  }

  test('an empty place in a list is refused', () => {
    assert.throws(() => Quota.parseList('5/s;'), { name: 'ConfigError', value: /^"5\/s;"/, allowed: /^LIMIT\/UNIT, / });
  });

  test('names the part of a text that is out of range', () => {
    for (const [text, argument] of [
      ['5/0 second', 'period'],
      ['5/1000w', 'period'],
      ['9007199254740992/s', 'limit'],
      ['99999999999999999999999/s', 'limit'],
      ['5/s burst 0', 'burst'],
      ['5/s burst 2 fixed_window', 'burst'],
      ['5/s anchor clock', 'anchor'],
    ]) {
      assert.throws(() => Quota.parse(text), { name: 'ConfigError', code: 'ERR_TIDEGATE_CONFIG', argument }, text);
    }
  });

  test('rounds fractions of a nanosecond up, and what is meant exactly not at all', () => {
    for (const [perMs, periodNs] of [
      [1.1, 1_100_000n],
      [0.1, 100_000n],
      [333.333333, 333_333_333n],
      [333.3333331, 333_333_334n],
      [1e-6, 1n],
      [1e-7, 1n],
      [63_071_999_999.5, 63_071_999_999_500_000n],
      [63_072_000_000, 63_072_000_000_000_000n],
    ]) {
      assert.equal(new Quota({ limit: 1, perMs, algorithm: 'fixed_window' }).periodNs, periodNs);
    }
  });

  test('takes the period in nanoseconds, as a bigint or as a number that is exact', () => {
    for (const periodNs of [1_500_000_001n, 1_500_000_001]) {
      const quota = new Quota({ limit: 1, periodNs });
      assert.deepEqual([quota.periodNs, quota.perMs], [1_500_000_001n, 1500.000001]);
    }
  });

  for (const [parts, type, message] of [
    [{ limit: NaN, perMs: 1 }, RangeError, /^limit: got NaN; allowed: a whole number from 0 to 9007199254740991$/],
    [{ limit: Infinity, perMs: 1 }, RangeError, /^limit: got Infinity; allowed: /],
    [{ limit: -1, perMs: 1 }, RangeError, /^limit: got -1; allowed: /],
    [{ limit: 1.5, perMs: 1 }, RangeError, /^limit: got 1.5; allowed: /],
    [{ limit: 2 ** 64, perMs: 1 }, RangeError, /^limit: got 18446744073709552000; allowed: /],
    [{ limit: 5n, perMs: 1 }, TypeError, /^limit: got 5n; allowed: /],
    [{ limit: '5', perMs: 1 }, TypeError, /^limit: got '5'; allowed: /],
    [{ limit: true, perMs: 1 }, TypeError, /^limit: got true; allowed: /],
    [{ perMs: 1 }, TypeError, /^limit: got undefined; allowed: /],
    [{ limit: 1 }, TypeError, /^perMs: got undefined; allowed: a number of milliseconds above 0$/],
    [{ limit: 1, perMs: 0 }, RangeError, /^perMs: got 0; allowed: /],
    [{ limit: 1, perMs: -5 }, RangeError, /^perMs: got -5; allowed: /],
    [{ limit: 1, perMs: NaN }, RangeError, /^perMs: got NaN; allowed: /],
    [{ limit: 1, perMs: Infinity }, RangeError, /^perMs: got Infinity; allowed: /],
    [{ limit: 1, perMs: 2 ** 64 }, RangeError, /^perMs: got 18446744073709552000; allowed: 1 ns to \d+ ns/],
    [{ limit: 1, perMs: '1s' }, TypeError, /^perMs: got '1s'; allowed: /],
    [{ limit: 1, periodNs: 0 }, RangeError, /^periodNs: got 0; allowed: /],
    [{ limit: 1, periodNs: -1n }, RangeError, /^periodNs: got -1n; allowed: /],
    [{ limit: 1, periodNs: 2 ** 53 }, RangeError, /^periodNs: got 9007199254740992; allowed: /],
    [{ limit: 1, periodNs: 2n ** 64n }, RangeError, /^periodNs: got 18446744073709551616n; allowed: 1 ns to /],
    [{ limit: 1, perMs: 1, periodNs: 1n }, RangeError, /^perMs: got 1; allowed: undefined where periodNs is given$/],
    [
      { limit: 1, perMs: 1, burst: 0 },
      RangeError,
      /^burst: got 0; allowed: a whole number from 1 to 9007199254740991$/,
    ],
    [{ limit: 1, perMs: 1, burst: null }, TypeError, /^burst: got null; allowed: /],
    [
      { limit: 1, perMs: 1, burst: 2, algorithm: 'sliding_log' },
      RangeError,
      /^burst: got 2 with sliding_log; allowed: /,
    ],
    [{ limit: 1, perMs: 1, algorithm: 'GCRA' }, RangeError, /^algorithm: got 'GCRA'; allowed: gcra, fixed_window, /],
    [{ limit: 1, perMs: 1, algorithm: 3 }, TypeError, /^algorithm: got 3; allowed: /],
    [{ limit: 1, perMs: 1, anchor: 'last' }, RangeError, /^anchor: got 'last'; allowed: first, clock$/],
    [{ limit: 1, perMs: 1, anchor: 'clock' }, RangeError, /^anchor: got clock with gcra; allowed: /],
    [{ limit: 1, perMs: 1, burts: 2 }, TypeError, /^quota\.burts: got 2; allowed: limit, perMs, /],
    [null, TypeError, /^quota: got null; allowed: a Quota, its text such as '100\/s', or \{ limit, perMs, burst \}$/],
    [5, TypeError, /^quota: got 5; allowed: /],
    [[], TypeError, /^quota: got \[\]; allowed: /],
  ]) {
    test(`refuses by name: ${message.source}`, () => {
      assert.throws(
        () => new Quota(parts),
        (error) => error instanceof type && error instanceof TidegateError && message.test(error.message),
      );
    });
  }

  test('text that is no text is a TypeError', () => {
    for (const parse of [Quota.parse, Quota.parseList]) {
      assert.throws(() => parse(5), { name: 'TypeError', code: 'ERR_TIDEGATE_INVALID_TYPE', argument: 'text' });
    }
  });

  test('is written to JSON by its parts, the exact period as a decimal string', () => {
    assert.deepEqual(JSON.parse(JSON.stringify({ quota: Quota.parse('3/2s') })), {
      quota: { limit: 3, perMs: 2000, periodNs: '2000000000', burst: 3, algorithm: 'gcra', anchor: 'first' },
    });
  });

  test('is immutable', () => {
    const quota = Quota.parse('5/s');
    assert.throws(() => {
      quota.limit = 6;
    }, TypeError);
    assert.equal(String(quota), '5/s');
  });
});

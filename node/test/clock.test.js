'use strict';

const assert = require('node:assert/strict');
const { describe, test } = require('node:test');
const { ConcurrencyLimiter, ManualClock, RateLimiter } = require('tidegate');

const LAST_NS = 2n ** 64n - 1n;
const LAST_NS_IN_MS = 18_446_744_073_709.56;

describe('manual clock', () => {
  test('moves only when told, in milliseconds and nanoseconds', () => {
    const clock = new ManualClock();
    assert.equal(clock.nowNs(), 0n);
    clock.advance(1.5);
    clock.advanceNs(1n);
    clock.advanceNs(2);
    assert.equal(clock.nowNs(), 1_500_003n);
    clock.set(10);
    assert.equal(clock.nowNs(), 10_000_000n);
    clock.setNs(10_000_001n);
    clock.setNs(10_000_002);
    assert.equal(clock.nowNs(), 10_000_002n);
  });

  test('a step back counts as no time, and progress from there counts', () => {
    const clock = new ManualClock();
    clock.setNs(1000);
    clock.setNs(400);
    assert.equal(clock.nowNs(), 1000n);
    clock.setNs(500);
    assert.equal(clock.nowNs(), 1100n);
  });

  test('rounds fractions of a nanosecond up and stops at the last one', () => {
    const clock = new ManualClock();
    clock.advance(1e-9);
    assert.equal(clock.nowNs(), 1n);
    clock.advanceNs(LAST_NS);
    clock.advance(1);
    assert.equal(clock.nowNs(), LAST_NS);
  });

  test('is shared by the limiters that are built on it', () => {
    const clock = new ManualClock();
    const limiters = [new RateLimiter('1/s', { clock }), new RateLimiter('1/s', { clock })];
    const ask = () => limiters.map((limiter) => limiter.tryAcquire());
    assert.deepEqual(
      [ask(), ask()],
      [
        [true, true],
        [false, false],
      ],
    );
    clock.advance(1000);
    assert.deepEqual(ask(), [true, true]);
  });

  test('is the Unix clock of windows that are anchored to it', () => {
    const clock = new ManualClock();
    const limiter = new RateLimiter('1/10s fixed_window anchor clock', { clock });
    clock.set(9_000);
    assert.equal(limiter.tryAcquire(), true);
    assert.equal(limiter.peek().retryAfterMs, 1_000);
  });

  for (const method of ['advance', 'set']) {
    test(`${method}: refuses what is no time, by name, and stands still`, () => {
      const clock = new ManualClock();
      for (const ms of [NaN, Infinity, -Infinity, -1]) {
        assert.throws(() => clock[method](ms), {
          name: 'RangeError',
          code: 'ERR_TIDEGATE_OUT_OF_RANGE',
          argument: 'ms',
        });
      }
      for (const ms of ['1', 1n, undefined, null, true]) {
        assert.throws(() => clock[method](ms), {
          name: 'TypeError',
          code: 'ERR_TIDEGATE_INVALID_TYPE',
          argument: 'ms',
        });
      }
      for (const ns of [-1n, -1, 0.5, NaN, Infinity, 2 ** 53]) {
        assert.throws(() => clock[`${method}Ns`](ns), { name: 'RangeError', argument: 'ns' });
      }
      for (const ns of ['1', undefined, null]) {
        assert.throws(() => clock[`${method}Ns`](ns), { name: 'TypeError', argument: 'ns' });
      }
      assert.equal(clock.nowNs(), 0n);
    });
  }

  for (const move of ['advance', 'set']) {
    test(`${move}: any finite time that is too long stops the clock at its end`, () => {
      for (const ms of [LAST_NS_IN_MS, 2 ** 64, 1e300, Number.MAX_VALUE]) {
        const clock = new ManualClock();
        clock[move](ms);
        assert.equal(clock.nowNs(), LAST_NS);
      }
      for (const ns of [LAST_NS, LAST_NS + 1n, 2n ** 200n]) {
        const clock = new ManualClock();
        clock[`${move}Ns`](ns);
        assert.equal(clock.nowNs(), LAST_NS);
      }
    });
  }

  test('starts at 0: an argument is unexpected', () => {
    assert.throws(() => new ManualClock(5), {
      name: 'TypeError',
      message: /^ManualClock: got 5; allowed: no argument/,
    });
  });

  test('anything else is no clock', () => {
    for (const clock of [null, Date, performance, {}, Object.create(ManualClock.prototype)]) {
      const wrong = { name: 'TypeError', code: 'ERR_TIDEGATE_INVALID_TYPE', argument: 'clock' };
      assert.throws(() => new RateLimiter('1/s', { clock }), wrong);
      assert.throws(() => new ConcurrencyLimiter(1, { clock }), wrong);
    }
  });
});

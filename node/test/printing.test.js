'use strict';

const assert = require('node:assert/strict');
const { describe, test } = require('node:test');
const { inspect } = require('node:util');
const { ConcurrencyLimiter, ManualClock, RateLimiter } = require('tidegate');

describe('printed and as text', () => {
  const shows = (object, text) => {
    assert.equal(String(object), text);
    assert.equal(inspect(object), text);
    assert.equal(inspect({ of: [object] }), `{ of: [ ${text} ] }`);
  };

  test('a rate limiter shows what it enforces', () => {
    shows(new RateLimiter('100/second burst 20'), 'RateLimiter(100/s burst 20)');
    const limiter = new RateLimiter('2/s; 100/h');
    shows(limiter, 'RateLimiter(2/s; 100/h)');
    limiter.reconfigure('3/s; 100/h');
    shows(limiter, 'RateLimiter(3/s; 100/h)');
  });

  test('a concurrency limiter and its permits show how they stand', () => {
    const limiter = new ConcurrencyLimiter(4);
    const [one, two] = [limiter.tryAcquire(), limiter.tryAcquire(2)];
    shows(limiter, 'ConcurrencyLimiter(3 of 4 out)');
    shows(one, 'Permit(1, held)');
    two.release();
    shows(two, 'Permit(2, released)');
    shows(limiter, 'ConcurrencyLimiter(1 of 4 out)');
    one.release();
  });

  test('a manual clock shows its time', () => {
    const clock = new ManualClock();
    clock.advance(1.5);
    shows(clock, 'ManualClock(1500000 ns)');
  });

  test('the classes and their prototypes are shown as any other', () => {
    for (const type of [RateLimiter, ConcurrencyLimiter, ManualClock]) {
      assert.equal(inspect(type), `[class ${type.name}]`);
      assert.equal(inspect(type.prototype), '{}');
    }
  });
});

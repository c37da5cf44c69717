'use strict';
// A panic in the core, which a build for tests can be made to have, is an InternalError: never the end of the process.

const assert = require('node:assert/strict');
const { existsSync } = require('node:fs');
const path = require('node:path');
const { before, test } = require('node:test');

const library = path.join(__dirname, '../../build/test-panic/node/tidegate.node');
const COST = 666_666_666;
const TEXT = 'test-panic';

process.env.NAPI_RS_NATIVE_LIBRARY_PATH = library;

let tidegate;
before(() => {
  assert.ok(existsSync(library), `${library} is missing: make build-test-panic`);
  tidegate = require('tidegate');
});

/** Whether an error is the one that a panic becomes. */
function isInternal(error) {
  assert.ok(error instanceof tidegate.InternalError, error);
  assert.ok(error instanceof tidegate.TidegateError);
  assert.deepEqual([error.name, error.code], ['InternalError', 'ERR_TIDEGATE_INTERNAL']);
  assert.match(error.message, /^a fault inside tidegate: .*a panic that was asked for/s);
  return true;
}

test('a panic where quotas are read is an InternalError', () => {
  const { Quota, RateLimiter } = tidegate;
  const limiter = new RateLimiter('5/s');
  for (const call of [
    () => new Quota(TEXT),
    () => Quota.parse(TEXT),
    () => Quota.parseList(TEXT),
    () => new RateLimiter(TEXT),
    () => new RateLimiter(['5/s', TEXT]),
    () => limiter.reconfigure(TEXT),
  ]) {
    assert.throws(call, isInternal);
  }
  assert.equal(String(limiter.quota), '5/s');
});

test('a panic on the hot path of a rate limiter is an InternalError, and the limiter goes on', () => {
  const limiter = new tidegate.RateLimiter('5/h');
  for (const method of ['tryAcquire', 'decide', 'peek']) {
    for (let round = 0; round < 3; round++) assert.throws(() => limiter[method](COST), isInternal);
  }
  assert.throws(
    limiter.guard(() => assert.fail('called'), { cost: COST }),
    isInternal,
  );
  assert.deepEqual([limiter.tryAcquire(2), limiter.peek().remaining], [true, 3]);
});

test('a panic on the hot path of a concurrency limiter is an InternalError, and the limiter goes on', async () => {
  const limiter = new tidegate.ConcurrencyLimiter(2);
  assert.throws(() => limiter.tryAcquire(COST), isInternal);
  await assert.rejects(
    limiter.run(() => assert.fail('called'), { permits: COST }),
    isInternal,
  );
  assert.throws(
    limiter.guard(() => assert.fail('called'), { permits: COST }),
    isInternal,
  );
  limiter.tryAcquire(2).release();
  assert.equal(limiter.available, 2);
});

test('a panic on the hot paths of keyed limiters is an InternalError, and they go on', async () => {
  const limiter = new tidegate.KeyedRateLimiter('5/h', { maxKeys: 10 });
  for (const method of ['tryAcquire', 'decide', 'peek']) assert.throws(() => limiter[method]('ann', COST), isInternal);
  assert.throws(() => limiter.tryAcquireMany(['ann', 'bob'], COST), isInternal);
  await assert.rejects(limiter.acquire('ann', COST), isInternal);
  assert.deepEqual([limiter.tryAcquire('ann', 2), limiter.peek('ann').remaining], [true, 3]);
  const lender = new tidegate.KeyedConcurrencyLimiter(2, { maxKeys: 10 });
  assert.throws(() => lender.tryAcquire('ann', COST), isInternal);
  await assert.rejects(lender.acquire('ann', COST), isInternal);
  await assert.rejects(
    lender.run('ann', () => assert.fail('called'), { permits: COST }),
    isInternal,
  );
  lender.tryAcquire('ann', 2).release();
  assert.equal(lender.available('ann'), 2);
});

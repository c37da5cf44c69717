'use strict';
// Signals that end waits: before, during and after the grant.

const assert = require('node:assert/strict');
const { getEventListeners } = require('node:events');
const { describe, test } = require('node:test');
const { ClosedError, TimedOutError } = require('tidegate');
const { concurrencyKinds, rateKinds } = require('./fixtures/one-key.js');
const { atClock, keepAlive, turn } = require('./fixtures/waits.js');

keepAlive();

const reason = new Error('enough');
const isReason = (error) => error === reason;

for (const [kind, ConcurrencyLimiter] of concurrencyKinds) {
  describe(`a signal for permits${kind}`, () => {
    test('that is aborted before rejects with its reason, and takes nothing', async () => {
      const limiter = new ConcurrencyLimiter(1);
      const signal = AbortSignal.abort(reason);
      await assert.rejects(limiter.acquire(1, { signal }), isReason);
      await assert.rejects(
        limiter.run(() => assert.fail('called'), { signal }),
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
  });
}

for (const [kind, RateLimiter] of rateKinds) {
  describe(`a signal for tokens${kind}`, () => {
    const rateAt = (quotas) => atClock(RateLimiter, quotas);

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
}

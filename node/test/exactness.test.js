'use strict';
// Exact totals on the real clock, in one thread: whatever order async work runs in.

const assert = require('node:assert/strict');
const { test } = require('node:test');
const { setImmediate: turn } = require('node:timers/promises');
const { ConcurrencyLimiter, RateLimiter } = require('tidegate');

for (const algorithm of ['gcra', 'fixed_window', 'sliding_window', 'sliding_log']) {
  test(`${algorithm}: 100 interleaved tasks get exactly the limit between them`, async () => {
    // A period so long that not one token comes back during the test.
    const limiter = new RateLimiter({ limit: 1000, perMs: 86_400_000, algorithm });
    let admitted = 0;
    const task = async (index) => {
      for (let call = 0; call < 50; call++) {
        if (index % 3 === 0) await turn();
        else if (index % 3 === 1) await null;
        if (index % 2 === 0 ? limiter.tryAcquire() : limiter.decide().allowed) admitted++;
      }
    };
    await Promise.all(Array.from({ length: 100 }, (_, index) => task(index)));
    assert.equal(admitted, 1000);
    assert.deepEqual(limiter.stats(), { allowed: 1000, denied: 4000, timedOut: 0, cancelled: 0, waiting: 0 });
  });
}

test('permits are all back after a storm of work that succeeds, fails, is refused and is resized', async () => {
  const limiter = new ConcurrencyLimiter(7, { trackHoldTime: true });
  let [inside, ok, failed, refused] = [0, 0, 0, 0];
  const work = limiter.guard(
    async (fails) => {
      inside += 2;
      assert.ok(inside <= 14);
      await turn();
      inside -= 2;
      if (fails) throw new Error('of the work');
    },
    { permits: 2 },
  );
  const task = async (index) => {
    for (let call = 0; call < 40; call++) {
      if (index === 0) limiter.limit = 7 + (call % 8);
      try {
        await work(call % 5 === 0);
        ok++;
      } catch ({ code }) {
        if (code === 'ERR_TIDEGATE_REFUSED') {
          refused++;
          await turn();
        } else {
          failed++;
        }
      }
    }
  };
  await Promise.all(Array.from({ length: 50 }, (_, index) => task(index)));
  const { allowed, denied, releasedOk, releasedFailed, inFlight, available, limit } = limiter.stats();
  assert.deepEqual([allowed, denied, releasedOk, releasedFailed], [ok + failed, refused, ok, failed]);
  assert.equal(ok + failed + refused, 2000);
  assert.deepEqual([inFlight, available], [0, limit]);
});

test('windows open at their time: a limiter hammered for 1400 ms in windows of 400 ms admits four times its limit', () => {
  const limiter = new RateLimiter({ limit: 500, perMs: 400, algorithm: 'fixed_window' });
  const until = performance.now() + 1400;
  let admitted = 0;
  while (performance.now() < until) if (limiter.tryAcquire()) admitted++;
  assert.equal(admitted, 2000);
});

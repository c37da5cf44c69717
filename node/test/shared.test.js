'use strict';
// Limiters that worker threads share by name.

const assert = require('node:assert/strict');
const path = require('node:path');
const { after, before, describe, test } = require('node:test');
const { Worker } = require('node:worker_threads');
const { ConcurrencyLimiter, KeyedConcurrencyLimiter, KeyedRateLimiter, ManualClock, RateLimiter } = require('tidegate');

const waitingWorker = path.join(__dirname, 'fixtures/waiting-worker.js');

let alive;
before(() => {
  alive = setInterval(() => {}, 60_000);
});
after(() => clearInterval(alive));

const said = (worker) =>
  new Promise((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', reject);
  });

/** Runs a script in a worker that has `post(message)` and the limiters; resolves to the worker once it has posted. */
async function start(script) {
  const worker = new Worker(
    `const { parentPort } = require('node:worker_threads');
     const { ConcurrencyLimiter, KeyedConcurrencyLimiter, KeyedRateLimiter, RateLimiter } = require('tidegate');
     const post = (message) => parentPort.postMessage(message);
     parentPort.ref();
     (async () => { ${script} })().catch((error) => post(String(error)));`,
    { eval: true },
  );
  return [worker, await said(worker)];
}

describe('a limiter that is shared by name', () => {
  test('is one for the whole process', async () => {
    const limiter = new ConcurrencyLimiter(2, { shared: 'one' });
    const rate = new RateLimiter('3/h', { shared: 'one' });
    const same = new ConcurrencyLimiter(2, { shared: 'one' });
    const permit = limiter.tryAcquire();
    assert.deepEqual([same.inFlight, new ConcurrencyLimiter(2).inFlight], [1, 0]);
    const [worker, seen] = await start(`
      const limiter = new ConcurrencyLimiter(2, { shared: 'one' });
      globalThis.permit = limiter.tryAcquire();
      const rate = new RateLimiter('3/h', { shared: 'one' });
      post([limiter.inFlight, limiter.available, rate.tryAcquire(2), rate.tryAcquire(2)]);
    `);
    assert.deepEqual([seen, limiter.available, rate.peek().remaining], [[2, 0, true, false], 0, 1]);
    await worker.terminate();
    assert.equal(limiter.inFlight, 1);
    permit.release();
    rate.reconfigure('5/h');
    assert.equal(String(new RateLimiter('3/h', { shared: 'one' }).quota), '5/h');
  });

  test('is one for the whole process, with keys, too', async () => {
    const limiter = new KeyedConcurrencyLimiter(2, { shared: 'one' });
    const rate = new KeyedRateLimiter('3/h', { shared: 'one' });
    const permit = limiter.tryAcquire('ann');
    const [worker, seen] = await start(`
      const limiter = new KeyedConcurrencyLimiter(2, { shared: 'one' });
      globalThis.permits = [limiter.tryAcquire('ann'), limiter.tryAcquire('bob', 2)];
      const rate = new KeyedRateLimiter('3/h', { shared: 'one' });
      rate.setQuota('eve', '5/h');
      limiter.acquire('ann').then(() => post('handed over'));
      post([limiter.inFlight('ann'), rate.tryAcquire('ann', 2), rate.tryAcquire('ann', 2), rate.peek('eve').remaining]);
    `);
    assert.deepEqual([seen, limiter.waiting('ann')], [[2, true, false, 5], 1]);
    assert.deepEqual([rate.peek('ann').remaining, rate.peek('eve').remaining], [1, 5]);
    const handedOver = said(worker);
    permit.release();
    assert.equal(await handedOver, 'handed over');
    const wait = limiter.acquire('bob');
    assert.deepEqual([limiter.inFlight('ann'), limiter.waiting('bob')], [2, 1]);
    await worker.terminate();
    (await wait).release();
    assert.deepEqual([limiter.inFlight('ann'), limiter.stats().inFlight], [0, 0]);
    rate.reconfigure('4/h');
    const same = new KeyedRateLimiter('3/h', { shared: 'one' });
    assert.equal(String(same.quota), '4/h');
    await assert.rejects(same.acquire('ann', 9), {
      message: 'cost 9 can never be had: it is more than the burst',
      limit: 4,
    });
  });

  test('wakes waiters of other workers, in order', async () => {
    const limiter = new ConcurrencyLimiter(1, { shared: 'order' });
    const permit = await limiter.acquire();
    const waiting = (name) => `
      const limiter = new ConcurrencyLimiter(1, { shared: 'order' });
      const wait = limiter.acquire();
      post(limiter.waiting);
      const permit = await wait;
      post('${name}');
      permit.release();
    `;
    const order = [];
    const workers = [];
    for (const name of ['first', 'second']) {
      const [worker, before] = await start(waiting(name));
      worker.on('message', (message) => order.push(message));
      workers.push(worker);
      assert.equal(before, workers.length);
    }
    const own = limiter.acquire();
    permit.release();
    (await own).release();
    while (order.length < 2) await new Promise((resolve) => setTimeout(resolve, 1));
    assert.deepEqual([order, limiter.inFlight, limiter.waiting], [['first', 'second'], 0, 0]);
    await Promise.all(workers.map((worker) => worker.terminate()));
  });

  test('a worker passes what it is granted on to the main thread', async () => {
    const rate = new RateLimiter('1/h', { shared: 'turn' });
    rate.tryAcquire();
    const wait = rate.acquire();
    const [worker] = await start(`
      const rate = new RateLimiter('1/h', { shared: 'turn' });
      rate.reset();
      post('reset');
    `);
    await wait;
    await worker.terminate();
  });

  test('that others have with other settings is an error that names it', () => {
    const made = [
      new ConcurrencyLimiter(2, { shared: 'settings' }),
      new RateLimiter('2/s; 5/h', { shared: 'settings', maxWaiters: 3 }),
      new KeyedConcurrencyLimiter(2, { shared: 'settings' }),
      new KeyedRateLimiter('2/s', { shared: 'settings' }),
    ];
    for (const make of [
      () => new ConcurrencyLimiter(3, { shared: 'settings' }),
      () => new ConcurrencyLimiter(2, { shared: 'settings', trackHoldTime: true }),
      () => new ConcurrencyLimiter(2, { shared: 'settings', maxWaiters: 5 }),
      () => new RateLimiter('2/s', { shared: 'settings' }),
      () => new KeyedConcurrencyLimiter(2, { shared: 'settings', maxKeys: 5 }),
      () => new KeyedRateLimiter('2/s', { shared: 'settings', whenFull: 'deny_new' }),
    ]) {
      assert.throws(make, { name: 'ConfigError', argument: 'shared', value: '"settings"' });
    }
    assert.throws(() => new RateLimiter('2/s', { shared: 'settings' }), {
      message:
        'shared: got "settings"; allowed: another name, or the settings that it was built with (2/s; 5/h, maxWaiters 3)',
    });
    assert.throws(() => new ConcurrencyLimiter(2, { shared: 5 }), { name: 'TypeError', argument: 'shared' });
    const clock = new ManualClock();
    assert.throws(() => new ConcurrencyLimiter(2, { shared: 'other', clock }), { argument: 'clock' });
    assert.throws(() => new KeyedRateLimiter('2/s', { shared: 'other', clock }), { argument: 'clock' });
    assert.deepEqual([made[0].limit, made[1].quotas.length], [2, 2]);
  });

  test('closes for all who wait', async () => {
    const limiter = new ConcurrencyLimiter(0, { shared: 'closing' });
    const [worker, error] = await start(`
      const limiter = new ConcurrencyLimiter(0, { shared: 'closing' });
      post(await Promise.all([limiter.acquire(), setImmediate(() => limiter.close())]).catch(({ name }) => name));
    `);
    assert.deepEqual([error, limiter.isClosed], ['ClosedError', true]);
    await worker.terminate();
  });
});

describe('workers that are terminated', () => {
  test('200, with permits held and waiters queued: no crash, and all permits are back', async () => {
    const limiter = new ConcurrencyLimiter(1000, { shared: 'terminated' });
    const rate = new RateLimiter('1/h', { shared: 'terminated' });
    rate.tryAcquire();
    const keyed = new KeyedConcurrencyLimiter(1000, { shared: 'terminated' });
    const keyedRate = new KeyedRateLimiter('1/h', { shared: 'terminated' });
    keyedRate.tryAcquire('ann');
    const [batches, atOnce, holds, waits] = [25, 8, 3, 10];
    for (let batch = 0; batch < batches; batch++) {
      const workerData = { name: 'terminated', holds, waits };
      const workers = Array.from({ length: atOnce }, () => new Worker(waitingWorker, { workerData }));
      if (batch % 5 === 0) await Promise.all(workers.slice(0, 4).map((worker) => worker.terminate()));
      else await Promise.all(workers.map(said));
      // Released while they are being ended: grants meet the end of who waits for them.
      const ending = workers.map((worker) => worker.terminate());
      (await limiter.acquire()).release();
      (await keyed.acquire('ann')).release();
      await Promise.all(ending);
    }
    assert.deepEqual([limiter.inFlight, limiter.waiting, rate.waiting], [0, 0, 0]);
    (await limiter.acquire(1000)).release();
    const { inFlight, waiting, liveKeys } = keyed.stats();
    assert.deepEqual([inFlight, waiting, liveKeys, keyedRate.stats().waiting], [0, 0, 0, 0]);
    (await keyed.acquire('ann', 1000)).release();
  });
});

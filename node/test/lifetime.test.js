'use strict';
// What lives how long: native objects, permits that are forgotten, worker threads, the process.

const assert = require('node:assert/strict');
const { spawnSync } = require('node:child_process');
const path = require('node:path');
const { describe, test } = require('node:test');
const { Worker } = require('node:worker_threads');

const root = path.join(__dirname, '..');
const worker = path.join(__dirname, 'fixtures/worker.js');

/** Runs a script in a process of its own; it must end by itself, in time, with code 0. Returns what it printed. */
function run(script, ...options) {
  const started = performance.now();
  const { status, signal, stdout, stderr } = spawnSync(process.execPath, [...options, '-e', script], {
    cwd: root,
    encoding: 'utf8',
    timeout: 60_000,
  });
  assert.deepEqual([status, signal], [0, null], stderr);
  return { stdout, stderr, ms: performance.now() - started };
}

describe('the process', () => {
  test('exits after limiters were used, whatever is still held', () => {
    run(`
      const { ConcurrencyLimiter, KeyedConcurrencyLimiter, KeyedRateLimiter, ManualClock, RateLimiter } = require('tidegate');
      globalThis.kept = [new RateLimiter('5/s'), new RateLimiter('5/s', { clock: new ManualClock() })];
      kept.push(kept[0].decide(), kept[1].decide(), new ConcurrencyLimiter(2, { trackHoldTime: true }));
      kept.push(kept[4].tryAcquire(), kept[4].run(() => new Promise(() => {})));
      kept.push(new KeyedRateLimiter('5/s'), new KeyedConcurrencyLimiter(2));
      kept[0].acquire(5, { timeoutMs: 1e9 }), kept[0].acquire(), kept[1].acquire(), kept[4].acquire(2);
      kept[7].acquire('c', 5), kept[7].acquire('c', 1, { timeoutMs: 1e9 }), kept[8].acquire('c', 2), kept[8].acquire('c', 2);
      kept.push(kept[7].decide('a'), kept[8].tryAcquire('a'), kept[8].run('b', () => new Promise(() => {})));
    `);
  });

  test('exits though somebody waits, and does not wait for whom', () => {
    const { stdout, ms } = run(`
      const { ConcurrencyLimiter, KeyedConcurrencyLimiter, KeyedRateLimiter, RateLimiter } = require('tidegate');
      const limiter = new ConcurrencyLimiter(0);
      const rate = new RateLimiter('1/h');
      rate.tryAcquire();
      const never = () => console.log('settled');
      const keyed = new KeyedConcurrencyLimiter(0);
      const keyedRate = new KeyedRateLimiter('1/h');
      keyedRate.tryAcquire('ann');
      keyed.acquire('ann', 1, { timeoutMs: 50_000 }).then(never, never);
      keyedRate.acquire('ann').then(never, never);
      keyed.run('ann', never, { signal: new AbortController().signal }).then(never, never);
      limiter.acquire(1, { timeoutMs: 50_000 }).then(never, never);
      rate.acquire(1).then(never, never);
      limiter.run(never, { signal: new AbortController().signal }).then(never, never);
      console.log('the end');
    `);
    assert.equal(stdout, 'the end\n');
    assert.ok(ms < 20_000, `${ms} ms`);
  });

  test('exits in the middle of everything without a crash', () => {
    for (const end of [
      'process.exit()',
      'setImmediate(() => process.exit())',
      'process.on("exit", () => all[0].decide())',
    ]) {
      run(`
        const { ConcurrencyLimiter, RateLimiter } = require('tidegate');
        const lender = new ConcurrencyLimiter(1e6);
        const all = Array.from({ length: 1000 }, () => new RateLimiter('5/s'));
        for (const limiter of all) limiter.decide(), lender.tryAcquire(), limiter.acquire(5), lender.acquire(1e6);
        ${end};
      `);
    }
  });
});

describe('garbage collection', () => {
  test('native limiters, clocks and permits are freed with their objects', () => {
    const { stdout } = run(
      `
      const { ConcurrencyLimiter, ManualClock, RateLimiter } = require('tidegate');
      const turn = () => new Promise(setImmediate);
      const round = async () => {
        for (let i = 0; i < 5000; i++) {
          const limiter = new RateLimiter('5/s', { clock: new ManualClock() });
          limiter.decide();
          new ConcurrencyLimiter(5).tryAcquire().release();
        }
        gc();
        await turn();
        await turn();
        return process.memoryUsage.rss();
      };
      (async () => {
        for (let i = 0; i < 3; i++) await round();
        const before = await round();
        for (let i = 0; i < 10; i++) await round();
        console.log((await round()) - before);
      })();
      `,
      '--expose-gc',
    );
    // 110,000 limiters of 2.5 kB each would be 275 MB.
    assert.ok(Number(stdout) < 50e6, `grew by ${stdout} bytes`);
  });

  test('a permit that is forgotten is released, with a process warning', () => {
    const { stdout, stderr } = run(
      `
      const { ConcurrencyLimiter } = require('tidegate');
      const limiter = new ConcurrencyLimiter(5);
      const kept = limiter.tryAcquire();
      (() => { limiter.tryAcquire(2); limiter.tryAcquire().release(); })();
      process.on('warning', ({ name, code }) => console.log(name, code));
      setTimeout(() => {
        gc();
        setTimeout(() => console.log(limiter.inFlight, limiter.stats().releasedOk, kept.permits), 50);
      }, 100);
      `,
      '--expose-gc',
    );
    assert.equal(stdout, 'TidegateWarning TIDEGATE_PERMIT_FORGOTTEN\n1 2 1\n', stderr);
  });

  test('of a thousand permits those that are forgotten are released, and no others', () => {
    const { stdout } = run(
      `
      const { ConcurrencyLimiter } = require('tidegate');
      const limiter = new ConcurrencyLimiter(2000);
      const kept = [];
      (() => {
        for (let i = 0; i < 1000; i++) {
          const permit = limiter.tryAcquire();
          if (i % 4 === 0) kept.push(permit);
          if (i % 4 === 1) permit.release();
          if (i % 4 === 2) kept[kept.length >> 1].released || kept[kept.length >> 1].release();
        }
      })();
      let warned = 0;
      process.on('warning', () => warned++);
      setTimeout(() => {
        gc();
        setTimeout(() => {
          const held = kept.filter((permit) => !permit.released);
          console.log(warned, limiter.inFlight - held.length);
          for (const permit of held) permit.release();
          console.log(limiter.inFlight);
        }, 100);
      }, 100);
      `,
      '--expose-gc',
    );
    assert.equal(stdout, '500 0\n0\n');
  });

  test('native keyed limiters and their permits are freed with their objects', () => {
    const { stdout } = run(
      `
      const { KeyedConcurrencyLimiter, KeyedRateLimiter } = require('tidegate');
      const turn = () => new Promise(setImmediate);
      const round = async () => {
        for (let i = 0; i < 500; i++) {
          new KeyedRateLimiter('5/s', { maxKeys: 1000 }).decide('key');
          new KeyedConcurrencyLimiter(5, { maxKeys: 1000 }).tryAcquire('key').release();
        }
        gc();
        await turn();
        await turn();
        return process.memoryUsage.rss();
      };
      (async () => {
        for (let i = 0; i < 3; i++) await round();
        const before = await round();
        for (let i = 0; i < 10; i++) await round();
        console.log((await round()) - before);
      })();
      `,
      '--expose-gc',
    );
    // 11,000 limiters with a table of 40 kB each would be 440 MB.
    assert.ok(Number(stdout) < 50e6, `grew by ${stdout} bytes`);
  });

  test('a million calls with keys, long and wrong ones too, leave no memory behind', () => {
    const { stdout } = run(
      `
      const { KeyedRateLimiter, keyOf } = require('tidegate');
      const limiter = new KeyedRateLimiter('5/s', { maxKeys: 1000 });
      const turn = () => new Promise(setImmediate);
      const round = async () => {
        for (let i = 0; i < 50_000; i++) {
          limiter.tryAcquire('key ' + i);
          limiter.tryAcquire(keyOf('key', String(i)));
          if (i % 50 === 0) limiter.tryAcquireMany(Array(50).fill('x'.repeat(300) + i + '\uD83D'));
          if (i % 50 === 0) try { limiter.tryAcquire(i); } catch {}
        }
        gc();
        await turn();
        return process.memoryUsage.rss();
      };
      (async () => {
        for (let i = 0; i < 3; i++) await round();
        const before = await round();
        for (let i = 0; i < 20; i++) await round();
        console.log((await round()) - before);
      })();
      `,
      '--expose-gc',
    );
    assert.ok(Number(stdout) < 50e6, `grew by ${stdout} bytes`);
  });

  test('a permit of a key that is forgotten is released, with a process warning', () => {
    const { stdout, stderr } = run(
      `
      const { KeyedConcurrencyLimiter } = require('tidegate');
      const limiter = new KeyedConcurrencyLimiter(5);
      const kept = limiter.tryAcquire('ann');
      (() => { limiter.tryAcquire('ann', 2); limiter.tryAcquire('bob'); })();
      process.on('warning', ({ name, code }) => console.log(name, code));
      setTimeout(() => {
        gc();
        setTimeout(() => console.log(limiter.inFlight('ann'), limiter.inFlight('bob'), kept.permits), 50);
      }, 100);
      `,
      '--expose-gc',
    );
    assert.equal(stdout, `${'TidegateWarning TIDEGATE_PERMIT_FORGOTTEN\n'.repeat(2)}1 0 1\n`, stderr);
  });

  test('a permit is kept while the work that holds it can still settle, and released when it no longer can', () => {
    const { stdout } = run(
      `
      const { ConcurrencyLimiter } = require('tidegate');
      const limiter = new ConcurrencyLimiter(5);
      let settle;
      limiter.run(() => new Promise((resolve) => { settle = resolve; }));
      (() => { limiter.run(() => new Promise(() => {})); })();
      process.on('warning', ({ code }) => console.log(code));
      setTimeout(() => {
        gc();
        setTimeout(() => {
          console.log(limiter.inFlight);
          settle();
          setImmediate(() => console.log(limiter.inFlight));
        }, 50);
      }, 100);
      `,
      '--expose-gc',
    );
    assert.equal(stdout, 'TIDEGATE_PERMIT_FORGOTTEN\n1\n0\n');
  });

  test('a permit outlives its limiter', () => {
    run(
      `
      const { ConcurrencyLimiter } = require('tidegate');
      let permit = (() => new ConcurrencyLimiter(1, { trackHoldTime: true }).tryAcquire())();
      setImmediate(() => { gc(); setImmediate(() => { gc(); permit.release(); }); });
      `,
      '--expose-gc',
    );
  });
});

describe('memory', () => {
  test('waits that are begun and cancelled, or time out, leave nothing behind', () => {
    const { stdout } = run(
      `
      const { concurrencyKinds, rateKinds } = require('./test/fixtures/one-key.js');
      const limiters = concurrencyKinds.map(([, Limiter]) => new Limiter(1));
      const rates = rateKinds.map(([, Limiter]) => new Limiter('1/h'));
      const permits = limiters.map((limiter) => limiter.tryAcquire());
      const { KeyedConcurrencyLimiter } = require('tidegate');
      const everyKey = new KeyedConcurrencyLimiter(0, { maxKeys: 5_000 });
      for (const rate of rates) rate.tryAcquire();
      const turn = () => new Promise(setImmediate);
      let over = 0;
      const end = () => over++;
      async function round() {
        for (let batch = 0; batch < 25; batch++) {
          const controller = new AbortController();
          const { signal } = controller;
          for (let wait = 0; wait < 1000; wait++) {
            limiters[wait % 2].acquire(1, { signal, timeoutMs: 60_000 }).catch(end);
            rates[wait % 2].acquire(1, { signal }).catch(end);
            everyKey.acquire('key ' + over + wait, 1, { signal }).catch(end);
          }
          controller.abort();
          await turn();
        }
        gc();
        await turn();
        return process.memoryUsage.rss();
      }
      (async () => {
        for (let i = 0; i < 4; i++) await round();
        const before = await round();
        for (let i = 0; i < 15; i++) await round();
        const waiting = [...limiters, ...rates, everyKey.stats()].map((one) => one.waiting);
        console.log(JSON.stringify([(await round()) - before, over, ...waiting]));
        for (const permit of permits) permit.release();
        for (const limiter of limiters) (await limiter.acquire()).release();
      })();
      `,
      '--expose-gc',
    );
    const [grown, over, ...waiting] = JSON.parse(stdout);
    assert.deepEqual([over, waiting], [1_575_000, [0, 0, 0, 0, 0]]);
    assert.ok(grown < 30e6, `grew by ${grown} bytes`);
  });
});

describe('worker threads', () => {
  test('50 workers, each with limiters of its own, are started and terminated in the midst of work', async () => {
    for (let batch = 0; batch < 10; batch++) {
      const workers = Array.from({ length: 5 }, () => new Worker(worker));
      const said = await Promise.all(workers.map((one) => new Promise((resolve) => one.once('message', resolve))));
      assert.deepEqual(said, Array(5).fill({ admitted: 5000, inFlight: 101 }));
      await Promise.all(workers.map((one) => one.terminate()));
    }
  });

  test('workers that are terminated while they load or before do no harm', async () => {
    for (let started = 0; started < 10; started++) {
      const one = new Worker(worker);
      if (started % 2) await new Promise((resolve) => setTimeout(resolve, started));
      await one.terminate();
    }
  });

  test('a worker ends by itself once its work is done', async () => {
    const script = `
      const { ConcurrencyLimiter, RateLimiter } = require('tidegate');
      globalThis.kept = [new RateLimiter('5/s'), new ConcurrencyLimiter(1).tryAcquire()];
    `;
    const one = new Worker(script, { eval: true });
    assert.equal(await new Promise((resolve) => one.once('exit', resolve)), 0);
  });

  test('the package can be loaded anew in the same thread, apart from the first', () => {
    run(`
      const first = require('tidegate');
      for (const name of Object.keys(require.cache)) delete require.cache[name];
      const second = require('tidegate');
      if (first.RateLimiter === second.RateLimiter) throw new Error('not loaded anew');
      for (const { RateLimiter, ManualClock } of [first, second]) {
        const limiter = new RateLimiter('1/s', { clock: new ManualClock() });
        if (!limiter.tryAcquire() || limiter.tryAcquire()) throw new Error('wrong');
      }
      let message;
      try { new first.RateLimiter('1/s', { clock: new second.ManualClock() }); } catch (error) { message = error.message; }
      if (!message.startsWith('clock: got')) throw new Error(message);
    `);
  });
});

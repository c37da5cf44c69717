'use strict';
// Calls for which the stack has no room, each at many depths: no permit is lost, and none is given back twice.

const assert = require('node:assert/strict');
const { spawnSync } = require('node:child_process');
const path = require('node:path');
const { describe, test } = require('node:test');
const { ConcurrencyLimiter, KeyedConcurrencyLimiter } = require('tidegate');
const { overflow } = require('./fixtures/full-stack.js');

const root = path.join(__dirname, '..');
const ROUNDS = 500;

for (const [name, limiter, tryAcquire, inFlight] of [
  ['a concurrency limiter', new ConcurrencyLimiter(1e6), (it) => it.tryAcquire(), (it) => it.inFlight],
  ['a keyed one', new KeyedConcurrencyLimiter(1e6), (it) => it.tryAcquire('ann'), (it) => it.inFlight('ann')],
]) {
  describe(`on a full stack, ${name}`, () => {
    test('keeps no permit that the caller does not get, and releases the others once', () => {
      const bystander = tryAcquire(limiter);
      for (let round = 0; round < ROUNDS; round++) {
        let permit;
        overflow(round, () => {
          permit = tryAcquire(limiter);
        });
        assert.equal(inFlight(limiter), 2);
        overflow(round, () => {
          if (!permit.released) permit.release();
        });
        assert.deepEqual([inFlight(limiter), permit.released], [1, true]);
      }
      bystander.release();
      const { allowed, releasedOk, releasedFailed } = limiter.stats();
      assert.deepEqual([inFlight(limiter), releasedOk], [0, ROUNDS + 1]);
      assert.equal(releasedOk + releasedFailed, allowed);
    });
  });
}

test('on a full stack, acquire takes nothing that the caller does not get, and leaves no wait behind', () => {
  const script = `
    const { concurrencyKinds } = require('./test/fixtures/one-key.js');
    const { overflow } = require('./test/fixtures/full-stack.js');
    const turn = () => new Promise(setImmediate);
    (async () => {
      for (const [limit, kind] of [1, 1000].flatMap((limit) => concurrencyKinds.map((kind) => [limit, kind]))) {
        const limiter = new kind[1](limit);
        const permit = limiter.tryAcquire();
        for (let round = 0; round < ${ROUNDS}; round++) {
          const controller = new AbortController();
          const { signal } = controller;
          let wait;
          overflow(round, () => {
            wait = limiter.acquire(1, { signal });
            wait.catch(() => {});
          });
          await turn();
          controller.abort();
          await Promise.resolve(wait).then((permit) => permit?.release(), () => {});
          if (limiter.waiting + limiter.inFlight !== 1) throw new Error('lost in round ' + round);
        }
        permit.release();
      }
    })();
  `;
  // Node tells of promises that are rejected on a full stack.
  const { status, stderr } = spawnSync(process.execPath, ['-e', script], { cwd: root, encoding: 'utf8' });
  assert.equal(status, 0, stderr.slice(-1000));
});

'use strict';
// Requests for which the stack has no room, each at many depths: nobody stays inside whom the caller doesn't know of.

const assert = require('node:assert/strict');
const { spawnSync } = require('node:child_process');
const path = require('node:path');
const { test } = require('node:test');
const { Gate } = require('tidegate');
const { overflow } = require('./fixtures/full-stack.js');

const ROUNDS = 500;

test('on a full stack a gate admits nobody whom the caller does not get, and releases the others once', () => {
  const gate = new Gate([{ name: 'all', concurrency: 1e6 }]);
  const inside = () => gate.stats().rules[0].inFlight;
  const bystander = gate.tryEnter({});
  for (let round = 0; round < ROUNDS; round++) {
    let entry;
    overflow(round, () => {
      entry = gate.tryEnter({});
    });
    assert.equal(inside(), 2);
    overflow(round, () => {
      if (!entry.released) entry.release();
    });
    assert.deepEqual([inside(), entry.released], [1, true]);
  }
  bystander.release();
  const { admitted, releasedOk, releasedFailed } = gate.stats();
  assert.deepEqual([inside(), releasedOk], [0, ROUNDS + 1]);
  assert.equal(releasedOk + releasedFailed, admitted);
});

test('on a full stack, enter takes nothing that the caller does not get, and leaves no wait behind', () => {
  const script = `
    const { Gate } = require('tidegate');
    const { overflow } = require('./test/fixtures/full-stack.js');
    const turn = () => new Promise(setImmediate);
    (async () => {
      for (const concurrency of [1, 1000]) {
        const gate = new Gate([{ name: 'all', concurrency, timeout: 'call' }]);
        const entry = gate.tryEnter({});
        for (let round = 0; round < ${ROUNDS}; round++) {
          const controller = new AbortController();
          let wait;
          overflow(round, () => {
            wait = gate.enter({}, { timeoutMs: 60_000, signal: controller.signal });
            wait.catch(() => {});
          });
          await turn();
          controller.abort();
          await Promise.resolve(wait).then((entry) => entry?.release(), () => {});
          const [{ waiting, inFlight }] = gate.stats().rules;
          if (waiting + inFlight !== 1) throw new Error('lost in round ' + round);
        }
        entry.release();
      }
    })();
  `;
  // Node tells of promises that are rejected on a full stack.
  const options = { cwd: path.join(__dirname, '..'), encoding: 'utf8' };
  const { status, stderr } = spawnSync(process.execPath, ['-e', script], options);
  assert.equal(status, 0, stderr.slice(-1000));
});

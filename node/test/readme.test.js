'use strict';
// The code of README.md runs as it stands, each block in a process of its own.

const assert = require('node:assert/strict');
const { spawnSync } = require('node:child_process');
const { readFileSync } = require('node:fs');
const path = require('node:path');
const { test } = require('node:test');

const root = path.join(__dirname, '..');
const blocks = [...readFileSync(path.join(root, 'README.md'), 'utf8').matchAll(/^```js\n(.*?)^```$/gms)];

// What the page takes for granted; a timer, as the process is not to end while it waits.
const given = `
  const { KeyedConcurrencyLimiter, KeyedRateLimiter } = require('tidegate');
  const work = async (what) => what;
  const alive = setInterval(() => {}, 60_000);
`;

for (const [index, [, code]] of blocks.entries()) {
  test(`block ${index + 1} of README.md runs`, () => {
    const script = `${given} (async () => { { ${code} } clearInterval(alive); })();`;
    const { status, stderr } = spawnSync(process.execPath, ['-e', script], {
      cwd: root,
      encoding: 'utf8',
      timeout: 60_000,
    });
    assert.deepEqual([status, stderr], [0, '']);
  });
}

test('README.md has code', () => assert.ok(blocks.length >= 4));

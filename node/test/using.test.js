'use strict';

const assert = require('node:assert/strict');
const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { test } = require('node:test');

const root = path.join(__dirname, '..');

/** Runs node, which must succeed, and returns what it printed. */
function node(...options) {
  const { status, stdout, stderr } = spawnSync(process.execPath, options, { cwd: root, encoding: 'utf8' });
  assert.equal(status, 0, stdout + stderr);
  return stdout;
}

test('using, as TypeScript compiles it, releases a permit at the end of its scope and takes a refusal', () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tidegate-'));
  try {
    const settings = ['--module', 'nodenext', '--target', 'es2022', '--rootDir', 'test/types', '--outDir', folder];
    node('node_modules/typescript/bin/tsc', ...settings, 'test/types/using.ts');
    // Run by its text: from here, so that it finds the package.
    assert.equal(node('-e', fs.readFileSync(path.join(folder, 'using.js'), 'utf8')), 'let in, refused meanwhile\n0\n');
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
});

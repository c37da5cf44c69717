'use strict';
// Each piece of code of README.md runs as it stands in a file of its own, and prints what its comments say.

const assert = require('node:assert/strict');
const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { after, before, test } = require('node:test');

const root = path.join(__dirname, '..');
const blocks = [...fs.readFileSync(path.join(root, 'README.md'), 'utf8').matchAll(/^```(js|ts)\n(.*?)^```$/gms)];
/** What TypeScript leaves out: its own library's part on `using`, and the console, which is Node's. */
const settings = ['--strict', '--module', 'nodenext', '--target', 'es2022', '--lib', 'es2022,dom,esnext.disposable'];

/** As a user has it: the packages that the page names are installed. */
let folder;

before(() => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tidegate-'));
  fs.mkdirSync(path.join(folder, 'node_modules'));
  fs.symlinkSync(root, path.join(folder, 'node_modules', 'tidegate'), 'junction');
  for (const name of ['express', 'fastify']) {
    fs.symlinkSync(path.join(root, 'node_modules', name), path.join(folder, 'node_modules', name), 'junction');
  }
});

after(() => fs.rmSync(folder, { recursive: true, force: true }));

/** Runs node, which must succeed and complain of nothing. What it printed, line by line. */
function node(...options) {
  const { status, stdout, stderr } = spawnSync(process.execPath, options, {
    cwd: folder,
    encoding: 'utf8',
    timeout: 60_000,
  });
  assert.deepEqual([status, stderr], [0, ''], stdout);
  return stdout.split('\n').slice(0, -1);
}

/** What a piece of code says that it prints: a line for each console.log, in the order of the page. */
function promised(code) {
  return [...code.matchAll(/console\.log\(.*\/\/ (.*)/g)].map(([, text]) => text);
}

for (const [index, [, language, code]] of blocks.entries()) {
  const name = `block-${index + 1}`;
  test(`${name} of README.md runs, and prints what it says`, () => {
    fs.writeFileSync(path.join(folder, `${name}.${language}`), code);
    if (language === 'ts') node(path.join(root, 'node_modules/typescript/bin/tsc'), ...settings, `${name}.ts`);
    const printed = node(`${name}.js`);
    assert.deepEqual(printed, promised(code));
    assert.equal(printed.length, code.match(/console\.log\(/g)?.length ?? 0, 'a line that does not say what it prints');
  });
}

test('README.md has code of each form', () => {
  const all = blocks.map(([, , code]) => code).join('');
  const forms = [
    'await atOnce.acquire(',
    'timeoutMs:',
    'signal:',
    '.run(',
    '.map(',
    '.tryAcquire(',
    '.reserve(',
    'shared:',
    'using ',
  ];
  assert.deepEqual(
    forms.filter((form) => !all.includes(form)),
    [],
  );
});

'use strict';
// The example server, as a user starts it; its rule file is edited while it runs.

const assert = require('node:assert/strict');
const { spawn } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const readline = require('node:readline');
const { test } = require('node:test');

const examples = path.join(__dirname, '../examples');

test('rules that are edited count from then on, and wrong ones are told', async (t) => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tidegate-example-'));
  const rules = path.join(folder, 'rules.toml');
  fs.copyFileSync(path.join(examples, 'rules.toml'), rules);
  const server = spawn(process.execPath, [path.join(examples, 'server.mjs'), '0', rules], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.after(async () => {
    server.kill();
    await once(server, 'exit');
    fs.rmSync(folder, { recursive: true });
  });
  const lines = readline.createInterface({ input: server.stdout })[Symbol.asyncIterator]();
  const told = async () => (await lines.next()).value;
  // At once, as editors do: who writes in steps may see a step that is wrong told.
  const save = (text) => {
    fs.writeFileSync(`${rules}.new`, text);
    fs.renameSync(`${rules}.new`, rules);
  };
  const edit = (from, to) => save(fs.readFileSync(rules, 'utf8').replace(from, to));

  const [, address] = /^listening on (.*)$/.exec(await told());
  const status = async () => (await fetch(`${address}/search/cats`)).status;
  const times = async (count) => {
    const statuses = [];
    for (let call = 0; call < count; call++) statuses.push(await status());
    return statuses;
  };
  assert.deepEqual(await times(6), [200, 200, 200, 200, 200, 429]);
  edit('"5/min"', '"7/min"');
  assert.match(await told(), /"changed":\["search"\]/);
  assert.deepEqual(await times(3), [200, 200, 429]);
  edit('"7/min"', '"7/fortnight"');
  assert.match(await told(), /rules\.toml:7: rule search: quota: got /);
  assert.deepEqual(await times(1), [429]);
  save('rules = []');
  assert.match(await told(), /"removed":\["search","reports"\]/);
  assert.deepEqual(await times(1), [200]);
});

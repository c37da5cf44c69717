'use strict';
// Where a gate's rules come from, who hears of them, and what becomes of a gate that nobody has any more.

const assert = require('node:assert/strict');
const { spawnSync } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { pathToFileURL } = require('node:url');
const { after, before, describe, test } = require('node:test');
const { Gate, ManualClock, RulesError } = require('tidegate');

const rule = (limit) => ({ name: 'all', concurrency: limit });
const text = (limit) => `[[rules]]\nname = "all"\nconcurrency = ${limit}\n`;
const limitOf = (gate) => gate.rules.rules[0]?.concurrency;
const turn = () => new Promise(setImmediate);
/** Resolves with the next event of a kind. */
const next = (gate, event) => new Promise((resolve) => gate.on(event, resolve));

let folder;
before(() => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tidegate-gate-'));
});
after(() => fs.rmSync(folder, { recursive: true }));

/** A test during which the process has something to do: nothing of a gate's keeps it alive. */
function alive(name, fn) {
  test(name, async () => {
    const timer = setInterval(() => {}, 1e6);
    try {
      await fn();
    } finally {
      clearInterval(timer);
    }
  });
}

/** Runs a script in a process of its own, which must end well; returns what it printed. */
function run(script, ...flags) {
  const options = { cwd: path.join(__dirname, '..'), encoding: 'utf8', timeout: 60_000 };
  const { status, stdout, stderr, error } = spawnSync(process.execPath, [...flags, '-e', script], options);
  assert.equal(status, 0, `${error ?? ''}${stderr}`);
  return stdout;
}

describe('files', () => {
  test('a gate is opened with the rules of a file, which can be read again', () => {
    for (const [ending, written] of [
      ['toml', text],
      ['json', (limit) => JSON.stringify({ rules: [rule(limit)] })],
      ['yaml', (limit) => `rules: [{ name: all, concurrency: ${limit} }]`],
    ]) {
      const file = path.join(folder, `rules.${ending}`);
      fs.writeFileSync(file, written(1));
      const gate = Gate.open(file);
      fs.writeFileSync(file, written(2));
      assert.equal(limitOf(gate), 1);
      assert.deepEqual(gate.reloadFile(pathToFileURL(file)).changed, ['all']);
      assert.equal(limitOf(gate), 2);
    }
  });

  test('a file that is missing, wrong or of another kind is told with its name and lines', () => {
    const file = path.join(folder, 'wrong.toml');
    fs.writeFileSync(file, 'rules = 5\n');
    assert.throws(() => Gate.open(file), { name: 'RulesError', message: new RegExp(`^${file}:1: `) });
    assert.throws(() => Gate.open(path.join(folder, 'none.toml')), RulesError);
    assert.throws(() => Gate.open(path.join(folder, 'none.toml'), { watch: true }), RulesError);
    assert.throws(() => Gate.open('rules.ini'), RulesError);
    assert.throws(() => Gate.open(5), { argument: 'path' });
  });

  alive('a file that is watched counts as soon as it changes; one that is wrong leaves the rules', async () => {
    const file = path.join(folder, 'watched.toml');
    fs.writeFileSync(file, text(1));
    const gate = Gate.open(file, { watch: true });
    assert.equal(limitOf(gate), 1);
    let changed = next(gate, 'reloaded');
    fs.writeFileSync(file, text(2));
    assert.deepEqual((await changed).changed, ['all']);
    assert.equal(limitOf(gate), 2);
    const failed = next(gate, 'reloadFailed');
    fs.writeFileSync(file, 'rules = 5\n');
    const error = await failed;
    assert.ok(error instanceof RulesError);
    assert.equal(error.faults[0].file, file);
    assert.equal(limitOf(gate), 2);
    changed = next(gate, 'reloaded');
    fs.writeFileSync(`${file}.new`, text(3));
    fs.renameSync(`${file}.new`, file);
    await changed;
    assert.equal(limitOf(gate), 3);
  });

  alive('a watch that is closed, also twice, sees nothing more', async () => {
    const file = path.join(folder, 'closed.toml');
    fs.writeFileSync(file, text(1));
    const gate = new Gate();
    const watch = gate.watchFile(file);
    watch.close();
    watch[Symbol.dispose]();
    const other = gate.watchFile(file);
    const changed = next(gate, 'reloaded');
    fs.writeFileSync(file, text(2));
    await changed;
    other.close();
    assert.equal(limitOf(gate), 2);
  });
});

describe('pulled rules', () => {
  alive('are asked for time and again; nothing new and failures leave them as they are, told once', async () => {
    const gate = new Gate([rule(1)]);
    const failures = [];
    gate.on('reloadFailed', (error) => failures.push(error.message));
    const broken = new Error('no connection');
    const answers = [
      () => [rule(2)],
      () => undefined,
      () => Promise.reject(broken),
      () => {
        throw broken;
      },
      () => 'rules: 5',
      () => 'rules: [{ name: all, concurrency: 3 }]',
    ];
    const limits = [];
    await new Promise((resolve) => {
      const source = async () => {
        limits.push(limitOf(gate));
        const answer = answers.shift();
        if (answer) return answer();
        watch.close();
        resolve();
      };
      const watch = gate.pull(source, { everyMs: 1, format: 'yaml' });
    });
    assert.deepEqual(limits, [1, 2, 2, 2, 2, 2, 3]);
    // Of the last failure the native library tells, from a thread of its own.
    while (failures.length < 2) await turn();
    assert.equal(failures[0], 'source: got no connection; allowed: rules, or undefined for nothing new');
    assert.match(failures[1], /rules: got 5; allowed: a list of rules/);
    assert.equal(failures.length, 2);
  });

  alive('that come after the end, or are none, change nothing', async () => {
    const gate = new Gate([rule(1)]);
    let give;
    const watch = gate.pull(() => new Promise((resolve) => (give = resolve)), { everyMs: 1 });
    watch.close();
    give([rule(2)]);
    await turn();
    assert.equal(limitOf(gate), 1);
    const failed = next(gate, 'reloadFailed');
    const other = gate.pull(() => 5, { everyMs: 1000 });
    assert.equal((await failed).argument, 'rules');
    other.close();
  });
});

describe('listeners', () => {
  alive('hear of refusals, also of rules in shadow, and of changes, in order', async () => {
    const gate = new Gate([rule(0)]);
    const heard = [];
    const over = new Promise((resolve) => {
      for (const event of ['refused', 'shadowRefused', 'reloaded', 'reloadFailed']) {
        gate.on(event, (value) => {
          heard.push([event, value]);
          if (event === 'reloadFailed') resolve();
        });
      }
    });
    gate.tryEnter({});
    gate.reload([{ ...rule(0), mode: 'shadow' }]);
    gate.tryEnter({});
    assert.throws(() => gate.reload('', { format: 'json' }), RulesError);
    assert.equal(heard.length, 0, 'after the fact');
    await over;
    assert.deepEqual(
      heard.map(([event]) => event),
      ['refused', 'reloaded', 'shadowRefused', 'reloadFailed'],
    );
    assert.deepEqual([heard[0][1].rule, heard[1][1].changed, heard[2][1].status], ['all', ['all'], 'denied']);
    assert.ok(heard[3][1] instanceof RulesError);
  });

  alive('that fail break nothing: the refusal stands, others hear, a warning tells (G7)', async () => {
    const gate = new Gate([rule(0)]);
    const warnings = [];
    const warn = ({ code, message }) => warnings.push([code, /oh no/.test(message)]);
    process.on('warning', warn);
    const fail = () => {
      throw new Error('oh no');
    };
    gate.on('refused', fail);
    gate.on('refused', async () => fail());
    const heard = next(gate, 'refused');
    assert.equal(gate.tryEnter({}).allowed, false);
    assert.equal((await heard).rule, 'all');
    while (warnings.length < 2) await turn();
    process.off('warning', warn);
    assert.deepEqual(warnings, Array(2).fill(['TIDEGATE_LISTENER_FAILED', true]));
  });

  alive('that leave hear no more, and a flood is heard in part', async () => {
    const gate = new Gate([rule(0)]);
    let [first, second] = [0, 0];
    const listener = () => first++;
    gate.on('refused', listener).off('refused', listener).off('refused', listener);
    gate.on('refused', () => second++);
    for (let call = 0; call < 10_000; call++) gate.tryEnter({});
    const changed = next(gate, 'reloaded');
    while (second === 0) await turn();
    await turn();
    gate.reload([]);
    await changed;
    assert.equal(first, 0);
    assert.ok(second >= 1_024 && second <= 10_000, `${second}`);
  });
});

describe('a gate', () => {
  test('keeps no process alive, whatever it is at', () => {
    const file = path.join(folder, 'alive.toml');
    fs.writeFileSync(file, text(1));
    const script = `
      const { Gate } = require('tidegate');
      const gate = Gate.open(${JSON.stringify(file)}, { watch: true });
      gate.on('refused', () => {});
      gate.pull(() => undefined, { everyMs: 10 });
      gate.pull(() => new Promise(() => {}), { everyMs: 10 });
      gate.reload([{ name: 'all', concurrency: 1, timeout: 'call' }]);
      const entry = gate.tryEnter({});
      gate.enter({}, { timeoutMs: 60_000 }).then(() => console.log('never'), () => console.log('never'));
      console.log('the end');
    `;
    assert.equal(run(script), 'the end\n');
  });

  test('an entry that is forgotten is released, with a process warning', () => {
    const script = `
      const { Gate } = require('tidegate');
      const gate = new Gate([{ name: 'all', concurrency: 5 }]);
      const kept = gate.tryEnter({});
      (() => { gate.tryEnter({}); gate.tryEnter({}).release(); })();
      process.on('warning', ({ name, code }) => console.log(name, code));
      setTimeout(() => {
        gc();
        setTimeout(() => console.log(gate.stats().rules[0].inFlight, gate.stats().releasedOk, kept.released), 50);
      }, 100);
    `;
    assert.equal(run(script, '--expose-gc'), 'TidegateWarning TIDEGATE_ENTRY_FORGOTTEN\n1 2 false\n');
  });

  test('requests, waits, refusals and gates themselves leave no memory behind', () => {
    const script = `
      const { Gate } = require('tidegate');
      const gate = new Gate([{ name: 'all', key: 'client', concurrency: 1, timeout: 'call', max_keys: 1000 }]);
      const turn = () => new Promise(setImmediate);
      let over = 0;
      async function round() {
        for (let batch = 0; batch < 20; batch++) {
          const controller = new AbortController();
          const entry = gate.tryEnter({ client: 'ann' });
          for (let call = 0; call < 500; call++) {
            gate.enter({ client: 'ann' }, { timeoutMs: 60_000, signal: controller.signal }).catch(() => over++);
            gate.tryEnter({ client: 'ann' }).problem();
            gate.tryEnter({ client: 'client ' + call }).release();
          }
          controller.abort();
          entry.release();
          for (let call = 0; call < 20; call++) new Gate([{ name: 'all', concurrency: 1 }]).on('refused', () => {}).tryEnter({});
          gc();
          await turn();
        }
        await turn();
        return process.memoryUsage.rss();
      }
      process.removeAllListeners('warning');
      process.emitWarning = () => {};
      (async () => {
        for (let i = 0; i < 4; i++) await round();
        const before = await round();
        for (let i = 0; i < 10; i++) await round();
        const grown = (await round()) - before;
        console.log(JSON.stringify([grown, over, gate.stats().rules[0].inFlight, gate.stats().rules[0].waiting]));
      })();
    `;
    const [grown, ...rest] = JSON.parse(run(script, '--expose-gc'));
    assert.deepEqual(rest, [160_000, 0, 0]);
    assert.ok(grown < 30e6, `grew by ${grown} bytes`);
  });

  test('a worker that ends amid requests does no harm', async () => {
    const { Worker } = require('node:worker_threads');
    const script = `
      const { Gate } = require('tidegate');
      const { parentPort } = require('node:worker_threads');
      const gate = new Gate([{ name: 'all', concurrency: 1, timeout: 'call' }]);
      gate.on('refused', () => {});
      globalThis.kept = [gate.tryEnter({}), gate.enter({}, { timeoutMs: 60_000 }), gate.tryEnter({})];
      setInterval(() => gate.tryEnter({}), 0);
      parentPort.postMessage('inside');
    `;
    for (let started = 0; started < 10; started++) {
      const worker = new Worker(script, { eval: true });
      await once(worker, 'message');
      await worker.terminate();
    }
  });

  test('with a clock of its own tells the time by it', () => {
    const clock = new ManualClock();
    const file = path.join(folder, 'clock.toml');
    fs.writeFileSync(file, '[[rules]]\nname = "all"\nquota = "1/min"\n');
    const gate = Gate.open(file, { clock });
    gate.tryEnter({}).release();
    assert.equal(gate.tryEnter({}).retryAfterMs, 60_000);
    clock.advance(60_000);
    assert.equal(gate.tryEnter({}).allowed, true);
  });
});

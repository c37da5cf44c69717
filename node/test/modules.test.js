'use strict';
// How the package is found and loaded: by require and import, from its tarballs, in the layouts of package managers.

const assert = require('node:assert/strict');
const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { inspect } = require('node:util');
const { after, before, describe, test } = require('node:test');
const tidegate = require('tidegate');
const { target } = require('../lib/target.js');
const { version } = require('../package.json');
const surface = require('./types/surface.js');

const root = path.join(__dirname, '..');
const native = `tidegate-${target}`;

/** Runs a command that must succeed, and returns what it printed. */
function run(command, ...options) {
  const { status, stdout, stderr, error } = spawnSync(command, ...options);
  assert.equal(status, 0, `${error ?? ''}${stderr}`);
  return String(stdout);
}

describe('names', () => {
  test('everything that index.d.ts declares is exported, and nothing else', () => {
    assert.deepEqual(Object.keys(tidegate).sort(), Object.keys(surface.exported).sort());
  });

  test('classes have the members that index.d.ts declares, and no others', () => {
    const limiter = new tidegate.RateLimiter('5/s');
    const lender = new tidegate.ConcurrencyLimiter(1, { trackHoldTime: true });
    const keyed = new tidegate.KeyedRateLimiter('0/s', { maxKeys: 1, trackDenied: 1 });
    keyed.tryAcquire('key');
    const keyedLender = new tidegate.KeyedConcurrencyLimiter(1, { maxKeys: 1, trackHoldTime: true });
    const gate = new tidegate.Gate([{ name: 'all', concurrency: 1 }]);
    const own = (object) => Reflect.ownKeys(object).filter((name) => name !== 'constructor');
    const inherited = (object) => own(Object.getPrototypeOf(object)).filter((name) => name !== inspect.custom);
    for (const [there, declared] of [
      [inherited(limiter), surface.rateLimiter],
      [inherited(lender), surface.concurrencyLimiter],
      [inherited(keyed), surface.keyedRateLimiter],
      [inherited(keyedLender), surface.keyedConcurrencyLimiter],
      [inherited(lender.tryAcquire()), surface.permit],
      [inherited(new tidegate.ManualClock()), surface.manualClock],
      [[...own(limiter.quota), ...inherited(limiter.quota)], surface.quota],
      [own(tidegate.Quota).filter((name) => !['length', 'name', 'prototype'].includes(name)), surface.quotaStatics],
      [[...own(limiter.decide()), ...inherited(limiter.decide())], surface.decision],
      [own(limiter.stats()), surface.rateStats],
      [own(lender.stats()), surface.concurrencyStats],
      [own(keyed.stats()), surface.keyedRateStats],
      [[...own(limiter.reserve()), ...inherited(limiter.reserve())], surface.reservation],
      [own(keyed.topDenied(1)[0]), surface.deniedKey],
      [own(keyedLender.stats()), surface.keyedConcurrencyStats],
      [inherited(gate), surface.gate],
      [inherited(gate.tryEnter({})), surface.entry],
      [inherited(new tidegate.Gate([{ name: 'none', concurrency: 0 }]).tryEnter({})), surface.refusal],
      [own(gate.stats()), surface.gateStats],
      [own(gate.stats().rules[0]), surface.ruleStats],
    ]) {
      assert.deepEqual(new Set(there), new Set(Reflect.ownKeys(declared)));
    }
  });

  test('errors say their class, their code, and that they are ours', () => {
    for (const [name, code] of [
      ['RefusedError', 'REFUSED'],
      ['ExceedsCapacityError', 'EXCEEDS_CAPACITY'],
      ['TimedOutError', 'TIMED_OUT'],
      ['QueueFullError', 'QUEUE_FULL'],
      ['ClosedError', 'CLOSED'],
      ['InternalError', 'INTERNAL'],
      ['ConfigError', 'CONFIG'],
      ['RulesError', 'RULES'],
    ]) {
      const error = new tidegate[name]('a text');
      assert.ok(error instanceof tidegate.TidegateError && error instanceof tidegate[name] && error instanceof Error);
      assert.deepEqual([error.name, error.code, error.message], [name, `ERR_TIDEGATE_${code}`, 'a text']);
      assert.ok(error.stack.startsWith(`${name}: a text`));
    }
    const base = new tidegate.TidegateError('a text', undefined, { cause: 5 });
    assert.deepEqual([base.name, base.code, base.cause], ['TidegateError', 'ERR_TIDEGATE', 5]);
    assert.equal(base instanceof tidegate.RefusedError, false);
  });

  test('import gives the very classes that require gives', async () => {
    const imported = await import('tidegate');
    assert.deepEqual(Object.keys(imported).sort(), [...Object.keys(tidegate), 'default'].sort());
    assert.equal(imported.default, tidegate);
    for (const name of Object.keys(tidegate)) assert.equal(imported[name], tidegate[name]);
  });
});

describe('installed', () => {
  let folder;

  before(() => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tidegate-'));
    run(process.execPath, [path.join(root, 'scripts/pack.mjs'), path.join(folder, 'packed')], { cwd: root });
  });

  after(() => fs.rmSync(folder, { recursive: true, force: true }));

  /** A project in which the named packages are installed as npm does, from the tarballs. */
  function project(name, ...packages) {
    const at = path.join(folder, name);
    fs.mkdirSync(path.join(at, 'node_modules'), { recursive: true });
    for (const one of packages) unpack(one, path.join(at, 'node_modules', one));
    return at;
  }

  function unpack(name, to) {
    fs.mkdirSync(to, { recursive: true });
    const tarball = path.join(folder, 'packed', `${name}-${version}.tgz`);
    run('tar', ['xzf', tarball, '-C', to, '--strip-components=1']);
  }

  /** Uses the package from a project by require and by import. */
  function use(at) {
    const body = "if (!new RateLimiter('1/s').tryAcquire()) throw new Error('refused')";
    run(process.execPath, ['-e', `const { RateLimiter } = require('tidegate'); ${body}`], { cwd: at });
    fs.writeFileSync(path.join(at, 'use.mjs'), `import { RateLimiter } from 'tidegate'; ${body}`);
    run(process.execPath, ['use.mjs'], { cwd: at });
  }

  /** The message and cause of the error that loading the package gives. */
  function failure(at, environment = {}) {
    const script = `
      try { require('tidegate'); } catch ({ name, code, message, cause }) {
        console.log(JSON.stringify({ name, code, message, cause: cause?.message }));
      }`;
    return JSON.parse(run(process.execPath, ['-e', script], { cwd: at, env: { ...process.env, ...environment } }));
  }

  test('the package holds what it needs, its licenses, and no native library', () => {
    const at = project('content', 'tidegate');
    const names = fs.readdirSync(path.join(at, 'node_modules/tidegate')).sort();
    const licenses = ['LICENSE-APACHE', 'LICENSE-MIT'];
    const web = ['express', 'fastify', 'http'].flatMap((name) => [`${name}.d.ts`, `${name}.js`]);
    const expected = [
      'README.md',
      ...web,
      'index.d.mts',
      'index.d.ts',
      'index.js',
      'index.mjs',
      'lib',
      'package.json',
      'types',
    ];
    assert.deepEqual(names, [...licenses, ...expected]);
    const manifest = JSON.parse(fs.readFileSync(path.join(at, 'node_modules/tidegate/package.json')));
    assert.equal(manifest.optionalDependencies[native], version);
    assert.equal(manifest.scripts, undefined);
    assert.equal(require('../package.json').optionalDependencies, undefined);
  });

  test('the middleware needs no framework to be there', () => {
    const at = project('web', 'tidegate', native);
    const script = `
      const { gateMiddleware } = require('tidegate/express');
      const { gatePlugin } = require('tidegate/fastify');
      import('tidegate/http').then(({ gateHandler }) => console.log(typeof gateMiddleware, typeof gatePlugin, typeof gateHandler));
    `;
    assert.equal(run(process.execPath, ['-e', script], { cwd: at }), 'function function function\n');
  });

  test('works side by side, as npm and yarn lay packages out', () => {
    use(project('npm', 'tidegate', native));
  });

  test('works through links into a store, as pnpm lays packages out', () => {
    const at = project('pnpm');
    const store = path.join(at, 'node_modules/.pnpm');
    const [main, platform] = ['tidegate', native].map((one) =>
      path.join(store, `${one}@${version}`, 'node_modules', one),
    );
    unpack('tidegate', main);
    unpack(native, platform);
    fs.symlinkSync(platform, path.join(path.dirname(main), native), 'junction');
    fs.symlinkSync(main, path.join(at, 'node_modules/tidegate'), 'junction');
    use(at);
  });

  test('a missing platform package is named, with the remedy and the reason', () => {
    const { name, code, message, cause } = failure(project('bare', 'tidegate'));
    assert.deepEqual([name, code], ['TidegateError', 'ERR_TIDEGATE_NATIVE']);
    assert.equal(
      message,
      `The native library ${native} can't be used: Cannot find module '${native}'. It will be once its package is ` +
        `there: npm install ${native}@${version} (and not with --omit=optional).`,
    );
    assert.ok(cause.startsWith(`Cannot find module '${native}'`));
  });

  test('in a clone of the project the remedy is to build it', () => {
    const at = project('clone', 'tidegate');
    fs.writeFileSync(path.join(at, 'node_modules/tidegate/Cargo.toml'), '');
    const { message } = failure(at);
    assert.ok(message.endsWith('It will be once it is built: make build LANGS=node.'), message);
  });

  test('a library that is broken is told apart from one that is missing', () => {
    const at = project('broken', 'tidegate', native);
    fs.writeFileSync(path.join(at, 'node_modules', native, 'tidegate.node'), 'no library');
    const { message, cause } = failure(at);
    assert.doesNotMatch(cause, /Cannot find module/);
    assert.ok(message.includes(cause.split('\n')[0]));
  });

  test('a library of another version is refused, naming both', () => {
    const at = project('stale', 'tidegate', native);
    const manifest = path.join(at, 'node_modules/tidegate/package.json');
    fs.writeFileSync(manifest, JSON.stringify({ ...JSON.parse(fs.readFileSync(manifest)), version: '99.0.0' }));
    assert.match(failure(at).message, new RegExp(`it is of version ${version}, and the package of 99\\.0\\.0`));
  });

  test('NAPI_RS_NATIVE_LIBRARY_PATH goes before everything else, and is named when it is wrong', () => {
    const NAPI_RS_NATIVE_LIBRARY_PATH = path.join(folder, 'nowhere.node');
    const { message } = failure(project('override', 'tidegate', native), { NAPI_RS_NATIVE_LIBRARY_PATH });
    assert.ok(message.includes(NAPI_RS_NATIVE_LIBRARY_PATH) && message.includes('NAPI_RS_NATIVE_LIBRARY_PATH names'));
    const at = project('overridden', 'tidegate');
    const built = path.join(root, `tidegate.${target}.node`);
    run(process.execPath, ['-e', "require('tidegate')"], {
      cwd: at,
      env: { ...process.env, NAPI_RS_NATIVE_LIBRARY_PATH: built },
    });
  });
});

/** Pages of docs/moving as what they say: rows of settings, and code that uses them. The same as pages.py. */

import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const ROOT = new URL('../../', import.meta.url);
const PEERS = new URL('build/moving/node/', ROOT);
const BLOCK = /^```(\w+)\n(.*?)^```$/gms;

/** Finds packages where a block of a page would. */
export const require = createRequire(new URL('package.json', PEERS));

const { ManualClock } = require('tidegate');

/** What code in a cell comes to, with these names. */
export function evaluate(code, names = {}) {
  return new Function(...Object.keys(names), `return (${code});`)(...Object.values(names));
}

export class Page {
  #name;
  #rows = new Map();
  #tested = new Set();

  constructor(name) {
    this.#name = name;
    const text = readFileSync(new URL(`docs/moving/${name}.md`, ROOT), 'utf8');
    this.blocks = [...text.matchAll(BLOCK)].map(([, , code]) => code);
    for (const line of text.replace(BLOCK, '').split('\n')) {
      if (!line.startsWith('| ') || line.startsWith(`| ${name} `) || line.startsWith('| --- ')) continue;
      const [theirs, ours, differs] = line.slice(2, -2).split(' | ');
      this.#rows.set(theirs, { theirs: codeOf(theirs), ours: codeOf(ours), differs });
    }
  }

  /** A test of the row whose first cell begins so. */
  row(beginning, behaviour, body) {
    const names = [...this.#rows.keys()].filter((name) => name.startsWith(beginning));
    assert.equal(names.length, 1, `${names.length} rows begin with ${beginning}`);
    this.#tested.add(names[0]);
    test(`${behaviour} (${names[0]})`, (t) => body(this.#rows.get(names[0]), bothClocks(t), t));
  }

  /** To be called last. */
  everyRowIsTested() {
    test('each row is tested', () => {
      assert.deepEqual(
        [...this.#rows.keys()].filter((name) => !this.#tested.has(name)),
        [],
      );
    });
  }

  /** Pastes a block into a file beside the packages. */
  paste(number, edit = (code) => code) {
    const folder = new URL(`pages/${this.#name}/`, PEERS);
    mkdirSync(folder, { recursive: true });
    const file = new URL(`block-${number}.mjs`, folder);
    rmSync(file, { force: true });
    writeFileSync(file, edit(this.blocks[number]));
    return fileURLToPath(file);
  }
}

function codeOf(cell) {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, code]) => code.replaceAll('\\|', '|'));
}

/** Their clock, which is Date and timers, and ours, at the same time. */
function bothClocks(t) {
  const ours = new ManualClock();
  t.mock.timers.enable({ apis: ['Date', 'setTimeout', 'setInterval'], now: 1_000_000_000_000 });
  ours.set(1_000_000_000_000);
  return {
    ours,
    /** Moves both on, and lets what comes of it happen. */
    async advance(ms) {
      t.mock.timers.tick(ms);
      ours.advance(ms);
      await settled();
    },
  };
}

/** Lets promises that can be settled be so. */
export async function settled() {
  for (let turns = 0; turns < 20; turns++) await Promise.resolve();
}

/** Numbers that look random, and are the same each time. */
export function numbers(seed) {
  let state = seed;
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return Math.floor((state / 2 ** 31) * below);
  };
}

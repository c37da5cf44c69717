'use strict';
// Runs the vectors of the gate (tests/vectors/gate) on this package and prints its answers.
// usage: node gate-driver.cjs FILE...

const { readFileSync } = require('node:fs');
const path = require('node:path');
const { Gate, ManualClock, RulesError } = require('tidegate');

const CHANGES = ['changed', 'restarted', 'added', 'removed', 'unchanged'];

/** The gates and entries of one script. */
class Script {
  #folder;
  #clock = new ManualClock();
  #gates = new Map();
  #entries = new Map();

  constructor(folder) {
    this.#folder = folder;
  }

  /** What one command prints after its line's number. */
  answer(verb, words) {
    try {
      return this[verb](...words);
    } catch (error) {
      if (error instanceof RulesError) return faulty(error);
      throw error;
    }
  }

  gate(name, file) {
    this.#gates.set(name, Gate.open(path.join(this.#folder, file), { clock: this.#clock }));
    return 'ok';
  }

  reload(name, file) {
    const done = this.#gates.get(name).reloadFile(path.join(this.#folder, file));
    const kinds = CHANGES.filter((kind) => done[kind].length > 0);
    return ['ok', ...kinds.map((kind) => `${kind}=${done[kind].join(',')}`)].join(' ');
  }

  enter(name, ...words) {
    const { attributes, cost, kept } = requestOf(words);
    const entered = this.#gates.get(name).tryEnter(attributes, { cost });
    if (!entered.allowed) return refused(entered);
    const told = entered.applies ? `allowed rules=${entered.rules.sort().join(',')}` : entered.status;
    if (kept === undefined) entered.release();
    else this.#entries.set(kept, entered);
    return told;
  }

  leave(kept, outcome = 'ok') {
    this.#entries.get(kept).release(outcome === 'ok');
    this.#entries.delete(kept);
    return 'ok';
  }

  explain(name, ...words) {
    const { attributes, cost } = requestOf(words);
    const { status, rules } = this.#gates.get(name).explain(attributes, { cost });
    return [status, ...rules.map(traced)].join(' ');
  }

  stats(name) {
    const { admitted, refused, unmatched, releasedOk, releasedFailed, rules } = this.#gates.get(name).stats();
    const figures = `admitted=${admitted} refused=${refused} unmatched=${unmatched}`;
    const told = rules.map((rule) => `${rule.name}=${rule.admitted}:${rule.refused}:${rule.inFlight}`);
    return ['ok', figures, `ok=${releasedOk} failed=${releasedFailed}`, ...told].join(' ');
  }

  advance(ns) {
    this.#clock.advanceNs(BigInt(ns));
    return 'ok';
  }

  end() {
    for (const entry of this.#entries.values()) entry.release();
  }
}

/** `NAME=VALUE… [cost=] [as=]`: the attributes, the cost, and the name that the entry is kept under. */
function requestOf(words) {
  const { cost = '1', as: kept, ...attributes } = Object.fromEntries(words.map((word) => word.split(/=(.*)/s, 2)));
  return { attributes, cost: Number(cost), kept };
}

function refused({ status, rule, key, limit, remaining, retryAfterMs }) {
  const waits = { null: 'others', Infinity: 'never' }[retryAfterMs] ?? Math.round(retryAfterMs * 1e6);
  const told = `${status} rule=${rule} limit=${limit} remaining=${remaining} retry_after=${waits}`;
  return key === null ? told : `${told} key=${key}`;
}

function traced({ rule, mode, matched, status, remaining }) {
  if (mode === 'off') return `${rule}=off`;
  return `${rule}=${matched ? `${status}:${remaining}` : 'unmatched'}`;
}

function faulty({ faults }) {
  const places = faults.map(({ line = '-', rule = '-', argument }) => `${line}:${rule}:${argument}`);
  return ['faults', ...places].join(' ');
}

function answersOf(file) {
  const lines = [`file ${path.basename(file)}`];
  let script;
  for (const [index, line] of readFileSync(file, 'utf8').split('\n').entries()) {
    if (line.startsWith('script ')) {
      script?.end();
      script = new Script(path.dirname(file));
      lines.push(line);
    } else if (line !== '' && !/^[#=]/.test(line)) {
      const [verb, ...words] = line.split(' ');
      lines.push(`${index + 1} ${script.answer(verb, words)}`);
    }
  }
  script?.end();
  return lines;
}

for (const file of process.argv.slice(2)) console.log(answersOf(file).join('\n'));

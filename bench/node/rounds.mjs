// Timing: subjects take turns, round by round, so that a machine whose speed drifts is the same for all.

import { readFileSync } from 'node:fs';

export const quick = Boolean(process.env.QUICK);
export const rounds = quick ? 9 : 31;

/** More than any loop here can spend in its period. */
export const plenty = 1_000_000_000;

/** The version of the package in a folder. */
function version(folder) {
  return JSON.parse(readFileSync(new URL(`${folder}/package.json`, import.meta.url), 'utf8')).version;
}

export const ours = { name: 'tidegate', version: version('../../node') };

/** A peer's name and version, by the name of its package. */
export function peer(name) {
  return { name, version: version(`node_modules/${name}`) };
}

/**
 * @typedef {object} Subject
 * @property {string} name
 * @property {string} version
 * @property {number} calls calls a round
 * @property {(calls: number | Iterable<string>) => number | Promise<number>} loop makes so many calls, or one for each key; how
 * many were admitted
 * @property {(calls: number) => string[]} [make] makes the keys of calls, which isn't timed
 */

/** Keys that are made before their calls are timed: few, so that they are at hand, as one is that a service has just read. */
const keysAtOnce = 250;

/**
 * Runs all subjects in turn, two rounds to warm up and then those that count, and prints a line for each.
 * @param {string} name
 * @param {boolean} admits whether every call must be admitted, or none
 * @param {Subject[]} subjects
 */
export async function together(name, admits, subjects) {
  const times = await taken(name, admits, subjects, rounds);
  for (const [index, subject] of subjects.entries()) report(name, subject, times[index]);
}

/** The times of so many rounds, of each subject. */
export async function taken(name, admits, subjects, rounds) {
  const times = subjects.map(() => []);
  for (let round = -2; round < rounds; round += 1) {
    for (const [index, subject] of subjects.entries()) {
      const { calls, make, loop } = subject;
      let [admitted, elapsedNs] = [0, 0];
      for (let left = calls; left > 0; left -= keysAtOnce) {
        const given = make ? make(keysAtOnce) : calls;
        const start = process.hrtime.bigint();
        // A loop that has its answer at once is not awaited: a turn of the event loop would be timed with it.
        const pending = loop(given);
        admitted += typeof pending === 'number' ? pending : await pending;
        elapsedNs += Number(process.hrtime.bigint() - start);
        if (!make) break;
      }
      const expected = admits ? calls : 0;
      if (admitted !== expected) {
        throw new Error(`${name}, ${subject.name}: admitted ${admitted}; expected ${expected}`);
      }
      if (round >= 0) times[index].push(elapsedNs / calls);
    }
  }
  return times;
}

/** Prints the median and the tenth and ninetieth percentile. */
export function report(name, subject, figures, unit = 'ns_per_op') {
  const rising = figures.toSorted((a, b) => a - b);
  const tenth = (part) => Number(rising[Math.floor(((rising.length - 1) * part) / 10)].toFixed(2));
  const row = {
    language: 'node',
    case: name,
    subject: subject.name,
    [unit]: tenth(5),
    spread: [tenth(1), tenth(9)],
    rounds: rising.length,
    version: subject.version,
  };
  console.log(JSON.stringify(row));
}

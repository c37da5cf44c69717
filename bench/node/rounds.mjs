// Timing: subjects take turns, round by round, so that a machine whose speed drifts is the same for all.

const rounds = process.env.QUICK ? 9 : 41;

/**
 * @typedef {object} Subject
 * @property {string} name
 * @property {string} version
 * @property {number} calls calls a round
 * @property {(calls: number) => number | Promise<number>} loop makes so many calls; how many were admitted
 */

/**
 * Runs all subjects in turn, two rounds to warm up and then those that count, and prints a line for each.
 * @param {string} name
 * @param {boolean} admits whether every call must be admitted, or none
 * @param {Subject[]} subjects
 */
export async function together(name, admits, subjects) {
  const times = subjects.map(() => []);
  for (let round = -2; round < rounds; round += 1) {
    for (const [index, { name: subject, calls, loop }] of subjects.entries()) {
      const start = process.hrtime.bigint();
      // A loop that has its answer at once is not awaited: a turn of the event loop would be timed with it.
      const pending = loop(calls);
      const admitted = typeof pending === 'number' ? pending : await pending;
      const elapsedNs = Number(process.hrtime.bigint() - start);
      const expected = admits ? calls : 0;
      if (admitted !== expected) throw new Error(`${name}, ${subject}: admitted ${admitted}; expected ${expected}`);
      if (round >= 0) times[index].push(elapsedNs / calls);
    }
  }
  for (const [index, subject] of subjects.entries()) report(name, subject, times[index]);
}

/** Prints the median and the tenth and ninetieth percentile. */
function report(name, subject, times) {
  const rising = times.toSorted((a, b) => a - b);
  const tenth = (part) => Number(rising[Math.floor(((rising.length - 1) * part) / 10)].toFixed(2));
  const row = {
    language: 'node',
    case: name,
    subject: subject.name,
    ns_per_op: tenth(5),
    spread: [tenth(1), tenth(9)],
    rounds: rising.length,
    version: subject.version,
  };
  console.log(JSON.stringify(row));
}

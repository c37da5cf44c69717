// What the resident memory of a process grows by while keys enter, for each of them. `node --expose-gc memory.mjs SUBJECT` is such a process.

import { execFileSync } from 'node:child_process';
import { argv, execPath, memoryUsage } from 'node:process';
import { fileURLToPath } from 'node:url';
import { addresses, subjects } from './keyed.mjs';
import { ours, peer, quick, report } from './rounds.mjs';

const million = 1_000_000;
const processes = quick ? 1 : 2;
/** Peers take long to let a million in, so that a short run has fewer. */
const keysOf = (name) => (quick && name !== 'tidegate' ? 200_000 : million);
const program = fileURLToPath(import.meta.url);

/** Each key stays for minutes and is at hand nowhere else. */
async function bytesPerKey(name) {
  const count = keysOf(name);
  const { loop } = subjects[name](count, 10);
  // What V8 takes for what is young, it keeps: so it has that before.
  for (const key of addresses(count)) if (key === name) throw new Error(key);
  const before = residentBytes();
  await loop(addresses(count));
  return (residentBytes() - before) / count;
}

function residentBytes() {
  for (let time = 0; time < 3; time += 1) globalThis.gc();
  return memoryUsage.rss();
}

export function memory() {
  for (const name of Object.keys(subjects)) {
    const measure = () => Number(execFileSync(execPath, ['--expose-gc', program, name], { encoding: 'utf8' }));
    const figures = Array.from({ length: processes }, measure);
    report('memory, 1,000,000 keys', name === 'tidegate' ? ours : peer(name), figures, 'bytes_per_key');
  }
}

if (argv[1] === program) console.log(await bytesPerKey(argv[2]));

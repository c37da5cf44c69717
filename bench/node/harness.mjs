// tidegate's npm package beside its peers, interleaved in one process. Prints JSON lines; `bench/run.py` reads them.

import { gate } from './gate.mjs';
import { keyed, sameKeyedWork } from './keyed.mjs';
import { memory } from './memory.mjs';
import { rate, sameWork } from './rate.mjs';
import { sameThreads, threads } from './threads.mjs';
import { sameWaiting, waiting } from './waiting.mjs';
import { web } from './web.mjs';

// Before anything is timed.
await sameWork();
await sameThreads();
await sameKeyedWork();
await sameWaiting();

await rate();
await threads();
await waiting();
await gate();
await web();
// Last, since a heap of millions of keys makes all that comes after it slower.
await keyed();
memory();
// Some peers wait, in vain, for a token that comes in an hour, and would keep the process until then.
process.exit();

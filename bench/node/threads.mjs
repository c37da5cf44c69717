// Worker threads on one limiter, which they share by its name. Peers keep what they count in a thread of their own.

import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { RateLimiter } from '../../node/index.mjs';
import { ours, plenty, together } from './rounds.mjs';

const calls = 1_000_000;
const program = fileURLToPath(import.meta.url);

/** Makes so many calls in all; how many were admitted. */
async function ask(workers, calls) {
  const answers = workers.map((worker) => once(worker, 'message'));
  for (const worker of workers) worker.postMessage(calls / workers.length);
  return (await Promise.all(answers)).reduce((sum, [admitted]) => sum + admitted, 0);
}

async function started(threads, quota) {
  const workers = Array.from({ length: threads }, () => new Worker(program, { workerData: quota }));
  await Promise.all(workers.map((worker) => once(worker, 'online')));
  return workers;
}

async function withWorkers(threads, quota, use) {
  const workers = await started(threads, quota);
  await use((calls) => ask(workers, calls));
  await Promise.all(workers.map((worker) => worker.terminate()));
}

/** All threads together are admitted as often as the limiter allows. */
export async function sameThreads() {
  const [threads, limit] = [2, 1_000];
  await withWorkers(threads, `${limit}/h`, async (loop) => {
    const admitted = await loop(2 * limit);
    if (admitted !== limit) throw new Error(`${threads} threads: admitted ${admitted}; expected ${limit}`);
    console.error(`same work: ${threads} threads of tidegate admit ${limit} of ${2 * limit} calls`);
  });
}

export async function threads() {
  for (const [name, admits, quota] of [
    ['gcra allowed', true, `${plenty}/s`],
    ['gcra refused', false, '1/h'],
  ]) {
    for (const count of [2, 10]) {
      await withWorkers(count, quota, async (loop) => {
        if (!admits) await loop(count);
        await together(`${name}, ${count} threads`, admits, [{ ...ours, calls, loop }]);
      });
    }
  }
}

if (!isMainThread && workerData !== null) {
  const limiter = new RateLimiter(workerData, { shared: `bench ${workerData}` });
  parentPort.on('message', (calls) => {
    let admitted = 0;
    for (let call = 0; call < calls; call += 1) if (limiter.tryAcquire()) admitted += 1;
    parentPort.postMessage(admitted);
  });
}

// Express that says hello, with a budget for each client and without, beside express-rate-limit; each server is a process. Requests come
// from a thread of this one, over the loopback interface.

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { ours, peer, plenty, quick, report, rounds, taken } from './rounds.mjs';

const calls = 1_000;
/** How often a process of each kind is started, one at a time: one is faster than the other by what lies where in memory. */
const generations = quick ? 1 : 24;
/** How many of its rounds count. */
const roundsEach = quick ? rounds : 4;
/** Requests that a process answers before it is timed: after some thousand the engine is not done with optimizing yet. */
const warmUp = quick ? 3_000 : 20_000;
const name = 'Express hello world';

/** What `web-server.mjs` knows; the last three tell what parts of the work cost. */
const subjects = [
  ours,
  peer('express-rate-limit'),
  ...['Express alone', 'Express and an empty layer', 'Express and two constant headers'].map((name) => ({
    ...peer('express'),
    name,
  })),
];

/** A server, and the port that it listens at. */
async function start({ name }, limit) {
  const server = fork(new URL('web-server.mjs', import.meta.url), [name, limit]);
  const [port] = await once(server, 'message');
  return { server, port };
}

/** Makes so many requests of a server; how many of them it admitted. */
async function ask(client, port, calls) {
  client.postMessage({ port, calls });
  const [admitted] = await once(client, 'message');
  return admitted;
}

/** Both admit as many of the same requests, before anything is timed. */
async function sameWork(client) {
  const [calls, limit] = [100, 50];
  const limited = subjects.slice(0, 2);
  for (const subject of limited) {
    const { server, port } = await start(subject, limit);
    const admitted = await ask(client, port, calls);
    server.disconnect();
    if (admitted !== limit) throw new Error(`${subject.name}: admitted ${admitted} of ${calls}; expected ${limit}`);
  }
  const names = limited.map(({ name }) => name).join(', ');
  console.error(`same work: each of ${names} admits ${limit} of ${calls} requests`);
}

export async function web() {
  const client = new Worker(new URL('web-client.mjs', import.meta.url));
  await sameWork(client);
  const times = subjects.map(() => []);
  for (let generation = 0; generation < generations; generation += 1) {
    for (let turn = 0; turn < subjects.length; turn += 1) {
      // Each is as often the first.
      const index = (generation + turn) % subjects.length;
      times[index].push(...(await processTimes(client, subjects[index])));
    }
  }
  for (const [index, subject] of subjects.entries()) report(name, subject, times[index]);
  await client.terminate();
}

/** The times of one process, timed as soon as it is warm: who waits until others are, too, is perhaps slower by then. */
async function processTimes(client, subject) {
  const { server, port } = await start(subject, plenty);
  await ask(client, port, warmUp);
  const served = { ...subject, calls, loop: (calls) => ask(client, port, calls) };
  const [times] = await taken(name, true, [served], roundsEach);
  server.disconnect();
  await once(server, 'exit');
  return times;
}

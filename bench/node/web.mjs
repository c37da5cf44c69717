// Express that says hello, with a budget for each client and without, beside express-rate-limit. Requests come from another thread, over
// the loopback interface.

import { once } from 'node:events';
import http from 'node:http';
import { Worker } from 'node:worker_threads';
import express from 'express';
import { rateLimit } from 'express-rate-limit';
import { gateMiddleware } from '../../node/express.js';
import { Gate } from '../../node/index.mjs';
import { ours, peer, plenty, together } from './rounds.mjs';

const calls = 2_000;
const name = 'Express hello world';

/** Both say what is left: in the two headers of the IETF draft, and by default in three of the peer's. */
const middleware = {
  tidegate: (limit) => gateMiddleware(new Gate([{ name: 'all', key: 'client', quota: `${limit}/min` }])),
  'express-rate-limit': (limit) => rateLimit({ limit, windowMs: 60_000 }),
  'Express alone': undefined,
};
const subjects = {
  tidegate: ours,
  'express-rate-limit': peer('express-rate-limit'),
  'Express alone': { ...peer('express'), name: 'Express alone' },
};

async function start(subject, limit) {
  const app = express();
  if (middleware[subject]) app.use(middleware[subject](limit));
  app.get('/', (_, response) => response.send('hello'));
  const server = http.createServer(app).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

/** Makes so many requests of a server; how many of them it admitted. */
async function ask(client, server, calls) {
  client.postMessage({ port: server.address().port, calls });
  const [admitted] = await once(client, 'message');
  return admitted;
}

function stop(servers) {
  for (const server of servers) {
    server.closeAllConnections();
    server.close();
  }
}

/** Both admit as many of the same requests, before anything is timed. */
async function sameWork(client) {
  const [calls, limit] = [100, 50];
  for (const subject of ['tidegate', 'express-rate-limit']) {
    const server = await start(subject, limit);
    const admitted = await ask(client, server, calls);
    stop([server]);
    if (admitted !== limit) throw new Error(`${subject}: admitted ${admitted} of ${calls}; expected ${limit}`);
  }
  console.error(`same work: each of tidegate, express-rate-limit admits ${limit} of ${calls} requests`);
}

export async function web() {
  const client = new Worker(new URL('web-client.mjs', import.meta.url));
  await sameWork(client);
  const servers = [];
  const served = [];
  for (const subject of Object.keys(middleware)) {
    const server = await start(subject, plenty);
    servers.push(server);
    const loop = (calls) => ask(client, server, calls);
    served.push({ ...subjects[subject], calls, loop });
  }
  await together(name, true, served);
  stop(servers);
  await client.terminate();
}

// A server guarded by tidegate under ten requests at once, then a race for the tokens of one window.
import { once } from 'node:events';
import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { ConcurrencyLimiter, RateLimiter } from '../node/index.mjs';

const AT_ONCE = 10;
const WORK_MS = 200;
const RACE_LIMIT = 1_000_000;
const RACE_MS = 3_500;
const RACE_WINDOWS = 4; // They open at 0, 1, 2 and 3 s.

const atOnce = new ConcurrencyLimiter(4);
const visits = new RateLimiter({ limit: 3, perMs: 2_000, algorithm: 'fixed_window' });

/** Answers a request; without seconds, or with null for never, there is no Retry-After header. */
function answer(response, status, retryAfterSeconds = null) {
  const headers = retryAfterSeconds === null ? {} : { 'Retry-After': retryAfterSeconds };
  response.writeHead(status, headers).end();
}

const routes = {
  '/limit': async (response) => {
    const permit = atOnce.tryAcquire();
    if (!permit) return answer(response, 429, Math.ceil(WORK_MS / 1000)); // A permit comes back when somebody's work is done.
    try {
      await sleep(WORK_MS);
    } finally {
      permit.release();
    }
    answer(response, 200);
  },
  '/nolimit': (response) => answer(response, 200),
  '/visit': (response) => {
    const { allowed, retryAfterSeconds } = visits.decide();
    if (allowed) answer(response, 200);
    else answer(response, 429, retryAfterSeconds);
  },
};

const server = http.createServer((request, response) => routes[request.url](response)).listen(0, '127.0.0.1');
await once(server, 'listening');
const address = `http://127.0.0.1:${server.address().port}`;
console.log(`A server at ${address}, guarded by tidegate.`);

/** Status and Retry-After of one request. */
async function get(path) {
  const response = await fetch(address + path);
  await response.arrayBuffer();
  return { status: response.status, retryAfter: response.headers.get('retry-after') };
}

const tenAtOnce = (path) => Promise.all(Array.from({ length: AT_ONCE }, () => get(path)));
const count = (answers, status) => answers.filter((one) => one.status === status).length;

const unlimited = await tenAtOnce('/nolimit');
const nolimitOk = count(unlimited, 200);
console.log(`/nolimit, ten at once: ${nolimitOk} × 200`);

const limited = await tenAtOnce('/limit');
const [limitOk, limitRefused] = [count(limited, 200), count(limited, 429)];
const isWait = ({ retryAfter }) => /^[1-9][0-9]*$/.test(retryAfter);
let retryAfter = limited.filter(({ status }) => status === 429).every(isWait);
console.log(`/limit, ten at once, 4 may be in for ${WORK_MS} ms: ${limitOk} × 200, ${limitRefused} × 429`);

const seen = [];
for (let visit = 0; visit < 4; visit++) seen.push(await get('/visit'));
retryAfter &&= isWait(seen[3]);
await sleep(1000 * Number(seen[3].retryAfter));
seen.push(await get('/visit'));
const visit = seen.map(({ status }) => status).join(' ');
console.log(`/visit, 3 per 2 s: ${visit}, the last one ${seen[3].retryAfter} s after the 429`);
server.close();
server.closeAllConnections();

const race = new RateLimiter({ limit: RACE_LIMIT, perMs: 1_000, algorithm: 'fixed_window' });
let [admitted, refused, elapsedMs] = [0, 0, 0];
const started = performance.now();
while (elapsedMs < RACE_MS) {
  for (let call = 0; call < 1_000; call++) {
    if (race.tryAcquire()) admitted++;
    else refused++;
  }
  elapsedMs = performance.now() - started;
}
const callsPerS = Math.round((admitted + refused) / (elapsedMs / 1000));
console.log(
  `The race for ${RACE_LIMIT.toLocaleString('en')} per 1000 ms, ${(elapsedMs / 1000).toFixed(2)} s in one thread: ` +
    `${admitted.toLocaleString('en')} admitted, ${refused.toLocaleString('en')} refused, ` +
    `${callsPerS.toLocaleString('en')} calls/s`,
);

const ok =
  limitOk === 4 &&
  limitRefused === 6 &&
  retryAfter &&
  nolimitOk === AT_ONCE &&
  visit === '200 200 200 429 200' &&
  admitted === RACE_WINDOWS * RACE_LIMIT &&
  refused > 0;
const figures = {
  language: 'node',
  limit_ok: limitOk,
  limit_refused: limitRefused,
  retry_after: retryAfter,
  nolimit_ok: nolimitOk,
  visit,
  race_limit: RACE_LIMIT,
  race_admitted: admitted,
  race_refused: refused,
  race_calls_per_s: callsPerS,
  ok,
};
console.log(`DEMO ${JSON.stringify(figures)}`);
process.exitCode = ok ? 0 : 1;

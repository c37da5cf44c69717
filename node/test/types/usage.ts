// The API as TypeScript users of require() write it. Compiled, not run.
import {
  type Algorithm,
  ClosedError,
  ConcurrencyLimiter,
  type ConcurrencyStats,
  type Decision,
  type Entry,
  Gate,
  ipKey,
  type Key,
  KeyedConcurrencyLimiter,
  KeyedRateLimiter,
  keyOf,
  ManualClock,
  NEVER_NS,
  type Permit,
  QueueFullError,
  Quota,
  type QuotaLike,
  RateLimiter,
  type Refusal,
  RefusedError,
  type Reservation,
  TidegateError,
  TimedOutError,
  type Watch,
} from 'tidegate';
import { gateMiddleware } from 'tidegate/express';
import { type GatePluginOptions, gatePlugin } from 'tidegate/fastify';
import { gateHandler } from 'tidegate/http';

const clock = new ManualClock();
clock.advance(1.5);
clock.advanceNs(1n);
clock.advanceNs(1);
clock.set(10);
clock.setNs(10n);
const now: bigint = clock.nowNs();

const quota: Quota = new Quota({ limit: 100, perMs: 1000, burst: 20 });
const window = new Quota({ limit: 3, periodNs: 2_000_000_000n, algorithm: 'fixed_window', anchor: 'clock' });
const algorithm: Algorithm = quota.algorithm;
const list: Quota[] = Quota.parseList('2/s; 100/h');
const forms: readonly QuotaLike[] = [quota, '100/s', { limit: 5, perMs: 1000 }, Quota.parse('5 per 30s')];

const limiter = new RateLimiter('100/s', { clock });
new RateLimiter(quota);
new RateLimiter({ limit: 5, perMs: 1000 });
new RateLimiter(forms);
const allowed: boolean = limiter.tryAcquire(2);
const decision: Decision = limiter.decide();
const seconds: number | null = limiter.peek(3).retryAfterSeconds;
const exact: boolean = decision.retryAfterNs === NEVER_NS;
limiter.refund(decision);
limiter.reset();
limiter.reconfigure(list);
const limits: number[] = limiter.quotas.map(({ limit }) => limit);
const { denied }: { denied: number } = limiter.stats();

const lender = new ConcurrencyLimiter(4, { trackHoldTime: true, clock });
lender.limit = 5;
const left: number = lender.limit - lender.inFlight - lender.available;
const permit: Permit | null = lender.tryAcquire(2);
if (permit) permit.release(false);
const stats: ConcurrencyStats = lender.stats();
const total: bigint | undefined = stats.holdTimeTotalNs;
const written: [string, string, string | undefined] = [
  decision.toJSON().retryAfterNs,
  quota.toJSON().periodNs,
  stats.toJSON?.().holdTimeTotalNs,
];

const keyed = new KeyedRateLimiter('100/s; 1000/h', { maxKeys: 1000, whenFull: 'deny_new', clock });
const keys: readonly Key[] = ['ann', new Uint8Array(4), keyOf('tenant', 'user'), ipKey('203.0.113.7', { prefix: 24 })];
const each: boolean[] = keyed.tryAcquireMany(keys, 2);
keyed.refund('ann', keyed.decide('ann'));
keyed.setQuota('ann', ['500/s', '5000/h']);
keyed.clearQuota('ann');
const refusedMost: [Uint8Array, number][] = keyed.topDenied(10).map(({ key, count, error }) => [key, count - error]);
const full: boolean = keyed.peek('ann').status === 'keys_full';
const room: number = keyed.capacity - keyed.size - keyed.stats().evictedLive;
const greeted: (user: string, times: number) => string = keyed.guard(
  (user: string, times: number) => user.repeat(times),
  { key: (user) => user.toLowerCase(), cost: 2 },
);
const perHost = new KeyedConcurrencyLimiter(2, { maxKeys: 1000, trackHoldTime: true, clock });
const heldMs: number | undefined = perHost.stats().holdTimeTotalMs;
const held: number = perHost.inFlight('a') + perHost.available('a');
const length: Promise<number> = perHost.run('a', async () => 3, { permits: 2, timeoutMs: 5 });
perHost.tryAcquire('a')?.release();

function scoped() {
  using permit = lender.tryAcquire();
  return permit?.permits;
}

async function waited(signal: AbortSignal): Promise<number> {
  using permit = await lender.acquire(2, { timeoutMs: 500, signal });
  await limiter.acquire();
  const lengths: number[] = await lender.map(['a', 'bc'], async (text, index) => text.length + index, { signal });
  const texts: string[] = await limiter.map(new Set([1, 2]), String, { cost: 2, timeoutMs: 5 });
  const total: number = await limiter.run(() => lengths.length + texts.length, { cost: 2 });
  const reservation: Reservation = limiter.reserve(1, { maxWaitMs: 1000 });
  const credited: boolean = reservation.waitNs > 0n && reservation.waitMs > 0 && reservation.cancel();
  const { timedOut, cancelled, waiting } = lender.stats();
  if (!lender.isClosed) lender.close();
  void credited;
  return permit.permits + total + timedOut + cancelled + waiting + lender.waiting + limiter.waiting;
}

async function waitedForKeys(signal: AbortSignal): Promise<number> {
  using permit = await perHost.acquire('a', 2, { timeoutMs: 500, signal });
  await keyed.acquire(new Uint8Array(4));
  keyed.reserve('a', 2, { maxWaitMs: 5 }).cancel();
  const total: number = await keyed.run('a', () => permit.permits, { cost: 2, signal });
  const { timedOut, cancelled, waiting } = keyed.stats();
  if (!perHost.isClosed) perHost.close();
  return total + timedOut + cancelled + waiting + perHost.stats().waiting + perHost.waiting('a') + keyed.waiting('a');
}

// A guarded function that waits has the type of the function, but for its promise.
const patient: (text: string) => Promise<number> = lender.guard((text: string) => text.length, { timeoutMs: 5 });
const asyncPatient: (text: string) => Promise<number> = limiter.guard(async (text: string) => text.length, {
  cost: 2,
  timeoutMs: Infinity,
});
const keyedPatient: (text: string) => Promise<string> = keyed.guard((text: string) => text, {
  key: (text) => text.toLowerCase(),
  timeoutMs: 5,
});
const hostPatient: (text: string) => AsyncGenerator<string> = perHost.guard(
  async function* (text: string) {
    yield text;
  },
  { key: 'a', timeoutMs: 5 },
);

const shared = new ConcurrencyLimiter(4, { shared: 'fetches', maxWaiters: 100 });
const sharedRate = new RateLimiter('10/s', { shared: 'fetches', maxWaiters: 100 });
const sharedKeyed = new KeyedRateLimiter('10/s', { shared: 'clients', maxWaiters: 100 });
const sharedHosts = new KeyedConcurrencyLimiter(2, { shared: 'hosts', maxWaiters: 100 });

async function ran(): Promise<string> {
  const length: number = await lender.run(() => 'abc'.length);
  const text: string = await lender.run(async () => String(length), { permits: 2 });
  return text;
}

// A guarded function has the type of the function.
class Service {
  name = 'service';
  greet = limiter.guard(function (this: Service, whom: string, times = 1): string {
    return `${this.name} greets ${whom}`.repeat(times);
  });
}
const greeting: string = new Service().greet('you', 2);
const fetched: (url: string) => Promise<number> = lender.guard(async (url: string) => url.length, { permits: 1 });

try {
  limiter.guard(() => {}, { cost: 2 })();
} catch (error) {
  if (error instanceof RefusedError) {
    const wait: number | undefined = error.decision?.retryAfterMs;
    const code: 'ERR_TIDEGATE_REFUSED' | 'ERR_TIDEGATE_EXCEEDS_CAPACITY' = error.code;
    void [wait, code];
  } else if (error instanceof TimedOutError || error instanceof QueueFullError || error instanceof ClosedError) {
    const figures: (number | undefined)[] = [
      error.elapsedMs,
      error.timeoutMs,
      error.limit,
      error.inFlight,
      error.waiting,
    ];
    void figures;
  } else if (error instanceof TidegateError) {
    const code: string = error.code;
    const parts: (string | undefined)[] = [error.argument, error.value, error.allowed];
    void [code, parts];
  }
}

// @ts-expect-error a timeout is milliseconds, by its name
lender.acquire(1, { timeout: 5 });
const later = lender.guard(() => 5, { timeoutMs: 5 });
// @ts-expect-error a guard that waits returns a promise
later().toFixed();
// @ts-expect-error the key comes first
perHost.run(() => 5, { key: 'a' });
// @ts-expect-error a key is a string or bytes
keyed.tryAcquire(7);
// @ts-expect-error a key is needed
keyed.tryAcquire();
// @ts-expect-error a guard needs to know whose tokens it spends
keyed.guard(() => {}, { cost: 1 });
// @ts-expect-error the key is made from what the function takes
perHost.guard((url: string) => url, { key: (url: number) => String(url) });

// What is wrong at run time is wrong for the compiler where it can be seen.
// @ts-expect-error a cost is a number
limiter.tryAcquire('1');
// @ts-expect-error a cost is no bigint
limiter.tryAcquire(1n);
// @ts-expect-error an algorithm that doesn't exist
new Quota({ limit: 1, perMs: 1, algorithm: 'leaky' });
// @ts-expect-error a misspelt part
new RateLimiter({ limit: 1, perms: 1 });
// @ts-expect-error a quota without a period
new RateLimiter({ limit: 3 });
// @ts-expect-error two periods
new Quota({ limit: 3, perMs: 1, periodNs: 1n });
// @ts-expect-error a clock is not the options
new RateLimiter('1/s', clock);
// @ts-expect-error a clock is not the options
new ConcurrencyLimiter(1, clock);
// @ts-expect-error a manual clock starts at 0
new ManualClock(5);
// @ts-expect-error there may be no time after which to retry
limiter.peek().retryAfterSeconds.toFixed();
// @ts-expect-error decisions are immutable
decision.allowed = true;
// @ts-expect-error the figures in flight can't be set
lender.inFlight = 1;
// @ts-expect-error a permit may have been refused
lender.tryAcquire().release();
// @ts-expect-error only limiters make permits
new (null as unknown as typeof Permit)();
// @ts-expect-error a guarded function takes the arguments of the function
new Service().greet(5);

void [
  now,
  window,
  algorithm,
  allowed,
  seconds,
  exact,
  limits,
  denied,
  left,
  total,
  written,
  scoped,
  waited,
  shared,
  sharedRate,
  sharedKeyed,
  sharedHosts,
  waitedForKeys,
  patient,
  asyncPatient,
  keyedPatient,
  hostPatient,
  ran,
  greeting,
  fetched,
  each,
  full,
  refusedMost,
  room,
  greeted,
  held,
  heldMs,
  length,
];

// Gates.

const gate = new Gate([{ name: 'all', match: { path: { prefix: '/' } }, key: ['client', 'path'], quota: '1/s' }]);
const entered: Entry | Refusal = gate.tryEnter({ path: '/', user: 5, client: null }, { cost: 2 });
if (entered.allowed) entered.release(entered.applies);
else if (entered.retryAfterMs !== null) entered.retryAfterMs.toFixed();
const run: Promise<number> = gate.run({}, async () => 5, { timeoutMs: 5, signal: AbortSignal.timeout(5) });
const inside: Promise<Entry> = gate.enter({ path: '/' });
gate.on('refused', (refusal) => refusal.rule).on('reloadFailed', (error) => error.message);
const pulled: Watch = gate.pull(async () => '', { everyMs: 5, format: 'toml' });
// @ts-expect-error a text is of a format
gate.reload('rules = []');
// @ts-expect-error no such mode of comparing
new Gate([{ name: 'all', match: { path: { like: '/' } }, concurrency: 1 }]);

interface Asked {
  user: string;
}
const attributes = ({ user }: Asked) => ({ user });
const middleware: (request: Asked, response: object, next: () => void) => void = gateMiddleware(gate, { attributes });
const plugin: GatePluginOptions = { gate, attributes, trustedHops: 1, legacyHeaders: true };
const handler: (request: Asked, response: object) => unknown = gateHandler(
  gate,
  async (request: Asked) => request.user,
  {
    attributes,
    timeoutMs: 5,
  },
);
void [run, inside, pulled, middleware, plugin, gatePlugin, handler];

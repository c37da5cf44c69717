// What index.d.ts declares, name by name: tsc refuses a name too many or too few here, and test/modules.test.js compares
// the same lists with what is there at run time.

/** @typedef {typeof import('tidegate')} Tidegate */

/** @satisfies {Record<keyof Tidegate, true>} */
const exported = {
  ClosedError: true,
  ConcurrencyLimiter: true,
  ConfigError: true,
  Decision: true,
  Entry: true,
  ExceedsCapacityError: true,
  Gate: true,
  InternalError: true,
  KeyedConcurrencyLimiter: true,
  KeyedRateLimiter: true,
  ManualClock: true,
  NEVER_NS: true,
  Permit: true,
  QueueFullError: true,
  Quota: true,
  RateLimiter: true,
  Refusal: true,
  RefusedError: true,
  Reservation: true,
  RulesError: true,
  TidegateError: true,
  TimedOutError: true,
  ipKey: true,
  keyOf: true,
};

/** @satisfies {Record<keyof import('tidegate').Reservation, true>} */
const reservation = { waitMs: true, waitNs: true, cancel: true, toString: true };

/** @satisfies {Record<keyof import('tidegate').Gate, true>} */
const gate = {
  tryEnter: true,
  enter: true,
  run: true,
  reload: true,
  reloadFile: true,
  watchFile: true,
  pull: true,
  explain: true,
  rules: true,
  stats: true,
  on: true,
  off: true,
  toString: true,
};

/** @satisfies {Record<keyof import('tidegate').Entry, true>} */
const entry = {
  allowed: true,
  applies: true,
  status: true,
  rules: true,
  released: true,
  headers: true,
  release: true,
  toString: true,
  [Symbol.dispose]: true,
};

/** @satisfies {Record<keyof import('tidegate').RefusalFigures, true>} */
const refusalFigures = {
  status: true,
  rule: true,
  key: true,
  limit: true,
  remaining: true,
  retryAfterMs: true,
  inFlight: true,
  waiting: true,
  elapsedMs: true,
  timeoutMs: true,
};

/** @satisfies {Record<keyof import('tidegate').Refusal, true>} */
const refusal = {
  ...refusalFigures,
  allowed: true,
  quota: true,
  quotas: true,
  headers: true,
  problem: true,
  toString: true,
  toJSON: true,
  [Symbol.dispose]: true,
};

/** @satisfies {Record<keyof import('tidegate').GateStats, true>} */
const gateStats = {
  admitted: true,
  refused: true,
  unmatched: true,
  releasedOk: true,
  releasedFailed: true,
  rules: true,
};

/** @satisfies {Record<keyof import('tidegate').RuleStats, true>} */
const ruleStats = {
  name: true,
  mode: true,
  admitted: true,
  refused: true,
  waiting: true,
  timedOut: true,
  cancelled: true,
  limit: true,
  inFlight: true,
  available: true,
  liveKeys: true,
  evictedLive: true,
  capacity: true,
};

/** Of rate limiters of both kinds. */
const rate = /** @type {const} */ ({
  acquire: true,
  run: true,
  waiting: true,
  reserve: true,
  tryAcquire: true,
  decide: true,
  peek: true,
  refund: true,
  reset: true,
  reconfigure: true,
  quotas: true,
  quota: true,
  stats: true,
  guard: true,
  toString: true,
});

/** @satisfies {Record<keyof import('tidegate').RateLimiter, true>} */
const rateLimiter = { ...rate, map: true };

/** Of concurrency limiters of both kinds. */
const concurrency = /** @type {const} */ ({
  acquire: true,
  waiting: true,
  close: true,
  isClosed: true,
  tryAcquire: true,
  limit: true,
  inFlight: true,
  available: true,
  stats: true,
  run: true,
  guard: true,
  toString: true,
});

/** @satisfies {Record<keyof import('tidegate').ConcurrencyLimiter, true>} */
const concurrencyLimiter = { ...concurrency, map: true };

/** @satisfies {Record<keyof import('tidegate').KeyedRateLimiter, true>} */
const keyedRateLimiter = {
  ...rate,
  tryAcquireMany: true,
  setQuota: true,
  clearQuota: true,
  topDenied: true,
  capacity: true,
  size: true,
};

/** @satisfies {Record<keyof import('tidegate').DeniedKey, true>} */
const deniedKey = { key: true, count: true, error: true };

/** @satisfies {Record<keyof import('tidegate').KeyedConcurrencyLimiter, true>} */
const keyedConcurrencyLimiter = { ...concurrency, capacity: true };

/** @satisfies {Record<keyof import('tidegate').Permit, true>} */
const permit = { permits: true, released: true, release: true, toString: true, [Symbol.dispose]: true };

/** @satisfies {Record<keyof import('tidegate').ManualClock, true>} */
const manualClock = { advance: true, advanceNs: true, set: true, setNs: true, nowNs: true, toString: true };

/** @satisfies {Record<keyof import('tidegate').Quota, true>} */
const quota = {
  limit: true,
  perMs: true,
  periodNs: true,
  burst: true,
  algorithm: true,
  anchor: true,
  toString: true,
  toJSON: true,
};

/** @satisfies {Record<Exclude<keyof Tidegate['Quota'], 'prototype'>, true>} */
const quotaStatics = { parse: true, parseList: true };

/** @satisfies {Record<keyof import('tidegate').Decision, true>} */
const decision = {
  allowed: true,
  status: true,
  limit: true,
  remaining: true,
  retryAfterMs: true,
  retryAfterSeconds: true,
  retryAfterNs: true,
  resetAfterMs: true,
  resetAfterNs: true,
  quota: true,
  toJSON: true,
};

/** Of waits. */
const waitStats = /** @type {const} */ ({ timedOut: true, cancelled: true, waiting: true });

/** @satisfies {Record<keyof import('tidegate').RateStats, true>} */
const rateStats = { allowed: true, denied: true, ...waitStats };

/** @satisfies {Record<keyof import('tidegate').KeyedRateStats, true>} */
const keyedRateStats = { allowed: true, denied: true, ...waitStats, liveKeys: true, evictedLive: true, capacity: true };

/** @satisfies {Record<keyof import('tidegate').KeyedConcurrencyStats, true>} */
const keyedConcurrencyStats = {
  allowed: true,
  denied: true,
  ...waitStats,
  limit: true,
  inFlight: true,
  releasedOk: true,
  releasedFailed: true,
  liveKeys: true,
  capacity: true,
  holdTimeTotalMs: true,
  holdTimeTotalNs: true,
  holdTimeMaxMs: true,
  holdTimeMaxNs: true,
  toJSON: true,
};

/** @satisfies {Record<keyof import('tidegate').ConcurrencyStats, true>} */
const concurrencyStats = {
  allowed: true,
  denied: true,
  ...waitStats,
  limit: true,
  inFlight: true,
  available: true,
  releasedOk: true,
  releasedFailed: true,
  holdTimeTotalMs: true,
  holdTimeTotalNs: true,
  holdTimeMaxMs: true,
  holdTimeMaxNs: true,
  toJSON: true,
};

module.exports = {
  gate,
  entry,
  refusal,
  refusalFigures,
  gateStats,
  ruleStats,
  exported,
  rateLimiter,
  concurrencyLimiter,
  keyedRateLimiter,
  deniedKey,
  reservation,
  keyedConcurrencyLimiter,
  permit,
  manualClock,
  quota,
  quotaStatics,
  decision,
  rateStats,
  keyedRateStats,
  keyedConcurrencyStats,
  concurrencyStats,
};

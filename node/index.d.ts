/**
 * Exact, fast, in-process limiters: rate limiters (so many per time) and concurrency limiters (so many at once).
 *
 * Units are in the names: `…Ms` are milliseconds, `…Ns` nanoseconds. Nothing here blocks the event loop or keeps the process
 * alive, waits neither: a process that only waits ends. A worker thread has limiters of its own, unless they are `shared`.
 */

/// <reference lib="esnext.disposable" />

/** How a rate limiter counts: `gcra` is a token bucket, `sliding_log` is exact and remembers each grant. */
export type Algorithm = 'gcra' | 'fixed_window' | 'sliding_window' | 'sliding_log';

/** Where fixed windows begin: at the first admitted call after the last window, or at multiples since the Unix epoch. */
export type Anchor = 'first' | 'clock';

/** What became of a call. `keys_full`: a new key found no room ({@link KeyedRateLimiterOptions.whenFull}). */
export type Status = 'allowed' | 'denied' | 'exceeds_capacity' | 'keys_full';

/** A quota by its parts: `limit` tokens per `perMs` milliseconds, or per `periodNs` nanoseconds. */
export type QuotaParts = QuotaBounds & (PeriodMs | PeriodNs);

/** A period in milliseconds. */
export interface PeriodMs {
  /** The period in milliseconds, above 0 and at most 2 years. Fractions of a nanosecond are rounded up. */
  readonly perMs: number;
  readonly periodNs?: undefined;
}

/** A period in nanoseconds. */
export interface PeriodNs {
  readonly perMs?: undefined;
  /** The period in nanoseconds: a bigint, or a number up to 2⁵³−1. */
  readonly periodNs: bigint | number;
}

/** What a quota bounds, in each period. */
export interface QuotaBounds {
  /** Tokens per period: a whole number from 0 to 2⁵³−1. 0 denies all. */
  readonly limit: number;
  /** The most tokens that may be spent at once: 1 to 2⁵³−1, by default `limit`. Only with `gcra`. */
  readonly burst?: number | undefined;
  /** By default `gcra`. */
  readonly algorithm?: Algorithm | undefined;
  /** By default `first`. Only with `fixed_window`. */
  readonly anchor?: Anchor | undefined;
}

/** A quota in any form: a {@link Quota}, its text such as `'100/s'`, or its parts. */
export type QuotaLike = Quota | QuotaParts | string;

/** What a rate limiter is built from: one quota, or 1 to 16 that all must admit. A text may hold several, joined by `;`. */
export type Quotas = QuotaLike | readonly QuotaLike[];

/**
 * What a rate limiter enforces. Immutable.
 *
 * Its text is `LIMIT/UNIT`, `LIMIT/COUNT UNIT` or `LIMIT per COUNT UNIT`, then `[burst N]`, `[ALGORITHM]` and
 * `[anchor first|clock]`, such as `100/s`, `5 per 30s`, `100/minute burst 20`, `3/2s fixed_window anchor clock`. Units are
 * `ns us ms s min h d w` and `sec second(s) minute(s) hour(s) day(s) week(s)`.
 */
export class Quota {
  /**
   * @throws {ConfigError} naming the part that is wrong, its value and what is allowed
   * @throws {TypeError} if a part is of a wrong type, or not a part
   */
  constructor(quota: QuotaLike);
  /**
   * Reads one quota.
   * @throws {ConfigError} showing the text and the grammar
   */
  static parse(text: string): Quota;
  /**
   * Reads 1 to 16 quotas joined by `;`.
   * @throws {ConfigError} showing the text and the grammar
   */
  static parseList(text: string): Quota[];
  /** Tokens per period. */
  readonly limit: number;
  /** The period in milliseconds, perhaps with a fraction. */
  readonly perMs: number;
  /** The period in nanoseconds. */
  readonly periodNs: bigint;
  /** The most tokens that may be spent at once. */
  readonly burst: number;
  readonly algorithm: Algorithm;
  readonly anchor: Anchor;
  /** The canonical text, which parses back to an equal quota. */
  toString(): string;
  /** The parts for JSON.stringify: `periodNs` as a decimal string. To read a quota back, write its text. */
  toJSON(): Json<Quota>;
}

/** The fields of `T` as JSON.stringify gets them: BigInts, which JSON lacks, as decimal strings. It writes Infinity as null. */
export type Json<T> = {
  [K in keyof T as NonNullable<T[K]> extends (...args: never[]) => unknown ? never : K]: JsonValue<T[K]>;
};
export type JsonValue<V> = V extends bigint ? string : V;

/**
 * The answer of a rate limiter to one call, with its figures. Immutable. Always truthy: look at `allowed`.
 *
 * Decisions are made by `decide` and `peek` of a {@link RateLimiter} or {@link KeyedRateLimiter}.
 */
export class Decision {
  private constructor();
  /** Whether the work may go ahead. */
  readonly allowed: boolean;
  readonly status: Status;
  /** The limit of the quota that this decision names, in tokens per period. */
  readonly limit: number;
  /** Tokens that could be spent now, after this decision; the least over all quotas. Never negative. */
  readonly remaining: number;
  /**
   * Milliseconds until the same call would be admitted if nobody else asks: rounded up to whole ones, so that a timer of
   * this length is never too early. 0 when allowed, `Infinity` for never.
   */
  readonly retryAfterMs: number;
  /**
   * The same in whole seconds, rounded up, as a Retry-After header takes it: 0 when allowed, at least 1 when refused, `null`
   * for never. Leave the header out when it is null: there is no time to name.
   */
  readonly retryAfterSeconds: number | null;
  /** The same, exact: waiting one nanosecond less is refused. {@link NEVER_NS} for never. */
  readonly retryAfterNs: bigint;
  /** Milliseconds until nothing counts any more if nobody asks, rounded up to whole ones; the longest over all quotas. */
  readonly resetAfterMs: number;
  /** The same, exact. */
  readonly resetAfterNs: bigint;
  /**
   * Which quota of the limiter's list this decision names, from 0: on refusal the one with the longest wait, else the one
   * with the least remaining.
   */
  readonly quota: number;
  /** The fields for JSON.stringify: exact times as decimal strings. Milliseconds that are never become null. */
  toJSON(): Json<Decision>;
}

/** `retryAfterNs` of what will never be admitted: 2⁶⁴−1. */
export const NEVER_NS: bigint;

/** What a limiter without keys may be built with, too. */
export interface WaitingOptions {
  /** How many may wait at once: 0 to 2³²−2, which is the default. Who comes then is refused with a {@link QueueFullError}. */
  readonly maxWaiters?: number | undefined;
  /**
   * A name under which all worker threads of the process have one and the same limiter of this kind. Who asks for it first
   * builds it; the others must say the same limit or quotas, `maxWaiters` and `trackHoldTime`, else that is a
   * {@link ConfigError} that names `shared`. It stays, with what is used, until the process ends. What a worker holds is given
   * back when the worker ends, and its waits end. Not with a `clock`.
   */
  readonly shared?: string | undefined;
}

/** How long to wait. */
export interface WaitOptions {
  /**
   * Milliseconds, 0 or above. Without it, or with `Infinity`, for ever; 0 tries once. What outlasts it is rejected with a
   * {@link TimedOutError}, a rate limiter does so at once if that is certain. Measured on the limiter's clock.
   */
  readonly timeoutMs?: number | undefined;
  /**
   * Ends the wait: rejects with its `reason`. Of no effect once the promise is resolved. If it was granted in the same instant, a
   * permit goes to the next, and tokens are refunded.
   */
  readonly signal?: AbortSignal | undefined;
}

/** For `run` and `map` of a rate limiter. */
export interface CostWaitOptions extends WaitOptions {
  /** Tokens for each call, by default 1. */
  readonly cost?: number | undefined;
}

/** For `run` and `map` of a concurrency limiter. */
export interface PermitsWaitOptions extends WaitOptions, PermitsOptions {}

export interface ReserveOptions {
  /** Milliseconds, 0 or above: what would be due later is a {@link TimedOutError}. By default `Infinity`. */
  readonly maxWaitMs?: number | undefined;
}

/** Tokens that are charged already, and may be used from a time on. Made by {@link RateLimiter.reserve}. */
export class Reservation {
  private constructor();
  /** Milliseconds from when it was made until it may be used: rounded up to whole ones. 0 if at once. */
  readonly waitMs: number;
  /** The same, exact. */
  readonly waitNs: bigint;
  /**
   * Gives it back, once. It is credited, which is told, if it isn't due yet and nobody reserved after it: else somebody else's
   * time would come sooner than was promised to all.
   * @throws {TidegateError} with the code `ERR_TIDEGATE_RESERVATION` if it was cancelled before
   */
  cancel(): boolean;
  /** Such as `Reservation(100 ms)`; so console.log shows it. */
  toString(): string;
}

/** Options of a clock, for tests. */
export interface ClockOptions {
  /**
   * A clock of yours, for tests. By default the machine's monotonic clock, which is calibrated once in a process: the first
   * limiter on it may take up to 200 ms to build.
   */
  readonly clock?: ManualClock | undefined;
}

export interface RateLimiterOptions extends ClockOptions, WaitingOptions {}

/** A function that a guard takes and returns. */
// biome-ignore lint/suspicious/noExplicitAny: with never, TypeScript before 5.4 refuses parameters that have a default
export type AnyFunction = (this: any, ...args: any[]) => unknown;

/** What a rate limiter has done since it was built, in calls. */
export interface RateStats extends CallStats, WaitStats {}

/** What became of calls. */
export interface CallStats {
  /** Calls that were admitted, at once or after a wait; `peek` counts nowhere. */
  readonly allowed: number;
  /** Calls that were refused, but for those that timed out. */
  readonly denied: number;
}

/** What became of waits. */
export interface WaitStats {
  /** Waits that outlasted their timeout, or would have. */
  readonly timedOut: number;
  /** Waits that were ended by a signal. */
  readonly cancelled: number;
  /** How many wait now. */
  readonly waiting: number;
}

/**
 * Spends tokens that come back with time.
 *
 * Every `cost` is a whole number from 1 to 2⁵³−1, by default 1. Another number is a RangeError, anything else a TypeError;
 * nothing is spent then.
 *
 * @example
 * const limiter = new RateLimiter('100/s burst 20');
 * if (limiter.tryAcquire()) handle(request);
 * await limiter.acquire(1, { timeoutMs: 500 });
 */
export class RateLimiter {
  /**
   * @throws {ConfigError} naming the part of the quota that is wrong, its value and what is allowed
   * @throws {TypeError} if an argument is of a wrong type
   */
  constructor(quotas: Quotas, options?: RateLimiterOptions);
  /** Spends `cost` tokens if all can be had now. */
  tryAcquire(cost?: number): boolean;
  /**
   * Spends `cost` tokens when it is their turn: first come, first served. Charged when due, not before.
   *
   * Nothing keeps the process alive meanwhile: if it has nothing else to do, it ends.
   * @throws {TimedOutError | QueueFullError | ExceedsCapacityError} as a rejection, with the figures of {@link WaitFigures}
   */
  acquire(cost?: number, options?: WaitOptions): Promise<void>;
  /** Calls `fn` when it is its turn. Calls it at once, before this returns, if nobody waits. */
  run<T>(fn: () => T, options?: CostWaitOptions): Promise<Awaited<T>>;
  /** Calls `fn` for each item when it is its turn, as {@link ConcurrencyLimiter.map} does. */
  map<T, R>(
    iterable: Iterable<T> | AsyncIterable<T>,
    fn: (item: T, index: number) => R,
    options?: CostWaitOptions,
  ): Promise<Awaited<R>[]>;
  /**
   * Spends `cost` tokens now, for use from the time on that the reservation names. For those with a scheduler of their own, with
   * one quota and gcra.
   * @throws {TimedOutError} if that is after `maxWaitMs`, or somebody waits
   * @throws {ExceedsCapacityError} if it is more than the burst
   * @throws {ConfigError} `quota`, if the limiter is another
   */
  reserve(cost?: number, options?: ReserveOptions): Reservation;
  /** How many wait now. */
  readonly waiting: number;
  /** {@link tryAcquire}, and tells the figures. */
  decide(cost?: number): Decision;
  /** What {@link decide} would answer now. Spends nothing; `remaining` is what is unspent. */
  peek(cost?: number): Decision;
  /**
   * Gives back what a decision took, as far as no bound is broken: a window takes it back only while the same window lasts,
   * gcra only what has not leaked since.
   * @throws {TidegateError} with the code `ERR_TIDEGATE_DECISION` if the decision granted nothing, was refunded before, or
   * is another limiter's
   */
  refund(decision: Decision): void;
  /** Makes everything unspent again. To refund a decision from before has no effect. */
  reset(): void;
  /**
   * Changes limits, periods and bursts from the next call on. What is used stays used, at most the new burst.
   * @throws {ConfigError} if a quota is wrong, or their number, an algorithm or an anchor is not as before; nothing changes
   */
  reconfigure(quotas: Quotas): void;
  /** The quotas, in the order of the list. */
  readonly quotas: Quota[];
  /** The quota; the first one where there are several. */
  readonly quota: Quota;
  stats(): RateStats;
  /**
   * A function like `fn` that spends `cost` tokens before each call. The work of a generator function begins, and is
   * charged, with the first `next()`. Does not wait: an async function that is refused rejects, any other throws,
   * a {@link RefusedError}, or an {@link ExceedsCapacityError}.
   */
  guard<F extends AnyFunction>(fn: F, options?: { readonly cost?: number | undefined }): F;
  /** What it enforces, such as `RateLimiter(100/s burst 20)`; so console.log shows it. */
  toString(): string;
}

/**
 * Names a client or resource: a string (its UTF-8; lone surrogates stay distinct), or bytes as they are. A Buffer is a
 * Uint8Array; one over a SharedArrayBuffer is refused. Anything else is a TypeError that names `key`.
 */
export type Key = string | Uint8Array;

/**
 * One key of several parts, such that other parts never make the same key: `keyOf(tenant, user)`.
 * @throws {TypeError} if a part is no key
 */
export function keyOf(...parts: Key[]): Uint8Array;

/**
 * The key of a network address such as `request.socket.remoteAddress`, with all bits behind the prefix zero. IPv4 that is
 * written as IPv6 is IPv4. Without a prefix IPv4 counts whole and IPv6 by its first 64 bits: whoever has one address of a
 * /64 has them all.
 * @param options.prefix bits that count: 0 to 32 for IPv4, 0 to 128 for IPv6
 * @throws {ConfigError} if this is no address, or the prefix is longer than it
 * @throws {TypeError} if an argument is of a wrong type
 */
export function ipKey(address: string, options?: { readonly prefix?: number | undefined }): Uint8Array;

export interface KeyedRateLimiterOptions extends ClockOptions {
  /** For how many keys that owe something at once there is room: 1 to 2³², by default 100,000. Takes 40 bytes for each. */
  readonly maxKeys?: number | undefined;
  /**
   * What to do with a new key that finds no room: `evict`, the default, forgets the key that owes the smallest share of its
   * quota, which starts afresh when it comes again; `deny_new` refuses the new key, with the status `keys_full`.
   */
  readonly whenFull?: 'evict' | 'deny_new' | undefined;
  /**
   * How many keys to count refusals of, for {@link KeyedRateLimiter.topDenied}: 0 to 65,536, by default 0, which is none.
   * Takes up to some 350 bytes for each; only refusals are slower by it.
   */
  readonly trackDenied?: number | undefined;
}

/** A key that was refused often. */
export interface DeniedKey {
  /** The key (a Buffer), of a longer one the first 128 bytes. `key.toString()` is its text if it came as a string. */
  readonly key: Uint8Array;
  /** How often it was refused, at most. */
  readonly count: number;
  /** How much of `count` may have been refused of others before it: it was refused at least `count - error` times. */
  readonly error: number;
}

/** What a keyed rate limiter has done since it was built, in calls, and how many keys count. */
export interface KeyedRateStats extends CallStats {
  /** Keys that owe something, about: exact up to some 6,000 keys of capacity, else from a sample. */
  readonly liveKeys: number;
  /** Keys that were forgotten for new ones though they owed something. */
  readonly evictedLive: number;
  /** The `maxKeys` that it was built with. */
  readonly capacity: number;
}

/** What to spend for a call of a guarded function, and whose. */
export interface KeyedCostOptions<F extends AnyFunction> {
  /** The key, or a function that makes it: called as the guarded function is, with the same `this` and arguments. */
  readonly key: Key | ((this: ThisParameterType<F>, ...args: Parameters<F>) => Key);
  /** By default 1. */
  readonly cost?: number | undefined;
}

/**
 * A {@link RateLimiter} with a budget for each key, in memory that doesn't grow. Keys are not stored, and one that owes
 * nothing takes no room.
 *
 * @example
 * const perClient = new KeyedRateLimiter('100/min burst 20');
 * if (perClient.tryAcquire(ipKey(request.socket.remoteAddress))) handle(request);
 */
export class KeyedRateLimiter {
  /**
   * @throws {ConfigError} naming the part of the quota that is wrong or doesn't fit beside a key (`sliding_log` doesn't), or
   * `maxKeys` or `whenFull`, its value and what is allowed
   * @throws {TypeError} if an argument is of a wrong type
   */
  constructor(quotas: Quotas, options?: KeyedRateLimiterOptions);
  /** Spends `cost` tokens of a key if all can be had now. */
  tryAcquire(key: Key, cost?: number): boolean;
  /**
   * The same for many keys, one after the other; a key may occur more than once. Costs less than as many calls. A wrong key
   * is named with its place, such as `keys[3]`; nothing is spent then.
   */
  tryAcquireMany(keys: readonly Key[], cost?: number): boolean[];
  /** {@link tryAcquire}, and tells the figures. */
  decide(key: Key, cost?: number): Decision;
  /** What {@link decide} would answer now. Spends nothing; `remaining` is what is unspent. */
  peek(key: Key, cost?: number): Decision;
  /**
   * Gives back what a decision took from a key, as {@link RateLimiter.refund} does. Without effect once the key was evicted.
   * @throws {TidegateError} with the code `ERR_TIDEGATE_DECISION` if the decision granted nothing, was refunded before, or
   * is another limiter's or key's
   */
  refund(key: Key, decision: Decision): void;
  /** Makes everything of a key unspent again. To refund a decision of it from before has no effect. */
  reset(key: Key): void;
  /**
   * Changes limits, periods and bursts for all keys without quotas of their own, from the next call on. What is used stays
   * used, at most the new burst. Takes time in proportion to the capacity.
   * @throws {ConfigError} if a quota is wrong, or their number, an algorithm or an anchor is not as before; nothing changes
   */
  reconfigure(quotas: Quotas): void;
  /**
   * Gives a key quotas of its own in place of the limiter's, from the next call on, which {@link reconfigure} leaves alone.
   * What is used stays used, at most the new burst. To refund a decision of the key from before has no effect. Such a key
   * has a place of its own, about 1 KB for each quota: it is never evicted or refused as `keys_full`.
   * @throws {ConfigError} if a quota is wrong, their number, an algorithm or an anchor is not the limiter's, or 65,536 other
   * keys have quotas of their own (`key`); nothing changes
   */
  setQuota(key: Key, quotas: Quotas): void;
  /** Gives a key the limiter's quotas again. What is used stays used. Does nothing if it has none of its own. */
  clearQuota(key: Key): void;
  /**
   * The `n` keys that were refused most often, the most refused first; none without `trackDenied`. While no more keys were
   * refused than are counted, the counts are exact.
   */
  topDenied(n: number): DeniedKey[];
  /** The quotas, in the order of the list. */
  readonly quotas: Quota[];
  /** The quota; the first one where there are several. */
  readonly quota: Quota;
  /** The `maxKeys` that it was built with. */
  readonly capacity: number;
  /** How many keys owe something, about; as {@link KeyedRateStats.liveKeys}. */
  readonly size: number;
  stats(): KeyedRateStats;
  /** A function like `fn` that spends `cost` tokens of a key before each call, as {@link RateLimiter.guard} does. */
  guard<F extends AnyFunction>(fn: F, options: KeyedCostOptions<F>): F;
  /** What it enforces, such as `KeyedRateLimiter(100/s, 100000 keys)`; so console.log shows it. */
  toString(): string;
}

/**
 * Permits of a {@link ConcurrencyLimiter} or {@link KeyedConcurrencyLimiter}, to be released once. What is forgotten is released when it is collected, with a
 * process warning (`TIDEGATE_PERMIT_FORGOTTEN`).
 */
export class Permit {
  private constructor();
  /** How many permits are held, or were. */
  readonly permits: number;
  /** Whether they were given back. */
  readonly released: boolean;
  /**
   * Gives the permits back; `ok` tells the statistics whether the work went well.
   * @throws {TidegateError} with the code `ERR_TIDEGATE_PERMIT` if they were released before; nothing changes then
   */
  release(ok?: boolean): void;
  /** Releases what is still held: `using permit = …` may be left after `release()`. Where `Symbol.dispose` exists. */
  [Symbol.dispose](): void;
  /** How it stands, such as `Permit(1, held)`; so console.log shows it. */
  toString(): string;
}

export interface HoldTimeOptions extends ClockOptions {
  /** Measures how long permits are held, on the clock: two readings for each. By default false. */
  readonly trackHoldTime?: boolean | undefined;
}

export interface ConcurrencyLimiterOptions extends HoldTimeOptions, WaitingOptions {}

/** What a concurrency limiter has done since it was built, and how it stands. */
export interface ConcurrencyStats extends CallStats, WaitStats {
  readonly limit: number;
  readonly inFlight: number;
  readonly available: number;
  /** Releases whose work went well. */
  readonly releasedOk: number;
  /** Releases whose work failed. */
  readonly releasedFailed: number;
  /** How long permits were held in total, in milliseconds; only with `trackHoldTime`. */
  readonly holdTimeTotalMs?: number;
  /** The same in nanoseconds. */
  readonly holdTimeTotalNs?: bigint;
  /** How long the longest-held permit was held, in milliseconds; only with `trackHoldTime`. */
  readonly holdTimeMaxMs?: number;
  /** The same in nanoseconds. */
  readonly holdTimeMaxNs?: bigint;
  /** The figures for JSON.stringify, nanoseconds as decimal strings; only with `trackHoldTime`. A copy by spread has none. */
  readonly toJSON?: () => Json<ConcurrencyStats>;
}

/** What to take for a call of a guarded function. */
export interface PermitsOptions {
  /** By default 1. */
  readonly permits?: number | undefined;
}

/**
 * Lends permits that are given back.
 *
 * @example
 * const limiter = new ConcurrencyLimiter(4);
 * const pages = await limiter.map(urls, (url) => fetch(url)); // four at once
 * const page = await limiter.run(() => fetch(url), { timeoutMs: 500 });
 *
 * @example
 * const permit = await limiter.acquire(); // or tryAcquire(), which is null if there is none
 * try {
 *   await work();
 * } finally {
 *   permit.release();
 * }
 */
export class ConcurrencyLimiter {
  /**
   * @param limit permits that may be out at once: a whole number from 0 to 2³¹−1; 0 refuses all
   * @throws {ConfigError} if limit is another number
   * @throws {TypeError} if an argument is of a wrong type
   */
  constructor(limit: number, options?: ConcurrencyLimiterOptions);
  /**
   * Takes permits if all can be had now, else returns null.
   * @param permits a whole number from 1 to 2⁵³−1, by default 1; another number is a RangeError, anything else a TypeError
   */
  tryAcquire(permits?: number): Permit | null;
  /**
   * Takes permits when it is their turn: first come, first served, and who waits for many isn't overtaken. A release hands over
   * at once, so that nobody comes in between. `using permit = await limiter.acquire()` releases at the end of the scope.
   *
   * Nothing keeps the process alive meanwhile: if it has nothing else to do, it ends.
   * @throws {TimedOutError | QueueFullError | ClosedError | ExceedsCapacityError} as a rejection, with the figures of
   * {@link WaitFigures}
   */
  acquire(permits?: number, options?: WaitOptions): Promise<Permit>;
  /**
   * Permits that may be out at once. Setting it never blocks; permits that are out stay out. 0 is a pause for those who wait;
   * who waits for more than the limit is rejected with an {@link ExceedsCapacityError}.
   */
  get limit(): number;
  set limit(limit: number);
  /** How many wait now. */
  readonly waiting: number;
  /** Ends all waits with a {@link ClosedError}, for good: nothing is lent any more. Permits that are out stay out. */
  close(): void;
  readonly isClosed: boolean;
  /** Permits that are out. */
  readonly inFlight: number;
  /** Permits that could be taken now; 0 while more are out than a lowered limit. */
  readonly available: number;
  stats(): ConcurrencyStats;
  /**
   * Calls `fn` under a permit, which is released when the promise that it returns settles: as ok, or as failed if it
   * rejects or `fn` throws. Waits for it as {@link acquire} does; calls `fn` at once, before this returns, if there is room.
   */
  run<T>(fn: () => T, options?: PermitsWaitOptions): Promise<Awaited<T>>;
  /**
   * Calls `fn` for each item of an iterable, each call under a permit, and resolves with what the calls return, in the order
   * of the items. An item is pulled when there is a permit for its call, not before, so that endless sources are fine.
   *
   * After a failure of a call, the source or a wait nothing is pulled any more; rejects with the first one once the calls that
   * run have settled.
   */
  map<T, R>(
    iterable: Iterable<T> | AsyncIterable<T>,
    fn: (item: T, index: number) => R,
    options?: PermitsWaitOptions,
  ): Promise<Awaited<R>[]>;
  /**
   * A function like `fn`, each call of which holds a permit: until it returns, until its promise settles, or until its
   * generator ends. Does not wait: an async function that is refused rejects, any other throws, a {@link RefusedError}, an
   * {@link ExceedsCapacityError} or a {@link ClosedError}.
   */
  guard<F extends AnyFunction>(fn: F, options?: PermitsOptions): F;
  /** How it stands, such as `ConcurrencyLimiter(2 of 4 out)`; so console.log shows it. */
  toString(): string;
}

export interface KeyedConcurrencyLimiterOptions extends HoldTimeOptions {
  /** For how many keys with permits out there is room: 1 to 2³², by default 100,000. Takes 40 bytes for each. */
  readonly maxKeys?: number | undefined;
}

/** What a keyed concurrency limiter has done since it was built, and how it stands. */
export interface KeyedConcurrencyStats {
  /** Calls that were admitted. */
  readonly allowed: number;
  /** Calls that were refused. */
  readonly denied: number;
  /** That of each key. */
  readonly limit: number;
  /** Permits that are out, of all keys. */
  readonly inFlight: number;
  /** Releases whose work went well. */
  readonly releasedOk: number;
  /** Releases whose work failed. */
  readonly releasedFailed: number;
  /** Keys with permits out. */
  readonly liveKeys: number;
  /** The `maxKeys` that it was built with. */
  readonly capacity: number;
  /** How long permits of all keys were held in total, in milliseconds; only with `trackHoldTime`. */
  readonly holdTimeTotalMs?: number;
  /** The same in nanoseconds. */
  readonly holdTimeTotalNs?: bigint;
  /** How long the longest-held permit was held, in milliseconds; only with `trackHoldTime`. */
  readonly holdTimeMaxMs?: number;
  /** The same in nanoseconds. */
  readonly holdTimeMaxNs?: bigint;
  /** The figures for JSON.stringify, as those of {@link ConcurrencyStats}. */
  readonly toJSON?: () => Json<KeyedConcurrencyStats>;
}

/** What to take for a call of a guarded function, and whose. */
export interface KeyedPermitsOptions<F extends AnyFunction> extends PermitsOptions {
  /** The key, or a function that makes it: called as the guarded function is, with the same `this` and arguments. */
  readonly key: Key | ((this: ThisParameterType<F>, ...args: Parameters<F>) => Key);
}

/**
 * A {@link ConcurrencyLimiter} with permits for each key, in memory that doesn't grow. A key with permits out keeps its place
 * until they are back; a new key that finds none is refused.
 *
 * @example
 * const perHost = new KeyedConcurrencyLimiter(2);
 * const page = await perHost.run(() => fetch(url), { key: url.host });
 */
export class KeyedConcurrencyLimiter {
  /**
   * @param limit permits of one key that may be out at once: a whole number from 0 to 2³¹−1; 0 refuses all
   * @throws {ConfigError} if limit or `maxKeys` is another number
   * @throws {TypeError} if an argument is of a wrong type
   */
  constructor(limit: number, options?: KeyedConcurrencyLimiterOptions);
  /**
   * Takes permits of a key if all can be had now, else returns null.
   * @param permits a whole number from 1 to 2⁵³−1, by default 1; another number is a RangeError, anything else a TypeError
   */
  tryAcquire(key: Key, permits?: number): Permit | null;
  /** Permits of each key that may be out at once. Setting it never blocks; permits that are out stay out. */
  get limit(): number;
  set limit(limit: number);
  /** Permits of a key that are out. */
  inFlight(key: Key): number;
  /** Permits of a key that could be taken now, if there is room for it; 0 while more are out than a lowered limit. */
  available(key: Key): number;
  /** The `maxKeys` that it was built with. */
  readonly capacity: number;
  stats(): KeyedConcurrencyStats;
  /**
   * Calls `fn` under a permit of a key, which is released as {@link ConcurrencyLimiter.run} has it. Does not wait: rejects at
   * once if no permit can be had, with a {@link RefusedError} or an {@link ExceedsCapacityError}.
   */
  run<T>(fn: () => T, options: KeyedPermitsOptions<() => T>): Promise<Awaited<T>>;
  /** A function like `fn`, each call of which holds a permit of a key, as {@link ConcurrencyLimiter.guard} has it. */
  guard<F extends AnyFunction>(fn: F, options: KeyedPermitsOptions<F>): F;
  /** What it lends, such as `KeyedConcurrencyLimiter(4 each, 100000 keys)`; so console.log shows it. */
  toString(): string;
}

/**
 * A clock that moves only when told, for tests. Starts at 0, which is the Unix epoch, never goes back, and stops at
 * 2⁶⁴−1 ns, whatever is added. A time that is no number or bigint is a TypeError; one that is negative, NaN or infinite is a
 * RangeError.
 */
export class ManualClock {
  constructor();
  /** Moves the clock on by milliseconds. Fractions of a nanosecond are rounded up. */
  advance(ms: number): void;
  /** Moves the clock on by nanoseconds: a bigint, or a number up to 2⁵³−1. */
  advanceNs(ns: bigint | number): void;
  /**
   * Sets the underlying time in milliseconds, as a machine's clock is set. A step forward moves the clock on by as much; a
   * step back counts as no time, and progress from there counts again.
   */
  set(ms: number): void;
  /** The same in nanoseconds: a bigint, or a number up to 2⁵³−1. */
  setNs(ns: bigint | number): void;
  /** The clock's time in nanoseconds. */
  nowNs(): bigint;
  /** Its time, such as `ManualClock(5 ns)`; so console.log shows it. */
  toString(): string;
}

/**
 * Every error of this package is an instance of TidegateError: wrong arguments too, which are RangeErrors and TypeErrors as
 * everywhere in Node.
 *
 * Texts about arguments read `ARGUMENT: got VALUE; allowed: WHAT`. What is wrong in a list or in options is named with its
 * place: `quotas[1]`, `quotas[1].limit`, `options.clok`.
 */
export class TidegateError extends Error {
  constructor(message?: string, code?: string, options?: { cause?: unknown });
  /**
   * `ERR_TIDEGATE_` and: `REFUSED`, `EXCEEDS_CAPACITY`, `TIMED_OUT`, `QUEUE_FULL`, `CLOSED`, `INTERNAL` (the classes below);
   * `CONFIG` ({@link ConfigError}), `OUT_OF_RANGE` (RangeError), `INVALID_TYPE` (TypeError); `PERMIT`, `DECISION`,
   * `RESERVATION` (spent, or of another limiter); `NATIVE` (the native library can't be loaded).
   */
  readonly code: string;
  /** The argument that was wrong, if one was. */
  readonly argument?: string;
  /** Its value, as text. */
  readonly value?: string;
  /** What would have been allowed. */
  readonly allowed?: string;
}

/** A call was refused. */
export class RefusedError extends TidegateError {
  constructor(message?: string, decision?: Decision);
  readonly code: 'ERR_TIDEGATE_REFUSED' | 'ERR_TIDEGATE_EXCEEDS_CAPACITY';
  /** The decision of a rate limiter. A concurrency limiter can't tell when a permit will come back, and gives none. */
  readonly decision: Decision | undefined;
}

/** How a limiter stood when a wait came to nothing. On errors of waits only. */
export interface WaitFigures {
  /** How long it was waited, in milliseconds: 0 if it was refused at once. */
  readonly elapsedMs: number;
  /** The timeout of the wait, if it had one. */
  readonly timeoutMs: number | undefined;
  /** The limit: permits at once, or tokens per period of the first quota. */
  readonly limit: number;
  /** Permits that were out; of concurrency limiters. */
  readonly inFlight?: number | undefined;
  /** How many others waited. */
  readonly waiting: number;
}

/** A call was refused because it asked for more than the limiter can ever grant. */
export class ExceedsCapacityError extends RefusedError implements Partial<WaitFigures> {
  readonly elapsedMs?: number;
  readonly timeoutMs?: number | undefined;
  readonly limit?: number;
  readonly inFlight?: number | undefined;
  readonly waiting?: number;
  constructor(message?: string, decision?: Decision, figures?: WaitFigures);
  readonly code: 'ERR_TIDEGATE_EXCEEDS_CAPACITY';
}

/** A wait outlasted its timeout, or would have. */
export class TimedOutError extends TidegateError implements Partial<WaitFigures> {
  readonly elapsedMs?: number;
  readonly timeoutMs?: number | undefined;
  readonly limit?: number;
  readonly inFlight?: number | undefined;
  readonly waiting?: number;
  constructor(message?: string, figures?: WaitFigures);
  readonly code: 'ERR_TIDEGATE_TIMED_OUT';
}

/** As many callers wait as may. */
export class QueueFullError extends TidegateError implements Partial<WaitFigures> {
  readonly elapsedMs?: number;
  readonly timeoutMs?: number | undefined;
  readonly limit?: number;
  readonly inFlight?: number | undefined;
  readonly waiting?: number;
  constructor(message?: string, figures?: WaitFigures);
  readonly code: 'ERR_TIDEGATE_QUEUE_FULL';
}

/** The limiter is closed. */
export class ClosedError extends TidegateError implements Partial<WaitFigures> {
  readonly elapsedMs?: number;
  readonly timeoutMs?: number | undefined;
  readonly limit?: number;
  readonly inFlight?: number | undefined;
  readonly waiting?: number;
  constructor(message?: string, figures?: WaitFigures);
  readonly code: 'ERR_TIDEGATE_CLOSED';
}

/** A fault inside the native library. It is still usable; please report it. */
export class InternalError extends TidegateError {
  constructor(message?: string, options?: { cause?: unknown });
  readonly code: 'ERR_TIDEGATE_INTERNAL';
}

/** A quota, limit, number of keys, address or prefix that is not allowed. An instance of TidegateError too. */
export class ConfigError extends RangeError {
  constructor(message?: string);
  readonly code: 'ERR_TIDEGATE_CONFIG';
  /** The part that was wrong. */
  readonly argument: string;
  /** Its value, as text. */
  readonly value: string;
  /** What would have been allowed. */
  readonly allowed: string;
}

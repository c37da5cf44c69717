import type { ClockOptions } from './clock.js';
import type { Decision } from './decision.js';
import type {
  ConfigError,
  ExceedsCapacityError,
  QueueFullError,
  RefusedError,
  TidegateError,
  TimedOutError,
} from './errors.js';
import type { AnyFunction, KeyOption, Waiting, WithoutTimeout, WithTimeout } from './guard.js';
import type { ipKey, Key } from './key.js';
import type { Quota, Quotas } from './quota.js';
import type { RateLimiter } from './rate-limiter.js';
import type { Reservation, ReserveOptions } from './reservation.js';
import type { CallStats, WaitStats } from './stats.js';
import type { CostOptions, CostWaitOptions, WaitFigures, WaitingOptions, WaitOptions } from './waiting.js';

export interface KeyedRateLimiterOptions extends ClockOptions, WaitingOptions {
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
export interface KeyedRateStats extends CallStats, WaitStats {
  /** Keys that owe something, about: exact up to some 6,000 keys of capacity, else from a sample. */
  readonly liveKeys: number;
  /** Keys that were forgotten for new ones though they owed something. */
  readonly evictedLive: number;
  /** The `maxKeys` that it was built with. */
  readonly capacity: number;
}

/** What to spend for a call of a guarded function, and whose. */
export interface KeyedCostOptions<F extends AnyFunction> extends CostOptions, KeyOption<F> {}

/**
 * A {@link RateLimiter} with a budget for each key, in memory that doesn't grow. Keys are not stored, and one that owes
 * nothing takes no room.
 *
 * @example
 * const perClient = new KeyedRateLimiter('100/min burst 20');
 * if (perClient.tryAcquire(ipKey(request.socket.remoteAddress))) handle(request);
 * await perClient.acquire('ann', 1, { timeoutMs: 500 });
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
  /**
   * Spends `cost` tokens of a key when it is their turn: first come, first served for each key. Charged when due, not before. A
   * key that is waited for keeps its place.
   *
   * Nothing keeps the process alive meanwhile: if it has nothing else to do, it ends.
   * @throws {TimedOutError | QueueFullError | ExceedsCapacityError} as a rejection, with the figures of {@link WaitFigures};
   * {@link RefusedError} if there is no room for a new key
   */
  acquire(key: Key, cost?: number, options?: WaitOptions): Promise<void>;
  /** Calls `fn` when it is the key's turn. Calls it at once, before this returns, if nobody waits for the key. */
  run<T>(key: Key, fn: () => T, options?: CostWaitOptions): Promise<Awaited<T>>;
  /**
   * Spends `cost` tokens of a key now, for use from the time on that the reservation names, as {@link RateLimiter.reserve} does.
   * Cancelled, it is not credited once the key was evicted.
   * @throws {TimedOutError} if that is after `maxWaitMs`, or somebody waits for the key
   * @throws {ExceedsCapacityError} if it is more than the burst
   * @throws {RefusedError} if there is no room for a new key
   * @throws {ConfigError} `quota`, if the limiter is not one of gcra with one quota
   */
  reserve(key: Key, cost?: number, options?: ReserveOptions): Reservation;
  /** How many wait for a key now. */
  waiting(key: Key): number;
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
  guard<F extends AnyFunction>(fn: F, options: KeyedCostOptions<F> & WithoutTimeout): F;
  /** With `timeoutMs` it waits for the key's turn before each call, and rejects as {@link acquire} does. */
  guard<F extends AnyFunction>(fn: F, options: KeyedCostOptions<F> & WithTimeout): Waiting<F>;
  /** What it enforces, such as `KeyedRateLimiter(100/s, 100000 keys)`; so console.log shows it. */
  toString(): string;
}

import type { ClockOptions } from './clock.js';
import type { ConcurrencyLimiter } from './concurrency-limiter.js';
import type { Decision } from './decision.js';
import type {
  ConfigError,
  ExceedsCapacityError,
  QueueFullError,
  RefusedError,
  TidegateError,
  TimedOutError,
} from './errors.js';
import type { AnyFunction, Waiting, WithoutTimeout, WithTimeout } from './guard.js';
import type { Quota, Quotas } from './quota.js';
import type { Reservation, ReserveOptions } from './reservation.js';
import type { CallStats, WaitStats } from './stats.js';
import type { CostOptions, CostWaitOptions, WaitFigures, WaitingOptions, WaitOptions } from './waiting.js';

export interface RateLimiterOptions extends ClockOptions, WaitingOptions {}

/** What a rate limiter has done since it was built, in calls. */
export interface RateStats extends CallStats, WaitStats {}

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
   * charged, with the first `next()`. Does not wait without `timeoutMs`: an async function that is refused rejects, any other
   * throws, a {@link RefusedError}, or an {@link ExceedsCapacityError}.
   */
  guard<F extends AnyFunction>(fn: F, options?: CostOptions & WithoutTimeout): F;
  /** With `timeoutMs` it waits for its turn before each call, and rejects as {@link acquire} does. */
  guard<F extends AnyFunction>(fn: F, options: CostOptions & WithTimeout): Waiting<F>;
  /** What it enforces, such as `RateLimiter(100/s burst 20)`; so console.log shows it. */
  toString(): string;
}

import type { ClockOptions } from './clock.js';
import type {
  ClosedError,
  ConfigError,
  ExceedsCapacityError,
  QueueFullError,
  RefusedError,
  TimedOutError,
} from './errors.js';
import type { AnyFunction, Waiting, WithoutTimeout, WithTimeout } from './guard.js';
import type { Json } from './json.js';
import type { Permit } from './permit.js';
import type { CallStats, WaitStats } from './stats.js';
import type { PermitsOptions, PermitsWaitOptions, WaitFigures, WaitingOptions, WaitOptions } from './waiting.js';

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
   * generator ends. Does not wait without `timeoutMs`: an async function that is refused rejects, any other throws, a
   * {@link RefusedError}, an {@link ExceedsCapacityError} or a {@link ClosedError}.
   */
  guard<F extends AnyFunction>(fn: F, options?: PermitsOptions & WithoutTimeout): F;
  /** With `timeoutMs` it waits for its turn before each call, and rejects as {@link acquire} does. */
  guard<F extends AnyFunction>(fn: F, options: PermitsOptions & WithTimeout): Waiting<F>;
  /** How it stands, such as `ConcurrencyLimiter(2 of 4 out)`; so console.log shows it. */
  toString(): string;
}

import type { ConcurrencyLimiter, ConcurrencyStats, HoldTimeOptions } from './concurrency-limiter.js';
import type {
  ClosedError,
  ConfigError,
  ExceedsCapacityError,
  QueueFullError,
  RefusedError,
  TimedOutError,
} from './errors.js';
import type { AnyFunction, KeyOption, Waiting, WithoutTimeout, WithTimeout } from './guard.js';
import type { Json } from './json.js';
import type { Key } from './key.js';
import type { Permit } from './permit.js';
import type { CallStats, WaitStats } from './stats.js';
import type { PermitsOptions, PermitsWaitOptions, WaitFigures, WaitingOptions, WaitOptions } from './waiting.js';

export interface KeyedConcurrencyLimiterOptions extends HoldTimeOptions, WaitingOptions {
  /** For how many keys with permits out there is room: 1 to 2³², by default 100,000. Takes 40 bytes for each. */
  readonly maxKeys?: number | undefined;
}

/** What a keyed concurrency limiter has done since it was built, and how it stands. */
export interface KeyedConcurrencyStats extends CallStats, WaitStats {
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
export interface KeyedPermitsOptions<F extends AnyFunction> extends PermitsOptions, KeyOption<F> {}

/**
 * A {@link ConcurrencyLimiter} with permits for each key, in memory that doesn't grow. A key with permits out keeps its place
 * until they are back; a new key that finds none is refused.
 *
 * @example
 * const perHost = new KeyedConcurrencyLimiter(2);
 * const page = await perHost.run(url.host, () => fetch(url), { timeoutMs: 500 });
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
  /**
   * Takes permits of a key when it is their turn: first come, first served for each key, as {@link ConcurrencyLimiter.acquire} has
   * it.
   *
   * Nothing keeps the process alive meanwhile: if it has nothing else to do, it ends.
   * @throws {TimedOutError | QueueFullError | ClosedError | ExceedsCapacityError} as a rejection, with the figures of
   * {@link WaitFigures}; {@link RefusedError} if there is no room for a new key
   */
  acquire(key: Key, permits?: number, options?: WaitOptions): Promise<Permit>;
  /** How many wait for a key now. */
  waiting(key: Key): number;
  /** Ends all waits of all keys with a {@link ClosedError}, for good: nothing is lent any more. Permits that are out stay out. */
  close(): void;
  readonly isClosed: boolean;
  /**
   * Permits of each key that may be out at once. Setting it never blocks; permits that are out stay out. 0 is a pause for those who
   * wait; who waits for more than the limit is rejected with an {@link ExceedsCapacityError}.
   */
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
   * Calls `fn` under a permit of a key, which is released as {@link ConcurrencyLimiter.run} has it. Waits for it as
   * {@link acquire} does; calls `fn` at once, before this returns, if there is room.
   */
  run<T>(key: Key, fn: () => T, options?: PermitsWaitOptions): Promise<Awaited<T>>;
  /** A function like `fn`, each call of which holds a permit of a key, as {@link ConcurrencyLimiter.guard} has it. */
  guard<F extends AnyFunction>(fn: F, options: KeyedPermitsOptions<F> & WithoutTimeout): F;
  /** With `timeoutMs` it waits for the key's turn before each call, and rejects as {@link acquire} does. */
  guard<F extends AnyFunction>(fn: F, options: KeyedPermitsOptions<F> & WithTimeout): Waiting<F>;
  /** What it lends, such as `KeyedConcurrencyLimiter(4 each, 100000 keys)`; so console.log shows it. */
  toString(): string;
}

import type { TidegateError, TimedOutError } from './errors.js';

export interface ReserveOptions {
  /** Milliseconds, 0 or above: what would be due later is a {@link TimedOutError}. By default `Infinity`. */
  readonly maxWaitMs?: number | undefined;
}

/** Tokens that are charged already, and may be used from a time on. Made by `reserve` of a rate limiter. */
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

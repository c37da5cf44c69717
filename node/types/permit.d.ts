import type { ConcurrencyLimiter } from './concurrency-limiter.js';
import type { TidegateError } from './errors.js';
import type { KeyedConcurrencyLimiter } from './keyed-concurrency-limiter.js';

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

import type { Json } from './json.js';
import type { KeyedRateLimiter, KeyedRateLimiterOptions } from './keyed-rate-limiter.js';
import type { RateLimiter } from './rate-limiter.js';

/** What became of a call. `keys_full`: a new key found no room ({@link KeyedRateLimiterOptions.whenFull}). */
export type Status = 'allowed' | 'denied' | 'exceeds_capacity' | 'keys_full';

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

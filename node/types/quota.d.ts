import type { ConfigError } from './errors.js';
import type { Json } from './json.js';

/** How a rate limiter counts: `gcra` is a token bucket, `sliding_log` is exact and remembers each grant. */
export type Algorithm = 'gcra' | 'fixed_window' | 'sliding_window' | 'sliding_log';

/** Where fixed windows begin: at the first admitted call after the last window, or at multiples since the Unix epoch. */
export type Anchor = 'first' | 'clock';

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

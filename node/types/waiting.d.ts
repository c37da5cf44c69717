import type { ConfigError, QueueFullError, TimedOutError } from './errors.js';

/** What a limiter may be built with, too. */
export interface WaitingOptions {
  /**
   * How many may wait at once, with keys for each key: 0 to 2³²−2, which is the default. Who comes then is refused with a
   * {@link QueueFullError}.
   */
  readonly maxWaiters?: number | undefined;
  /**
   * A name under which all worker threads of the process have one and the same limiter of this kind. Who asks for it first
   * builds it; the others must say the same limit or quotas, and options, else that is a
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

/** What to take for a call. */
export interface CostOptions {
  /** Tokens, by default 1. */
  readonly cost?: number | undefined;
}

/** What to take for a call. */
export interface PermitsOptions {
  /** By default 1. */
  readonly permits?: number | undefined;
}

/** For `run` and `map` of a rate limiter. */
export interface CostWaitOptions extends WaitOptions, CostOptions {}

/** For `run` and `map` of a concurrency limiter. */
export interface PermitsWaitOptions extends WaitOptions, PermitsOptions {}

/** How a limiter stood when a wait came to nothing. On errors of waits only. */
export interface WaitFigures {
  /** How long it was waited, in milliseconds: 0 if it was refused at once. */
  readonly elapsedMs: number;
  /** The timeout of the wait, if it had one. */
  readonly timeoutMs: number | undefined;
  /** The limit: permits at once, or tokens per period of the first quota. */
  readonly limit: number;
  /** Permits that were out, with keys those of the key; of concurrency limiters. */
  readonly inFlight?: number | undefined;
  /** How many others waited, with keys for the key. */
  readonly waiting: number;
}

import type { Decision } from './decision.js';
import type { Refusal, RefusalFigures, RulesError } from './gate.js';
import type { WaitFigures } from './waiting.js';

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
   * `ENTRY`,
   * `RESERVATION` (spent, or of another limiter); `RULES` ({@link RulesError}); `NATIVE` (the native library can't be loaded).
   */
  readonly code: string;
  /** The argument that was wrong, if one was. */
  readonly argument?: string;
  /** Its value, as text. */
  readonly value?: string;
  /** What would have been allowed. */
  readonly allowed?: string;
}

/** A call was refused. If a gate did it has the figures of its {@link Refusal}, and that itself. */
export class RefusedError extends TidegateError {
  constructor(message?: string, decision?: Decision);
  readonly code: 'ERR_TIDEGATE_REFUSED' | 'ERR_TIDEGATE_EXCEEDS_CAPACITY';
  /** The decision of a rate limiter. A concurrency limiter can't tell when a permit will come back, and gives none. */
  readonly decision: Decision | undefined;
  readonly refusal?: Refusal;
  readonly status?: RefusalFigures['status'];
  readonly rule?: string;
  readonly key?: string | null;
  readonly limit?: number;
  readonly remaining?: number;
  readonly retryAfterMs?: number | null;
  readonly inFlight?: number | undefined;
  readonly waiting?: number;
  readonly elapsedMs?: number;
  readonly timeoutMs?: number | undefined;
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

/** What became of calls. */
export interface CallStats {
  /** Calls that were admitted, at once or after a wait; `peek` counts nowhere. */
  readonly allowed: number;
  /** Calls that were refused, but for those that timed out. */
  readonly denied: number;
}

/** What became of waits. */
export interface WaitStats {
  /** Waits that outlasted their timeout, or would have. */
  readonly timedOut: number;
  /** Waits that were ended by a signal. */
  readonly cancelled: number;
  /** How many wait now. */
  readonly waiting: number;
}

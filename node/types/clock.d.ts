/** Options of a clock, for tests. */
export interface ClockOptions {
  /**
   * A clock of yours, for tests. By default the machine's monotonic clock, which is calibrated once in a process: the first
   * limiter on it may take up to 200 ms to build.
   */
  readonly clock?: ManualClock | undefined;
}

/**
 * A clock that moves only when told, for tests. Starts at 0, which is the Unix epoch, never goes back, and stops at
 * 2⁶⁴−1 ns, whatever is added. A time that is no number or bigint is a TypeError; one that is negative, NaN or infinite is a
 * RangeError.
 */
export class ManualClock {
  constructor();
  /** Moves the clock on by milliseconds. Fractions of a nanosecond are rounded up. */
  advance(ms: number): void;
  /** Moves the clock on by nanoseconds: a bigint, or a number up to 2⁵³−1. */
  advanceNs(ns: bigint | number): void;
  /**
   * Sets the underlying time in milliseconds, as a machine's clock is set. A step forward moves the clock on by as much; a
   * step back counts as no time, and progress from there counts again.
   */
  set(ms: number): void;
  /** The same in nanoseconds: a bigint, or a number up to 2⁵³−1. */
  setNs(ns: bigint | number): void;
  /** The clock's time in nanoseconds. */
  nowNs(): bigint;
  /** Its time, such as `ManualClock(5 ns)`; so console.log shows it. */
  toString(): string;
}

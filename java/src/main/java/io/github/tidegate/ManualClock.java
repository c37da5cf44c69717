package io.github.tidegate;

import java.time.Duration;

/**
 * A clock that moves only when told: for tests. It starts at zero, which stands for the Unix epoch, and stops at 2⁶⁴−1 ns.
 *
 * <pre>{@code
 * ManualClock clock = new ManualClock();
 * RateLimiter limiter = RateLimiter.builder("1/s").clock(clock).build();
 * assert limiter.tryAcquire();
 * assert !limiter.tryAcquire();
 * clock.advance(Duration.ofSeconds(1));
 * assert limiter.tryAcquire();
 * }</pre>
 */
public final class ManualClock extends Clock {
    /** A clock at zero. */
    public ManualClock() {
        super(true);
    }

    /**
     * Moves the clock on. Who is due or out of time by then is told so before this returns.
     *
     * @throws ConfigException if the duration is negative
     */
    public void advance(Duration by) {
        Status.check(Waits.after(advance0(address, Nanos.unsigned("by", by))));
    }

    /**
     * Moves the clock on by nanoseconds.
     *
     * @throws ConfigException if it is a negative number of them
     */
    public void advanceNanos(long byNanos) {
        Mistake.within("byNanos", byNanos, 0, Long.MAX_VALUE);
        Status.check(Waits.after(advance0(address, byNanos)));
    }

    /**
     * Sets the underlying time, as a machine's clock is set. A step forward moves the clock on by as much; a step back counts
     * as no time, and progress from there counts again.
     *
     * @param to the time since the clock's zero
     * @throws ConfigException if it is negative
     */
    public void set(Duration to) {
        Status.check(Waits.after(set0(address, Nanos.unsigned("to", to))));
    }

    /**
     * {@link #set(Duration)} in nanoseconds.
     *
     * @throws ConfigException if it is a negative number of them
     */
    public void setNanos(long toNanos) {
        Mistake.within("toNanos", toNanos, 0, Long.MAX_VALUE);
        Status.check(Waits.after(set0(address, toNanos)));
    }

    /** The clock's time. */
    @Override
    public String toString() {
        return "ManualClock(" + nowNanos() + " ns)";
    }

    private native int advance0(long address, long byNanos);

    private native int set0(long address, long toNanos);
}

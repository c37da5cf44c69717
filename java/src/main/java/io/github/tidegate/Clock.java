package io.github.tidegate;

/**
 * The clock of a limiter: whole nanoseconds since some origin, never going back. {@link #monotonic()} is the default; {@link
 * ManualClock} is for tests.
 */
public sealed class Clock permits ManualClock {
    static {
        NativeLibrary.require();
    }

    final long address;

    Clock(boolean manual) {
        long[] created = new long[1];
        Status.check(create0(manual, created));
        long address = created[0];
        this.address = address;
        NativeLibrary.CLEANER.register(this, () -> free0(address));
    }

    /**
     * The machine's monotonic clock: the time stamp counter where it can be trusted, else the operating system's. All such
     * clocks of a process share one origin.
     */
    public static Clock monotonic() {
        return new Clock(false);
    }

    /** Nanoseconds since the clock's origin; {@link Long#MAX_VALUE} from 2⁶³−1 on (292 years). Never goes back. */
    public final long nowNanos() {
        long[] now = new long[1];
        Status.check(now0(address, now));
        return now[0];
    }

    private static native int create0(boolean manual, long[] created);

    private static native void free0(long address);

    private native int now0(long address, long[] now);
}

package io.github.tidegate;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;

/**
 * Tokens that are charged already and may be used from a fixed time on, which nothing that others do moves: for callers with a
 * scheduler of their own. {@link RateLimiter#reserve(long, Duration)} and {@link KeyedRateLimiter#reserve(String, long, Duration)}
 * make them.
 *
 * <pre>{@code
 * Reservation reservation = limiter.reserve(1, Duration.ofSeconds(2));
 * scheduler.schedule(this::send, reservation.delayNanos(), TimeUnit.NANOSECONDS);
 * }</pre>
 */
public final class Reservation {
    /** How many numbers one is across the native border. */
    static final int FIGURES = 8;

    private static final int COST = 0;
    private static final int DUE = 1;
    private static final int DELAY = 2;

    private static final AtomicIntegerFieldUpdater<Reservation> CANCELLED =
            AtomicIntegerFieldUpdater.newUpdater(Reservation.class, "cancelled");

    private final QuotaLimiter limiter;
    /** Null if the limiter has none. */
    private final byte[] key;

    private final long[] figures;
    /** 1 once it was. */
    private volatile int cancelled;

    Reservation(QuotaLimiter limiter, byte[] key, long[] figures) {
        this.limiter = limiter;
        this.key = key == null ? null : key.clone();
        this.figures = figures;
    }

    /** How many tokens. */
    public long cost() {
        return figures[COST];
    }

    /** How long to wait from when they were reserved; zero if they may be used at once. */
    public Duration delay() {
        return Duration.ofNanos(delayNanos());
    }

    /** {@link #delay()} in nanoseconds. */
    public long delayNanos() {
        return figures[DELAY];
    }

    /** From when on they may be used, on the limiter's clock: {@link Clock#nowNanos()}. */
    public long dueNanos() {
        return figures[DUE];
    }

    /**
     * Gives the tokens back. They are credited only if they are not due yet and nobody reserved after them: else they would come to
     * others sooner than the bound allows.
     *
     * @return whether they were credited
     * @throws IllegalStateException if it was cancelled before, or the limiter is closed; nothing changes then
     */
    public boolean cancel() {
        if (!CANCELLED.compareAndSet(this, 0, 1)) {
            throw new IllegalStateException(
                    Mistake.text("reservation", "one that was cancelled before", "a reservation, once"));
        }
        try {
            return limiter.cancelReservation(key, figures);
        } catch (Throwable failure) {
            cancelled = 0;
            throw failure;
        }
    }

    /** The tokens and the delay, for people. */
    @Override
    public String toString() {
        return "Reservation(" + cost() + ", " + (cancelled == 1 ? "cancelled" : "delay " + delay()) + ")";
    }
}

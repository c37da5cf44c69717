package io.github.tidegate;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;

/** How requests enter a gate. */
abstract sealed class GateWaiting permits Gate {
    /** The order of the numbers that come of a request across the native border. */
    private static final int ENTRY = 0;

    private static final int REFUSAL = 1;
    private static final int STATUS = 2;

    /** Codes are below. */
    private static final long LEAST_ADDRESS = 4 * Waits.TOLD;

    private static final int ALLOWED = Status.ALLOWED.code();
    private static final int NO_RULE = Status.NO_RULE.code();

    /** Where the native gate is. It stays there as long as this object is reachable, as it is during a native call on it. */
    final long address;

    /** The gate's, or null. */
    private final Clock clock;

    private final Entry.Lender entries = new Entry.Lender();

    GateWaiting(long address, Clock clock) {
        this.address = address;
        this.clock = clock;
    }

    /** Makes ready what a call needs: a class whose first use overflows the stack can never be used again. */
    static void requireClasses() {
        Entering.require();
        Entry.require();
        Held.require();
        Tag.require();
        new Entering(null);
    }

    /** {@link #enter(Attributes, long, Duration)} with a cost of 1, for as long as the rules let it wait. */
    public final Entry enter(Attributes request) throws InterruptedException {
        return await(packed(request), 1, Nanos.FOR_EVER);
    }

    /**
     * Admits a request, or throws why not. Where rules let it wait, this does, for at most {@code timeout} in all. The thread is parked
     * in Java: a virtual one leaves its carrier.
     *
     * <pre>{@code
     * try (Entry entry = gate.enter(Attributes.of("path", path, "client", client), 1, Duration.ofMillis(50))) {
     *     // it holds the permits of all rules that apply
     * } catch (GateRefusedException refused) {
     *     log.warn(refused.getMessage());
     * }
     * }</pre>
     *
     * @param request what is known of it
     * @param cost 1 to {@link RateLimiter#MAX_COST}: what it costs, in tokens or permits of each rule
     * @param timeout zero never waits; with {@link Decision#NEVER} the timeouts of the rules are all that counts, and rules whose timeout
     *     is that of the call don't let it wait
     * @return an entry, to be released; also if {@link Entry#applies() no rule applies}
     * @throws GateRefusedException if a rule refuses; nothing was taken
     * @throws InterruptedException if the thread is interrupted before; nothing is taken then
     * @throws ConfigException if an argument is outside of what is allowed
     */
    public final Entry enter(Attributes request, long cost, Duration timeout) throws InterruptedException {
        return await(packed(request), cost, Nanos.unsigned("timeout", timeout));
    }

    /** {@link #tryEnter(Attributes, long)} with a cost of 1. */
    public final Optional<Entry> tryEnter(Attributes request) {
        return tryEnter(request, 1);
    }

    /**
     * Admits a request if all its rules do so now; never waits.
     *
     * @param request what is known of it
     * @param cost 1 to {@link RateLimiter#MAX_COST}
     * @return the entry, or nothing if the caller must not go ahead
     * @throws ConfigException if the cost is outside of that
     */
    public final Optional<Entry> tryEnter(Attributes request, long cost) {
        byte[] packed = packed(request);
        Tag tag = entries.idle.take();
        int code = enter(packed, cost, 0, false, tag.held.figures);
        int status = code < Waits.TOLD / 2 ? code : code - Waits.TOLD;
        try {
            if (status == ALLOWED || status == NO_RULE) {
                Entry entry = new Entry(entries, tag, Status.of(status));
                Waits.after(code);
                return Optional.of(entry);
            }
        } catch (Throwable noRoom) {
            // No memory, or no room on the stack: nothing is called here. The cleaner finds what was admitted.
            tag.held.limiter = entries;
            tag.held.grant |= 1;
            throw noRoom;
        }
        entries.idle.put(tag);
        Waits.after(code);
        if (status < 0) {
            throw failure(Status.of(status), cost);
        }
        return Optional.empty();
    }

    /** {@link #enterAsync(Attributes, long, Duration)} with a cost of 1, for as long as the rules let it wait. */
    public final CompletableFuture<Entry> enterAsync(Attributes request) {
        return enterAsync(request, 1, Decision.NEVER);
    }

    /**
     * {@link #enter(Attributes, long, Duration)} as a future, which needs no thread. Cancelling it, or completing it by other means, ends
     * the wait, or gives everything back if it was admitted first. It is completed on the thread whose call does so: of who releases an
     * entry or changes the rules; of the common pool where time does. What waited for it there should be short, or be asked for by {@code
     * ...Async}.
     *
     * @return a future that fails as {@code enter} does
     * @throws ConfigException if an argument is outside of what is allowed
     */
    public final CompletableFuture<Entry> enterAsync(Attributes request, long cost, Duration timeout) {
        // All of this is made before the native call, after which nothing may come before what it told is asked for:
        // Line.
        byte[] packed = packed(request);
        Request asked = new Request(null, cost, Nanos.unsigned("timeout", timeout));
        Entering entering = new Entering(clock);
        Function<long[], FutureWait.Granted<Entry>> value = this::granted;
        Tag tag = entries.idle.take();
        int code = enter(packed, cost, asked.timeoutNanos(), true, tag.held.figures);
        if (Waits.isPending(code)) {
            CompletableFuture<Entry> future = entering.future(code, asked, value);
            entries.idle.put(tag);
            return future;
        }
        Status status = Status.of(code < Waits.TOLD / 2 ? code : code - Waits.TOLD);
        Entry entry;
        try {
            entry = status == Status.ALLOWED || status == Status.NO_RULE ? new Entry(entries, tag, status) : null;
        } catch (Throwable noRoom) {
            // No memory, or no room on the stack: nothing is called here. The cleaner finds what was admitted.
            tag.held.limiter = entries;
            tag.held.grant |= 1;
            throw noRoom;
        }
        Waits.after(code);
        if (entry != null) {
            return CompletableFuture.completedFuture(entry);
        }
        long refusal = tag.held.figures[REFUSAL];
        entries.idle.put(tag);
        if (status.code() < 0) {
            throw failure(status, cost);
        }
        return CompletableFuture.failedFuture(GateRefusedException.take(refusal));
    }

    private Entry await(byte[] packed, long cost, long timeoutNanos) throws InterruptedException {
        if (Thread.interrupted()) {
            throw new InterruptedException();
        }
        Tag tag = entries.idle.take();
        Held held = tag.held;
        int code = enter(packed, cost, timeoutNanos, true, held.figures);
        boolean admitted = code == ALLOWED || code == NO_RULE;
        Status status = null;
        try {
            if (admitted) {
                return new Entry(entries, tag, Status.of(code));
            }
            if (Waits.isPending(code)) {
                Entering entering = new Entering(clock);
                held.figures = entering.await(code, new Request(null, cost, timeoutNanos));
                status = Status.of((int) held.figures[STATUS]);
            } else {
                int untold = code < Waits.TOLD / 2 ? code : code - Waits.TOLD;
                admitted = untold == ALLOWED || untold == NO_RULE;
                Waits.after(code);
                status = Status.of(untold);
            }
            admitted = status == Status.ALLOWED || status == Status.NO_RULE;
            if (admitted) {
                return new Entry(entries, tag, status);
            }
        } catch (Throwable failure) {
            if (admitted) {
                // As in tryEnter().
                held.limiter = entries;
                held.grant |= 1;
            } else {
                entries.idle.put(tag);
            }
            throw failure;
        }
        long refusal = held.figures[REFUSAL];
        entries.idle.put(tag);
        throw status.code() < 0 ? failure(status, cost) : GateRefusedException.take(refusal);
    }

    /** What a wait that is over came to. */
    private FutureWait.Granted<Entry> granted(long[] figures) {
        Status status = Status.of((int) figures[STATUS]);
        if (figures[ENTRY] == 0) {
            return new FutureWait.Granted<>(null, () -> {}, GateRefusedException.take(figures[REFUSAL]));
        }
        Tag tag = entries.idle.take();
        tag.held.figures = figures;
        Entry entry = new Entry(entries, tag, status);
        return new FutureWait.Granted<>(entry, () -> entry.release(false), null);
    }

    static RuntimeException failure(Status status, long cost) {
        return status == Status.INVALID_COST
                ? Mistake.of("cost", cost, "1 to " + RateLimiter.MAX_COST)
                : status.failure(status.toString());
    }

    static byte[] packed(Attributes request) {
        return Mistake.nonNull("request", request, "attributes").packed;
    }

    /** What a request came to: a code for {@link Waits#after}. */
    private int enter(byte[] packed, long cost, long timeoutNanos, boolean tellWhy, long[] admitted) {
        long cameTo = enter0(address, packed, cost, timeoutNanos, tellWhy, admitted);
        if (cameTo >= LEAST_ADDRESS) {
            admitted[ENTRY] = cameTo;
            return ALLOWED;
        }
        return (int) cameTo;
    }

    /** Returns a code; or the entry alone, which takes less time than to write to an array, where there is nothing else to say. */
    private native long enter0(
            long address, byte[] attributes, long cost, long timeoutNanos, boolean tellWhy, long[] admitted);
}

package io.github.tidegate;

import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.IntSupplier;

/**
 * All waits that go on, and how they are told. The native library says what becomes of a wait within some call, on the thread
 * that makes it: a release, say. That is kept until the native method returns, and is dealt with in Java then. No thread is ever
 * attached to the JVM, and nobody's code runs within a native method.
 */
final class Waits {
    /** Added to the status of a native call if it told something, or one before on this thread did: TOLD in C. */
    static final int TOLD = 1 << 8;

    /** Below it is the code of a mistake. */
    private static final int LEAST_TOLD = TOLD / 2;

    /** Where in an event what was granted begins: after which wait, and the status. */
    private static final int GRANT = 2;

    /** How many numbers an event is across the native border. */
    private static final int FIGURES = GRANT + QuotaLimiter.GRANT_FIGURES;

    private static final int PENDING_CODE = Status.PENDING.code();

    private static final int AT_ONCE = 16;

    /** By number: a {@link Wait}, or the last event of one that was told before it was entered here. */
    private static final ConcurrentHashMap<Long, Object> PENDING = new ConcurrentHashMap<>();

    /** What the outermost call on this thread is about to deal with. */
    private static final ThreadLocal<Told> CURRENT = new ThreadLocal<>();

    private static final Object LEAVING = new Object();
    /** What was fetched by calls that had no room on the stack to deal with it: the next one does. Changed under {@code LEAVING}. */
    private static volatile Told left;

    /** What was told, as far as it is not dealt with. */
    private static final class Told {
        final long[] events = new long[AT_ONCE * FIGURES];
        final ArrayDeque<FutureWait<?>> futures = new ArrayDeque<>();
        int next;
        int count;
        Told before;
        /** The thread that goes on with its futures, while it does. */
        Thread dealtWithBy;
    }

    private Waits() {}

    /** Makes sure that this class is ready for use, and what it tells by. */
    static void require() {
        CURRENT.set(new Told());
        CURRENT.remove();
    }

    /** Whether a native call has begun a wait. */
    static boolean isPending(int code) {
        return code == PENDING_CODE || code == TOLD + PENDING_CODE;
    }

    /** The number and the ticket of the wait that the last native call on this thread has begun. */
    static long[] begun() {
        long[] begun = new long[2];
        begun0(begun);
        return begun;
    }

    /** What an event says was granted. */
    static long[] granted(long[] event) {
        return Arrays.copyOfRange(event, GRANT, FIGURES);
    }

    /** Takes a status's code from a native call that may have told waits; returns it once they know. */
    static int after(int code) {
        if (code < LEAST_TOLD) {
            if (left != null) {
                tell();
            }
            return code;
        }
        tell();
        return code - TOLD;
    }

    /**
     * {@link #after} for a call that must not be made again once it was made: who can't be told for want of room, on the stack or in
     * memory, is told by the next call.
     */
    static int once(IntSupplier call) {
        int code = call.getAsInt();
        if (code < LEAST_TOLD) {
            return code;
        }
        try {
            tell();
        } catch (StackOverflowError | OutOfMemoryError later) {
            // It is left to others.
        }
        return code - TOLD;
    }

    /** Enters a wait that has begun. Who told it before found nobody here. */
    static void enter(Wait wait) {
        Object told = PENDING.putIfAbsent(wait.number, wait);
        if (told != null) {
            PENDING.remove(wait.number);
            wait.settle((long[]) told);
        }
    }

    /** Leaves each wait of a line that is being closed. */
    static void leaveAll(Line line) {
        for (Object pending : PENDING.values()) {
            if (pending instanceof Wait wait && wait.line == line) {
                wait.leave();
            }
        }
    }

    /** Deals with what native calls on this thread have told, and with what others have left. */
    static void tell() {
        Told told = new Told();
        try {
            do {
                told.next = 0;
                told.count = fetch0(told.events);
                settle(told);
            } while (told.count == AT_ONCE);
            while (left != null) {
                Told others;
                synchronized (LEAVING) {
                    others = left;
                    left = others == null ? null : others.before;
                }
                if (others != null) {
                    try {
                        settle(others);
                        proceed(others);
                    } catch (Throwable noRoom) {
                        synchronized (LEAVING) {
                            others.before = left;
                            left = others;
                        }
                        throw noRoom;
                    }
                }
            }
            proceed(told);
        } catch (Throwable noRoom) {
            // Nothing is called here, since maybe nothing can be.
            synchronized (LEAVING) {
                told.before = left;
                left = told;
            }
            throw noRoom;
        }
    }

    /** Hands events to their waits. May be tried again if it fails. */
    private static void settle(Told told) {
        for (; told.next < told.count; told.next++) {
            int at = told.next * FIGURES;
            settle(Arrays.copyOfRange(told.events, at, at + FIGURES), told.futures);
        }
    }

    /** Hands one event to its wait, unless that isn't entered yet and will look for itself then. */
    private static void settle(long[] event, ArrayDeque<FutureWait<?>> futures) {
        Long number = event[0];
        boolean last = event[1] != Status.POLL_AGAIN.code();
        // What another thread was told later may have come here before.
        if (!((last ? PENDING.putIfAbsent(number, event) : PENDING.get(number)) instanceof Wait wait)) {
            return;
        }
        if (last) {
            wait.settle(event);
        }
        if (wait instanceof FutureWait<?> future) {
            futures.add(future);
        } else {
            ((ParkedWait) wait).wake();
        }
        if (last) {
            PENDING.remove(number);
        }
    }

    /**
     * Goes on with futures, whose completion may run the caller's code. What that brings about for others is dealt with once it has
     * returned, so that a chain of them, however long, needs no more stack than one.
     */
    private static void proceed(Told told) {
        if (told.futures.isEmpty()) {
            return;
        }
        Told outer = CURRENT.get();
        if (outer != null && outer.dealtWithBy == Thread.currentThread()) {
            outer.futures.addAll(told.futures);
            return;
        }
        CURRENT.set(told);
        told.dealtWithBy = Thread.currentThread();
        try {
            for (FutureWait<?> next = told.futures.peek(); next != null; next = told.futures.peek()) {
                next.proceed();
                told.futures.poll();
            }
        } finally {
            // Without a call: the removal may find the stack full, and what it leaves must not be taken for one that
            // goes on.
            told.dealtWithBy = null;
            CURRENT.remove();
        }
    }

    private static native void begun0(long[] begun);

    private static native int fetch0(long[] events);
}

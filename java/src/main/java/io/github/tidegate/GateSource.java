package io.github.tidegate;

import java.lang.ref.WeakReference;
import java.util.function.Consumer;

/** Where a gate's rules come from while it is in use: looked at on a thread of its own, for as long as there is the gate. */
abstract class GateSource implements Watch, Runnable {
    /** The most that a thread sleeps before it looks whether its gate is still there. */
    static final long NAP_NANOS = 1_000_000_000;

    private final WeakReference<Gate> gate;
    private boolean closed;

    GateSource(Gate gate) {
        this.gate = new WeakReference<>(gate);
    }

    final Watch start(String name) {
        SourceThread.start(name, this);
        return this;
    }

    /** Whether nothing can come of this any more. */
    final synchronized boolean isOver() {
        return closed || gate.get() == null;
    }

    /** Changes the gate's rules, unless this is over. What is wrong with them is told to those who listen, and to nobody here. */
    final synchronized void change(Consumer<Gate> change) {
        Gate changed = gate.get();
        if (!closed && changed != null) {
            try {
                change.accept(changed);
            } catch (RulesException told) {
                // As an event, and those in use stay.
            }
        }
    }

    /** Sleeps, for as long as this goes on. */
    final void sleep(long nanos) {
        long start = System.nanoTime();
        for (long left = nanos; left > 0 && !isOver(); left = nanos - (System.nanoTime() - start)) {
            try {
                synchronized (this) {
                    long most = Math.min(left, NAP_NANOS);
                    if (!closed) {
                        wait(most / 1_000_000, (int) (most % 1_000_000));
                    }
                }
            } catch (InterruptedException ignored) {
                // By nobody: the thread is known to none.
            }
        }
    }

    @Override
    public final synchronized void close() {
        closed = true;
        notifyAll();
    }
}

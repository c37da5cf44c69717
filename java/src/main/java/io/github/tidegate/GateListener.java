package io.github.tidegate;

import java.time.Duration;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.function.Consumer;

/** Fetches the events of a gate, on a thread of its own, for as long as there is the gate and nobody else listens. */
final class GateListener implements Watch, Runnable {
    /** After so long it is looked whether it is over. */
    private static final long NAP_NANOS = 500_000_000;

    private final long events;
    private final Consumer<? super GateEvent> listener;
    private volatile boolean closed;

    private GateListener(long events, Consumer<? super GateEvent> listener) {
        this.events = events;
        this.listener = listener;
    }

    /** @param events of the native library; to be freed by the thread */
    static GateListener start(long events, Consumer<? super GateEvent> listener) {
        GateListener started = new GateListener(events, listener);
        try {
            SourceThread.start("tidegate events", started);
        } catch (Throwable noThread) {
            free0(events);
            throw noThread;
        }
        return started;
    }

    @Override
    public void run() {
        try {
            byte[][] event = new byte[1][];
            while (!closed) {
                Status status = Status.of(Waits.after(next0(events, NAP_NANOS, event)));
                if (status == Status.ALLOWED) {
                    read(Json.parse(event[0])).ifPresent(this::tell);
                } else if (status != Status.TIMED_OUT) {
                    return;
                }
            }
        } finally {
            free0(events);
        }
    }

    /** Calls the listener, one event after the other. Its failures are its own. */
    synchronized void tell(GateEvent event) {
        if (closed) {
            return;
        }
        try {
            listener.accept(event);
        } catch (Throwable failure) {
            System.getLogger(Gate.class.getName())
                    .log(System.Logger.Level.WARNING, "a listener of a gate failed at " + event, failure);
        }
    }

    @Override
    public void close() {
        closed = true;
    }

    /** The event that the native library tells; empty for a kind that is newer than this. */
    private static Optional<GateEvent> read(Object json) {
        long dropped = Json.number(json, "dropped");
        return Optional.ofNullable(
                switch (Json.text(json, "event")) {
                    case "refused" -> new GateEvent.Refused(refusal(Json.field(json, "refusal")), dropped);
                    case "shadow_refused" -> new GateEvent.ShadowRefused(refusal(Json.field(json, "refusal")), dropped);
                    case "reloaded" -> new GateEvent.RulesReloaded(Reloaded.of(Json.field(json, "reloaded")), dropped);
                    case "reload_failed" ->
                        new GateEvent.ReloadFailed(
                                Json.list(Json.field(json, "faults")).stream()
                                        .map(GateListener::fault)
                                        .toList(),
                                dropped);
                    default -> null;
                });
    }

    private static GateRefusal refusal(Object json) {
        Object retryAfter = Json.field(json, "retry_after_ns");
        Object timeout = Json.field(json, "timeout_ns");
        boolean never = Boolean.TRUE.equals(Json.field(json, "never"));
        return new GateRefusal(
                Json.text(json, "rule"),
                Json.text(json, "key"),
                Status.valueOf(Json.text(json, "status").toUpperCase(Locale.ROOT)),
                Json.number(json, "limit"),
                Json.number(json, "remaining"),
                Json.text(json, "quota"),
                (int) Json.number(json, "quota_index"),
                Json.list(Json.field(json, "quotas")).size(),
                never ? Decision.NEVER : retryAfter == null ? null : Duration.ofNanos((Long) retryAfter),
                Json.number(json, "in_flight"),
                Json.number(json, "waiting"),
                Duration.ofNanos(Json.number(json, "elapsed_ns")),
                timeout == null ? Decision.NEVER : Duration.ofNanos((Long) timeout),
                Json.text(json, "message"));
    }

    private static RuleFault fault(Object json) {
        Object line = Json.field(json, "line");
        return new RuleFault(
                Json.text(json, "file"),
                line == null ? OptionalInt.empty() : OptionalInt.of(((Long) line).intValue()),
                Json.text(json, "rule"),
                Json.text(json, "argument"),
                Json.text(json, "value"),
                Json.text(json, "allowed"),
                Json.text(json, "message"));
    }

    /** Fetches the next event; returns the status's code. */
    private native int next0(long events, long timeoutNanos, byte[][] event);

    private static native void free0(long events);
}

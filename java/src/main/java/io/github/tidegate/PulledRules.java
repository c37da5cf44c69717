package io.github.tidegate;

import java.util.List;
import java.util.OptionalInt;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Supplier;

/** Rules that are asked for time and again. */
final class PulledRules extends GateSource {
    private final Supplier<String> source;
    private final Format format;
    private final long everyNanos;

    PulledRules(Gate gate, Supplier<String> source, Format format, long everyNanos) {
        super(gate);
        this.source = source;
        this.format = format;
        this.everyNanos = everyNanos;
    }

    @Override
    public void run() {
        String last = null;
        String lastFailure = null;
        while (!isOver()) {
            String failure = null;
            try {
                String pulled = source.get();
                if (pulled != null && !pulled.equals(last)) {
                    last = pulled;
                    change(gate -> gate.reload(pulled, format));
                }
            } catch (Throwable failed) {
                failure = failed.toString();
            }
            if (failure != null && !failure.equals(lastFailure)) {
                RuleFault fault = fault(failure);
                change(gate -> gate.tell(new GateEvent.ReloadFailed(List.of(fault), 0)));
            }
            lastFailure = failure;
            // So that many processes don't ask all at the same time.
            sleep((long) (everyNanos * ThreadLocalRandom.current().nextDouble(0.9, 1.1)));
        }
    }

    private static RuleFault fault(String failure) {
        String allowed = "rules, or nothing new";
        String message = Mistake.text("source", failure, allowed);
        return new RuleFault(null, OptionalInt.empty(), null, "source", failure, allowed, message);
    }
}

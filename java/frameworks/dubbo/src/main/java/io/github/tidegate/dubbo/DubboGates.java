package io.github.tidegate.dubbo;

import io.github.tidegate.Attributes;
import io.github.tidegate.Entry;
import io.github.tidegate.Gate;
import io.github.tidegate.GateRefusedException;
import java.time.Duration;
import java.util.function.Supplier;
import org.apache.dubbo.rpc.Result;
import org.apache.dubbo.rpc.RpcException;

/**
 * The gates of this process that calls of Dubbo go through, once they are set; Dubbo finds the filters by itself. Calls have the
 * attributes {@code service} (the interface), {@code method}, {@code caller} (the application that calls) and, at the provider, {@code
 * client} (the address that calls).
 *
 * <pre>{@code
 * DubboGates.provider(Gate.open(Path.of("rules.toml")));
 * }</pre>
 *
 * <p>A refused call fails with an {@link RpcException} whose message names the rule; refused at the caller's side, with one of which
 * {@link RpcException#isLimitExceed()} is true, which Dubbo doesn't keep on the way from the provider. It is not tried again. What a
 * call takes is given back when its result is there, as failed if that is an exception.
 */
public final class DubboGates {
    private static volatile Gate provider;
    private static volatile Gate consumer;

    private DubboGates() {}

    /**
     * The gate that calls to services of this process go through.
     *
     * @param gate null for none
     */
    public static void provider(Gate gate) {
        provider = gate;
    }

    /**
     * The gate that calls to services of others go through, once for each call, however often it is tried. Rules whose timeout is that of
     * the call let it wait for as long as the call may take.
     *
     * @param gate null for none
     */
    public static void consumer(Gate gate) {
        consumer = gate;
    }

    static Gate provider() {
        return provider;
    }

    static Gate consumer() {
        return consumer;
    }

    /** Makes a call that holds what the gate gives. */
    static Result call(Gate gate, Attributes request, Duration timeout, Supplier<Result> call) {
        Entry entry = enter(gate, request, timeout);
        Result result;
        try {
            result = call.get();
        } catch (Throwable failure) {
            entry.release(false);
            throw failure;
        }
        return result.whenCompleteWithContext(
                (answer, failure) -> entry.release(failure == null && !answer.hasException()));
    }

    private static Entry enter(Gate gate, Attributes request, Duration timeout) {
        try {
            return gate.enter(request, 1, timeout);
        } catch (GateRefusedException refused) {
            throw new RpcException(RpcException.LIMIT_EXCEEDED_EXCEPTION, refused.getMessage());
        } catch (InterruptedException stopping) {
            Thread.currentThread().interrupt();
            throw new RpcException("interrupted while the call waited to be let in", stopping);
        }
    }
}

package io.github.tidegate.servlet;

import io.github.tidegate.Gate;
import jakarta.servlet.DispatcherType;
import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpFilter;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.Map;
import java.util.Optional;

/**
 * A {@link Gate} in front of servlets. What a request takes is given back when its response is complete, also one that is made
 * asynchronously; as failed if the handler throws or the status is 500 or more.
 *
 * <pre>{@code
 * context.addFilter("gate", GateFilter.of(gate))
 *         .addMappingForUrlPatterns(EnumSet.of(DispatcherType.REQUEST), false, "/*");
 * }</pre>
 */
public final class GateFilter extends HttpFilter {
    private static final long serialVersionUID = 1;

    private final transient RequestGate gate;

    /** A filter with options. */
    public GateFilter(RequestGate gate) {
        this.gate = gate;
    }

    /** A filter with the peer for the client, and as long a wait as the rules say. */
    public static GateFilter of(Gate gate) {
        return new GateFilter(RequestGate.of(gate));
    }

    @Override
    protected void doFilter(HttpServletRequest request, HttpServletResponse response, FilterChain chain)
            throws IOException, ServletException {
        if (request.getDispatcherType() != DispatcherType.REQUEST) {
            // It was let in before.
            chain.doFilter(request, response);
            return;
        }
        Optional<Admission> admitted = gate.admit(request, response, Map.of(), 1);
        if (admitted.isEmpty()) {
            return;
        }
        Admission admission = admitted.get();
        try {
            chain.doFilter(request, response);
        } catch (Throwable failure) {
            admission.finish(failure);
            throw failure;
        }
        admission.finishWhenComplete(request);
    }
}

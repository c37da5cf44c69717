package io.github.tidegate.servlet;

import io.github.tidegate.Attributes;
import io.github.tidegate.Decision;
import io.github.tidegate.Entry;
import io.github.tidegate.Gate;
import io.github.tidegate.GateRefusal;
import io.github.tidegate.GateRefusedException;
import io.github.tidegate.Quota;
import io.github.tidegate.QuotaFigures;
import io.github.tidegate.RateLimitHeaders;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Collections;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;

/**
 * How HTTP requests are told to a {@link Gate}, and what responses say. Requests have the attributes {@code path} (decoded and normalized,
 * as it is routed), {@code method}, {@code client} (an address; IPv6 by its /64), and those that a function of yours adds. A refusal is
 * status 429, with a body of {@code application/problem+json} and the header {@code Retry-After}; {@code RateLimit-Policy} and {@code
 * RateLimit} are on all responses to which quotas apply.
 */
public final class RequestGate {
    private static final int TOO_MANY_REQUESTS = 429;

    private final Gate gate;
    private final int trustedHops;
    private final Function<HttpServletRequest, Map<String, String>> attributes;
    private final Duration timeout;
    private final boolean legacyHeaders;

    private RequestGate(Builder options) {
        gate = options.gate;
        trustedHops = options.trustedHops;
        attributes = options.attributes;
        timeout = options.timeout;
        legacyHeaders = options.legacyHeaders;
    }

    /** With the peer for the client, and as long a wait as the rules say. */
    public static RequestGate of(Gate gate) {
        return builder(gate).build();
    }

    /** Begins one with options. */
    public static Builder builder(Gate gate) {
        return new Builder(gate);
    }

    /**
     * Lets a request in, which may wait for that; or answers it.
     *
     * @param more attributes besides
     * @param cost 1 to {@link io.github.tidegate.RateLimiter#MAX_COST}
     * @return what it holds; empty if the response is written
     */
    public Optional<Admission> admit(
            HttpServletRequest request, HttpServletResponse response, Map<String, String> more, long cost)
            throws IOException {
        try {
            Entry entry = gate.enter(attributes(request, more), cost, timeout);
            addHeaders(response, entry);
            return Optional.of(new Admission(entry, response));
        } catch (GateRefusedException refused) {
            refuse(response, refused);
        } catch (InterruptedException stopping) {
            Thread.currentThread().interrupt();
            response.sendError(HttpServletResponse.SC_SERVICE_UNAVAILABLE);
        }
        return Optional.empty();
    }

    private Attributes attributes(HttpServletRequest request, Map<String, String> more) {
        String path = request.getContextPath()
                + request.getServletPath()
                + (request.getPathInfo() == null ? "" : request.getPathInfo());
        String forwarded =
                trustedHops == 0 ? null : String.join(",", Collections.list(request.getHeaders("X-Forwarded-For")));
        String client = ClientAddress.of(
                request.getRemoteAddr(), forwarded == null || forwarded.isEmpty() ? null : forwarded, trustedHops);
        Map<String, String> own = attributes == null ? Map.of() : attributes.apply(request);
        if (own.isEmpty() && more.isEmpty()) {
            return Attributes.of("path", path, "method", request.getMethod(), "client", client);
        }
        Map<String, String> all = new LinkedHashMap<>();
        all.put("path", path);
        all.put("method", request.getMethod());
        all.put("client", client);
        all.putAll(more);
        all.putAll(own);
        return Attributes.of(all);
    }

    private void addHeaders(HttpServletResponse response, Entry entry) {
        if (!entry.applies()) {
            return;
        }
        add(response, entry.headers());
        if (legacyHeaders) {
            entry.figures().stream()
                    .min(Comparator.comparingLong(QuotaFigures::remaining))
                    .ifPresent(least -> addLegacy(
                            response,
                            most(least.limit(), least.burst(), least.remaining()),
                            least.remaining(),
                            seconds(least.resetAfter())));
        }
    }

    private void refuse(HttpServletResponse response, GateRefusedException refused) throws IOException {
        response.setStatus(TOO_MANY_REQUESTS);
        add(response, refused.headers());
        if (legacyHeaders && refused.why().quota() != null) {
            GateRefusal why = refused.why();
            Quota quota = Quota.parse(why.quota());
            // A key with a quota of its own has another limit, and another burst.
            long burst = quota.limit() == why.limit() ? quota.burst() : 0;
            long limit = most(why.limit(), burst, why.remaining());
            why.retryAfterSeconds().ifPresent(seconds -> addLegacy(response, limit, why.remaining(), seconds));
        }
        byte[] body = refused.problemJson().getBytes(StandardCharsets.UTF_8);
        response.setContentType("application/problem+json");
        response.setContentLength(body.length);
        response.getOutputStream().write(body);
    }

    private static void add(HttpServletResponse response, RateLimitHeaders headers) {
        add(response, "RateLimit-Policy", headers.policy());
        add(response, "RateLimit", headers.limit());
        add(response, "Retry-After", headers.retryAfter());
    }

    private static void add(HttpServletResponse response, String header, String value) {
        if (!value.isEmpty()) {
            response.setHeader(header, value);
        }
    }

    /** What {@code X-RateLimit-Limit} says; never less than {@code -Remaining}. */
    private static long most(long limit, long burst, long remaining) {
        return Math.max(Math.max(limit, burst), remaining);
    }

    private static void addLegacy(HttpServletResponse response, long limit, long remaining, long resetSeconds) {
        response.setHeader("X-RateLimit-Limit", Long.toString(limit));
        response.setHeader("X-RateLimit-Remaining", Long.toString(remaining));
        response.setHeader("X-RateLimit-Reset", Long.toString(resetSeconds));
    }

    private static long seconds(Duration time) {
        return time.getSeconds() + (time.getNano() > 0 ? 1 : 0);
    }

    /** One in the making. */
    public static final class Builder {
        private final Gate gate;
        private int trustedHops;
        private Function<HttpServletRequest, Map<String, String>> attributes;
        private Duration timeout = Decision.NEVER;
        private boolean legacyHeaders;

        private Builder(Gate gate) {
            if (gate == null) {
                throw new NullPointerException("gate: got null; allowed: a Gate");
            }
            this.gate = gate;
        }

        /**
         * Behind how many proxies of yours this server is: the client is whom the outermost saw, by {@code X-Forwarded-For}.
         *
         * @param trustedHops 0, the default, for none: the client is the peer
         */
        public Builder trustedHops(int trustedHops) {
            if (trustedHops < 0) {
                throw new IllegalArgumentException("trustedHops: got " + trustedHops + "; allowed: 0 or more");
            }
            this.trustedHops = trustedHops;
            return this;
        }

        /** What else is known of a request; it may also say otherwise what is known. */
        public Builder attributes(Function<HttpServletRequest, Map<String, String>> attributes) {
            this.attributes = attributes;
            return this;
        }

        /** For how long a request may wait in all, whatever the rules say; by default as long as they say. */
        public Builder timeout(Duration timeout) {
            this.timeout = timeout;
            return this;
        }

        /** Whether responses also have the older {@code X-RateLimit-Limit}, {@code -Remaining} and {@code -Reset}. */
        public Builder legacyHeaders(boolean legacyHeaders) {
            this.legacyHeaders = legacyHeaders;
            return this;
        }

        /** The request gate. */
        public RequestGate build() {
            return new RequestGate(this);
        }
    }
}

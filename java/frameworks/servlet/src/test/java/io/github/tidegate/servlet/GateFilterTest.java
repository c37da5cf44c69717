package io.github.tidegate.servlet;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.tidegate.Format;
import io.github.tidegate.Gate;
import io.github.tidegate.GateStats;
import jakarta.servlet.AsyncContext;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpHeaders;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.apache.catalina.Context;
import org.apache.catalina.Wrapper;
import org.apache.catalina.startup.Tomcat;
import org.apache.tomcat.util.descriptor.web.FilterDef;
import org.apache.tomcat.util.descriptor.web.FilterMap;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A real server, asked over loopback. */
class GateFilterTest {
    private static final Logger TOMCAT = Logger.getLogger("org.apache");
    private static final long PATIENCE_SECONDS = 30;

    private final Gate gate = Gate.of();
    private final HttpClient client = HttpClient.newHttpClient();
    private final Tomcat server = new Tomcat();
    /** What the handlers that wait in {@code /limit} go on by. */
    private final CountDownLatch open = new CountDownLatch(1);

    private final CountDownLatch inside = new CountDownLatch(4);
    private final BlockingQueue<AsyncContext> asynchronous = new LinkedBlockingQueue<>();

    @TempDir
    private Path folder;

    @BeforeEach
    void start() throws Exception {
        TOMCAT.setLevel(Level.OFF);
        server.setBaseDir(folder.toString());
        server.setPort(0);
        Context context = server.addContext("", folder.toString());
        RequestGate options = RequestGate.builder(gate)
                .trustedHops(1)
                .attributes(request ->
                        request.getHeader("X-User") == null ? Map.of() : Map.of("user", request.getHeader("X-User")))
                .legacyHeaders(true)
                .build();
        FilterDef filter = new FilterDef();
        filter.setFilterName("gate");
        filter.setFilter(new GateFilter(options));
        filter.setAsyncSupported("true");
        context.addFilterDef(filter);
        FilterMap mapping = new FilterMap();
        mapping.setFilterName("gate");
        mapping.addURLPattern("/*");
        context.addFilterMap(mapping);
        Wrapper servlet = Tomcat.addServlet(context, "handler", new Handler());
        servlet.setAsyncSupported(true);
        context.addServletMappingDecoded("/*", "handler");
        server.start();
        server.getConnector();
    }

    @AfterEach
    void stop() throws Exception {
        open.countDown();
        server.stop();
        server.destroy();
    }

    private final class Handler extends HttpServlet {
        private static final long serialVersionUID = 1;

        @Override
        protected void service(HttpServletRequest request, HttpServletResponse response) throws IOException {
            switch (request.getPathInfo()) {
                case "/limit" -> {
                    inside.countDown();
                    await(open);
                }
                case "/throws" -> throw new IllegalStateException("of the handler");
                case "/fails" -> response.setStatus(503);
                case "/async" -> {
                    AsyncContext context = request.startAsync();
                    context.setTimeout(
                            request.getParameter("ms") == null
                                    ? TimeUnit.SECONDS.toMillis(PATIENCE_SECONDS)
                                    : Long.parseLong(request.getParameter("ms")));
                    asynchronous.add(context);
                    return;
                }
                default -> {}
            }
            response.getWriter().print("done");
        }
    }

    private static void await(CountDownLatch latch) {
        try {
            assertTrue(latch.await(PATIENCE_SECONDS, TimeUnit.SECONDS));
        } catch (InterruptedException stopping) {
            throw new IllegalStateException(stopping);
        }
    }

    private void rules(String toml) {
        gate.reload(toml, Format.TOML);
    }

    private HttpRequest to(String path, String... headers) {
        URI uri = URI.create("http://127.0.0.1:" + server.getConnector().getLocalPort() + path);
        HttpRequest.Builder request = HttpRequest.newBuilder(uri);
        return (headers.length == 0 ? request : request.headers(headers)).build();
    }

    private HttpResponse<String> get(String path, String... headers) throws Exception {
        return client.send(to(path, headers), HttpResponse.BodyHandlers.ofString());
    }

    private CompletableFuture<HttpResponse<String>> begin(String path) {
        return client.sendAsync(to(path), HttpResponse.BodyHandlers.ofString());
    }

    private long inFlight() {
        return gate.stats().rules().get(0).limiter().inFlight();
    }

    private GateStats untilReleased(long entries) throws InterruptedException {
        long giveUpAtNanos = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE_SECONDS);
        GateStats stats = gate.stats();
        while (stats.releasedOk() + stats.releasedFailed() < entries && System.nanoTime() < giveUpAtNanos) {
            Thread.sleep(1);
            stats = gate.stats();
        }
        return stats;
    }

    @Test
    void ofTenRequestsFourPassAndSixAreRefusedByTheLimitOfFour() throws Exception {
        rules(
                "[[rules]]\nname = \"limit\"\nmatch = { path = { exact = \"/limit\" } }\nconcurrency = 4\ntimeout = \"50ms\"");
        List<CompletableFuture<HttpResponse<String>>> passing = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            passing.add(begin("/limit"));
        }
        await(inside);
        for (int i = 0; i < 6; i++) {
            HttpResponse<String> refused = get("/limit");
            assertEquals(429, refused.statusCode());
            assertEquals(
                    "application/problem+json",
                    refused.headers().firstValue("Content-Type").orElseThrow());
            assertTrue(refused.body().contains("\"limit\":4"), refused.body());
            assertTrue(refused.body().contains("\"remaining\":0"), refused.body());
            assertTrue(refused.body().contains("\"rule\":\"limit\""), refused.body());
        }
        assertEquals(200, get("/nolimit").statusCode());
        open.countDown();
        for (CompletableFuture<HttpResponse<String>> passed : passing) {
            assertEquals(200, passed.get(PATIENCE_SECONDS, TimeUnit.SECONDS).statusCode());
        }
        assertEquals(4, untilReleased(4).releasedOk());
        assertEquals(0, inFlight());
    }

    @Test
    void responsesSayWhatIsLeftAndRefusalsWhenToComeBack() throws Exception {
        rules("[[rules]]\nname = \"search\"\nquota = \"2/h\"");
        HttpResponse<String> first = get("/search");
        assertEquals("done", first.body());
        assertEquals(
                "\"search\";q=2;w=3600",
                first.headers().firstValue("RateLimit-Policy").orElseThrow());
        assertTrue(first.headers().firstValue("RateLimit").orElseThrow().startsWith("\"search\";r=1;t="));
        assertEquals("2", first.headers().firstValue("X-RateLimit-Limit").orElseThrow());
        assertEquals("1", first.headers().firstValue("X-RateLimit-Remaining").orElseThrow());
        assertTrue(first.headers().firstValue("X-RateLimit-Reset").isPresent());
        assertTrue(first.headers().firstValue("Retry-After").isEmpty());
        get("/search");
        HttpResponse<String> refused = get("/search");
        assertEquals(429, refused.statusCode());
        assertEquals("1800", refused.headers().firstValue("Retry-After").orElseThrow());
        assertTrue(refused.headers().firstValue("RateLimit").orElseThrow().startsWith("\"search\";r=0;t="));
        assertEquals("0", refused.headers().firstValue("X-RateLimit-Remaining").orElseThrow());
    }

    @Test
    void ofABurstNoMoreRemainsThanTheOlderHeadersHaveForTheLimit() throws Exception {
        rules("[[rules]]\nname = \"search\"\nquota = \"5/h burst 10\"");
        HttpHeaders headers = get("/search").headers();
        assertEquals("10", headers.firstValue("X-RateLimit-Limit").orElseThrow());
        assertEquals("9", headers.firstValue("X-RateLimit-Remaining").orElseThrow());
        assertTrue(headers.firstValue("RateLimit").orElseThrow().startsWith("\"search\";r=5;t="));
        for (int i = 0; i < 9; i++) {
            get("/search");
        }
        HttpHeaders refused = get("/search").headers();
        assertEquals("10", refused.firstValue("X-RateLimit-Limit").orElseThrow());
        assertEquals("0", refused.firstValue("X-RateLimit-Remaining").orElseThrow());
    }

    @Test
    void whatThrowsOrFailsIsGivenBackAsFailed() throws Exception {
        rules("[[rules]]\nname = \"all\"\nconcurrency = 4");
        assertEquals(500, get("/throws").statusCode());
        assertEquals(503, get("/fails").statusCode());
        GateStats stats = untilReleased(2);
        assertEquals(2, stats.releasedFailed());
        assertEquals(0, stats.releasedOk());
        assertEquals(0, inFlight());
    }

    @Test
    void anAsynchronousRequestHoldsItsPermitUntilItIsComplete() throws Exception {
        rules("[[rules]]\nname = \"all\"\nconcurrency = 4");
        CompletableFuture<HttpResponse<String>> response = begin("/async");
        AsyncContext context = asynchronous.poll(PATIENCE_SECONDS, TimeUnit.SECONDS);
        assertEquals(1, inFlight());
        assertFalse(response.isDone());
        context.getResponse().getWriter().print("later");
        context.complete();
        assertEquals("later", response.get(PATIENCE_SECONDS, TimeUnit.SECONDS).body());
        assertEquals(1, untilReleased(1).releasedOk());
        assertEquals(0, inFlight());
    }

    @Test
    void anAsynchronousRequestThatTimesOutHasFailed() throws Exception {
        rules("[[rules]]\nname = \"all\"\nconcurrency = 4");
        begin("/async?ms=20").get(PATIENCE_SECONDS, TimeUnit.SECONDS);
        assertEquals(1, untilReleased(1).releasedFailed());
        assertEquals(0, inFlight());
    }

    @Test
    void theClientIsWhomTheTrustedProxySaw() throws Exception {
        rules("show_keys = true\n[[rules]]\nname = \"client\"\nkey = \"client\"\nquota = \"1/h\"");
        assertEquals(
                200, get("/", "X-Forwarded-For", "1.1.1.1, 2001:db8:1:2::3").statusCode());
        HttpResponse<String> refused = get("/", "X-Forwarded-For", "9.9.9.9, [2001:db8:1:2:ffff::4]:1234");
        assertEquals(429, refused.statusCode());
        assertTrue(refused.body().contains("2001:db8:1:2::/64"), refused.body());
        assertEquals(200, get("/", "X-Forwarded-For", "2001:db8:1:3::3").statusCode());
        assertEquals(200, get("/").statusCode());
        assertTrue(get("/").body().contains("\"key\":\"127.0.0.1\""));
    }

    @Test
    void attributesOfOnesOwnAreMatchedAndThePathIsTheOneThatIsRouted() throws Exception {
        rules(
                "[[rules]]\nname = \"ann\"\nmatch = { user = { exact = \"ann\" }, path = { exact = \"/a b\" } }\nquota = \"0/s\"");
        assertEquals(429, get("/x/..;/a%20b", "X-User", "ann").statusCode());
        assertEquals(200, get("/a%20b", "X-User", "bob").statusCode());
        assertEquals(200, get("/a%20b").statusCode());
    }
}

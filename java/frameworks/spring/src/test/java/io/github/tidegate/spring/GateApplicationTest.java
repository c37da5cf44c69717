package io.github.tidegate.spring;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.tidegate.Gate;
import io.github.tidegate.GateStats;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.web.servlet.context.ServletWebServerApplicationContext;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.context.request.async.DeferredResult;

/** An application of Spring Boot, configured by itself, on its embedded server, asked over loopback. */
class GateApplicationTest {
    private static final long PATIENCE_SECONDS = 30;
    private static final BlockingQueue<DeferredResult<String>> DEFERRED = new LinkedBlockingQueue<>();
    private static final HttpClient CLIENT = HttpClient.newHttpClient();

    @TempDir
    private static Path folder;

    private static ConfigurableApplicationContext application;
    private static Gate gate;

    @SpringBootApplication
    static class Application {
        @RestController
        @Limited("class")
        static class Handlers {
            @Limited(value = "method", cost = 2)
            @GetMapping("/method")
            String method() {
                return "done";
            }

            @GetMapping("/class")
            String ofClass() {
                return "done";
            }

            @GetMapping("/throws")
            String throwing() {
                throw new IllegalStateException("of the handler");
            }

            @GetMapping("/deferred")
            DeferredResult<String> deferred() {
                DeferredResult<String> result = new DeferredResult<>();
                DEFERRED.add(result);
                return result;
            }
        }
    }

    private static String rules(String quota) {
        return """
                rules:
                  - name: method
                    match: {limited: {exact: method}}
                    quota: 3/h
                  - name: class
                    match: {limited: {exact: class}, path: {exact: /class}}
                    quota: %s
                  - name: inside
                    concurrency: 10
                """.formatted(quota);
    }

    @BeforeAll
    static void start() throws Exception {
        Path file = folder.resolve("rules.yaml");
        Files.writeString(file, rules("1/h"));
        application = SpringApplication.run(
                Application.class,
                "--server.port=0",
                "--server.address=127.0.0.1",
                "--spring.main.banner-mode=off",
                "--logging.level.root=off",
                "--tidegate.rules=" + file,
                "--tidegate.legacy-headers=true");
        gate = application.getBean(Gate.class);
    }

    @AfterAll
    static void stop() {
        application.close();
    }

    private static CompletableFuture<HttpResponse<String>> begin(String path) {
        int port = ((ServletWebServerApplicationContext) application)
                .getWebServer()
                .getPort();
        HttpRequest request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + path))
                .build();
        return CLIENT.sendAsync(request, HttpResponse.BodyHandlers.ofString());
    }

    private static HttpResponse<String> get(String path) throws Exception {
        return begin(path).get(PATIENCE_SECONDS, TimeUnit.SECONDS);
    }

    private static long inside() {
        return gate.stats().rule("inside").orElseThrow().limiter().inFlight();
    }

    private static GateStats untilNobodyIsInside() throws InterruptedException {
        long giveUpAtNanos = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE_SECONDS);
        while (inside() > 0 && System.nanoTime() < giveUpAtNanos) {
            Thread.sleep(1);
        }
        assertEquals(0, inside());
        return gate.stats();
    }

    @Test
    void aHandlerIsNamedAndHasACost() throws Exception {
        HttpResponse<String> first = get("/method");
        assertEquals("done", first.body());
        assertEquals(
                "\"method\";q=3;w=3600",
                first.headers().firstValue("RateLimit-Policy").orElseThrow());
        assertEquals("1", first.headers().firstValue("X-RateLimit-Remaining").orElseThrow());
        HttpResponse<String> refused = get("/method");
        assertEquals(429, refused.statusCode());
        assertTrue(refused.body().contains("\"rule\":\"method\""), refused.body());
        assertTrue(refused.headers().firstValue("Retry-After").isPresent());
        untilNobodyIsInside();
    }

    @Test
    void aControllerIsNamedAndItsRulesChangeWithTheFile() throws Exception {
        assertEquals(200, get("/class").statusCode());
        assertEquals(429, get("/class").statusCode());
        Files.writeString(folder.resolve("rules.yaml"), rules("100/h"));
        long giveUpAtNanos = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE_SECONDS);
        while (get("/class").statusCode() != 200 && System.nanoTime() < giveUpAtNanos) {
            Thread.sleep(10);
        }
        assertEquals(200, get("/class").statusCode());
    }

    @Test
    void whatThrowsIsGivenBackAsFailed() throws Exception {
        long before = untilNobodyIsInside().releasedFailed();
        assertEquals(500, get("/throws").statusCode());
        assertEquals(before + 1, untilNobodyIsInside().releasedFailed());
    }

    @Test
    void anAsynchronousRequestHoldsItsPermitUntilItIsComplete() throws Exception {
        for (String outcome : List.of("done", "failed")) {
            long before = untilNobodyIsInside().releasedFailed();
            CompletableFuture<HttpResponse<String>> response = begin("/deferred");
            DeferredResult<String> result = DEFERRED.poll(PATIENCE_SECONDS, TimeUnit.SECONDS);
            assertEquals(1, inside());
            if (outcome.equals("done")) {
                result.setResult(outcome);
                assertEquals(
                        outcome,
                        response.get(PATIENCE_SECONDS, TimeUnit.SECONDS).body());
                assertEquals(before, untilNobodyIsInside().releasedFailed());
            } else {
                result.setErrorResult(new IllegalStateException(outcome));
                assertEquals(
                        500, response.get(PATIENCE_SECONDS, TimeUnit.SECONDS).statusCode());
                assertEquals(before + 1, untilNobodyIsInside().releasedFailed());
            }
        }
    }

    @Test
    void aRequestThatFindsNothingIsGivenBackToo() throws Exception {
        assertEquals(404, get("/nothing").statusCode());
        untilNobodyIsInside();
    }
}

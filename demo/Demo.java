import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.github.tidegate.Algorithm;
import io.github.tidegate.ConcurrencyLimiter;
import io.github.tidegate.Decision;
import io.github.tidegate.Permit;
import io.github.tidegate.Quota;
import io.github.tidegate.RateLimiter;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * A real HTTP server guarded by tidegate, real requests at it, and the counter race.
 *
 * <p>{@code java -cp java/target/tidegate-VERSION.jar demo/Demo.java}; ends with one line {@code DEMO {...}} for
 * demo/run.py.
 */
public final class Demo {
    private static final Duration WORK = Duration.ofMillis(200);
    private static final int REQUESTS = 10;

    private static final Quota VISITS = Quota.of(3, Duration.ofSeconds(2)).withAlgorithm(Algorithm.FIXED_WINDOW);

    private static final long RACE_LIMIT = 5_000_000;
    private static final Duration RACE_WINDOW = Duration.ofMillis(1000);
    private static final Duration RACE = Duration.ofMillis(3500);
    /** Windows open at 0, 1, 2 and 3 s. */
    private static final int RACE_WINDOWS = 4;

    private static final int RACE_THREADS = 10;

    private final ConcurrencyLimiter limit = ConcurrencyLimiter.of(4);
    private final RateLimiter visits = RateLimiter.of(VISITS);
    private final HttpClient client =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    private final ExecutorService handlers = Executors.newCachedThreadPool();
    private final HttpServer server;

    private Demo() throws IOException {
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/limit", this::limit);
        server.createContext("/nolimit", Demo::work);
        server.createContext("/visit", this::visit);
        server.setExecutor(handlers);
        server.start();
    }

    public static void main(String[] arguments) throws Exception {
        boolean ok = new Demo().run();
        System.exit(ok ? 0 : 1);
    }

    private boolean run() throws Exception {
        say("a server on %s, guarded by tidegate", uri("/"));

        // This also opens the connections, so that what follows comes at once.
        long nolimitOk = count(together("/nolimit"), 200);
        say("/nolimit  %d requests at once: %d × 200", REQUESTS, nolimitOk);

        List<HttpResponse<Void>> limited = together("/limit");
        long limitOk = count(limited, 200);
        List<HttpResponse<Void>> refused =
                limited.stream().filter(answer -> answer.statusCode() == 429).toList();
        boolean retryAfter = !refused.isEmpty() && refused.stream().allMatch(Demo::hasRetryAfter);
        say("/limit    %d requests at once, 4 permits: %s", REQUESTS, codes(limited.stream()));

        List<HttpResponse<Void>> visited = new ArrayList<>();
        for (int visit = 0; visit < 4; visit++) {
            visited.add(get("/visit").join());
        }
        // As long as the server says, from the answer on: the window is over then.
        Thread.sleep(Duration.ofSeconds(retryAfterSeconds(visited.get(3))).toMillis());
        visited.add(get("/visit").join());
        String visit = codes(visited.stream());
        say("/visit    %s: %s, the last one after Retry-After", VISITS, visit);
        retryAfter &= hasRetryAfter(visited.get(3));

        server.stop(0);
        handlers.shutdown();

        Race race = race();
        say(
                "race      %d threads, %d per %d ms, %.1f s: %d admitted, %d refused, %.0f calls a second",
                RACE_THREADS,
                RACE_LIMIT,
                RACE_WINDOW.toMillis(),
                race.seconds,
                race.admitted,
                race.refused,
                race.callsPerSecond());

        boolean ok = limitOk == 4
                && refused.size() == 6
                && retryAfter
                && nolimitOk == REQUESTS
                && visit.equals("200 200 200 429 200")
                && race.admitted == RACE_WINDOWS * RACE_LIMIT
                && race.refused > 0;
        System.out.printf(
                Locale.ROOT,
                "DEMO {\"language\": \"java\", \"limit_ok\": %d, \"limit_refused\": %d, \"retry_after\": %b,"
                        + " \"nolimit_ok\": %d, \"visit\": \"%s\", \"race_limit\": %d, \"race_admitted\": %d,"
                        + " \"race_refused\": %d, \"race_calls_per_s\": %.0f, \"ok\": %b}%n",
                limitOk,
                refused.size(),
                retryAfter,
                nolimitOk,
                visit,
                RACE_LIMIT,
                race.admitted,
                race.refused,
                race.callsPerSecond(),
                ok);
        return ok;
    }

    // ------------------------------------------------------------------------------------------------------- the
    // server

    /** At most four at once; the others are told to come back when the work of those before them may be done. */
    private void limit(HttpExchange exchange) throws IOException {
        try (Permit permit = limit.tryAcquire().orElse(null)) {
            if (permit == null) {
                refuse(exchange, OptionalLong.of(1));
            } else {
                work(exchange);
            }
        }
    }

    /** At most three in two seconds. */
    private void visit(HttpExchange exchange) throws IOException {
        Decision decision = visits.decide();
        if (decision.allowed()) {
            answer(exchange, 200);
        } else {
            refuse(exchange, decision.retryAfterSeconds());
        }
    }

    private static void work(HttpExchange exchange) throws IOException {
        try {
            Thread.sleep(WORK.toMillis());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        answer(exchange, 200);
    }

    private static void refuse(HttpExchange exchange, OptionalLong retryAfterSeconds) throws IOException {
        retryAfterSeconds.ifPresent(
                seconds -> exchange.getResponseHeaders().set("Retry-After", Long.toString(seconds)));
        answer(exchange, 429);
    }

    private static void answer(HttpExchange exchange, int code) throws IOException {
        exchange.sendResponseHeaders(code, -1);
        exchange.close();
    }

    // ----------------------------------------------------------------------------------------------------- the
    // requests

    private URI uri(String path) {
        return URI.create("http://" + server.getAddress().getHostString() + ":"
                + server.getAddress().getPort() + path);
    }

    private CompletableFuture<HttpResponse<Void>> get(String path) {
        return client.sendAsync(HttpRequest.newBuilder(uri(path)).build(), HttpResponse.BodyHandlers.discarding());
    }

    private List<HttpResponse<Void>> together(String path) {
        List<CompletableFuture<HttpResponse<Void>>> asked =
                Stream.generate(() -> get(path)).limit(REQUESTS).toList();
        return asked.stream().map(CompletableFuture::join).toList();
    }

    private static long count(List<HttpResponse<Void>> answers, int code) {
        return answers.stream().filter(answer -> answer.statusCode() == code).count();
    }

    private static String codes(Stream<HttpResponse<Void>> answers) {
        return answers.map(answer -> Integer.toString(answer.statusCode())).collect(Collectors.joining(" "));
    }

    private static boolean hasRetryAfter(HttpResponse<Void> answer) {
        return retryAfterSeconds(answer) >= 1;
    }

    private static long retryAfterSeconds(HttpResponse<Void> answer) {
        return answer.headers().firstValueAsLong("Retry-After").orElse(0);
    }

    // --------------------------------------------------------------------------------------------------------- the
    // race

    private record Race(long admitted, long refused, double seconds) {
        double callsPerSecond() {
            return (admitted + refused) / seconds;
        }
    }

    /** Threads that hammer one fixed window: each call counts as what it was answered. */
    private static Race race() throws Exception {
        RateLimiter limiter = RateLimiter.of(Quota.of(RACE_LIMIT, RACE_WINDOW).withAlgorithm(Algorithm.FIXED_WINDOW));
        ExecutorService pool = Executors.newFixedThreadPool(RACE_THREADS);
        long[] begin = new long[1];
        CyclicBarrier start = new CyclicBarrier(RACE_THREADS, () -> begin[0] = System.nanoTime());
        List<Future<long[]>> threads = new ArrayList<>();
        for (int thread = 0; thread < RACE_THREADS; thread++) {
            threads.add(pool.submit(() -> {
                start.await();
                return hammer(limiter, begin[0] + RACE.toNanos());
            }));
        }
        long admitted = 0;
        long refused = 0;
        for (Future<long[]> thread : threads) {
            admitted += thread.get()[0];
            refused += thread.get()[1];
        }
        double seconds = (System.nanoTime() - begin[0]) / 1e9;
        pool.shutdown();
        return new Race(admitted, refused, seconds);
    }

    private static long[] hammer(RateLimiter limiter, long until) {
        long admitted = 0;
        long refused = 0;
        while (System.nanoTime() < until) {
            // Looking at the clock for each call would measure the clock.
            for (int call = 0; call < 100; call++) {
                if (limiter.tryAcquire()) {
                    admitted++;
                } else {
                    refused++;
                }
            }
        }
        return new long[] {admitted, refused};
    }

    private static void say(String text, Object... values) {
        System.out.printf(Locale.ROOT, text + "%n", values);
    }
}

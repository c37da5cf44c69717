package io.github.tidegate.dubbo;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.tidegate.Format;
import io.github.tidegate.Gate;
import io.github.tidegate.GateStats;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.dubbo.config.ApplicationConfig;
import org.apache.dubbo.config.ProtocolConfig;
import org.apache.dubbo.config.ReferenceConfig;
import org.apache.dubbo.config.RegistryConfig;
import org.apache.dubbo.config.ServiceConfig;
import org.apache.dubbo.config.bootstrap.DubboBootstrap;
import org.apache.dubbo.rpc.RpcException;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** A real provider and a real consumer, over loopback and without a registry. */
class DubboGatesTest {
    private static final long PATIENCE_SECONDS = 30;
    private static final int TIMEOUT_MILLIS = 10_000;

    private static volatile CountDownLatch inside = new CountDownLatch(1);
    private static volatile CountDownLatch open = new CountDownLatch(0);
    private static ServiceConfig<Greeter> service;
    private static ReferenceConfig<Greeter> reference;
    private static Greeter greeter;

    private final Gate gate = Gate.of();

    /** What is called. */
    public interface Greeter {
        String greet(String name);

        CompletableFuture<String> later(String name);

        String fail();
    }

    private static final class Greeting implements Greeter {
        @Override
        public String greet(String name) {
            inside.countDown();
            try {
                assertTrue(open.await(PATIENCE_SECONDS, TimeUnit.SECONDS));
            } catch (InterruptedException stopping) {
                throw new IllegalStateException(stopping);
            }
            return "hello " + name;
        }

        @Override
        public CompletableFuture<String> later(String name) {
            return CompletableFuture.supplyAsync(() -> greet(name));
        }

        @Override
        public String fail() {
            throw new IllegalStateException("of the service");
        }
    }

    @BeforeAll
    static void start() {
        ApplicationConfig application = new ApplicationConfig("greetings");
        application.setQosEnable(false);
        application.setMetadataServicePort(-1);
        DubboBootstrap.getInstance().application(application);
        ProtocolConfig protocol = new ProtocolConfig("dubbo", -1);
        protocol.setHost("127.0.0.1");
        service = new ServiceConfig<>();
        service.setInterface(Greeter.class);
        service.setRef(new Greeting());
        service.setProtocol(protocol);
        service.setRegistry(new RegistryConfig(RegistryConfig.NO_AVAILABLE));
        service.setScope("remote");
        service.export();
        int port = service.getExportedUrls().get(0).getPort();
        reference = new ReferenceConfig<>();
        reference.setInterface(Greeter.class);
        reference.setUrl("dubbo://127.0.0.1:" + port + "/" + Greeter.class.getName());
        reference.setTimeout(TIMEOUT_MILLIS);
        reference.setScope("remote");
        greeter = reference.get();
    }

    @AfterAll
    static void stop() {
        DubboBootstrap.getInstance().stop();
    }

    @AfterEach
    void takeGatesAway() {
        open.countDown();
        DubboGates.provider(null);
        DubboGates.consumer(null);
    }

    private void rules(String toml) {
        gate.reload(toml, Format.TOML);
    }

    private static void close() {
        inside = new CountDownLatch(1);
        open = new CountDownLatch(1);
    }

    private static CompletableFuture<String> beginToGreet() throws InterruptedException {
        CompletableFuture<String> begun = CompletableFuture.supplyAsync(() -> greeter.greet("ann"));
        assertTrue(inside.await(PATIENCE_SECONDS, TimeUnit.SECONDS));
        return begun;
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
    void withoutAGateCallsPass() {
        assertEquals("hello ann", greeter.greet("ann"));
    }

    @Test
    void theProviderRefusesAtOnceWhatIsTooMuchAtOnceAndTheCallerIsToldWhy() throws Exception {
        rules(
                "[[rules]]\nname = \"inside\"\nmatch = { method = { exact = \"greet\" }, caller = { exact = \"greetings\" },"
                        + " client = { regex = \"[0-9.]+\" } }\nconcurrency = 1");
        DubboGates.provider(gate);
        close();
        CompletableFuture<String> first = beginToGreet();
        RpcException refused = assertThrows(RpcException.class, () -> greeter.greet("bob"));
        assertTrue(refused.getMessage().contains("denied by rule inside"), refused.getMessage());
        assertEquals(1, gate.stats().refused());
        open.countDown();
        assertEquals("hello ann", first.get(PATIENCE_SECONDS, TimeUnit.SECONDS));
        untilReleased(1);
        assertEquals("hello bob", greeter.greet("bob"));
        assertEquals(2, untilReleased(2).releasedOk());
    }

    @Test
    void theConsumerWaitsForAtMostAsLongAsTheCallMayTake() throws Exception {
        rules("[[rules]]\nname = \"calls\"\nkey = \"service\"\nconcurrency = 1\ntimeout = \"call\"");
        DubboGates.consumer(gate);
        close();
        CompletableFuture<String> first = beginToGreet();
        CompletableFuture<String> second = CompletableFuture.supplyAsync(() -> greeter.greet("bob"));
        long giveUpAtNanos = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE_SECONDS);
        while (gate.stats().rules().get(0).limiter().waiting() == 0 && System.nanoTime() < giveUpAtNanos) {
            Thread.sleep(1);
        }
        assertEquals(1, gate.stats().rules().get(0).limiter().waiting());
        open.countDown();
        assertEquals("hello ann", first.get(PATIENCE_SECONDS, TimeUnit.SECONDS));
        assertEquals("hello bob", second.get(PATIENCE_SECONDS, TimeUnit.SECONDS));
    }

    @Test
    void aCallThatTheConsumerRefusesIsTriedOnce() {
        rules("[[rules]]\nname = \"calls\"\nkey = [\"service\", \"method\"]\nquota = \"1/h\"");
        DubboGates.consumer(gate);
        assertEquals("hello ann", greeter.greet("ann"));
        RpcException refused = assertThrows(RpcException.class, () -> greeter.greet("ann"));
        assertTrue(refused.isLimitExceed(), refused.toString());
        assertEquals(1, gate.stats().refused());
        gate.reload();
        assertEquals("hello ann", greeter.greet("ann"));
    }

    @Test
    void anAsynchronousCallHoldsItsPermitUntilItsResultIsThere() throws Exception {
        rules("[[rules]]\nname = \"inside\"\nconcurrency = 1");
        DubboGates.provider(gate);
        close();
        CompletableFuture<String> later = greeter.later("ann");
        assertTrue(inside.await(PATIENCE_SECONDS, TimeUnit.SECONDS));
        assertThrows(RpcException.class, () -> greeter.greet("bob"));
        assertEquals(1, gate.stats().refused());
        assertEquals(1, gate.stats().rules().get(0).limiter().inFlight());
        open.countDown();
        assertEquals("hello ann", later.get(PATIENCE_SECONDS, TimeUnit.SECONDS));
        assertEquals(1, untilReleased(1).releasedOk());
    }

    @Test
    void aCallThatThrowsHasFailedAtBothSides() throws Exception {
        rules("[[rules]]\nname = \"inside\"\nconcurrency = 3");
        DubboGates.provider(gate);
        DubboGates.consumer(gate);
        assertThrows(IllegalStateException.class, () -> greeter.fail());
        assertEquals(2, untilReleased(2).releasedFailed());
    }
}

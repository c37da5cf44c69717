package io.github.tidegate.moving;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.tidegate.Format;
import io.github.tidegate.Gate;
import io.github.tidegate.dubbo.ConsumerGateFilter;
import io.github.tidegate.dubbo.DubboGates;
import io.github.tidegate.dubbo.ProviderGateFilter;
import java.io.StringReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Pattern;
import javax.xml.parsers.DocumentBuilderFactory;
import org.apache.dubbo.common.URL;
import org.apache.dubbo.rpc.AppResponse;
import org.apache.dubbo.rpc.AsyncRpcResult;
import org.apache.dubbo.rpc.BaseFilter;
import org.apache.dubbo.rpc.Invocation;
import org.apache.dubbo.rpc.Invoker;
import org.apache.dubbo.rpc.Result;
import org.apache.dubbo.rpc.RpcException;
import org.apache.dubbo.rpc.RpcInvocation;
import org.apache.dubbo.rpc.filter.ActiveLimitFilter;
import org.apache.dubbo.rpc.filter.ExecuteLimitFilter;
import org.apache.dubbo.rpc.filter.TpsLimitFilter;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.w3c.dom.Element;
import org.w3c.dom.NodeList;
import org.xml.sax.InputSource;

/** Filters are called as Dubbo calls them, around calls that end when the test says so. */
class DubboTest extends PageTest {
    private static final Pattern SETTING = Pattern.compile("([\\w.]+)=\"([^\"]*)\"");
    private static final AtomicInteger PORTS = new AtomicInteger(20_000);

    DubboTest() throws Exception {
        super("dubbo");
    }

    /** What is called. */
    interface Stock {}

    @AfterEach
    void takeGatesAway() {
        DubboGates.provider(null);
        DubboGates.consumer(null);
    }

    /** Calls to a service with these settings, which go through a filter and wait until they are ended. */
    private static final class Calls implements Invoker<Stock> {
        private final URL url;
        private final BaseFilter filter;
        private final List<Runnable> ends = new ArrayList<>();

        Calls(BaseFilter filter, Map<String, String> settings) {
            this.filter = filter;
            // Dubbo counts by the address, so each has one of its own.
            url = new URL("dubbo", "127.0.0.1", PORTS.incrementAndGet(), Stock.class.getName(), settings);
        }

        /** Whether a call gets through. */
        boolean begin(String method) {
            Invocation invocation =
                    new RpcInvocation(null, method, Stock.class.getName(), "", new Class<?>[0], new Object[0]);
            int before = ends.size();
            Result result;
            try {
                result = filter.invoke(this, invocation);
            } catch (RpcException refused) {
                assertTrue(refused.isLimitExceed(), refused::toString);
                return false;
            }
            if (ends.size() > before && filter instanceof BaseFilter.Listener listener) {
                Runnable end = ends.remove(before);
                ends.add(() -> {
                    end.run();
                    listener.onResponse(result, this, invocation);
                });
            }
            return ends.size() > before;
        }

        int begin(int calls) {
            return admitted(calls, () -> begin("find"));
        }

        void endOne() {
            ends.remove(0).run();
        }

        @Override
        public Result invoke(Invocation invocation) {
            CompletableFuture<AppResponse> answer = new CompletableFuture<>();
            ends.add(() -> answer.complete(new AppResponse("done")));
            return new AsyncRpcResult(answer, invocation);
        }

        @Override
        public Class<Stock> getInterface() {
            return Stock.class;
        }

        @Override
        public URL getUrl() {
            return url;
        }

        @Override
        public boolean isAvailable() {
            return true;
        }

        @Override
        public void destroy() {}
    }

    private static Map<String, String> settings(String attributes) {
        Map<String, String> settings = new HashMap<>();
        SETTING.matcher(attributes).results().forEach(one -> settings.put(one.group(1), one.group(2)));
        return settings;
    }

    private static Gate gate(String rule) {
        return Gate.builder()
                .clock(Time.OURS)
                .rules("[[rules]]\nname = \"calls\"\n" + rule, Format.TOML)
                .build();
    }

    @Test
    @Row("`actives=\"2\"`")
    void callsUnderWayAreBoundAndWaitForTheirTimeout() {
        Calls theirs = new Calls(new ActiveLimitFilter(), settings("""
            actives="2" timeout="20"
            """));
        DubboGates.consumer(Gate.of("""
            [[rules]]
            name = "under way"
            key = ["service", "method"]
            concurrency = 2
            timeout = "call"
            """, Format.TOML));
        Calls ours = new Calls(new ConsumerGateFilter(), Map.of("timeout", "20"));
        for (Calls calls : List.of(theirs, ours)) {
            assertEquals(2, calls.begin(2));
            long start = System.nanoTime();
            assertFalse(calls.begin("find"));
            assertTrue(System.nanoTime() - start >= 20_000_000, "which has waited");
            assertTrue(calls.begin("count"), "another method");
            calls.endOne();
            assertEquals(1, calls.begin(1));
        }
    }

    @Test
    @Row({"`executes=\"3\"`", "`RpcException` of the provider"})
    void callsAtWorkAreBound() {
        Calls theirs = new Calls(new ExecuteLimitFilter(), settings("""
            executes="3"
            """));
        DubboGates.provider(gate("""
            key = ["service", "method"]
            concurrency = 3
            """));
        Calls ours = new Calls(new ProviderGateFilter(), Map.of());
        for (Calls calls : List.of(theirs, ours)) {
            assertEquals(3, calls.begin(5));
            assertTrue(calls.begin("count"), "another method");
            calls.endOne();
            assertEquals(1, calls.begin(5));
        }
        Result result = new ProviderGateFilter()
                .invoke(ours, new RpcInvocation(null, "find", "", "", new Class<?>[0], new Object[0]));
        assertTrue(result.getException() instanceof RpcException, () -> "" + result.getException());
    }

    @Test
    @Row("`tps=\"2\"`, of 60 s")
    void callsInAnIntervalAreBound() {
        Calls theirs = new Calls(new TpsLimitFilter(), settings("""
            tps="2"
            """));
        DubboGates.provider(gate("""
            key = "service"
            quota = "2/60s fixed_window"
            """));
        Calls ours = new Calls(new ProviderGateFilter(), Map.of());
        for (Calls calls : List.of(theirs, ours)) {
            assertEquals(2, calls.begin(5));
        }
        Time.advanceMillis(59_999);
        assertEquals(0, ours.begin(5));
        Time.advanceMillis(1);
        assertEquals(2, ours.begin(5));
    }

    /** Dubbo's is in true time. */
    @Test
    @Row("`tps=\"2\"`, `tps.interval=\"20\"`")
    void anIntervalIsOver() throws InterruptedException {
        Calls theirs = new Calls(new TpsLimitFilter(), settings("""
            tps="2" tps.interval="20"
            """));
        DubboGates.provider(gate("""
            key = "service"
            quota = "2/20ms fixed_window"
            """));
        Calls ours = new Calls(new ProviderGateFilter(), Map.of());
        theirs.begin(5);
        assertEquals(2, ours.begin(5));
        Thread.sleep(22);
        Time.advanceMillis(20);
        assertTrue(theirs.begin("find"), "the interval is over");
        assertEquals(2, ours.begin(5));
    }

    @Test
    @Row("`find.executes=\"1\"`")
    void oneMethodIsBound() {
        Calls theirs = new Calls(new ExecuteLimitFilter(), settings("""
            find.executes="1"
            """));
        DubboGates.provider(gate("""
            match = { method = { exact = "find" } }
            concurrency = 1
            """));
        Calls ours = new Calls(new ProviderGateFilter(), Map.of());
        for (Calls calls : List.of(theirs, ours)) {
            assertEquals(1, calls.begin(5));
            assertEquals(5, admitted(5, () -> calls.begin("count")));
        }
    }

    @Test
    @Row("`RpcException.LIMIT_EXCEEDED_EXCEPTION`")
    void whoIsRefusedIsToldTheRule() {
        DubboGates.consumer(gate("concurrency = 0"));
        Calls ours = new Calls(new ConsumerGateFilter(), Map.of());
        RpcException refused = assertThrows(
                RpcException.class,
                () -> new ConsumerGateFilter()
                        .invoke(ours, new RpcInvocation(null, "find", "", "", new Class<?>[0], new Object[0])));
        assertTrue(refused.isLimitExceed());
        assertEquals(RpcException.LIMIT_EXCEEDED_EXCEPTION, refused.getCode());
        assertTrue(refused.getMessage().contains("calls"), refused::getMessage);
    }

    @Override
    @Test
    void theProgramsBeforeAndAfterSayTheSame(@TempDir Path folder) throws Exception {
        NodeList elements = DocumentBuilderFactory.newInstance()
                .newDocumentBuilder()
                .parse(new InputSource(new StringReader(blocks("xml").get(0))))
                .getElementsByTagName("*");
        Map<String, String> settings = new HashMap<>();
        for (int index = 0; index < elements.getLength(); index++) {
            Element element = (Element) elements.item(index);
            for (String name : List.of("actives", "timeout", "executes")) {
                if (element.hasAttribute(name)) {
                    settings.put(name, element.getAttribute(name));
                }
            }
            if (element.hasAttribute("key")) {
                settings.put(element.getAttribute("key"), element.getAttribute("value"));
            }
        }
        assertEquals(
                Map.of("actives", "2", "timeout", "1000", "executes", "3", "tps", "100", "tps.interval", "1000"),
                settings);

        String program = blocks("java").get(0);
        for (String rules : blocks("toml")) {
            String name = rules.lines().findFirst().orElseThrow().substring("# ".length());
            Path file = Files.writeString(folder.resolve(name), rules);
            program = program.replace("\"" + name + "\"", "\"" + file + "\"");
        }
        assertEquals("", run(program, folder.resolve("after")));
        settings.put("timeout", "1");
        assertEquals(2, new Calls(new ActiveLimitFilter(), settings).begin(3));
        assertEquals(2, new Calls(new ConsumerGateFilter(), settings).begin(3));
        assertEquals(3, new Calls(new ExecuteLimitFilter(), settings).begin(5));
        assertEquals(3, new Calls(new ProviderGateFilter(), settings).begin(5));
        // On clocks that stand still, or nearly.
        settings.put("tps.interval", "3600000");
        DubboGates.provider(Gate.builder()
                .clock(Time.OURS)
                .rules(blocks("toml").get(1), Format.TOML)
                .build());
        assertEquals(100, endingAtOnce(new Calls(new TpsLimitFilter(), settings)));
        assertEquals(100, endingAtOnce(new Calls(new ProviderGateFilter(), settings)));
    }

    private static int endingAtOnce(Calls calls) {
        return admitted(110, () -> {
            boolean admitted = calls.begin("count");
            if (admitted) {
                calls.endOne();
            }
            return admitted;
        });
    }
}

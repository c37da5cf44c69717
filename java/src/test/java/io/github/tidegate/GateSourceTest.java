package io.github.tidegate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Real time is the subject of what watches and pulls. */
class GateSourceTest {
    private static final Attributes REQUEST = Attributes.of("path", "/");
    private static final Duration OFTEN = Duration.ofMillis(5);

    private final BlockingQueue<GateEvent> events = new LinkedBlockingQueue<>();

    @TempDir
    private Path folder;

    private <T extends GateEvent> T next(Class<T> kind) throws InterruptedException {
        GateEvent event = events.poll(30, TimeUnit.SECONDS);
        return assertInstanceOf(kind, event);
    }

    private static String toml(String quota) {
        return "[[rules]]\nname = \"all\"\nquota = \"" + quota + "\"\n";
    }

    private static void untilQuota(Gate gate, String quota) {
        Waiting.until(() -> gate.rules().contains(quota) ? 1 : 0, 1);
    }

    @Test
    void aListenerIsToldOfRefusalsAndReloads() throws Exception {
        Gate gate = Gate.of(
                Rule.of("none").quota("0/s").key("path"),
                Rule.of("shade").quota("0/s").shadow());
        Watch watch = gate.listen(events::add);
        GateRefusedException refused = assertThrows(GateRefusedException.class, () -> gate.enter(REQUEST));
        assertEquals(refused.why(), next(GateEvent.Refused.class).refusal());
        gate.reload(Rule.of("shade").quota("0/s").shadow());
        assertEquals(
                List.of("none"), next(GateEvent.RulesReloaded.class).reloaded().removed());
        gate.enter(REQUEST).release();
        GateEvent.ShadowRefused shadow = next(GateEvent.ShadowRefused.class);
        assertEquals("shade", shadow.refusal().rule());
        assertEquals(0, shadow.dropped());
        RulesException wrong =
                assertThrows(RulesException.class, () -> gate.reload("[[rules]]\nname = 1", Format.TOML));
        assertEquals(wrong.faults(), next(GateEvent.ReloadFailed.class).faults());
        watch.close();
        assertTrue(gate.toString().startsWith("Gate(1 rules, 1 admitted, 1 refused"), gate.toString());
    }

    @Test
    void theLastListenerIsTheOneAndOneThatIsClosedHearsNothing() throws Exception {
        Gate gate = Gate.of(Rule.of("none").quota("0/s"));
        CompletableFuture<GateEvent> first = new CompletableFuture<>();
        gate.listen(first::complete);
        Watch second = gate.listen(events::add);
        assertTrue(gate.tryEnter(REQUEST).isEmpty());
        next(GateEvent.Refused.class);
        assertFalse(first.isDone());
        second.close();
        assertTrue(gate.tryEnter(REQUEST).isEmpty());
        gate.tell(new GateEvent.ReloadFailed(List.of(), 0));
        assertNull(events.poll());
    }

    /** G7. */
    @Test
    void g7_aListenerThatFailsBreaksNoDecisionAndHearsTheNextEvent() throws Exception {
        Gate gate = Gate.of(Rule.of("none").quota("0/s"));
        gate.listen(event -> {
            events.add(event);
            throw new IllegalStateException("of the listener");
        });
        for (int i = 0; i < 3; i++) {
            assertTrue(gate.tryEnter(REQUEST).isEmpty());
            next(GateEvent.Refused.class);
        }
        assertEquals(3, gate.stats().refused());
    }

    @Test
    void aFileIsReadByItsNameAndFaultsNameIt() throws Exception {
        Path file = folder.resolve("rules.toml");
        Files.writeString(file, toml("3/s"));
        Gate gate = Gate.open(file);
        assertTrue(gate.rules().contains("3/s"));
        Files.writeString(file, toml("3/fortnight"));
        RuleFault fault = assertThrows(RulesException.class, () -> gate.reload(file))
                .faults()
                .get(0);
        assertEquals(file.toString(), fault.file());
        assertEquals(3, fault.line().orElseThrow());
        assertEquals("all", fault.rule());
        assertEquals("quota", fault.argument());
        Path gone = folder.resolve("gone.yaml");
        RuleFault missing = assertThrows(RulesException.class, () -> Gate.open(gone))
                .faults()
                .get(0);
        assertEquals("file", missing.argument());
        assertEquals(gone.toString(), missing.file());
        Files.writeString(gone, "rules: [{name: all, quota: 4/s}]");
        assertEquals(List.of("all"), gate.reload(gone).changed());
    }

    @Test
    void aWatchedFileIsReadAgainWhenItChangesInPlaceOrByARename() throws Exception {
        Path file = folder.resolve("rules.toml");
        Files.writeString(file, toml("3/s"));
        Gate gate = Gate.of();
        gate.listen(events::add);
        Watch watch = gate.watch(file);
        next(GateEvent.RulesReloaded.class);
        Files.writeString(file, toml("4/s"));
        untilQuota(gate, "4/s");
        Path other = folder.resolve("other");
        Files.writeString(other, toml("5/s"));
        Files.move(other, file, StandardCopyOption.ATOMIC_MOVE);
        untilQuota(gate, "5/s");
        Files.writeString(file, "rules = 1");
        while (!(next(GateEvent.class) instanceof GateEvent.ReloadFailed)) {
            // Of the versions before; a file may also be read while it is being written.
        }
        untilQuota(gate, "5/s");
        Files.writeString(file, toml("6/s"));
        untilQuota(gate, "6/s");
        watch.close();
        Files.writeString(file, toml("7/s"));
        TimeUnit.MILLISECONDS.sleep(200);
        assertTrue(gate.rules().contains("6/s"));
        assertThrows(RulesException.class, () -> gate.watch(folder.resolve("gone.toml")));
    }

    @Test
    void whoWaitsIsLetInByAWatchedFile() throws Exception {
        Path file = folder.resolve("rules.json");
        Files.writeString(file, Rule.json(Rule.of("all").concurrency(1).timeout(Duration.ofSeconds(30))));
        Gate gate = Gate.of();
        gate.watch(file);
        Entry first = gate.enter(REQUEST);
        CompletableFuture<Entry> second = gate.enterAsync(REQUEST);
        Files.writeString(file, Rule.json(Rule.of("all").concurrency(2).timeout(Duration.ofSeconds(30))));
        second.get(30, TimeUnit.SECONDS).release();
        first.release();
    }

    /** As config maps of Kubernetes change: FILE → ..data/FILE, and ..data is renamed over. */
    @Test
    void aWatchedFileIsReadAgainWhenALinkLeadsElsewhere() throws Exception {
        for (String version : List.of("3", "4")) {
            Path directory = Files.createDirectory(folder.resolve("version " + version));
            Files.writeString(directory.resolve("rules.toml"), toml(version + "/s"));
        }
        Path data = Files.createSymbolicLink(folder.resolve("..data"), Path.of("version 3"));
        Path file = Files.createSymbolicLink(folder.resolve("rules.toml"), Path.of("..data", "rules.toml"));
        Gate gate = Gate.of();
        gate.watch(file);
        untilQuota(gate, "3/s");
        Path swap = Files.createSymbolicLink(folder.resolve("..swap"), Path.of("version 4"));
        Files.move(swap, data, StandardCopyOption.ATOMIC_MOVE);
        untilQuota(gate, "4/s");
    }

    @Test
    void rulesThatArePulledChangeAndFailuresAreToldOnceAndTheLastGoodOnesStay() throws Exception {
        Gate gate = Gate.of();
        gate.listen(events::add);
        AtomicReference<String> table = new AtomicReference<>(toml("3/s"));
        Watch watch = gate.pull(
                () -> {
                    if ("down".equals(table.get())) {
                        throw new IllegalStateException("no connection");
                    }
                    return table.get();
                },
                Format.TOML,
                OFTEN);
        next(GateEvent.RulesReloaded.class);
        untilQuota(gate, "3/s");
        table.set("down");
        RuleFault fault = next(GateEvent.ReloadFailed.class).faults().get(0);
        assertEquals("source", fault.argument());
        assertTrue(fault.value().contains("no connection"), fault.message());
        table.set("rules = 1");
        assertEquals("rules", next(GateEvent.ReloadFailed.class).faults().get(0).argument());
        table.set(null);
        TimeUnit.MILLISECONDS.sleep(50);
        assertTrue(events.isEmpty(), events.toString());
        untilQuota(gate, "3/s");
        table.set(toml("4/s"));
        next(GateEvent.RulesReloaded.class);
        untilQuota(gate, "4/s");
        watch.close();
        table.set(toml("5/s"));
        TimeUnit.MILLISECONDS.sleep(50);
        assertTrue(gate.rules().contains("4/s"));
        assertThrows(ConfigException.class, () -> gate.pull(() -> null, Format.TOML, Duration.ZERO));
    }

    @Test
    void aGateThatIsGoneIsNotKeptByItsListenerOrSources() throws Exception {
        AtomicReference<Thread> puller = new AtomicReference<>();
        pullAndDrop(puller);
        Waiting.until(() -> puller.get() == null ? 0 : 1, 1);
        Waiting.until(
                () -> {
                    System.gc();
                    return puller.get().isAlive() ? 1 : 0;
                },
                0);
    }

    private void pullAndDrop(AtomicReference<Thread> puller) {
        Gate gate = Gate.of(Rule.of("all").quota("1/s"));
        gate.listen(events::add);
        gate.pull(
                () -> {
                    puller.set(Thread.currentThread());
                    return null;
                },
                Format.TOML,
                OFTEN);
    }
}

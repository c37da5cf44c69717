package io.github.tidegate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.tidegate.Rule.Match;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

class GateTest {
    private static final Rule PERMITS =
            Rule.of("a permits").match("path", Match.prefix("/limit")).concurrency(4);
    private static final Rule TOKENS =
            Rule.of("b tokens").match("path", Match.prefix("/limit")).quota("1/min");
    private static final Attributes LIMITED = Attributes.of("path", "/limit/x");

    private final ManualClock clock = new ManualClock();

    private Gate gate(Rule... rules) {
        return Gate.builder().rules(rules).clock(clock).build();
    }

    private static long inFlight(Gate gate, String rule) {
        return gate.stats().rule(rule).orElseThrow().limiter().inFlight();
    }

    @Test
    void anEntryHoldsPermitsUntilItIsReleasedOnce() throws Exception {
        Gate gate = gate(PERMITS);
        Entry entry = gate.enter(LIMITED);
        assertEquals(Status.ALLOWED, entry.status());
        assertTrue(entry.applies());
        assertEquals(List.of("a permits"), entry.rules());
        assertEquals("Entry(allowed, held)", entry.toString());
        assertEquals(1, inFlight(gate, "a permits"));
        entry.release(false);
        assertEquals(0, inFlight(gate, "a permits"));
        assertEquals("Entry(allowed, released)", entry.toString());
        entry.close();
        assertThrows(IllegalStateException.class, entry::release);
        assertThrows(IllegalStateException.class, entry::rules);
        try (Entry again = gate.tryEnter(LIMITED).orElseThrow()) {
            assertEquals(1, inFlight(gate, "a permits"));
            assertThrows(IllegalStateException.class, entry::release, "the earlier one releases nothing of " + again);
            assertEquals(1, inFlight(gate, "a permits"));
        }
        GateStats stats = gate.stats();
        assertEquals(2, stats.admitted());
        assertEquals(1, stats.releasedOk());
        assertEquals(1, stats.releasedFailed());
    }

    @Test
    void anEntryThatIsReadWhileAnotherThreadReleasesItIsReadWholeOrNotAtAll() throws Exception {
        Gate gate = gate(
                PERMITS, Rule.of("other").match("path", Match.prefix("/other")).concurrency(4));
        AtomicReference<Entry> shared = new AtomicReference<>(gate.enter(LIMITED));
        AtomicInteger read = new AtomicInteger();
        Threads.together(2, number -> {
            for (int round = 0; round < 20_000; round++) {
                if (number == 0) {
                    Entry next = gate.enter(LIMITED);
                    shared.getAndSet(next).release();
                    gate.enter(Attributes.of("path", "/other")).release();
                } else {
                    try {
                        assertEquals(List.of("a permits"), shared.get().rules());
                        read.incrementAndGet();
                    } catch (IllegalStateException released) {
                        // It was faster.
                    }
                }
            }
        });
        assertTrue(read.get() > 0);
        shared.get().release();
        assertEquals(0, inFlight(gate, "a permits"));
    }

    /** G1. */
    @Test
    void g1_whatOneRuleGaveIsBackWhenAnotherRefuses() throws Exception {
        Gate gate = gate(PERMITS, TOKENS);
        gate.enter(LIMITED).release();
        GateRefusedException refused = assertThrows(GateRefusedException.class, () -> gate.enter(LIMITED));
        assertEquals("b tokens", refused.rule());
        assertEquals(0, inFlight(gate, "a permits"));
        assertTrue(gate.tryEnter(LIMITED).isEmpty());
        assertEquals(0, inFlight(gate, "a permits"));
    }

    @Test
    void aRefusalTellsTheRuleAndItsFigures() throws Exception {
        Gate gate = Gate.builder()
                .rules(
                        "{\"show_keys\": true, \"rules\": [{\"name\": \"search\", \"key\": \"client\", \"quota\": [\"2/min\"]}]}",
                        Format.JSON)
                .clock(clock)
                .build();
        Attributes ann = Attributes.of("client", "änn 🌊", "path", "/");
        Entry entry = gate.enter(ann, 2, Duration.ZERO);
        assertEquals(
                List.of(new QuotaFigures("search", 2, Duration.ofMinutes(1), 2, 0, Duration.ofMinutes(1), 0, 1)),
                entry.figures());
        assertEquals(new RateLimitHeaders("\"search\";q=2;w=60", "\"search\";r=0;t=60", ""), entry.headers());
        entry.release();
        GateRefusedException refused = assertThrows(GateRefusedException.class, () -> gate.enter(ann));
        GateRefusal why = refused.why();
        assertEquals("search", why.rule());
        assertEquals("änn 🌊", why.key());
        assertEquals(Status.DENIED, why.status());
        assertEquals(Status.DENIED, refused.status());
        assertEquals(2, why.limit());
        assertEquals(0, why.remaining());
        assertEquals("2/min", why.quota().replace("2/60s", "2/min"));
        assertEquals(Duration.ofSeconds(30), why.retryAfter());
        assertEquals(30, why.retryAfterSeconds().orElseThrow());
        assertEquals(refused.getMessage(), why.message());
        assertTrue(refused.getMessage().contains("search"), refused.getMessage());
        assertEquals("30", refused.headers().retryAfter());
        assertEquals("\"search\";q=2;w=60", refused.headers().policy());
        assertTrue(refused.problemJson().contains("\"status\":429"), refused.problemJson());
        assertInstanceOf(RefusedException.class, refused);
        assertEquals(
                Status.EXCEEDS_CAPACITY,
                assertThrows(GateRefusedException.class, () -> gate.enter(ann, 3, Duration.ZERO))
                        .status());
        gate.enter(Attributes.of("client", "bob")).release();
    }

    @Test
    void aRefusalOfPermitsKnowsNoTimeAndOfALimitOfNoneNever() {
        Gate gate = gate(PERMITS.concurrency(1));
        Entry entry = gate.tryEnter(LIMITED).orElseThrow();
        GateRefusal why = assertThrows(GateRefusedException.class, () -> gate.enter(LIMITED))
                .why();
        assertNull(why.retryAfter());
        assertTrue(why.retryAfterSeconds().isEmpty());
        assertNull(why.key());
        assertNull(why.quota());
        assertEquals(1, why.inFlight());
        assertEquals(0, why.quotas());
        entry.release();
        Gate never = gate(Rule.of("never").quota("0/s"));
        assertEquals(
                Decision.NEVER,
                assertThrows(GateRefusedException.class, () -> never.enter(Attributes.of()))
                        .why()
                        .retryAfter());
    }

    /** G6. */
    @Test
    void g6_thatNoRuleAppliesIsToldApart() throws Exception {
        Gate gate = gate(PERMITS);
        try (Entry entry = gate.enter(Attributes.of("path", "/nolimit"))) {
            assertEquals(Status.NO_RULE, entry.status());
            assertFalse(entry.applies());
            assertEquals(List.of(), entry.rules());
            assertEquals(List.of(), entry.figures());
            assertEquals(new RateLimitHeaders("", "", ""), entry.headers());
        }
        assertFalse(gate.tryEnter(Attributes.of()).orElseThrow().applies());
        assertFalse(gate.enterAsync(Attributes.of()).join().applies());
        assertEquals(3, gate.stats().unmatched());
    }

    @Test
    void attributesAreAnyTextAndBytesAndAsManyAsOneLikes() throws Exception {
        Gate gate = gate(Rule.of("bytes")
                .match("ä", Match.exact("ö"))
                .match("b", Match.exact("\uFFFD", "x"))
                .concurrency(1));
        Attributes few = Attributes.of("ä", "ö").with("b", new byte[] {'x'});
        assertEquals("Attributes(ä=ö, b=x)", few.toString());
        gate.enter(few).release();
        assertEquals(1, gate.stats().admitted());
        assertFalse(gate.enter(Attributes.of("ä", "ö").with("b", new byte[] {(byte) 0xFF}))
                .applies());
        Attributes many = Attributes.of();
        for (int i = 0; i < 100; i++) {
            many = many.with("name " + i, "x".repeat(i));
        }
        assertFalse(gate.enter(many).applies());
        assertTrue(gate.enter(many.with("ä", "ö").with("b", "x")).applies());
        assertEquals(
                Attributes.of("a", "1").toString(),
                Attributes.of(Map.of("a", "1")).toString());
        assertEquals("Attributes()", Attributes.of(Map.of()).toString());
        assertEquals(
                "namesAndValues: got 3 texts; allowed: a value for each name",
                assertThrows(ConfigException.class, () -> Attributes.ofPairs("a", "b", "c"))
                        .getMessage());
        assertEquals(
                "namesAndValues: got null; allowed: a text",
                assertThrows(NullPointerException.class, () -> Attributes.of("a", null))
                        .getMessage());
    }

    @Test
    void wrongArgumentsAreNamed() {
        Gate gate = gate(PERMITS);
        String allowed = "cost: got 0; allowed: 1 to 9007199254740991";
        assertEquals(
                allowed,
                assertThrows(ConfigException.class, () -> gate.enter(LIMITED, 0, Duration.ZERO))
                        .getMessage());
        assertEquals(
                allowed,
                assertThrows(ConfigException.class, () -> gate.tryEnter(LIMITED, 0))
                        .getMessage());
        assertEquals(
                allowed,
                assertThrows(ConfigException.class, () -> gate.enterAsync(LIMITED, 0, Duration.ZERO))
                        .getMessage());
        assertEquals(
                allowed,
                assertThrows(ConfigException.class, () -> gate.explain(LIMITED, 0))
                        .getMessage());
        assertEquals(
                "request: got null; allowed: attributes",
                assertThrows(NullPointerException.class, () -> gate.enter(null)).getMessage());
        assertThrows(ConfigException.class, () -> gate.enter(LIMITED, 1, Duration.ofSeconds(-1)));
        assertThrows(ConfigException.class, () -> Format.of(java.nio.file.Path.of("rules.txt")));
    }

    /** G3. */
    @Test
    void g3_aBadRuleLoadsNothingAndEachFaultIsTold() {
        Gate gate = gate(PERMITS);
        String text =
                "[[rules]]\nname = \"good\"\nquota = \"1/s\"\n\n[[rules]]\nname = \"bad: one\"\nquota = \"1/fortnight\"\n"
                        + "\n[[rules]]\nname = \"worse\"\nconcurrency = 1\nmode = \"on\"\n";
        RulesException wrong = assertThrows(RulesException.class, () -> gate.reload(text, Format.TOML));
        assertEquals(2, wrong.faults().size(), wrong.getMessage());
        RuleFault first = wrong.faults().get(0);
        assertNull(first.file());
        assertEquals(OptionalInt.of(7), first.line());
        assertEquals("bad: one", first.rule());
        assertEquals("quota", first.argument());
        assertTrue(first.value().contains("fortnight"), first.value());
        assertFalse(first.allowed().isEmpty());
        assertEquals("worse", wrong.faults().get(1).rule());
        assertEquals("mode", wrong.faults().get(1).argument());
        assertEquals("a permits", gate.stats().rules().get(0).name());
        assertThrows(RulesException.class, () -> Gate.of(text, Format.TOML));
        assertInstanceOf(IllegalArgumentException.class, wrong);
    }

    @Test
    void aFaultOfARuleInCodeHasNoLine() {
        Gate gate = gate(PERMITS);
        Rule wrong = Rule.of("wrong").quota("1/fortnight");
        for (Executable made : List.<Executable>of(() -> Gate.of(wrong), () -> gate.reload(wrong))) {
            RulesException told = assertThrows(RulesException.class, made);
            assertEquals(OptionalInt.empty(), told.faults().get(0).line());
            assertTrue(told.getMessage().startsWith("rule wrong: quota: got "), told.getMessage());
        }
        String text = "[{\"name\": \"wrong\"}]";
        assertTrue(assertThrows(RulesException.class, () -> Gate.of("{\"rules\": " + text + "}", Format.JSON))
                .getMessage()
                .startsWith("line 1: "));
    }

    /** G4. */
    @Test
    void g4_theSameRulesKeepTheirStateAndAChangedOneWhatIsUsed() throws Exception {
        Gate gate = gate(PERMITS, TOKENS);
        Entry entry = gate.enter(LIMITED);
        Reloaded same = gate.reload(PERMITS, TOKENS);
        assertEquals(List.of("a permits", "b tokens"), same.unchanged());
        assertTrue(gate.tryEnter(LIMITED).isEmpty());
        Reloaded changed =
                gate.reload(PERMITS, TOKENS.quota("2/min burst 2"), Rule.of("c").quota("9/s"));
        assertEquals(List.of("a permits"), changed.unchanged());
        assertEquals(List.of("b tokens"), changed.changed());
        assertEquals(List.of("c"), changed.added());
        assertEquals(1, inFlight(gate, "a permits"));
        assertEquals(List.of("b tokens", "c"), gate.reload(PERMITS).removed());
        assertEquals(List.of("a permits"), gate.reload(PERMITS.key("path")).restarted());
        entry.release();
        assertEquals(Rule.of("x").quota("1/s").toString(), "{\"name\":\"x\",\"quota\":[\"1/s\"]}");
    }

    /** G5. */
    @Test
    void g5_aRaisedLimitCountsFromTheNextRequestOn() throws Exception {
        Gate gate = gate(TOKENS.quota("0/min"));
        for (int i = 0; i < 100; i++) {
            assertTrue(gate.tryEnter(LIMITED).isEmpty());
        }
        gate.reload(TOKENS.quota("5/min"));
        gate.enter(LIMITED).release();
        assertEquals(100, gate.stats().rule("b tokens").orElseThrow().refused());
    }

    /** G2. */
    @Test
    void g2_aTraceTellsWhichRuleMatchedAndWhyNot() throws Exception {
        Gate gate = gate(
                Rule.of("glob").match("path", Match.glob("ass*")).quota("1/s"),
                Rule.of("regex").match("path", Match.regex("/ass.*")).quota("1/s"));
        Object trace = Json.parse(
                gate.explain(Attributes.of("path", "/assign/sso/user")).getBytes("UTF-8"));
        assertEquals("allowed", Json.text(trace, "status"));
        List<?> rules = Json.list(Json.field(trace, "rules"));
        assertEquals(false, Json.field(rules.get(0), "matched"));
        assertEquals(true, Json.field(rules.get(1), "matched"));
        assertEquals(0, gate.stats().admitted());
    }

    /** G8. */
    @Test
    void g8_anExpressionTakesLinearTime() throws Exception {
        Gate gate = gate(Rule.of("evil").match("path", Match.regex("(a+)+$")).concurrency(1));
        long start = System.nanoTime();
        assertTrue(gate.enter(Attributes.of("path", "a".repeat(100_000))).applies());
        assertFalse(gate.enter(Attributes.of("path", "a".repeat(100_000) + "b")).applies());
        assertTrue(System.nanoTime() - start < 5_000_000_000L);
    }

    @Test
    void allThatARuleInCodeSaysIsRead() {
        Rule rule = Rule.of("all of it")
                .match("a", Match.exact("1"))
                .match("b", Match.glob("*.{x,y}"))
                .key("a")
                .quota("10/s", "100/min")
                .cost(2)
                .timeout(Duration.ofMillis(50))
                .maxWaiters(3)
                .maxKeys(10)
                .whenFull(WhenFull.EVICT)
                .override("vip", "20/s", "200/min")
                .shadow();
        Gate gate = gate(rule, Rule.of("off").concurrency(0).timeoutOfCall().off());
        assertEquals("shadow", gate.stats().rule("all of it").orElseThrow().mode());
        assertEquals("off", gate.stats().rule("off").orElseThrow().mode());
        Gate again = Gate.of(gate.rules(), Format.JSON);
        assertEquals(gate.rules(), again.rules());
        assertEquals(
                List.of("all of it", "off"),
                again.reload(gate.rules(), Format.JSON).unchanged());
        Gate longest = gate(Rule.of("x").concurrency(1).timeout(Decision.NEVER.minusNanos(1)));
        assertEquals(1, longest.stats().rules().size());
    }

    @Test
    void aRefusalAndFaultsOutlastSerialization() throws Exception {
        Gate gate = gate(TOKENS.quota("0/s"));
        GateRefusedException refused = assertThrows(GateRefusedException.class, () -> gate.enter(LIMITED));
        GateRefusedException copy = (GateRefusedException) copy(refused);
        assertEquals(refused.why(), copy.why());
        assertEquals("", copy.headers().policy());
        RulesException wrong = assertThrows(RulesException.class, () -> gate.reload("{}", Format.JSON));
        assertEquals(wrong.faults(), ((RulesException) copy(wrong)).faults());
    }

    private static Object copy(Object object) throws Exception {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        new ObjectOutputStream(bytes).writeObject(object);
        return new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray())).readObject();
    }
}

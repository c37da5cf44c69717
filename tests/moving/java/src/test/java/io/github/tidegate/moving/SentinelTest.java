package io.github.tidegate.moving;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.alibaba.csp.sentinel.AsyncEntry;
import com.alibaba.csp.sentinel.EntryType;
import com.alibaba.csp.sentinel.SphO;
import com.alibaba.csp.sentinel.SphU;
import com.alibaba.csp.sentinel.Tracer;
import com.alibaba.csp.sentinel.context.ContextUtil;
import com.alibaba.csp.sentinel.log.RecordLog;
import com.alibaba.csp.sentinel.property.DynamicSentinelProperty;
import com.alibaba.csp.sentinel.slots.block.BlockException;
import com.alibaba.csp.sentinel.slots.block.RuleConstant;
import com.alibaba.csp.sentinel.slots.block.authority.AuthorityRule;
import com.alibaba.csp.sentinel.slots.block.authority.AuthorityRuleManager;
import com.alibaba.csp.sentinel.slots.block.degrade.DegradeRule;
import com.alibaba.csp.sentinel.slots.block.degrade.DegradeRuleManager;
import com.alibaba.csp.sentinel.slots.block.flow.FlowRule;
import com.alibaba.csp.sentinel.slots.block.flow.FlowRuleManager;
import com.alibaba.csp.sentinel.slots.block.flow.param.ParamFlowItem;
import com.alibaba.csp.sentinel.slots.block.flow.param.ParamFlowRule;
import com.alibaba.csp.sentinel.slots.block.flow.param.ParamFlowRuleManager;
import io.github.tidegate.Attributes;
import io.github.tidegate.Entry;
import io.github.tidegate.Format;
import io.github.tidegate.Gate;
import io.github.tidegate.GateRefusedException;
import io.github.tidegate.Rule;
import io.github.tidegate.Rule.Match;
import io.github.tidegate.Watch;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SentinelTest extends PageTest {
    private static final Attributes CALLS = Attributes.of("resource", "calls");

    private final FlowRule rule = new FlowRule("calls");
    private final Gate gate = Gate.builder().clock(Time.OURS).build();

    SentinelTest() throws Exception {
        super("sentinel");
    }

    /** Which says on the standard output where it goes. */
    @BeforeAll
    static void openItsLog() {
        RecordLog.info("");
    }

    /** What was counted is over, and a window begins. */
    @BeforeEach
    void laterOn() {
        Time.advance(Duration.ofMinutes(10).minusNanos(Time.nanos() % 1_000_000_000));
    }

    @AfterEach
    void withoutRules() {
        FlowRuleManager.register2Property(new DynamicSentinelProperty<>());
        FlowRuleManager.loadRules(List.of());
        ParamFlowRuleManager.loadRules(List.of());
        AuthorityRuleManager.loadRules(List.of());
        DegradeRuleManager.loadRules(List.of());
        ContextUtil.exit();
    }

    private static Rule ours() {
        return Rule.of("calls").match("resource", Match.exact("calls"));
    }

    /** Whether a call of theirs is admitted, which ends at once. */
    private static boolean passes() {
        try {
            SphU.entry("calls").exit();
            return true;
        } catch (BlockException refused) {
            return false;
        }
    }

    private boolean passes(Attributes request) {
        return gate.tryEnter(request).map(SentinelTest::released).orElse(false);
    }

    private static boolean released(Entry entry) {
        entry.release();
        return true;
    }

    @Test
    @Row("`RuleConstant.FLOW_GRADE_QPS`")
    void aWindowMovesByHalfSecondsThere() {
        rule.setGrade(RuleConstant.FLOW_GRADE_QPS);
        rule.setCount(10);
        FlowRuleManager.loadRules(List.of(rule));
        gate.reload(ours().quota("10/s sliding_window"));
        Time.advanceMillis(450);
        assertEquals(10, admitted(15, SentinelTest::passes));
        assertEquals(10, admitted(15, () -> passes(CALLS)));
        Time.advanceMillis(550);
        assertEquals(10, admitted(15, SentinelTest::passes));
        assertEquals(0, admitted(15, () -> passes(CALLS)));
    }

    @Test
    @Row({"`RuleConstant.FLOW_GRADE_THREAD`", "`entry.exit()`", "`SphO.entry(\"calls\")`"})
    void permitsAreLentAndComeBack() throws BlockException {
        rule.setGrade(RuleConstant.FLOW_GRADE_THREAD);
        rule.setCount(2);
        FlowRuleManager.loadRules(List.of(rule));
        gate.reload(ours().concurrency(2));
        Deque<com.alibaba.csp.sentinel.Entry> theirs = new ArrayDeque<>();
        Deque<Entry> held = new ArrayDeque<>();
        for (int round = 0; round < 3; round++) {
            for (int call = 0; call < 2; call++) {
                theirs.push(SphU.entry("calls"));
                held.add(gate.tryEnter(Attributes.of("resource", "calls")).orElseThrow());
            }
            assertFalse(SphO.entry("calls"));
            assertFalse(gate.tryEnter(Attributes.of("resource", "calls")).isPresent());
            for (int call = 0; call < 2; call++) {
                // The last one first; ours the first one first.
                com.alibaba.csp.sentinel.Entry last = theirs.pop();
                release(last);
                release(held.remove());
            }
        }
    }

    private static void release(com.alibaba.csp.sentinel.Entry entry) {
        entry.exit();
    }

    private static void release(Entry entry) {
        entry.release();
    }

    @Test
    @Row("`RuleConstant.CONTROL_BEHAVIOR_RATE_LIMITER`")
    void callsArePaced() {
        rule.setCount(100);
        rule.setControlBehavior(RuleConstant.CONTROL_BEHAVIOR_RATE_LIMITER);
        rule.setMaxQueueingTimeMs(15);
        FlowRuleManager.loadRules(List.of(rule));
        gate.reload(ours().quota("100/s burst 1").timeout(Duration.ofMillis(15)));
        assertTrue(passes() & gate.enterAsync(CALLS).isDone());
        CompletableFuture<Entry> second = gate.enterAsync(CALLS);
        long start = System.nanoTime();
        assertTrue(passes());
        assertTrue(System.nanoTime() - start >= 10_000_000, "which waited for its turn");
        assertFalse(second.isDone());
        assertFalse(passes());
        CompletionException refused = assertThrows(
                CompletionException.class, () -> gate.enterAsync(CALLS).join());
        assertTrue(refused.getCause() instanceof GateRefusedException, refused::toString);
        Time.advanceMillis(10);
        second.join().release();
    }

    @Test
    @Row("`RuleConstant.CONTROL_BEHAVIOR_WARM_UP`")
    void whatIsColdBeginsSlowlyThere() {
        rule.setCount(30);
        rule.setControlBehavior(RuleConstant.CONTROL_BEHAVIOR_WARM_UP);
        FlowRuleManager.loadRules(List.of(rule));
        assertEquals(10, admitted(60, SentinelTest::passes));
    }

    @Test
    @Row({"`rule.setLimitApp(\"shop\")`", "`new AuthorityRule()`"})
    void aCallerIsAnAttribute() {
        rule.setCount(2);
        rule.setLimitApp("shop");
        FlowRuleManager.loadRules(List.of(rule));
        AuthorityRule authority = new AuthorityRule();
        authority.setResource("calls");
        authority.setLimitApp("eve");
        authority.setStrategy(RuleConstant.AUTHORITY_BLACK);
        AuthorityRuleManager.loadRules(List.of(authority));
        gate.reload(
                ours().match("caller", Match.exact("shop")).quota("2/s"),
                Rule.of("nobody").match("caller", Match.exact("eve")).concurrency(0));
        for (String caller : List.of("shop", "eve", "stock")) {
            int expected = caller.equals("shop") ? 2 : caller.equals("eve") ? 0 : 5;
            ContextUtil.enter("context of " + caller, caller);
            assertEquals(expected, admitted(5, SentinelTest::passes));
            ContextUtil.exit();
            assertEquals(expected, admitted(5, () -> passes(CALLS.with("caller", caller))));
        }
    }

    @Test
    @Row("`rule.setStrategy(RuleConstant.STRATEGY_CHAIN)`")
    void anEntranceIsAnAttribute() {
        rule.setCount(2);
        rule.setStrategy(RuleConstant.STRATEGY_CHAIN);
        rule.setRefResource("web");
        FlowRuleManager.loadRules(List.of(rule));
        gate.reload(ours().match("entrance", Match.exact("web")).quota("2/s"));
        for (String entrance : List.of("web", "batch")) {
            ContextUtil.enter(entrance);
            assertEquals(entrance.equals("web") ? 2 : 5, admitted(5, SentinelTest::passes));
            ContextUtil.exit();
            assertEquals(entrance.equals("web") ? 2 : 5, admitted(5, () -> passes(CALLS.with("entrance", entrance))));
        }
    }

    @Test
    @Row("`rule.setStrategy(RuleConstant.STRATEGY_RELATE)`")
    void aRuleSeesOtherCallsThere() throws BlockException {
        rule.setCount(2);
        rule.setStrategy(RuleConstant.STRATEGY_RELATE);
        rule.setRefResource("writes");
        FlowRuleManager.loadRules(List.of(rule));
        assertEquals(5, admitted(5, SentinelTest::passes));
        SphU.entry("writes").exit();
        SphU.entry("writes").exit();
        assertEquals(0, admitted(5, SentinelTest::passes));
    }

    @Test
    @Row({"`new ParamFlowRule(\"calls\")", "`new ParamFlowItem()`"})
    void eachValueHasABudget() {
        ParamFlowItem item = new ParamFlowItem();
        item.setObject("ann").setClassType(String.class.getName()).setCount(9);
        ParamFlowRule parameter = new ParamFlowRule("calls").setParamIdx(0).setCount(5);
        parameter.setParamFlowItemList(List.of(item));
        ParamFlowRuleManager.loadRules(List.of(parameter));
        gate.reload(ours().key("user").quota("5/s").override("ann", "9/s"));
        for (String user : List.of("ann", "bob", "eve")) {
            int expected = user.equals("ann") ? 9 : 5;
            assertEquals(expected, admitted(15, () -> {
                try {
                    SphU.entry("calls", EntryType.IN, 1, user).exit(1, user);
                    return true;
                } catch (BlockException refused) {
                    return false;
                }
            }));
            assertEquals(expected, admitted(15, () -> passes(CALLS.with("user", user))));
        }
    }

    @Test
    @Row("`new DegradeRule(\"calls\")`")
    void aCircuitBreaks() {
        DegradeRule degrade = new DegradeRule("calls");
        degrade.setGrade(RuleConstant.DEGRADE_GRADE_EXCEPTION_COUNT);
        degrade.setCount(1);
        degrade.setMinRequestAmount(1);
        degrade.setTimeWindow(10);
        DegradeRuleManager.loadRules(List.of(degrade));
        assertEquals(2, admitted(5, () -> {
            try {
                com.alibaba.csp.sentinel.Entry entry = SphU.entry("calls");
                Tracer.traceEntry(new IllegalStateException(), entry);
                entry.exit();
                return true;
            } catch (BlockException refused) {
                return false;
            }
        }));
    }

    @Test
    @Row({"`SphU.entry(\"calls\")`", "`FlowRuleManager.loadRules(List.of(rule))`"})
    void whoIsRefusedIsTold() throws Exception {
        rule.setCount(1);
        FlowRuleManager.loadRules(List.of(rule));
        SphU.entry("calls").exit();
        assertThrows(BlockException.class, () -> SphU.entry("calls"));
        {
            Rule rule = ours().quota("1/s");
            gate.reload(rule);
            gate.enter(Attributes.of("resource", "calls")).release();
            gate.reload(rule);
        }
        GateRefusedException refused =
                assertThrows(GateRefusedException.class, () -> gate.enter(Attributes.of("resource", "calls")));
        assertTrue(refused.getMessage().contains("calls"), refused::getMessage);
    }

    @Test
    @Row("`SphU.entry(\"calls\", 3)`")
    void aCallMayCostMore() throws BlockException {
        rule.setCount(5);
        FlowRuleManager.loadRules(List.of(rule));
        gate.reload(ours().quota("5/s"));
        SphU.entry("calls", 3).exit(3);
        assertTrue(gate.tryEnter(Attributes.of("resource", "calls"), 3).isPresent());
        assertThrows(BlockException.class, () -> SphU.entry("calls", 3));
        assertFalse(gate.tryEnter(Attributes.of("resource", "calls"), 3).isPresent());
    }

    @Test
    @Row({"`SphU.asyncEntry(\"calls\")`", "`Tracer.trace(failure)`"})
    void aCallMayEndElsewhere() throws BlockException {
        gate.reload(ours().concurrency(1));
        Throwable failure = new IllegalStateException();
        AsyncEntry theirs = SphU.asyncEntry("calls");
        ContextUtil.runOnContext(theirs.getAsyncContext(), () -> Tracer.trace(failure));
        assertEquals(failure, theirs.getError());
        theirs.exit();
        Entry entry = gate.enterAsync(Attributes.of("resource", "calls")).join();
        entry.release(false);
        assertTrue(gate.tryEnter(CALLS).map(SentinelTest::released).orElse(false));
    }

    @Test
    @Row("`FlowRuleManager.register2Property(property)`")
    void rulesComeFromElsewhere(@TempDir Path folder) throws Exception {
        DynamicSentinelProperty<List<FlowRule>> property = new DynamicSentinelProperty<>();
        FlowRuleManager.register2Property(property);
        property.updateValue(List.of(rule.setGrade(RuleConstant.FLOW_GRADE_QPS).setCount(2)));
        assertEquals(2, admitted(5, SentinelTest::passes));

        String text = "rules: [{name: calls, quota: 2/s}]";
        Path file = folder.resolve("rules.yaml");
        Files.writeString(file, text);
        try (Watch watch = gate.watch(file)) {
            assertEquals(2, admitted(5, () -> passes(CALLS)));
        }
        gate.reload();
        Supplier<String> supplier = () -> text;
        try (Watch watch = gate.pull(supplier, Format.YAML, Duration.ofSeconds(5))) {
            while (!gate.rules().contains("calls")) {
                // Asked for on a thread of its own.
                TimeUnit.MILLISECONDS.sleep(1);
            }
            assertEquals(2, admitted(5, () -> passes(CALLS)));
        }
    }
}

package io.github.tidegate.bench;

import com.alibaba.csp.sentinel.Entry;
import com.alibaba.csp.sentinel.SphU;
import com.alibaba.csp.sentinel.log.RecordLog;
import com.alibaba.csp.sentinel.slots.block.BlockException;
import com.alibaba.csp.sentinel.slots.block.RuleConstant;
import com.alibaba.csp.sentinel.slots.block.flow.FlowRule;
import com.alibaba.csp.sentinel.slots.block.flow.FlowRuleManager;
import java.io.OutputStream;
import java.io.PrintStream;
import java.util.List;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;

/**
 * Sentinel's entry and exit under one rule of flow: by calls a second, in a window that slides by half a second, or by threads
 * at once. It counts what it sees, which is more than the others do, by a clock that goes by milliseconds.
 */
public class Sentinel {
    static final String RESOURCE = "calls";

    static {
        // Or it writes to the home folder of whoever runs this.
        System.setProperty(
                "csp.sentinel.log.dir", Harness.folder().resolve("sentinel").toString());
        PrintStream out = System.out;
        System.setOut(new PrintStream(OutputStream.nullOutputStream()));
        RecordLog.info("where it logs to, which it tells everybody now");
        System.setOut(out);
    }

    /** Makes the rule of {@link #RESOURCE}, and what the first call of all makes. */
    static void load(int grade, double count) {
        FlowRule rule = new FlowRule(RESOURCE);
        rule.setGrade(grade);
        rule.setCount(count);
        FlowRuleManager.loadRules(List.of(rule));
        enter("another");
    }

    @State(Scope.Benchmark)
    public static class Rate {
        @Param
        public Outcome outcome;

        /** It knows no period but the second: what is refused is a limit of none. */
        @Setup
        public void make() {
            load(RuleConstant.FLOW_GRADE_QPS, outcome == Outcome.ALLOWED ? outcome.limit : 0);
        }
    }

    @Benchmark
    public boolean rate(Rate rate) {
        return rate.outcome.seen(enter(RESOURCE));
    }

    @State(Scope.Benchmark)
    public static class Permits {
        @Setup
        public void make() {
            load(RuleConstant.FLOW_GRADE_THREAD, Tidegate.LIMIT);
        }
    }

    @Benchmark
    public boolean permit(Permits permits) {
        return Outcome.ALLOWED.seen(enter(RESOURCE));
    }

    /** Enters and leaves, if that is admitted. */
    static boolean enter(String resource) {
        try {
            Entry entry = SphU.entry(resource);
            entry.exit();
            return true;
        } catch (BlockException refused) {
            return false;
        }
    }
}

package io.github.tidegate.bench;

import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.ChainedOptionsBuilder;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;

/**
 * Runs a case by JMH: its subjects take turns, each time in a JVM of its own, so that a machine whose speed drifts is the same for
 * all, and no subject is compiled by what the compiler has seen of another. Who was last in a round is first in the next.
 */
final class Turns {
    static final boolean QUICK = !System.getenv().getOrDefault("QUICK", "").isEmpty();

    private static final int ROUNDS = QUICK ? 1 : 3;
    private static final int ITERATIONS = 3;
    private static final TimeValue ITERATION = TimeValue.milliseconds(QUICK ? 30 : 50);
    private static final TimeValue WARM_UP = TimeValue.milliseconds(QUICK ? 120 : 200);

    private Turns() {}

    /** Lets the subjects take turns and prints a line for each. */
    static void run(Cases.Case shared) throws RunnerException {
        Map<Cases.Subject, List<Double>> figures = new LinkedHashMap<>();
        shared.subjects().forEach(subject -> figures.put(subject, new ArrayList<>()));
        List<Cases.Subject> order = new ArrayList<>(shared.subjects());
        for (int round = 0; round < ROUNDS; round++) {
            for (Cases.Subject subject : order) {
                figures.get(subject).addAll(time(shared, subject));
            }
            Collections.reverse(order);
        }
        figures.forEach((subject, nanos) -> Row.print(
                shared.name(),
                subject.name(),
                subject.version(),
                "ns_per_op",
                nanos.stream().mapToDouble(Double::doubleValue).toArray()));
    }

    /** Nanoseconds a call, of all threads together; a figure an iteration. */
    private static List<Double> time(Cases.Case shared, Cases.Subject subject) throws RunnerException {
        ChainedOptionsBuilder options = new OptionsBuilder()
                .include("^" + subject.benchmarks().getName() + "\\." + subject.method() + "$")
                .mode(Mode.AverageTime)
                .timeUnit(TimeUnit.NANOSECONDS)
                .threads(shared.threads())
                .forks(1)
                .warmupForks(0)
                .warmupIterations(subject.warmUps())
                .warmupTime(WARM_UP)
                .measurementIterations(ITERATIONS)
                .measurementTime(ITERATION)
                // Its collector has no threads that run beside what is timed.
                .jvmArgsAppend("-XX:+UseSerialGC")
                .shouldFailOnError(true)
                .output(Harness.folder().resolve("jmh.log").toString());
        shared.parameters().forEach(options::param);
        RunResult result = new Runner(options.build()).runSingle();
        return result.getBenchmarkResults().stream()
                .flatMap(fork -> fork.getIterationResults().stream())
                .map(iteration -> iteration.getPrimaryResult().getScore() / shared.threads())
                .toList();
    }
}

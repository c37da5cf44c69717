package io.github.tidegate.bench;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/** Timing: subjects take turns, round by round, so that a machine whose speed drifts is the same for all. */
final class Rounds {
    static final boolean QUICK = !System.getenv().getOrDefault("QUICK", "").isEmpty();

    private static final int ROUNDS = QUICK ? 9 : 41;
    private static final long WARM_UP_NANOS = 1_000_000_000L;

    /** Calls of a loop: few, and often, so that what is timed is the method as it is compiled, not a loop replaced midway. */
    private static final int CALLS = 10_000;

    private static final int LOOPS = 20;

    /** Keys that are made before their calls are timed: few, so that they are at hand. */
    static final int KEYS_AT_ONCE = 250;

    private Rounds() {}

    /** Lets the subjects take turns and prints a line for each; every call must be admitted, or none. */
    static void together(String name, boolean admits, List<Subject> subjects) {
        double[][] nanos = new double[subjects.size()][ROUNDS];
        long start = System.nanoTime();
        while (System.nanoTime() - start < WARM_UP_NANOS) {
            for (Subject subject : subjects) {
                round(name, admits, subject);
            }
        }
        for (int round = 0; round < ROUNDS; round++) {
            for (int index = 0; index < nanos.length; index++) {
                nanos[index][round] = round(name, admits, subjects.get(index));
            }
        }
        for (int index = 0; index < nanos.length; index++) {
            report(name, subjects.get(index), "ns_per_op", nanos[index]);
        }
    }

    /** One round; nanoseconds a call. */
    private static double round(String name, boolean admits, Subject subject) {
        int calls = subject.prepare() == null ? CALLS : KEYS_AT_ONCE;
        int loops = LOOPS * CALLS / calls;
        long admitted = 0;
        long nanos = 0;
        for (int loop = 0; loop < loops; loop++) {
            if (subject.prepare() != null) {
                subject.prepare().run();
            }
            long start = System.nanoTime();
            admitted += subject.loop().admitted(calls);
            nanos += System.nanoTime() - start;
        }
        long all = (long) loops * calls;
        check(name + ", " + subject.name(), admitted, admits ? all : 0);
        return (double) nanos / all;
    }

    /** Prints the median and the tenth and ninetieth percentile of the figures, in any order. */
    static void report(String name, Subject subject, String unit, double[] figures) {
        double[] rising = figures.clone();
        Arrays.sort(rising);
        int last = rising.length - 1;
        System.out.printf(
                Locale.ROOT,
                "{\"language\": \"java\", \"case\": \"%s\", \"subject\": \"%s\", \"%s\": %.2f, \"spread\": [%.2f, %.2f],"
                        + " \"rounds\": %d, \"version\": \"%s\"}%n",
                name,
                subject.name(),
                unit,
                rising[last / 2],
                rising[last / 10],
                rising[last * 9 / 10],
                rising.length,
                subject.version());
    }

    static void check(String what, long got, long expected) {
        if (got != expected) {
            throw new IllegalStateException(what + ": admitted " + got + "; expected " + expected);
        }
    }
}

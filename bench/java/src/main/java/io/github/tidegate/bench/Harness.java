package io.github.tidegate.bench;

import java.nio.file.Path;

/** tidegate's jar beside its peers. Prints JSON lines; {@code bench/run.py} reads them. */
final class Harness {
    private Harness() {}

    public static void main(String[] arguments) throws Exception {
        Row.claimOutput();
        // Others may measure on this machine, too: that is theirs to know.
        System.setProperty("jmh.ignoreLock", "true");
        SameWork.prove();
        for (Cases.Case shared : Cases.all()) {
            Turns.run(shared);
        }
        Memory.run();
        CounterRace.run();
    }

    /** Where what is built of the benchmarks lies, and what is logged. */
    static Path folder() {
        return Row.source(Harness.class).getParent();
    }
}

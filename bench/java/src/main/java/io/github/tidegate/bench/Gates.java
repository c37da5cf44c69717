package io.github.tidegate.bench;

import io.github.tidegate.Attributes;
import io.github.tidegate.Gate;
import io.github.tidegate.Rule;
import io.github.tidegate.Rule.Match;
import java.util.List;

/** Requests through a gate, from enter to release. There is no peer that does the same. */
final class Gates {
    private Gates() {}

    static void run() {
        Gate gate = Gate.of(Rule.of("api").match("path", Match.prefix("/api/")).concurrency(100));
        Subject ours = new Subject("tidegate", Harness.TIDEGATE, calls -> {
            int admitted = 0;
            for (int call = 0; call < calls; call++) {
                try {
                    gate.enter(Attributes.of("path", "/api/users/17")).release();
                    admitted++;
                } catch (InterruptedException interrupted) {
                    throw new IllegalStateException(interrupted);
                }
            }
            return admitted;
        });
        Rounds.together("gate, 1 rule", true, List.of(ours));
    }
}

package io.github.tidegate;

import java.util.List;

/** What a {@link Gate} tells whoever listens to it. Kinds may be added. */
public sealed interface GateEvent {
    /** How many events were dropped so far, because whoever listens was slow. */
    long dropped();

    /**
     * A request was refused.
     *
     * @param refusal why
     */
    record Refused(GateRefusal refusal, long dropped) implements GateEvent {}

    /**
     * A request would have been refused by a rule in shadow.
     *
     * @param refusal why
     */
    record ShadowRefused(GateRefusal refusal, long dropped) implements GateEvent {}

    /**
     * There are other rules.
     *
     * @param reloaded what that did
     */
    record RulesReloaded(Reloaded reloaded, long dropped) implements GateEvent {}

    /**
     * Rules were wrong, or could not be read. Those in use stay.
     *
     * @param faults all that is wrong
     */
    record ReloadFailed(List<RuleFault> faults, long dropped) implements GateEvent {}
}

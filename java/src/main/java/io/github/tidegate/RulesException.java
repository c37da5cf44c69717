package io.github.tidegate;

import java.util.List;

/** Rules of a {@link Gate} that are wrong, or can't be read. Nothing was changed. The message has a line for each fault. */
public final class RulesException extends IllegalArgumentException {
    private static final long serialVersionUID = 1;

    private final transient List<RuleFault> faults;

    RulesException(String message, Throwable cause) {
        super(message, cause);
        faults = RuleFault.all(message);
    }

    RulesException(String message) {
        this(message, null);
    }

    /** The same of rules in code, which have no lines. */
    RulesException withoutLines() {
        return new RulesException(getMessage().replaceAll("(?m)^line 1: ", ""));
    }

    /** All that is wrong, in the order of the lines. */
    public List<RuleFault> faults() {
        return faults == null ? RuleFault.all(getMessage()) : faults;
    }
}

package io.github.tidegate;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A wrong argument: which, the value that was given, and what is allowed. The call changed nothing. Reads {@code ARGUMENT: got
 * VALUE; allowed: WHAT}.
 */
public final class ConfigException extends IllegalArgumentException {
    private static final long serialVersionUID = 1;

    /** A value may hold the words that part a text; what is allowed never does. */
    private static final Pattern TEXT = Pattern.compile("(.*?): got (.*); allowed: (.*)", Pattern.DOTALL);

    private final String argument;
    private final String value;
    private final String allowed;

    private ConfigException(String message, String argument, String value, String allowed) {
        super(message);
        this.argument = argument;
        this.value = value;
        this.allowed = allowed;
    }

    static ConfigException of(String argument, Object value, String allowed) {
        return new ConfigException(Mistake.text(argument, value, allowed), argument, String.valueOf(value), allowed);
    }

    /** Takes a text apart that the native library, or {@link Mistake#text}, put together. */
    static ConfigException read(String text) {
        Matcher parts = TEXT.matcher(text);
        return parts.matches()
                ? new ConfigException(text, parts.group(1), parts.group(2), parts.group(3))
                : new ConfigException(text, "", text, "");
    }

    /** The argument: {@code limit}, {@code cost}, {@code quota} for a text. */
    public String argument() {
        return argument;
    }

    /** The value that was given, as text. */
    public String value() {
        return value;
    }

    /** What is allowed. */
    public String allowed() {
        return allowed;
    }
}

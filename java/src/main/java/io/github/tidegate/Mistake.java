package io.github.tidegate;

/** The words for a caller's mistake, the same in every language. */
final class Mistake {
    private Mistake() {}

    /** {@code ARGUMENT: got VALUE; allowed: WHAT}. */
    static String text(String argument, Object value, String allowed) {
        return argument + ": got " + value + "; allowed: " + allowed;
    }

    static ConfigException of(String argument, Object value, String allowed) {
        return ConfigException.of(argument, value, allowed);
    }

    /** Returns a reference that must be there. */
    static <T> T nonNull(String argument, T value, String allowed) {
        if (value == null) {
            throw new NullPointerException(text(argument, null, allowed));
        }
        return value;
    }

    /** Returns a number that must lie between two others. */
    static long within(String argument, long value, long least, long most) {
        if (value < least || value > most) {
            throw of(argument, value, least + " to " + most);
        }
        return value;
    }
}

package io.github.tidegate;

/** What happens to a new key when as many owe something as there is room for. */
public enum WhenFull {
    /** The key that owes the smallest share of its quota is forgotten, and starts afresh when it comes again. The default. */
    EVICT(1, "evict"),
    /**
     * The new key is refused, with {@link Status#KEYS_FULL}. The safe choice with a limit or burst of 1, where every key owes as
     * much, and against floods of keys that use up their bursts at once.
     */
    DENY_NEW(2, "deny_new");

    /** The number in the C header. */
    final int code;

    private final String text;

    WhenFull(int code, String text) {
        this.code = code;
        this.text = text;
    }

    /** The name, the same in every language. */
    @Override
    public String toString() {
        return text;
    }
}

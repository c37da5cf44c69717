package io.github.tidegate;

/** Where fixed windows begin. */
public enum Anchor {
    /** At the first admitted call after the last window ended. The default. */
    FIRST(1, "first"),
    /** At whole multiples of the period since the Unix epoch. */
    CLOCK(2, "clock");

    /** The number in the C header. */
    final int code;

    private final String text;

    Anchor(int code, String text) {
        this.code = code;
        this.text = text;
    }

    static Anchor of(long code) {
        for (Anchor anchor : values()) {
            if (anchor.code == code) {
                return anchor;
            }
        }
        throw new InternalException("anchor " + code + " is unknown");
    }

    /** The anchor's name, as in the text form of a quota. */
    @Override
    public String toString() {
        return text;
    }
}

package io.github.tidegate;

/** Who takes back what is {@link Held}. */
abstract class Owner {
    /** The tags that nobody wears. */
    final Tag.Idle idle = new Tag.Idle();

    /** Takes it back; returns the status's code. Does nothing if it throws. */
    abstract int release(long[] figures, boolean ok);

    /** What is lent, as users hold it. */
    abstract Class<?> lends();

    /** What was dropped, in words. */
    abstract String dropped(long[] figures);
}

package io.github.tidegate;

/** What goes on with a {@link Gate} in the background, until this is closed or the gate is gone. It keeps no process alive. */
public interface Watch extends AutoCloseable {
    /** Ends it. Nothing comes of it any more. */
    @Override
    void close();
}

package io.github.tidegate.bench;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Properties;

/**
 * One of those that take turns.
 *
 * @param loop makes its calls
 * @param prepare makes the keys of the next {@link Rounds#KEYS_AT_ONCE} calls, which isn't timed; null if there are none to make
 */
record Subject(String name, String version, Loop loop, Runnable prepare) {
    Subject(String name, String version, Loop loop) {
        this(name, version, loop, null);
    }

    /**
     * A loop of calls, written out for each subject: one loop for all would see calls of many kinds, and the compiler would
     * inline none.
     */
    @FunctionalInterface
    interface Loop {
        /** Makes so many calls and tells how many were admitted, so that no call is dead code. */
        int admitted(int calls);
    }

    /** The version of an artifact on the class path, as Maven wrote it into the jar. */
    static String version(String group, String artifact) {
        String name = "/META-INF/maven/" + group + "/" + artifact + "/pom.properties";
        try (InputStream in = Subject.class.getResourceAsStream(name)) {
            Properties properties = new Properties();
            properties.load(in);
            return properties.getProperty("version");
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }
}

package io.github.tidegate;

import java.nio.file.Path;

/** Where things lie. */
final class Project {
    /** The folder of pom.xml; Maven runs tests there. */
    static final Path JAVA = Path.of("").toAbsolutePath();

    /** The folder of all languages. */
    static final Path ROOT = JAVA.getParent();

    /** What becomes the jar: the classes, and the native library beside them. */
    static final Path CLASSES = JAVA.resolve("target/classes");

    static final Path TEST_CLASSES = JAVA.resolve("target/test-classes");

    private Project() {}
}

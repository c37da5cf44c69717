package io.github.tidegate;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** A JVM of its own for a test, with -Xcheck:jni. */
final class Jvm {
    private static final int PATIENCE_SECONDS = 120;

    /** What a JVM left behind. */
    record Result(int exitCode, String out, String err) {
        /** Whether the JVM had nothing to say of how JNI is used. */
        boolean jniClean() {
            return JniWarningsTest.warnings(out + err).isEmpty();
        }
    }

    private Jvm() {}

    /** Runs the JDK that runs this test, with our classes on its class path. */
    static Result run(String... arguments) throws Exception {
        List<String> command = new ArrayList<>(nativeAccess(Runtime.version().feature(), "ALL-UNNAMED"));
        command.addAll(List.of("-cp", Project.CLASSES + ":" + Project.TEST_CLASSES));
        command.addAll(List.of(arguments));
        return run(Path.of(System.getProperty("java.home")), command);
    }

    /** The option by which a user says that native code is wanted, from the version of Java on that asks for it. */
    static List<String> nativeAccess(int version, String module) {
        return version >= 22 ? List.of("--enable-native-access=" + module) : List.of();
    }

    /** Runs any JDK. */
    static Result run(Path home, List<String> arguments) throws Exception {
        List<String> command = new ArrayList<>(List.of(home.resolve("bin/java").toString(), "-Xcheck:jni"));
        command.addAll(arguments);
        Path out = Files.createTempFile("out", ".txt");
        Path err = Files.createTempFile("err", ".txt");
        try {
            ProcessBuilder builder = new ProcessBuilder(command);
            builder.environment().remove("JAVA_TOOL_OPTIONS");
            Process process = builder.redirectOutput(out.toFile())
                    .redirectError(err.toFile())
                    .start();
            boolean ended = process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS);
            if (!ended) {
                process.destroyForcibly();
            }
            assertTrue(ended, () -> command + " hung: " + read(err));
            return new Result(process.exitValue(), read(out), read(err));
        } finally {
            Files.delete(out);
            Files.delete(err);
        }
    }

    private static String read(Path file) {
        try {
            return Files.readString(file, StandardCharsets.UTF_8);
        } catch (IOException e) {
            return e.toString();
        }
    }
}

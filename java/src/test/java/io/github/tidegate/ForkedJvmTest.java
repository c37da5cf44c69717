package io.github.tidegate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.jar.Attributes;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What needs a process of its own: other JDKs, panics, logs, the temporary folder. */
class ForkedJvmTest {
    private static final String EVERYTHING = "ManualClock(2000000000 ns) true 5 [6/s, 60/min] 2 4 2 2\n1 true\n"
            + "true 1 2\ntrue true true 1\n"
            + "true true true 0 KeyedRateLimiter(6/s; 60/min, 10 keys) 2 4 KeyedConcurrencyLimiter(4 each, 100000 keys) 2 2 [DeniedKey(bob, 1)]\n1\n"
            + "true 1 2\ntrue true true 1\n";

    /** The JDK that runs this test, and all from 17 on that a Linux distribution has laid beside it. */
    static Stream<Path> jdks() throws IOException {
        Set<Path> homes = new LinkedHashSet<>();
        homes.add(Path.of(System.getProperty("java.home")).toRealPath());
        Path shelf = Path.of("/usr/lib/jvm");
        if (Files.isDirectory(shelf)) {
            try (Stream<Path> all = Files.list(shelf)) {
                for (Path home : all.sorted().toList()) {
                    if (Files.isExecutable(home.resolve("bin/java")) && version(home) >= 17) {
                        homes.add(home.toRealPath());
                    }
                }
            }
        }
        return homes.stream();
    }

    private static int version(Path home) throws IOException {
        Path release = home.resolve("release");
        if (!Files.exists(release)) {
            return 0;
        }
        return Files.readAllLines(release).stream()
                .filter(line -> line.startsWith("JAVA_VERSION=\""))
                .map(line -> line.substring("JAVA_VERSION=\"".length()).split("[.\"]")[0])
                .mapToInt(Integer::parseInt)
                .findFirst()
                .orElse(0);
    }

    private static List<String> joined(List<String> first, String... more) {
        return Stream.concat(first.stream(), Stream.of(more)).toList();
    }

    @ParameterizedTest
    @MethodSource("jdks")
    void everyJdkRunsItOnTheClassPathWithoutAWarning(Path home) throws Exception {
        Jvm.Result result = Jvm.run(
                home,
                joined(
                        Jvm.nativeAccess(version(home), "ALL-UNNAMED"),
                        "-cp",
                        Project.CLASSES + ":" + Project.TEST_CLASSES,
                        "io.github.tidegate.Probe",
                        "everything"));
        assertEquals(new Jvm.Result(0, EVERYTHING, ""), result);
    }

    @ParameterizedTest
    @MethodSource("jdks")
    void everyJdkRunsItAsANamedModuleWithoutAWarning(Path home) throws Exception {
        Jvm.Result result = Jvm.run(
                home,
                joined(
                        Jvm.nativeAccess(version(home), "io.github.tidegate"),
                        "--module-path",
                        Project.CLASSES.toString(),
                        "--patch-module",
                        "io.github.tidegate=" + Project.TEST_CLASSES,
                        "--module",
                        "io.github.tidegate/io.github.tidegate.Probe",
                        "everything"));
        assertEquals(new Jvm.Result(0, EVERYTHING, ""), result);
    }

    /** By the manifest alone: what stands in it is for the jar that {@code java -jar} starts. */
    @ParameterizedTest
    @MethodSource("jdks")
    void everyJdkRunsItFromAnExecutableJarWithoutAWarning(Path home, @TempDir Path folder) throws Exception {
        Manifest manifest = new Manifest();
        Attributes attributes = manifest.getMainAttributes();
        attributes.put(Attributes.Name.MANIFEST_VERSION, "1.0");
        attributes.put(Attributes.Name.MAIN_CLASS, "io.github.tidegate.Probe");
        attributes.put(Attributes.Name.CLASS_PATH, Project.CLASSES.toUri() + " " + Project.TEST_CLASSES.toUri());
        attributes.put(new Attributes.Name("Enable-Native-Access"), "ALL-UNNAMED");
        Path jar = folder.resolve("program.jar");
        new JarOutputStream(Files.newOutputStream(jar), manifest).close();
        assertEquals(new Jvm.Result(0, EVERYTHING, ""), Jvm.run(home, List.of("-jar", jar.toString(), "everything")));
    }

    /** On the newest JDK that is there; before 21 there are none. */
    @Test
    void virtualThreadsThatWaitLeaveTheirOnlyCarrierToOthers() throws Exception {
        Path newest = jdks().max(Comparator.comparing(ForkedJvmTest::versionOf)).orElseThrow();
        assumeTrue(versionOf(newest) >= 21, "virtual threads are tested on a JDK from 21 on, and there is none");
        Jvm.Result result = Jvm.run(
                newest,
                joined(
                        Jvm.nativeAccess(versionOf(newest), "ALL-UNNAMED"),
                        "-Djdk.virtualThreadScheduler.parallelism=1",
                        "-Djdk.virtualThreadScheduler.maxPoolSize=1",
                        "-cp",
                        Project.CLASSES + ":" + Project.TEST_CLASSES,
                        "io.github.tidegate.Probe",
                        "virtual"));
        assertEquals(new Jvm.Result(0, "200 1 2 0 200 200\n", ""), result);
    }

    private static int versionOf(Path home) {
        try {
            return version(home);
        } catch (IOException unreadable) {
            throw new UncheckedIOException(unreadable);
        }
    }

    @Test
    void aPanicBecomesAnExceptionAndTheLimiterGoesOn() throws Exception {
        Path library = Project.ROOT.resolve("build/test-panic/java/libtidegate_jni.so");
        assertTrue(Files.exists(library), library + " is missing: make build-test-panic");
        Jvm.Result result = Jvm.run("-Dtidegate.library.path=" + library, "io.github.tidegate.Probe", "panic");
        assertEquals("panic\n".repeat(25) + "true true true true\n", result.out());
        assertEquals(0, result.exitCode(), result.err());
        assertTrue(result.jniClean(), result.err());
    }

    @Test
    void aDroppedPermitIsReleasedAndLogged() throws Exception {
        Jvm.Result result = Jvm.run("io.github.tidegate.Probe", "drop");
        assertEquals("3 3\n", result.out());
        assertTrue(
                result.err()
                        .contains("2 permit(s) of a ConcurrencyLimiter were dropped without release(): released now"),
                result.err());
        assertTrue(
                result.err()
                        .contains(
                                "3 permit(s) of a KeyedConcurrencyLimiter were dropped without release(): released now"),
                result.err());
        assertFalse(result.err().contains("1 permit(s)"), result.err());
        assertTrue(result.jniClean(), result.err());
    }

    @Test
    void p12_aMillionWaitsThatAreCancelledLeaveNothingBehindInTheProcess() throws Exception {
        Jvm.Result result = Jvm.run(
                "-XX:+UseSerialGC",
                "-Xmx48m",
                "-Xms48m",
                "-XX:+AlwaysPreTouch",
                "-XX:TieredStopAtLevel=1",
                "io.github.tidegate.Probe",
                "memory");
        assertEquals(new Jvm.Result(0, "0 250000 250000 250000 250000 0\n", ""), result);
    }

    @Test
    void nothingIsLeftInTheTemporaryFolder(@TempDir Path folder) throws Exception {
        Jvm.Result result = Jvm.run("-Djava.io.tmpdir=" + folder, "io.github.tidegate.Probe", "files");
        assertEquals(new Jvm.Result(0, "true\n", ""), result);
        try (Stream<Path> left = Files.list(folder)) {
            assertEquals(List.of(), left.toList());
        }
    }

    @Test
    void aTemporaryFolderThatCannotBeWrittenToIsNamedWithTheWayOut(@TempDir Path folder) throws Exception {
        Path missing = folder.resolve("missing");
        Jvm.Result result = Jvm.run("-Djava.io.tmpdir=" + missing, "io.github.tidegate.Probe", "files");
        assertEquals(1, result.exitCode());
        assertTrue(result.err().contains("UnsatisfiedLinkError: tidegate's native library /native/"), result.err());
        assertTrue(result.err().contains(missing.toString()), result.err());
        assertTrue(result.err().contains("-Djava.io.tmpdir"), result.err());
        assertTrue(result.err().contains("-Dtidegate.library.path"), result.err());
    }

    @Test
    void theLibraryThatThePropertyNamesIsLoadedAndNoOther(@TempDir Path folder) throws Exception {
        Path missing = folder.resolve("none.so");
        Jvm.Result result = Jvm.run("-Dtidegate.library.path=" + missing, "io.github.tidegate.Probe", "files");
        assertEquals(1, result.exitCode());
        assertTrue(result.err().contains(missing.toString()), result.err());
    }
}

package io.github.tidegate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** Runs after all other tests, which run under -Xcheck:jni and log what the JVM says of it: it must have said nothing. */
class JniWarningsTest {
    private static final Pattern WARNING =
            Pattern.compile("WARNING in native method|FATAL ERROR in native method|WARNING: JNI");

    /** The lines of a JVM's log that tell of JNI used wrongly. */
    static List<String> warnings(String log) {
        return log.lines().filter(line -> WARNING.matcher(line).find()).toList();
    }

    @Test
    void theTestsRanUnderXcheckJniAndItFoundNothing() throws Exception {
        String log = Files.readString(Path.of(System.getProperty("jvm.log")));
        assertTrue(log.contains("-Xcheck:jni"), "not the log of a JVM under -Xcheck:jni");
        assertEquals(List.of(), warnings(log));
    }

    @Test
    void aWarningOfTheJvmIsFound() {
        String said =
                "WARNING in native method: JNI call made without checking exceptions when required to from CallObjectMethodV";
        assertEquals(
                List.of(said),
                warnings("line\n" + said + "\n\tat io.github.tidegate.RateLimiter.decide0(Native Method)"));
    }
}

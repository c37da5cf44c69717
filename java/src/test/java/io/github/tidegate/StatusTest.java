package io.github.tidegate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.nio.file.Files;
import java.util.Arrays;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CancellationException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** The numbers that Java and the C header must agree on, and what becomes of each status. */
class StatusTest {
    /** The whole numbers that the header defines, by name. */
    private static Map<String, Long> defined(String prefix) throws IOException {
        Map<String, Long> numbers = new TreeMap<>();
        String header = Files.readString(Project.ROOT.resolve("include/tidegate.h"));
        Matcher line = Pattern.compile("(?m)^#define TIDEGATE_" + prefix + "([A-Z_]+) (-?[0-9]+)$")
                .matcher(header);
        while (line.find()) {
            numbers.put(line.group(1), Long.valueOf(line.group(2)));
        }
        return numbers;
    }

    @Test
    void everyMistakeHasTheNumberOfTheHeader() throws IOException {
        Map<String, Long> ours = new TreeMap<>();
        Arrays.stream(Status.values())
                .filter(status -> status.code() < 0)
                .forEach(status -> ours.put(status.name().replace("INVALID_", ""), (long) status.code()));
        Map<String, Long> theirs = defined("ERROR_");
        theirs.remove("SIZE");
        assertEquals(theirs, ours);
    }

    @Test
    void everyOutcomeHasTheNumberOfTheHeader() throws IOException {
        Map<String, Long> all = defined("");
        for (Status status : Status.values()) {
            if (status.code() >= 0) {
                assertEquals(all.get(status.name()), status.code(), status.name());
            }
        }
    }

    @Test
    void algorithmsAnchorsAndWhatHappensWhenFullHaveTheNumbersOfTheHeader() throws IOException {
        Map<String, Long> algorithms = defined("ALGORITHM_");
        algorithms.remove("DEFAULT");
        Map<String, Long> ours = new TreeMap<>();
        for (Algorithm algorithm : Algorithm.values()) {
            ours.put(algorithm.name(), (long) algorithm.code);
            assertSame(algorithm, Algorithm.of(algorithm.code));
        }
        assertEquals(algorithms, ours);
        Map<String, Long> anchors = defined("ANCHOR_");
        anchors.remove("DEFAULT");
        ours.clear();
        for (Anchor anchor : Anchor.values()) {
            ours.put(anchor.name(), (long) anchor.code);
            assertSame(anchor, Anchor.of(anchor.code));
        }
        assertEquals(anchors, ours);
        Map<String, Long> whenFull = defined("WHEN_FULL_");
        whenFull.remove("DEFAULT");
        ours.clear();
        for (WhenFull each : WhenFull.values()) {
            ours.put(each.name(), (long) each.code);
        }
        assertEquals(whenFull, ours);
    }

    @Test
    void limitsOfNumbersAreThoseOfTheHeader() throws IOException {
        Map<String, Long> all = defined("");
        assertEquals(all.get("MAX_COST"), RateLimiter.MAX_COST);
        assertEquals(all.get("MAX_QUOTAS"), Quota.MAX_QUOTAS);
        assertEquals(all.get("MAX_KEYS"), KeyedRateLimiter.MAX_KEYS);
        assertEquals(all.get("DEFAULT_MAX_KEYS"), KeyedRateLimiter.DEFAULT_MAX_KEYS);
        assertEquals(all.get("MAX_TRACK_DENIED"), KeyedRateLimiter.MAX_TRACK_DENIED);
        assertEquals(all.get("DENIED_KEY_SIZE"), DeniedKey.NAME_SIZE);
        assertEquals(all.get("MAX_WAITERS"), RateLimiter.MAX_WAITERS);
    }

    @ParameterizedTest
    @EnumSource
    void everyStatusIsFoundByItsNumberAndHasAnException(Status status) {
        assertSame(status, Status.of(status.code()));
        assertNotNull(status.failure("text").getMessage());
    }

    @ParameterizedTest
    @CsvSource({
        "DENIED, io.github.tidegate.RefusedException",
        "KEYS_FULL, io.github.tidegate.RefusedException",
        "EXCEEDS_CAPACITY, io.github.tidegate.ExceedsCapacityException",
        "TIMED_OUT, io.github.tidegate.TimedOutException",
        "QUEUE_FULL, io.github.tidegate.QueueFullException",
        "PANIC, io.github.tidegate.InternalException",
    })
    void outcomesThatStopWorkAreTidegatesOwnExceptions(Status status, String exception) {
        TidegateException thrown = assertInstanceOf(TidegateException.class, status.failure("text"));
        assertEquals(exception, thrown.getClass().getName());
        assertEquals(status, thrown.status());
    }

    @ParameterizedTest
    @EnumSource(
            names = {
                "INVALID_OPTION",
                "INVALID_KEY",
                "INVALID_COST",
                "INVALID_DECISION",
                "INVALID_TICKET",
                "INVALID_MEMORY"
            })
    void wrongArgumentsAreIllegalAndTellTheirParts(Status status) {
        String text = "quota: got \"a: got b; allowed: c\nd\"; allowed: LIMIT/UNIT";
        ConfigException mistake = assertInstanceOf(ConfigException.class, status.failure(text));
        assertInstanceOf(IllegalArgumentException.class, mistake);
        assertEquals(text, mistake.getMessage());
        assertEquals("quota", mistake.argument());
        assertEquals("\"a: got b; allowed: c\nd\"", mistake.value());
        assertEquals("LIMIT/UNIT", mistake.allowed());
    }

    @Test
    void mistakesThatAreFoundInJavaTellTheirPartsToo() {
        ConfigException mistake = assertThrows(ConfigException.class, () -> ConcurrencyLimiter.of(-1));
        assertEquals("limit: got -1; allowed: 0 to 2147483647", mistake.getMessage());
        assertEquals("limit", mistake.argument());
        assertEquals("-1", mistake.value());
        assertEquals("0 to 2147483647", mistake.allowed());
        RateLimiter limiter = RateLimiter.of("1/s");
        assertEquals(
                "cost",
                assertThrows(ConfigException.class, () -> limiter.tryAcquire(0)).argument());
    }

    @Test
    void otherMistakesAreWhatJavaCallsThem() {
        assertInstanceOf(ClosedException.class, Status.CLOSED.failure("text"));
        assertInstanceOf(IllegalStateException.class, Status.CLOSED.failure("text"));
        assertInstanceOf(IllegalStateException.class, Status.INVALID_PERMIT.failure("text"));
        assertInstanceOf(IllegalStateException.class, Status.FORKED.failure("text"));
        assertInstanceOf(UnsupportedOperationException.class, Status.UNSUPPORTED.failure("text"));
        assertInstanceOf(CancellationException.class, Status.CANCELLED.failure("text"));
    }

    @Test
    void namesAreTheSameInEveryLanguage() {
        assertEquals("exceeds_capacity", Status.EXCEEDS_CAPACITY.toString());
        assertEquals("fixed_window", Algorithm.FIXED_WINDOW.toString());
        assertEquals("clock", Anchor.CLOCK.toString());
        assertEquals("deny_new", WhenFull.DENY_NEW.toString());
    }
}

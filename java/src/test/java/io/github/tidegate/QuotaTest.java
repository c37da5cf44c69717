package io.github.tidegate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

class QuotaTest {
    @Test
    void aQuotaIsMadeOfItsParts() {
        Quota quota = Quota.of(100, Duration.ofSeconds(1));
        assertEquals(100, quota.limit());
        assertEquals(Duration.ofSeconds(1), quota.period());
        assertEquals(1_000_000_000, quota.periodNanos());
        assertEquals(100, quota.burst());
        assertEquals(Algorithm.GCRA, quota.algorithm());
        assertEquals(Anchor.FIRST, quota.anchor());
        assertEquals(20, quota.withBurst(20).burst());
        Quota window = quota.withAlgorithm(Algorithm.FIXED_WINDOW).withAnchor(Anchor.CLOCK);
        assertEquals(Algorithm.FIXED_WINDOW, window.algorithm());
        assertEquals(Anchor.CLOCK, window.anchor());
        assertEquals(Algorithm.GCRA, quota.algorithm());
        assertEquals(Duration.ofMinutes(1), Quota.perMinute(3).period());
        assertEquals(Duration.ofHours(1), Quota.perHour(3).period());
    }

    @ParameterizedTest
    @EnumSource(names = {"GCRA", "FIXED_WINDOW", "SLIDING_WINDOW", "SLIDING_LOG"})
    void aPeriodIsAtMostTwoYearsAndEachOneThatIsTakenMakesALimiter(Algorithm algorithm) {
        Duration longest = Duration.ofDays(2 * 365);
        Quota quota = Quota.of(5, longest).withAlgorithm(algorithm);
        assertEquals(quota, Quota.parse(quota.toString()));
        assertTrue(RateLimiter.of(quota).tryAcquire(5));
        ConfigException ours = assertThrows(ConfigException.class, () -> Quota.of(5, longest.plusNanos(1)));
        ConfigException theirs = assertThrows(ConfigException.class, () -> Quota.parse("5/63072000000000001ns"));
        assertEquals("period", ours.argument());
        assertEquals(theirs.allowed(), ours.allowed());
    }

    @Test
    void aBurstThatFillsInMoreThanEightYearsIsRefusedWhenALimiterIsBuilt() {
        Quota longest = Quota.of(1, Duration.ofDays(2 * 365));
        assertTrue(RateLimiter.of(longest.withBurst(4)).tryAcquire(4));
        Quota longer = longest.withBurst(5);
        assertEquals(
                "burst",
                assertThrows(ConfigException.class, () -> RateLimiter.of(longer))
                        .argument());
    }

    @ParameterizedTest
    @CsvSource({
        "100 per 1 sec, 100/s",
        "2/3 seconds, 2/3s",
        "100/60s burst 20, 100/min burst 20",
        "3/2s fixed_window anchor clock, 3/2s fixed_window anchor clock",
        "3/2s fixed_window anchor first, 3/2s fixed_window",
        "5/7d sliding_window, 5/w sliding_window",
        "5/36h sliding_log, 5/36h sliding_log",
        "9/1500us, 9/1500us",
        "9/1000000ns gcra, 9/ms",
        "4/s burst 4, 4/s",
        "0/d, 0/d",
    })
    void aTextIsReadAndWrittenInItsCanonicalForm(String text, String canonical) {
        Quota quota = Quota.parse(text);
        assertEquals(canonical, quota.toString());
        assertEquals(quota, Quota.parse(canonical));
    }

    @Test
    void theCanonicalTextOfAnyQuotaIsReadBackAsAnEqualOne() {
        Random random = new Random(20_251_129);
        for (int round = 0; round < 2_000; round++) {
            Quota quota = Quota.of(
                    random.nextLong(1, 1_000),
                    Duration.ofNanos(random.nextLong(1, 1_000_000) * random.nextLong(1, 1_000)));
            if (random.nextBoolean()) {
                quota = quota.withBurst(random.nextLong(1, 1_000));
            } else {
                quota = quota.withAlgorithm(Algorithm.FIXED_WINDOW).withAnchor(Anchor.values()[random.nextInt(2)]);
            }
            assertEquals(quota, Quota.parse(quota.toString()));
        }
    }

    @Test
    void quotasOfTheSamePartsAreEqual() {
        Quota quota = Quota.parse("100/s burst 20");
        assertEquals(quota, Quota.perSecond(100).withBurst(20));
        assertEquals(quota.hashCode(), Quota.perSecond(100).withBurst(20).hashCode());
        assertEquals(Quota.perSecond(100), Quota.perSecond(100).withBurst(100));
        assertEquals(
                Quota.perSecond(100).hashCode(),
                Quota.perSecond(100).withBurst(100).hashCode());
        for (Quota other : List.of(
                Quota.perSecond(99).withBurst(20),
                Quota.perMinute(100).withBurst(20),
                Quota.perSecond(100),
                quota.withAlgorithm(Algorithm.SLIDING_LOG),
                quota.withAnchor(Anchor.CLOCK))) {
            assertNotEquals(quota, other);
        }
        assertNotEquals(quota, "100/s burst 20");
    }

    @Test
    void aListIsReadAsOne() {
        assertEquals(List.of(Quota.perSecond(1), Quota.perHour(5)), Quota.parseList("1/s ; 5 per hour"));
        assertThrows(
                UnsupportedOperationException.class,
                () -> Quota.parseList("1/s").clear());
    }

    @Test
    void aListWhereOneQuotaIsWantedIsNamed() {
        assertEquals(
                "quota: got \"1/s; 2/s\"; allowed: one quota; a list is read by parseList",
                assertThrows(IllegalArgumentException.class, () -> Quota.parse("1/s; 2/s"))
                        .getMessage());
    }

    @Test
    void aTextOfAnyLengthAndAnyCharactersIsShownAndNeverCrashes() {
        for (String text : List.of("\0", "1/s\0", "\uD83D\uDE00", "\uD800", "é/s", "1/s" + "x".repeat(1_000_000))) {
            IllegalArgumentException mistake = assertThrows(IllegalArgumentException.class, () -> Quota.parse(text));
            assertTrue(mistake.getMessage().startsWith("quota: got \""), mistake.getMessage());
        }
        assertTrue(assertThrows(IllegalArgumentException.class, () -> Quota.parse("\uD83D\uDE00"))
                .getMessage()
                .startsWith("quota: got \"\uD83D\uDE00\""));
    }

    @Test
    void missingPartsAreNamed() {
        Quota quota = Quota.perSecond(1);
        assertEquals(
                "period: got null; allowed: 1 ns to 63072000000000000 ns (2 years)",
                assertThrows(NullPointerException.class, () -> Quota.of(1, null))
                        .getMessage());
        assertEquals(
                "algorithm: got null; allowed: an Algorithm",
                assertThrows(NullPointerException.class, () -> quota.withAlgorithm(null))
                        .getMessage());
        assertEquals(
                "anchor: got null; allowed: an Anchor",
                assertThrows(NullPointerException.class, () -> quota.withAnchor(null))
                        .getMessage());
    }
}

package io.github.tidegate.moving;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.util.concurrent.RateLimiter;
import io.github.tidegate.ExceedsCapacityException;
import io.github.tidegate.Quota;
import io.github.tidegate.TimedOutException;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

class GuavaTest extends PageTest {
    /** Guava's interval of five a second. */
    private static final Duration INTERVAL = Duration.ofMillis(200);

    GuavaTest() throws Exception {
        super("guava");
    }

    /** Stands for our class of the same name, on the clock of the tests. */
    private static final class Ours {
        private static final class RateLimiter {
            static io.github.tidegate.RateLimiter of(String quota) {
                return io.github.tidegate.RateLimiter.builder(quota)
                        .clock(Time.OURS)
                        .build();
            }
        }
    }

    @Test
    @Row("`RateLimiter.create(5)`")
    void fiveASecondSaveUpFiveAndGiveOneOnCredit() {
        RateLimiter guava = RateLimiter.create(5);
        io.github.tidegate.RateLimiter limiter = Ours.RateLimiter.of("5/s burst 6");
        assertEquals(1, admitted(10, guava::tryAcquire));
        assertEquals(6, admitted(10, limiter::tryAcquire));
        Time.advance(Duration.ofSeconds(2));
        assertAdmitTheSame(INTERVAL.dividedBy(8), guava::tryAcquire, limiter::tryAcquire);
        Time.advance(Duration.ofSeconds(2));
        assertEquals(6, admitted(10, guava::tryAcquire));
        assertEquals(6, admitted(10, limiter::tryAcquire));
    }

    @Test
    @Row("`RateLimiter.create(0.5)`")
    void halfAPermitIsSavedUpThereAndNoneHere() {
        RateLimiter guava = RateLimiter.create(0.5);
        io.github.tidegate.RateLimiter limiter = Ours.RateLimiter.of("1/2s burst 1");
        Time.advance(Duration.ofSeconds(10));
        assertEquals(1, admitted(2, guava::tryAcquire));
        assertEquals(1, admitted(2, limiter::tryAcquire));
        Time.advance(Duration.ofSeconds(1));
        assertEquals(1, admitted(2, guava::tryAcquire));
        assertEquals(0, admitted(2, limiter::tryAcquire));
        Time.advance(Duration.ofSeconds(1));
        assertEquals(1, admitted(2, limiter::tryAcquire));
    }

    @Test
    @Row("`RateLimiter.create(10, Duration.ofSeconds(2))`")
    void whatIsColdBeginsSlowlyThere() {
        RateLimiter guava = RateLimiter.create(10, Duration.ofSeconds(2));
        assertTrue(guava.tryAcquire());
        Time.advance(Duration.ofMillis(100));
        assertFalse(guava.tryAcquire(), "three times the interval, while it is cold");
        Time.advance(Duration.ofMillis(200));
        assertTrue(guava.tryAcquire());
    }

    @Test
    @Row("`guava.setRate(10)`")
    void whatIsSpentStaysSpentWhenTheRateChanges() {
        RateLimiter guava = RateLimiter.create(5);
        io.github.tidegate.RateLimiter limiter = Ours.RateLimiter.of("5/s burst 6");
        Time.advance(Duration.ofSeconds(2));
        assertEquals(6, admitted(10, guava::tryAcquire));
        assertEquals(6, admitted(10, limiter::tryAcquire));
        guava.setRate(10);
        limiter.reconfigure("10/s burst 11");
        Time.advance(Duration.ofSeconds(3));
        assertAdmitTheSame(INTERVAL.dividedBy(16), guava::tryAcquire, limiter::tryAcquire);
    }

    @Test
    @Row("`guava.getRate()`")
    void theRateIsANumberThereAndQuotasHere() {
        RateLimiter guava = RateLimiter.create(5);
        io.github.tidegate.RateLimiter limiter = Ours.RateLimiter.of("5/s burst 6");
        assertEquals(5.0, guava.getRate());
        assertEquals(List.of(Quota.parse("5/s burst 6")), limiter.quotas());
    }

    @Test
    @Row("`guava.tryAcquire()`")
    void oneIsAdmittedAsOne() {
        RateLimiter guava = RateLimiter.create(1_000);
        io.github.tidegate.RateLimiter limiter = Ours.RateLimiter.of("1000/s burst 1001");
        Time.advance(Duration.ofSeconds(2));
        while (guava.tryAcquire() & limiter.tryAcquire()) {
            // Until one of them is empty, which both must be.
        }
        assertFalse(guava.tryAcquire() | limiter.tryAcquire());
        assertAdmitTheSame(Duration.ofMillis(1).dividedBy(8), () -> guava.tryAcquire(), () -> limiter.tryAcquire());
    }

    @Test
    @Row("`guava.tryAcquire(3)`")
    void threeAreOnCreditThereAndMustBeThereHere() {
        RateLimiter guava = RateLimiter.create(5);
        io.github.tidegate.RateLimiter limiter = Ours.RateLimiter.of("5/s burst 6");
        Time.advance(Duration.ofSeconds(2));
        admitted(6, guava::tryAcquire);
        admitted(6, limiter::tryAcquire);
        Time.advance(INTERVAL);
        assertTrue(guava.tryAcquire(3));
        assertFalse(limiter.tryAcquire(3));
        Time.advance(INTERVAL.multipliedBy(2));
        assertFalse(guava.tryAcquire());
        assertTrue(limiter.tryAcquire(3));
        assertFalse(limiter.tryAcquire(7), "above the burst");
    }

    @Test
    @Row("`guava.tryAcquire(Duration.ofMillis(250))`")
    void bothRefuseAtOnceWhatTakesTooLong() throws InterruptedException {
        RateLimiter guava = RateLimiter.create(1);
        io.github.tidegate.RateLimiter limiter = Ours.RateLimiter.of("1/s burst 1");
        assertTrue(guava.tryAcquire(Duration.ofMillis(250)));
        limiter.acquire(Duration.ofMillis(250));
        assertFalse(guava.tryAcquire(Duration.ofMillis(250)));
        assertThrows(TimedOutException.class, () -> limiter.acquire(Duration.ofMillis(250)));
        Time.advance(Duration.ofMillis(750));
        // The clock of the tests stands still, so this would last for ever here: see the delay.
        assertEquals(
                Duration.ofMillis(250),
                limiter.reserve(1, Duration.ofMillis(250)).delay());
        assertTrue(guava.tryAcquire(Duration.ofMillis(250)));
    }

    @Test
    @Row("`guava.acquire()`")
    void aThreadThatWaitsCanBeInterruptedHereAlone() throws InterruptedException {
        RateLimiter guava = RateLimiter.create(100);
        io.github.tidegate.RateLimiter limiter = Ours.RateLimiter.of("100/s burst 1");
        assertEquals(0, guava.acquire());
        limiter.acquire();
        Thread.currentThread().interrupt();
        assertEquals(0.01, guava.acquire(), 1e-6);
        assertTrue(Thread.currentThread().isInterrupted());
        assertThrows(InterruptedException.class, () -> limiter.acquire());
    }

    @Test
    @Row("`guava.acquire(3)`")
    void threeGoAtOnceThereAndWaitForTheirOwnHere() throws InterruptedException {
        RateLimiter guava = RateLimiter.create(5);
        io.github.tidegate.RateLimiter limiter = Ours.RateLimiter.of("5/s burst 3");
        assertEquals(0, guava.acquire(3));
        assertFalse(guava.tryAcquire(INTERVAL.multipliedBy(3).minusMillis(1)));
        limiter.acquire(3);
        assertEquals(0, limiter.peek().remaining());
        assertThrows(
                TimedOutException.class,
                () -> limiter.acquire(3, INTERVAL.multipliedBy(3).minusMillis(1)));
        assertThrows(ExceedsCapacityException.class, () -> limiter.acquire(4));
        assertEquals(INTERVAL.multipliedBy(3), limiter.reserve(3).delay());
    }
}

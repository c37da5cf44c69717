package io.github.tidegate;

import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.concurrent.CancellationException;

/**
 * What became of a call: the outcomes, from {@link #ALLOWED} on, and the mistakes, from {@link #NULL_POINTER} on. The same
 * names and numbers as in the C header and in every other language.
 */
public enum Status {
    /** Go ahead; the tokens or permits are taken. */
    ALLOWED(0),
    /** Not now; nothing was taken. */
    DENIED(1),
    /** Never: more was asked for than the limiter can ever hold. */
    EXCEEDS_CAPACITY(2),
    /** The wait outlasted, or would have outlasted, its timeout. */
    TIMED_OUT(3),
    /** The limiter is closed. */
    CLOSED(4),
    /** As many callers wait as may. */
    QUEUE_FULL(5),
    /** No slot is free for a new key. */
    KEYS_FULL(6),
    /** The wait was cancelled. */
    CANCELLED(7),
    /** The wait goes on. */
    PENDING(8),
    /** It is too late to cancel: the wait is over. */
    TOO_LATE(9),
    /** The wait may be due sooner than was said. */
    POLL_AGAIN(10),
    /** No rule of the gate applies: go ahead. */
    NO_RULE(11),
    /** A required pointer is missing. */
    NULL_POINTER(-1),
    /** A structure's size is not one that the library knows. */
    STRUCT_SIZE(-2),
    /** An option or setting is outside of what is allowed. */
    INVALID_OPTION(-3),
    /** A key is not acceptable. */
    INVALID_KEY(-4),
    /** A cost or number of permits is outside 1 to 2⁵³−1. */
    INVALID_COST(-5),
    /** A permit is spent, or of another limiter. */
    INVALID_PERMIT(-6),
    /** A decision granted nothing, is spent, or is of another limiter or key. */
    INVALID_DECISION(-7),
    /** A ticket is stale, or of another limiter. */
    INVALID_TICKET(-8),
    /** A pointer is not aligned, or there is no memory for as much as was asked for. */
    INVALID_MEMORY(-9),
    /** This object cannot do that. */
    UNSUPPORTED(-10),
    /** The object belongs to the parent process. */
    FORKED(-11),
    /** A fault inside the library, caught at its border. */
    PANIC(-12);

    /** How many bytes of a native call's error text are kept, its end included. */
    static final int ERROR_SIZE = 4096;

    /** All statuses, at {@code code - LOWEST}. */
    private static final Status[] BY_CODE;

    private static final int LOWEST = -12;

    static {
        BY_CODE = new Status[values().length];
        for (Status status : values()) {
            BY_CODE[status.code - LOWEST] = status;
        }
    }

    private final int code;

    Status(int code) {
        this.code = code;
    }

    /**
     * The status's number, the same in every language and pinned for ever: zero and above for outcomes, below for mistakes.
     */
    public int code() {
        return code;
    }

    static Status of(int code) {
        return BY_CODE[code - LOWEST];
    }

    /** Throws what a native call failed with; does nothing if it didn't. */
    static void check(int code) {
        check(code, new byte[0]);
    }

    /**
     * Throws what a native call failed with; does nothing if it didn't.
     *
     * @param error where the call wrote its error text: UTF-8, closed by a zero
     */
    static void check(int code, byte[] error) {
        if (code != ALLOWED.code) {
            int length = 0;
            while (length < error.length && error[length] != 0) {
                length++;
            }
            throw of(code).failure(new String(error, 0, length, StandardCharsets.UTF_8));
        }
    }

    /**
     * Whether a limiter that was asked said yes.
     *
     * @param argument what the call was about, for the text of the exception: its name and the value that was given
     * @throws RuntimeException if the status is no answer but a mistake
     */
    boolean admits(String argument, long value) {
        return switch (this) {
            case ALLOWED -> true;
            case DENIED, EXCEEDS_CAPACITY, KEYS_FULL -> false;
            case CLOSED -> throw ClosedException.ofCall();
            case TIMED_OUT,
                    QUEUE_FULL,
                    CANCELLED,
                    PENDING,
                    TOO_LATE,
                    POLL_AGAIN,
                    NO_RULE,
                    NULL_POINTER,
                    STRUCT_SIZE,
                    INVALID_OPTION,
                    INVALID_KEY,
                    INVALID_COST,
                    INVALID_PERMIT,
                    INVALID_DECISION,
                    INVALID_TICKET,
                    INVALID_MEMORY,
                    UNSUPPORTED,
                    FORKED,
                    PANIC -> throw failure(Mistake.text(argument, value, "1 to " + RateLimiter.MAX_COST));
        };
    }

    /**
     * The exception that this status is thrown as.
     *
     * @param text what to say, where the status alone doesn't say it all
     */
    RuntimeException failure(String text) {
        return switch (this) {
            case DENIED, KEYS_FULL -> new RefusedException(text, this, null);
            case EXCEEDS_CAPACITY -> new ExceedsCapacityException(text, (Refusal) null);
            case TIMED_OUT -> new TimedOutException(text, null);
            case CLOSED -> new ClosedException(text, null);
            case QUEUE_FULL -> new QueueFullException(text, null);
            case CANCELLED -> new CancellationException(text);
            case INVALID_OPTION, INVALID_KEY, INVALID_COST, INVALID_DECISION, INVALID_TICKET, INVALID_MEMORY ->
                ConfigException.read(text);
            case INVALID_PERMIT, FORKED -> new IllegalStateException(text);
            case UNSUPPORTED -> new UnsupportedOperationException(text);
            case ALLOWED, PENDING, TOO_LATE, POLL_AGAIN, NO_RULE, NULL_POINTER, STRUCT_SIZE, PANIC ->
                new InternalException(
                        "a fault inside the native library: " + this + (text.isEmpty() ? "" : ": " + text));
        };
    }

    /** The status's name, the same in every language: {@code exceeds_capacity}. */
    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT);
    }
}

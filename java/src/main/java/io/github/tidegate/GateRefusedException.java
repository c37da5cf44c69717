package io.github.tidegate;

import java.nio.charset.StandardCharsets;

/** A {@link Gate} refused a request. Nothing was taken. The message names the rule, and what stops the request. */
public final class GateRefusedException extends RefusedException {
    private static final long serialVersionUID = 1;

    /** The flags of the C header. */
    private static final long KEYED = 1;

    private static final long OF_QUOTA = 2;
    private static final long UNKNOWN_NANOS = -2;

    private static final int FIGURES = 11;
    private static final int TEXTS = 8;

    private final GateRefusal why;
    /** Not kept when the exception is serialized. */
    private final transient RateLimitHeaders headers;

    private final String problemJson;

    private GateRefusedException(GateRefusal why, RateLimitHeaders headers, String problemJson) {
        super(why.message(), why.status(), null);
        this.why = why;
        this.headers = headers;
        this.problemJson = problemJson;
    }

    /** Takes a refusal over from the native library. */
    static GateRefusedException take(long address) {
        long[] figures = new long[FIGURES];
        byte[][] bytes = new byte[TEXTS][];
        take0(address, figures, bytes);
        String[] texts = new String[TEXTS];
        for (int i = 0; i < TEXTS; i++) {
            texts[i] = new String(bytes[i], StandardCharsets.UTF_8);
        }
        GateRefusal why = new GateRefusal(
                texts[0],
                (figures[1] & KEYED) == 0 ? null : texts[1],
                Status.of((int) figures[0]),
                figures[2],
                figures[3],
                (figures[1] & OF_QUOTA) == 0 ? null : texts[2],
                (int) figures[4],
                (int) figures[5],
                figures[6] == UNKNOWN_NANOS ? null : Nanos.duration(figures[6]),
                figures[7],
                figures[8],
                Nanos.duration(figures[9]),
                Nanos.duration(figures[10]),
                texts[3]);
        return new GateRefusedException(why, new RateLimitHeaders(texts[4], texts[5], texts[6]), texts[7]);
    }

    /** The rule, and how it stood. */
    public GateRefusal why() {
        return why;
    }

    /** The name of the rule that refused. */
    public String rule() {
        return why.rule();
    }

    /** The headers of an HTTP response, whose status is 429. */
    public RateLimitHeaders headers() {
        return headers == null ? new RateLimitHeaders("", "", "") : headers;
    }

    /** The body of an HTTP response, of the media type {@code application/problem+json}. */
    public String problemJson() {
        return problemJson;
    }

    private static native void take0(long address, long[] figures, byte[][] texts);
}

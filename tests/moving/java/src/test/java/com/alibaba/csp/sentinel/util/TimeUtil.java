package com.alibaba.csp.sentinel.util;

import io.github.tidegate.moving.Time;

/** Sentinel's clock, which stands before Sentinel's own on the class path and goes as the tests say. */
public final class TimeUtil {
    private TimeUtil() {}

    public static long currentTimeMillis() {
        return Time.nanos() / 1_000_000;
    }
}

package com.google.common.base;

import io.github.tidegate.moving.Time;

/** Guava's clock, which stands before Guava's own on the class path and goes as the tests say. */
public abstract class Ticker {
    protected Ticker() {}

    public abstract long read();

    public static Ticker systemTicker() {
        return new Ticker() {
            @Override
            public long read() {
                return Time.nanos();
            }
        };
    }
}

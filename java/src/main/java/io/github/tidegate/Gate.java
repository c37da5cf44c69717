package io.github.tidegate;

import java.lang.ref.Reference;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * Admits requests by named rules. All rules that match a request must admit it; if one refuses, nothing is taken.
 *
 * <pre>{@code
 * Gate gate = Gate.open(Path.of("rules.toml"));
 * try (Entry entry = gate.enter(Attributes.of("path", "/search", "client", "203.0.113.7"))) {
 *     // the work
 * } catch (GateRefusedException refused) {
 *     System.out.println("429: " + refused.getMessage());
 * }
 * }</pre>
 *
 * <p>Every call may come from any thread at once. The rules can be replaced meanwhile: a rule that keeps its name keeps what is used.
 *
 * <p>A gate need not be closed: a {@link java.lang.ref.Cleaner} frees its memory once it isn't referred to. Entries are to be released.
 */
public final class Gate extends GateWaiting {
    /** How many bytes of faults are kept: a line each. */
    private static final int FAULTS_SIZE = 1 << 16;

    /** As a format: the text names a file. */
    private static final int OF_FILE = 0;

    static {
        NativeLibrary.require();
        requireClasses();
    }

    /** Who listens; null if nobody does. */
    private volatile GateListener listener;

    private Gate(byte[] text, int format, Clock clock) {
        super(create(text, format, clock), clock);
        long address = this.address;
        NativeLibrary.CLEANER.register(this, () -> free0(address));
    }

    private static long create(byte[] text, int format, Clock clock) {
        long[] created = new long[1];
        byte[] error = new byte[FAULTS_SIZE];
        try {
            check(create0(text, format, clock == null ? 0 : clock.address, created, error), error);
        } finally {
            Reference.reachabilityFence(clock);
        }
        return created[0];
    }

    /**
     * A gate with the rules of a text.
     *
     * @throws RulesException if anything is wrong with them
     */
    public static Gate of(String rules, Format format) {
        return builder().rules(rules, format).build();
    }

    /**
     * A gate with these rules.
     *
     * @throws RulesException if anything is wrong with them
     */
    public static Gate of(Rule... rules) {
        return builder().rules(rules).build();
    }

    /**
     * A gate with the rules of a file, whose name ends in {@code .toml}, {@code .json}, {@code .yaml} or {@code .yml}.
     *
     * @throws RulesException if anything is wrong with them, or they can't be read
     */
    public static Gate open(Path file) {
        return builder().file(file).build();
    }

    /** Begins a gate with options. */
    public static Builder builder() {
        return new Builder();
    }

    /**
     * Replaces the rules by those of a text. Requests don't wait for that.
     *
     * @return what that did
     * @throws RulesException if anything is wrong with them; nothing changes then
     */
    public Reloaded reload(String rules, Format format) {
        return reload(bytes("rules", rules), Mistake.nonNull("format", format, "one of Format").code);
    }

    /** {@link #reload(String, Format)} of rules in code. */
    public Reloaded reload(Rule... rules) {
        try {
            return reload(Rule.json(rules), Format.JSON);
        } catch (RulesException wrong) {
            throw wrong.withoutLines();
        }
    }

    /**
     * Replaces the rules by those of a file, as {@link #open} reads it.
     *
     * @return what that did
     * @throws RulesException if anything is wrong with them, or they can't be read; nothing changes then
     */
    public Reloaded reload(Path file) {
        return reload(pathBytes(file), OF_FILE);
    }

    private Reloaded reload(byte[] text, int format) {
        byte[][] reloaded = new byte[1][];
        byte[] error = new byte[FAULTS_SIZE];
        check(Waits.after(reload0(address, text, format, reloaded, error)), error);
        return Reloaded.of(Json.parse(reloaded[0]));
    }

    /**
     * Replaces the rules by those of a file, as {@link #reload(Path)} does, and again whenever it changes: in place, by a rename, or when a
     * link to it leads elsewhere, as those of Kubernetes do. What is wrong later is told to {@link #listen}, and the rules stay.
     *
     * @return closes to end that
     * @throws RulesException if anything is wrong with the file now; it isn't watched then
     */
    public Watch watch(Path file) {
        Path path = Mistake.nonNull("file", file, "a path").toAbsolutePath();
        byte[] last = WatchedFile.read(path);
        reload(path);
        return new WatchedFile(this, path, last).start("tidegate file");
    }

    /**
     * Asks for rules now, on a thread of its own, and then time and again, {@code every} so often, 10 % sooner or later by chance. What is
     * wrong, also a failure of {@code source}, is told to {@link #listen}, and the rules stay.
     *
     * @param source a text, or null if the rules are as they were
     * @return closes to end that
     * @throws ConfigException if {@code every} is not more than zero
     */
    public Watch pull(Supplier<String> source, Format format, Duration every) {
        Mistake.nonNull("source", source, "a Supplier");
        Mistake.nonNull("format", format, "one of Format");
        long nanos = Nanos.unsigned("every", every);
        if (nanos == 0) {
            throw Mistake.of("every", every, "more than zero");
        }
        return new PulledRules(this, source, format, nanos < 0 ? Long.MAX_VALUE / 2 : nanos).start("tidegate pull");
    }

    /** The rules in use, as they were written, in JSON. */
    public String rules() {
        byte[][] text = new byte[1][];
        Status.check(Waits.after(rules0(address, text)));
        return new String(text[0], StandardCharsets.UTF_8);
    }

    /** What the gate has done since it was made, and each of its rules. */
    public GateStats stats() {
        byte[][] text = new byte[1][];
        Status.check(Waits.after(stats0(address, text)));
        return GateStats.of(Json.parse(text[0]));
    }

    /** {@link #explain(Attributes, long)} with a cost of 1. */
    public String explain(Attributes request) {
        return explain(request, 1);
    }

    /**
     * What each rule says to a request, and why, in JSON; spends nothing.
     *
     * @param cost 1 to {@link RateLimiter#MAX_COST}
     * @throws ConfigException if the cost is outside of that
     */
    public String explain(Attributes request, long cost) {
        byte[][] text = new byte[1][];
        int code = Waits.after(explain0(address, packed(request), cost, text));
        if (code != Status.ALLOWED.code()) {
            throw failure(Status.of(code), cost);
        }
        return new String(text[0], StandardCharsets.UTF_8);
    }

    /**
     * Calls a listener with what the gate refuses, and its reloads, on a thread of its own. One listens to a gate at a time: the last
     * one. There is room for 1,024 events; those that find none are dropped, and counted. If the listener fails that is logged, and the
     * next event comes all the same.
     *
     * @return closes to end that
     */
    public Watch listen(Consumer<? super GateEvent> listener) {
        Mistake.nonNull("listener", listener, "a Consumer");
        long[] events = new long[1];
        Status.check(listen0(address, events));
        GateListener started = GateListener.start(events[0], listener);
        this.listener = started;
        return started;
    }

    /** Tells whoever listens of something that the native library doesn't know. */
    void tell(GateEvent event) {
        GateListener told = listener;
        if (told != null) {
            told.tell(event);
        }
    }

    private static void check(int code, byte[] error) {
        if (code == Status.INVALID_OPTION.code()) {
            try {
                Status.check(code, error);
            } catch (ConfigException wrong) {
                throw new RulesException(wrong.getMessage());
            }
        }
        Status.check(code, error);
    }

    private static byte[] bytes(String argument, String text) {
        return Mistake.nonNull(argument, text, "a text").getBytes(StandardCharsets.UTF_8);
    }

    private static byte[] pathBytes(Path file) {
        return bytes(
                "file", Mistake.nonNull("file", file, "a path").toAbsolutePath().toString());
    }

    /** How many requests the gate has admitted and refused, for people. */
    @Override
    public String toString() {
        GateStats stats = stats();
        return "Gate(" + stats.rules().size() + " rules, " + stats.admitted() + " admitted, " + stats.refused()
                + " refused)";
    }

    /** A gate in the making. It has no rules unless they are given. */
    public static final class Builder {
        private byte[] text = "{\"rules\":[]}".getBytes(StandardCharsets.UTF_8);
        private int format = Format.JSON.code;
        private boolean isInCode;
        private Clock clock;

        private Builder() {}

        /** The rules of a text. */
        public Builder rules(String rules, Format format) {
            text = bytes("rules", rules);
            this.format = Mistake.nonNull("format", format, "one of Format").code;
            isInCode = false;
            return this;
        }

        /** Rules in code. */
        public Builder rules(Rule... rules) {
            rules(Rule.json(rules), Format.JSON);
            isInCode = true;
            return this;
        }

        /** The rules of a file, whose name ends in {@code .toml}, {@code .json}, {@code .yaml} or {@code .yml}. */
        public Builder file(Path file) {
            text = pathBytes(file);
            format = OF_FILE;
            isInCode = false;
            return this;
        }

        /** The clock; {@link Clock#monotonic()} by default. */
        public Builder clock(Clock clock) {
            this.clock = Mistake.nonNull("clock", clock, "a Clock");
            return this;
        }

        /**
         * The gate.
         *
         * @throws RulesException if anything is wrong with the rules, or they can't be read
         */
        public Gate build() {
            try {
                return new Gate(text, format, clock);
            } catch (RulesException wrong) {
                throw isInCode ? wrong.withoutLines() : wrong;
            }
        }
    }

    private static native int create0(byte[] text, int format, long clock, long[] created, byte[] error);

    private static native void free0(long address);

    // Instance methods, all that follow: the receiver is reachable while one runs, so that nothing frees the gate then.

    private native int reload0(long address, byte[] text, int format, byte[][] reloaded, byte[] error);

    private native int rules0(long address, byte[][] text);

    private native int stats0(long address, byte[][] text);

    private native int explain0(long address, byte[] attributes, long cost, byte[][] text);

    private native int listen0(long address, long[] events);
}

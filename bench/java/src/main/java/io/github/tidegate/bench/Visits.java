package io.github.tidegate.bench;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;

/**
 * Keys of calls to come, by clients in a pseudo-random order (a linear congruential generator), the same for all subjects.
 *
 * <p>Each is a new text, as a service has just read it: so it is at hand, and nobody has its hash yet. They are made before
 * their calls are timed: few at once, so that they are at hand, and enough that the time between can be told.
 */
@State(Scope.Benchmark)
public class Visits {
    static final int AT_ONCE = 250;

    /** How many clients there are, each with its address and port. */
    @Param("1000")
    public int clients;

    /** Whether some come more often than others: the n-th as often as one n-th of the first. */
    @Param("false")
    public boolean zipf;

    final String[] next = new String[AT_ONCE];
    private byte[][] addresses;
    /** How often the n-th client or one before it comes, of all visits; null if all come as often. */
    private double[] share;

    private long state = 12_345;

    @Setup(Level.Trial)
    public void know() {
        addresses = new byte[clients][];
        for (int number = 0; number < clients; number++) {
            String address = "203.0." + number / 256 % 256 + "." + number % 256 + ":" + number;
            addresses[number] = address.getBytes(StandardCharsets.ISO_8859_1);
        }
        if (zipf) {
            share = new double[clients];
            double sum = 0;
            for (int number = 0; number < clients; number++) {
                share[number] = sum += 1.0 / (number + 1);
            }
            for (int number = 0; number < clients; number++) {
                share[number] /= sum;
            }
        }
    }

    @Setup(Level.Invocation)
    public void come() {
        for (int index = 0; index < next.length; index++) {
            state = state * 6_364_136_223_846_793_005L + 1_442_695_040_888_963_407L;
            long random = state >>> 32;
            next[index] = text(zipf ? ranked(random * 0x1p-32) : (int) (random * clients >>> 32));
        }
    }

    private int ranked(double drawn) {
        int at = Arrays.binarySearch(share, drawn);
        return at < 0 ? Math.min(-at - 1, clients - 1) : at;
    }

    /** The key of a client. */
    String text(int number) {
        return new String(addresses[number], StandardCharsets.ISO_8859_1);
    }
}

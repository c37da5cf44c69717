package io.github.tidegate.bench;

import java.nio.charset.StandardCharsets;

/**
 * Keys of calls to come, by clients in a pseudo-random order (a linear congruential generator), the same for all subjects.
 *
 * <p>Each is a new text, as a service has just read it: so it is at hand, and nobody has its hash yet.
 */
final class Visits {
    private final byte[][] addresses;
    private final String[] next = new String[Rounds.KEYS_AT_ONCE];
    private long state = 12_345;

    /** Visits of so many clients, each by its address with a port. */
    Visits(int clients) {
        addresses = new byte[clients][];
        for (int number = 0; number < clients; number++) {
            String address = "203.0." + number / 256 % 256 + "." + number % 256 + ":" + number;
            addresses[number] = address.getBytes(StandardCharsets.ISO_8859_1);
        }
    }

    /** The keys of the next calls, {@link Rounds#KEYS_AT_ONCE} of them. */
    String[] next() {
        return next;
    }

    void prepare() {
        for (int index = 0; index < next.length; index++) {
            state = state * 6_364_136_223_846_793_005L + 1_442_695_040_888_963_407L;
            next[index] = text((int) ((state >>> 32) * addresses.length >>> 32));
        }
    }

    /** Every client, in order. */
    String[] all() {
        String[] all = new String[addresses.length];
        for (int number = 0; number < all.length; number++) {
            all[number] = text(number);
        }
        return all;
    }

    private String text(int number) {
        return new String(addresses[number], StandardCharsets.ISO_8859_1);
    }
}

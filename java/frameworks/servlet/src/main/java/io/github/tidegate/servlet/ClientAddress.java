package io.github.tidegate.servlet;

import io.github.tidegate.ConfigException;
import io.github.tidegate.Keys;

/** Who asks, as budgets are kept by: an address; of IPv6 its /64, since whoever has one address of it has them all. */
final class ClientAddress {
    private static final int IPV6_BYTES = 16;
    private static final int NETWORK_BYTES = 8;

    private ClientAddress() {}

    /**
     * The peer; or, by the header {@code X-Forwarded-For}, whoever asked the outermost trusted proxy. Only what trusted proxies added
     * counts: so many entries from the right, or all if there are fewer.
     *
     * @param forwarded the header's value; null if there is none
     */
    static String of(String peer, String forwarded, int trustedHops) {
        String client = peer;
        if (trustedHops > 0 && forwarded != null) {
            String[] entries = forwarded.split(",", -1);
            String address = address(entries[Math.max(0, entries.length - trustedHops)]);
            client = address == null ? peer : address;
        }
        return client == null ? "" : shortened(client);
    }

    /** The address in an entry of the header, which may have a port; null if there is none. */
    private static String address(String entry) {
        String address = entry.strip();
        if (address.startsWith("[")) {
            int end = address.indexOf(']');
            address = end < 0 ? address.substring(1) : address.substring(1, end);
        } else if (address.indexOf(':') >= 0 && address.indexOf(':') == address.lastIndexOf(':')) {
            address = address.substring(0, address.indexOf(':'));
        }
        return key(address) == null ? null : address;
    }

    private static String shortened(String address) {
        if (address.indexOf(':') < 0) {
            return address;
        }
        int zone = address.indexOf('%');
        byte[] key = key(zone < 0 ? address : address.substring(0, zone));
        if (key == null) {
            return address;
        }
        if (key.length != IPV6_BYTES) {
            return (key[0] & 0xFF) + "." + (key[1] & 0xFF) + "." + (key[2] & 0xFF) + "." + (key[3] & 0xFF);
        }
        int last = NETWORK_BYTES;
        while (last > 0 && key[last - 1] == 0 && key[last - 2] == 0) {
            last -= 2;
        }
        StringBuilder text = new StringBuilder();
        for (int at = 0; at < last; at += 2) {
            text.append(at == 0 ? "" : ":").append(Integer.toHexString((key[at] & 0xFF) << 8 | key[at + 1] & 0xFF));
        }
        return text.append("::/64").toString();
    }

    /** The bytes that count; null if it isn't an address. */
    private static byte[] key(String address) {
        try {
            return Keys.ip(address);
        } catch (ConfigException none) {
            return null;
        }
    }
}

package io.github.tidegate.servlet;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

class ClientAddressTest {
    @Test
    void thePeerCountsWithoutTrustedProxies() {
        assertEquals("192.0.2.1", ClientAddress.of("192.0.2.1", "1.1.1.1", 0));
        assertEquals("", ClientAddress.of(null, null, 0));
        assertEquals("unix", ClientAddress.of("unix", null, 0));
    }

    @Test
    void soManyEntriesCountFromTheRightAsThereAreTrustedProxies() {
        String forwarded = "6.6.6.6, 1.1.1.1,2.2.2.2 , 3.3.3.3:80";
        assertEquals("3.3.3.3", ClientAddress.of("9.9.9.9", forwarded, 1));
        assertEquals("2.2.2.2", ClientAddress.of("9.9.9.9", forwarded, 2));
        assertEquals("6.6.6.6", ClientAddress.of("9.9.9.9", forwarded, 9));
        assertEquals("9.9.9.9", ClientAddress.of("9.9.9.9", "unknown", 1));
        assertEquals("9.9.9.9", ClientAddress.of("9.9.9.9", "1.1.1.1,", 1));
        assertEquals("9.9.9.9", ClientAddress.of("9.9.9.9", null, 1));
    }

    @Test
    void anIpv6AddressCountsByItsNetwork() {
        assertEquals("2001:db8:1:2::/64", ClientAddress.of("2001:db8:1:2:3:4:5:6", null, 0));
        assertEquals("2001:db8::/64", ClientAddress.of("2001:db8::6", null, 0));
        assertEquals("2001:0:0:5::/64", ClientAddress.of("2001:0:0:5::", null, 0));
        assertEquals("::/64", ClientAddress.of("::1", null, 0));
        assertEquals("fe80::/64", ClientAddress.of("fe80::1%eth0", null, 0));
        assertEquals("192.0.2.1", ClientAddress.of("::ffff:192.0.2.1", null, 0));
    }
}

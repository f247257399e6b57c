package io.distverify.lab.connect;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.header.ConnectHeaders;
import org.junit.jupiter.api.Test;

class CopyFlagsTest {
    private static ConnectHeaders headers(byte... flags) {
        ConnectHeaders headers = new ConnectHeaders();
        headers.add("mine", new byte[] {7}, Schema.OPTIONAL_BYTES_SCHEMA);
        headers.add(CopyFlags.HEADER, flags, Schema.OPTIONAL_BYTES_SCHEMA);
        return headers;
    }

    @Test
    void aFreshRecordIsCopied() {
        assertFalse(CopyFlags.of(new ConnectHeaders()).stops(1));
        assertFalse(CopyFlags.of(headers((byte) 0, (byte) 0, (byte) 0, (byte) 0)).stops(1));
    }

    @Test
    void ownLevelAndLowerOnesStopIt() {
        assertTrue(new CopyFlags(0b010).stops(1));
        assertTrue(new CopyFlags(0b010).stops(2));
        assertFalse(new CopyFlags(0b100).stops(1));
    }

    @Test
    void theBitIsAddedAndOtherHeadersStay() {
        var copy = CopyFlags.of(headers((byte) 0, (byte) 0, (byte) 0, (byte) 4)).with(1).applyTo(headers());
        assertEquals(2, copy.size());
        assertEquals("mine", copy.get(0).key());
        assertArrayEquals(new byte[] {0, 0, 0, 6}, copy.get(1).value());
    }

    @Test
    void whatIsNoMaskIsNone() {
        assertEquals(0, CopyFlags.of(headers((byte) 2)).bits());
    }
}

// Stands in for the copy flags of the Axual Distributor: one header, four bytes big endian, one bit per level. Leaves out other headers of its kind.
package io.distverify.lab.connect;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.connect.header.Header;
import org.apache.kafka.connect.header.Headers;

/** Which levels a record has been copied by. */
record CopyFlags(int bits) {
    static final String HEADER = "Axual-Copy-Flags";

    static CopyFlags of(Headers headers) {
        Header header = headers.lastWithName(HEADER);
        if (header != null && header.value() instanceof byte[] bytes && bytes.length == Integer.BYTES) {
            return new CopyFlags(ByteBuffer.wrap(bytes).getInt());
        }
        return new CopyFlags(0);
    }

    /** A Distributor of a level copies nothing that a Distributor of that level or a lower one has copied. */
    boolean stops(int level) {
        return (bits & ((1 << level + 1) - 1)) != 0;
    }

    CopyFlags with(int level) {
        return new CopyFlags(bits | 1 << level);
    }

    /** The record's headers in their order, with these flags in place of its own. */
    List<org.apache.kafka.common.header.Header> applyTo(Headers headers) {
        List<org.apache.kafka.common.header.Header> result = new ArrayList<>();
        for (Header header : headers) {
            if (!header.key().equals(HEADER)) {
                result.add(new RecordHeader(header.key(), (byte[]) header.value()));
            }
        }
        result.add(new RecordHeader(HEADER, ByteBuffer.allocate(Integer.BYTES).putInt(bits).array()));
        return result;
    }
}

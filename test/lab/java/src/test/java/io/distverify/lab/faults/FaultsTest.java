package io.distverify.lab.faults;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class FaultsTest {
    @TempDir
    Path dir;

    private void write(Path file, String text, long time) throws IOException {
        Files.writeString(file, text);
        Files.setLastModifiedTime(file, FileTime.fromMillis(time));
    }

    @Test
    void aChangeOfTheFileIsSeen() throws IOException {
        Path file = dir.resolve("faults.properties");
        Faults faults = new Faults(file);
        assertFalse(faults.on(Fault.OC_IGNORE));
        write(file, "oc.ignore=true\ninit.skip=ownRead, remoteWrite\nmd.level=2\n", 1_000);
        assertTrue(faults.on(Fault.OC_IGNORE));
        assertEquals(2, faults.number(Fault.MD_LEVEL, 1));
        assertEquals(List.of("ownRead", "remoteWrite"), faults.list(Fault.INIT_SKIP));
        write(file, "", 2_000);
        assertFalse(faults.isSet(Fault.OC_IGNORE));
    }

    @Test
    void whatIsNoNumberCountsAsNotSet() throws IOException {
        Path file = dir.resolve("faults.properties");
        write(file, "oc.ahead=many\n", 1_000);
        assertEquals(0, new Faults(file).number(Fault.OC_AHEAD, 0));
    }
}

// Stands in for nothing of its own: reads the fault file that makes the stand-ins misbehave. Leaves out any other configuration.
package io.distverify.lab.faults;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.HashSet;
import java.util.List;
import java.util.Properties;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The faults of one side: a properties file named by the environment, read again whenever it changes. */
public final class Faults {
    private static final Logger LOG = LoggerFactory.getLogger(Faults.class);
    private static final Set<String> KEYS = keys();

    private final Path file;
    private FileTime readAt;
    private long readSize = -1;
    private Properties values = new Properties();

    Faults(Path file) {
        this.file = file;
    }

    /** The file named by {@code LAB_FAULTS}; without that variable there are no faults. */
    public static Faults fromEnvironment() {
        String name = System.getenv("LAB_FAULTS");
        return new Faults(name == null || name.isEmpty() ? null : Path.of(name));
    }

    public boolean on(Fault fault) {
        return "true".equals(text(fault, "false"));
    }

    public boolean isSet(Fault fault) {
        return !text(fault, "").isEmpty();
    }

    public long number(Fault fault, long otherwise) {
        String text = text(fault, "");
        try {
            return text.isEmpty() ? otherwise : Long.parseLong(text);
        } catch (NumberFormatException e) {
            LOG.info("fault {}={} is not a number", fault.key(), text);
            return otherwise;
        }
    }

    public List<String> list(Fault fault) {
        String text = text(fault, "");
        return text.isEmpty() ? List.of() : List.of(text.split("[, ]+"));
    }

    public synchronized String text(Fault fault, String otherwise) {
        refresh();
        return values.getProperty(fault.key(), otherwise).trim();
    }

    private void refresh() {
        if (file == null) {
            return;
        }
        try {
            FileTime changed = Files.getLastModifiedTime(file);
            long size = Files.size(file);
            if (changed.equals(readAt) && size == readSize) {
                return;
            }
            Properties fresh = new Properties();
            try (InputStream in = Files.newInputStream(file)) {
                fresh.load(in);
            }
            values = fresh;
            readAt = changed;
            readSize = size;
            for (String key : fresh.stringPropertyNames()) {
                if (!KEYS.contains(key)) {
                    LOG.info("fault file {}: no such fault: {}", file, key);
                }
            }
        } catch (IOException e) {
            values = new Properties();
            readAt = null;
        }
    }

    private static Set<String> keys() {
        Set<String> keys = new HashSet<>();
        for (Fault fault : Fault.values()) {
            keys.add(fault.key());
        }
        return keys;
    }
}

// Stands in for the lab's port claims where Kafka runs without the Go half; leaves out locking against other labs.
package io.distverify.lab.kafka;

import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** Usage: {@code Ports <file> <name>...}: adds {@code name=port} lines for names that have none; all sockets are held until every name has its own. */
public final class Ports {
    private Ports() { }

    public static void main(String[] args) throws Exception {
        Path file = Path.of(args[0]);
        Set<String> taken = new HashSet<>();
        if (Files.exists(file)) {
            for (String line : Files.readAllLines(file)) {
                taken.add(line.replaceFirst("=.*", ""));
            }
        }
        List<ServerSocket> held = new ArrayList<>();
        List<String> lines = new ArrayList<>();
        for (int i = 1; i < args.length; i++) {
            if (taken.add(args[i])) {
                ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
                held.add(socket);
                lines.add(args[i] + "=" + socket.getLocalPort());
            }
        }
        Files.write(file, lines, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        for (ServerSocket socket : held) {
            socket.close();
        }
    }
}

// Stands in for the people who own the two Kafka clusters: waits for the brokers, creates topics and the first ACLs. Leaves out everything an init job has to do.
package io.distverify.lab.kafka;

import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.common.acl.AccessControlEntry;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.errors.TopicExistsException;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourceType;

/**
 * Usage: {@code ClusterSetup <properties>...}, one file per cluster. Each holds the admin client's settings plus
 * {@code setup.topics} (name:partitions, ...), {@code setup.grant.N} = {@code principal|TYPE|name|OP,OP,...}.
 */
public final class ClusterSetup {
    private static final String GRANT = "setup.grant.";
    private static final String TOPICS = "setup.topics";

    private ClusterSetup() { }

    public static void main(String[] files) throws Exception {
        List<Thread> threads = new ArrayList<>();
        List<Throwable> failures = java.util.Collections.synchronizedList(new ArrayList<>());
        for (String file : files) {
            Thread thread = new Thread(() -> {
                try {
                    setUp(load(file));
                } catch (Throwable e) {
                    failures.add(new IllegalStateException(file + ": " + e, e));
                }
            });
            thread.start();
            threads.add(thread);
        }
        for (Thread thread : threads) {
            thread.join();
        }
        for (Throwable failure : failures) {
            failure.printStackTrace();
        }
        System.exit(failures.isEmpty() ? 0 : 1);
    }

    private static void setUp(Properties settings) throws Exception {
        try (Admin admin = Admin.create(settings)) {
            admin.describeCluster().nodes().get();
            createTopics(admin, settings.getProperty(TOPICS, ""));
            admin.createAcls(grants(settings)).all().get();
        }
    }

    private static void createTopics(Admin admin, String list) throws Exception {
        List<NewTopic> topics = new ArrayList<>();
        for (String item : list.split("[, ]+")) {
            if (!item.isEmpty()) {
                String[] part = item.split(":");
                topics.add(new NewTopic(part[0], Integer.parseInt(part[1]), (short) 1)
                        .configs(Map.of("message.timestamp.type", "CreateTime")));
            }
        }
        for (var result : admin.createTopics(topics).values().values()) {
            try {
                result.get();
            } catch (ExecutionException e) {
                if (!(e.getCause() instanceof TopicExistsException)) {
                    throw e;
                }
            }
        }
    }

    private static Collection<AclBinding> grants(Properties settings) {
        List<AclBinding> bindings = new ArrayList<>();
        for (String key : settings.stringPropertyNames()) {
            if (key.startsWith(GRANT)) {
                String[] part = settings.getProperty(key).split("\\|");
                var resource = new ResourcePattern(ResourceType.fromString(part[1]), part[2], PatternType.LITERAL);
                for (String operation : part[3].split(",")) {
                    bindings.add(new AclBinding(resource, new AccessControlEntry(part[0], "*",
                            AclOperation.fromString(operation), AclPermissionType.ALLOW)));
                }
            }
        }
        return bindings;
    }

    private static Properties load(String file) throws IOException {
        Properties settings = new Properties();
        try (InputStream in = new FileInputStream(file)) {
            settings.load(in);
        }
        return settings;
    }
}

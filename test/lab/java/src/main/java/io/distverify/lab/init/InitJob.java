// Stands in for the Axual Distributor's initialisation job: ACLs for the Distributors that write here, own group rights, the timestamps topic. Leaves out removing what is no longer wanted.
package io.distverify.lab.init;

import io.distverify.lab.faults.Fault;
import io.distverify.lab.faults.Faults;
import io.distverify.lab.kafka.Tls;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclBindingFilter;
import org.apache.kafka.common.errors.TopicExistsException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Configured by the environment, see {@link InitSettings}; runs once, idempotent, exit code 1 on failure. */
public final class InitJob {
    private static final Logger LOG = LoggerFactory.getLogger(InitJob.class);

    private final InitSettings settings;
    private final Faults faults;

    private InitJob(InitSettings settings, Faults faults) {
        this.settings = settings;
        this.faults = faults;
    }

    public static void main(String[] args) {
        try {
            new InitJob(InitSettings.of(System.getenv()), Faults.fromEnvironment()).run();
        } catch (Exception e) {
            LOG.error("Initialisation failed", e);
            System.exit(1);
        }
    }

    private void run() throws Exception {
        long delay = faults.number(Fault.INIT_DELAY, settings.delayMs());
        if (delay > 0) {
            LOG.info("Waiting {} ms", delay);
            Thread.sleep(delay);
        }
        if (faults.on(Fault.INIT_FAIL)) {
            throw new IllegalStateException("lab fault " + Fault.INIT_FAIL.key());
        }
        Map<String, Object> client = Tls.client(settings.trusted(), settings.certificate(), settings.key());
        client.put("bootstrap.servers", settings.bootstrapServers());
        try (Admin admin = Admin.create(client)) {
            grant(admin);
            if (settings.enabled("offsetCommitter")) {
                createTimestampsTopic(admin);
            }
        }
        LOG.info("Initialisation done");
    }

    private void grant(Admin admin) throws Exception {
        Set<String> skipped = Set.copyOf(faults.list(Fault.INIT_SKIP));
        List<AclBinding> wanted = new ArrayList<>();
        List<AclBindingFilter> unwanted = new ArrayList<>();
        for (Grant grant : Grant.values()) {
            boolean skip = skipped.contains(grant.kind());
            if (!skip && !settings.wants(grant)) {
                continue;
            }
            for (AclBinding binding : grant.bindings(settings)) {
                if (skip) {
                    unwanted.add(binding.toFilter());
                } else {
                    wanted.add(binding);
                }
            }
        }
        admin.deleteAcls(unwanted).all().get();
        admin.createAcls(wanted).all().get();
        for (AclBinding binding : wanted) {
            LOG.info("Granted {}", binding);
        }
    }

    private void createTimestampsTopic(Admin admin) throws Exception {
        NewTopic topic = new NewTopic(settings.timestampsTopic(), 1, (short) 1).configs(Map.of("cleanup.policy", "delete"));
        try {
            admin.createTopics(List.of(topic)).all().get();
            LOG.info("Created topic {}", topic.name());
        } catch (ExecutionException e) {
            if (!(e.getCause() instanceof TopicExistsException)) {
                throw e;
            }
        }
    }
}

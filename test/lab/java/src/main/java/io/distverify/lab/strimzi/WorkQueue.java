// Stands in for the Strimzi operator's locks and queues. Leaves out back-off: what failed is looked at again at the reconcile interval.
package io.distverify.lab.strimzi;

import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Work of one cluster is done in order, one at a time; what already waits is not queued twice. */
final class WorkQueue {
    private static final Logger LOG = LoggerFactory.getLogger(WorkQueue.class);

    private final Map<String, ExecutorService> workers = new HashMap<>();
    private final Set<String> waiting = new HashSet<>();
    private final ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor();

    /** A piece of work. */
    interface Work {
        void run() throws Exception;
    }

    synchronized void add(String cluster, String name, Work work) {
        if (waiting.add(name)) {
            workers.computeIfAbsent(cluster, key -> Executors.newSingleThreadExecutor(task -> new Thread(task, "reconcile-" + key)))
                    .execute(() -> run(name, work));
        }
    }

    void every(Duration interval, Runnable task) {
        timer.scheduleAtFixedRate(task, interval.toMillis(), interval.toMillis(), TimeUnit.MILLISECONDS);
    }

    private void run(String name, Work work) {
        synchronized (this) {
            waiting.remove(name);
        }
        try {
            work.run();
        } catch (Exception e) {
            LOG.warn("{} failed", name, e);
        }
    }
}

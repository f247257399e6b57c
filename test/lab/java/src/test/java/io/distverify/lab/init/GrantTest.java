package io.distverify.lab.init;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;

class GrantTest {
    private static final String REMOTE = "User:CN=dist-dc2,OU=Streaming 2,O=Example";
    private static final String OWN = "User:CN=dist-dc1,OU=Streaming 1,O=Example";

    private static InitSettings settings(String profile, String enabled) {
        Map<String, String> env = new HashMap<>(Map.of(
                "INIT_PRINCIPALS", REMOTE + "\n", "INIT_OWN_PRINCIPAL", OWN, "INIT_TOPIC_PREFIX", "distribution-", "INIT_GROUP_PREFIX", "distribution-",
                "INIT_TIMESTAMPS_TOPIC", "times", "INIT_MESSAGE_DISTRIBUTOR", "md", "INIT_OFFSET_DISTRIBUTOR", "od", "INIT_OFFSET_COMMITTER", "oc",
                "INIT_ENABLED", enabled));
        env.put("LAB_PROFILE", profile);
        return InitSettings.of(env);
    }

    @Test
    void aPrincipalIsNeverSplit() {
        var bindings = Grant.REMOTE_WRITE.bindings(settings("fast", ""));
        assertEquals(2, bindings.size());
        assertTrue(bindings.stream().allMatch(binding -> binding.entry().principal().equals(REMOTE)));
    }

    @Test
    void fastGrantsEverythingAtOnce() {
        for (Grant grant : Grant.values()) {
            assertTrue(settings("fast", "").wants(grant));
        }
    }

    @Test
    void fieldGrantsWhatIsEnabled() {
        InitSettings settings = settings("field", "messageDistributor ");
        assertTrue(settings.wants(Grant.REMOTE_WRITE));
        assertTrue(settings.wants(Grant.OWN_MESSAGE_DISTRIBUTOR_GROUP));
        assertFalse(settings.wants(Grant.OWN_COMMITS));
    }
}

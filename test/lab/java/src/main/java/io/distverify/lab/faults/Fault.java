// Stands in for what can be wrong with a real Distributor and its surroundings: the one list of fault keys. The table in test/lab/README.md says the same in prose.
package io.distverify.lab.faults;

/** Every key a fault file may hold. Unknown keys are reported by {@link Faults}, so that a typing error is no silent healthy run. */
public enum Fault {
    MD_IGNORE_FLAGS("md.ignoreFlags"),
    MD_LEVEL("md.level"),
    MD_DELAY_PER_RECORD("md.delayMsPerRecord"),
    MD_FAIL_TASK("md.failTask"),
    MD_STALL("md.stall"),
    MD_DROP_EVERY("md.dropEvery"),
    MD_DROP_PARTITION("md.dropPartition"),
    MD_DUPLICATE("md.duplicate"),
    MD_ALTER_KEY("md.alterKey"),
    MD_ALTER_VALUE("md.alterValue"),
    MD_ALTER_HEADER("md.alterHeader"),
    MD_ALTER_TIMESTAMP("md.alterTimestamp"),
    MD_ALTER_PARTITION("md.alterPartition"),

    OD_TIMESTAMP_OF("od.timestampOf"),
    OD_SILENT("od.silent"),
    OD_FORMAT("od.format"),

    OC_IGNORE("oc.ignore"),
    OC_AHEAD("oc.ahead"),
    OC_BEHIND("oc.behind"),
    OC_BACKWARDS("oc.backwards"),
    OC_BEYOND_END("oc.beyondEnd"),
    OC_REWIND_AFTER("oc.rewindAfterMs"),
    OC_COMMIT("oc.commit"),

    LOG_LINE("log.line"),

    INIT_SKIP("init.skip"),
    INIT_FAIL("init.fail"),
    INIT_DELAY("init.delayMs"),

    /* read by the applier, a program of the lab's Go half */
    APPLIER_DELAY("applier.delayMs"),
    APPLIER_REFUSE("applier.refuse"),
    APPLIER_REVERT("applier.revert");

    private final String key;

    Fault(String key) {
        this.key = key;
    }

    public String key() {
        return key;
    }
}

/* A small registry of counters and gauges, printed in the Prometheus text format. One thread. */
#ifndef DV_BASE_METRICS_H
#define DV_BASE_METRICS_H

#include <stdint.h>

#include "base/buf.h"

enum dv_metric_type { DV_COUNTER, DV_GAUGE };

/* Finds or makes the series `name{labels}`; labels as they are printed (`kind="pods"`) or "". name and help must be static texts. The
 * pointer stays valid until dv_metrics_free(). */
int64_t *dv_metric(enum dv_metric_type type, const char *name, const char *help, const char *labels);
void dv_metrics_print(struct dv_buf *out);
void dv_metrics_free(void);

#endif

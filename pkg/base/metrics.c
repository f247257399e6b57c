#include "base/metrics.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/mem.h"

struct series {
    enum dv_metric_type type;
    const char *name;
    const char *help;
    char *labels;
    int64_t value;
    struct series *next;
};

static struct series *metrics_head;

static struct series *metrics_new(enum dv_metric_type type, const char *name, const char *help, const char *labels)
{
    struct series *made = dv_alloc(sizeof *made);
    *made = (struct series){.type = type, .name = name, .help = help, .labels = dv_strdup(labels)};
    return made;
}

int64_t *dv_metric(enum dv_metric_type type, const char *name, const char *help, const char *labels)
{
    struct series **link = &metrics_head;
    struct series **behind = NULL;
    for (; *link != NULL; link = &(*link)->next) {
        if (!dv_streq((*link)->name, name))
            continue;
        if (dv_streq((*link)->labels, labels))
            return &(*link)->value;
        behind = &(*link)->next; /* series of one name stay together, as the format demands */
    }
    if (behind == NULL)
        behind = link;
    struct series *made = metrics_new(type, name, help, labels);
    made->next = *behind;
    *behind = made;
    return &made->value;
}

void dv_metrics_print(struct dv_buf *out)
{
    const char *last = NULL;
    for (const struct series *s = metrics_head; s != NULL; s = s->next) {
        if (!dv_streq(last, s->name)) {
            (void)dv_buf_addf(out, "# HELP %s %s\n# TYPE %s %s\n", s->name, s->help, s->name, s->type == DV_COUNTER ? "counter" : "gauge");
            last = s->name;
        }
        if (s->labels[0] != '\0')
            (void)dv_buf_addf(out, "%s{%s} %" PRId64 "\n", s->name, s->labels, s->value);
        else
            (void)dv_buf_addf(out, "%s %" PRId64 "\n", s->name, s->value);
    }
}

void dv_metrics_free(void)
{
    while (metrics_head != NULL) {
        struct series *next = metrics_head->next;
        free(metrics_head->labels);
        free(metrics_head);
        metrics_head = next;
    }
}

#include "model/facts.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void fact_connector_free(struct fact_connector *connector)
{
    if (!connector)
        return;
    free(connector->name);
    free(connector->cluster);
    free(connector->uid);
    free(connector->not_ready_reason);
    free(connector->class_name);
    free(connector->group_override);
    free(connector->topics);
    free(connector);
}

void fact_connect_free(struct fact_connect *connect)
{
    if (!connect)
        return;
    for (size_t i = 0; i < connect->plugin_count; i++)
        free(connect->plugins[i]);
    free(connect->plugins);
    free(connect->name);
    free(connect->uid);
    free(connect->not_ready_reason);
    free(connect);
}

void fact_pod_free(struct fact_pod *pod)
{
    if (!pod)
        return;
    free(pod->name);
    free(pod->uid);
    free(pod->connect);
    free(pod->container);
    free(pod->waiting);
    free(pod->phase);
    free(pod);
}

void fact_job_free(struct fact_job *job)
{
    if (!job)
        return;
    free(job->name);
    free(job->uid);
    free(job->message);
    free(job);
}

void fact_acls_free(struct fact_acl *acls, size_t count)
{
    if (!acls)
        return;
    for (size_t i = 0; i < count; i++) {
        free(acls[i].principal);
        free(acls[i].host);
        free(acls[i].name);
    }
    free(acls);
}

static void fact_group_clear(struct fact_group *group)
{
    if (group->assignments) {
        for (size_t i = 0; i < group->assignment_count; i++)
            free(group->assignments[i].topic);
    }
    free(group->assignments);
    free(group->name);
}

void fact_groups_free(struct fact_group *groups, size_t count)
{
    if (!groups)
        return;
    for (size_t i = 0; i < count; i++)
        fact_group_clear(&groups[i]);
    free(groups);
}

void fact_offsets_free(struct fact_offsets *offsets)
{
    if (!offsets)
        return;
    free(offsets->low);
    free(offsets->high);
    free(offsets->stable);
    free(offsets);
}

void fact_record_clear(struct fact_record *record)
{
    if (!record)
        return;
    if (record->headers) {
        for (size_t i = 0; i < record->header_count; i++) {
            free(record->headers[i].name);
            free(record->headers[i].value);
        }
    }
    free(record->headers);
    free(record->key);
    free(record->value);
    *record = (struct fact_record){.offset = -1};
}

static bool fact_is_name_byte(unsigned char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') || byte == '.' || byte == '_' ||
           byte == '-';
}

bool fact_bytes_begin(const unsigned char *bytes, size_t len, const char *prefix)
{
    size_t want = strlen(prefix);
    return bytes != NULL && len >= want && memcmp(bytes, prefix, want) == 0;
}

/* Binary formats write a name's length before it: as it is (big-endian, Protobuf), one more (compact strings of Kafka), or twice (Avro).
 * Such a byte may look like one of a name, and then what follows belongs to the next field. */
static bool fact_is_length(unsigned char byte, size_t want)
{
    return byte == want || byte == want + 1 || byte == 2 * want;
}

bool fact_bytes_contain(const unsigned char *bytes, size_t len, const char *needle)
{
    size_t want = needle ? strlen(needle) : 0;
    if (!bytes || want == 0)
        return false;
    size_t at = 0;
    while (len - at >= want) {
        const unsigned char *hit = memmem(bytes + at, len - at, needle, want);
        if (!hit)
            return false;
        size_t start = (size_t)(hit - bytes);
        bool free_before = start == 0 || !fact_is_name_byte(bytes[start - 1]);
        bool free_behind = start + want == len || !fact_is_name_byte(bytes[start + want]);
        if ((free_before && free_behind) || (start > 0 && fact_is_length(bytes[start - 1], want)))
            return true;
        at = start + 1;
    }
    return false;
}

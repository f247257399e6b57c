/* Private to the room: names that a log record or trace speaks of. Each appends to out (", " between names) and leaves it alone when the
 * text names nothing. */
#ifndef DV_DISTRIBUTOR_SUBJECT_H
#define DV_DISTRIBUTOR_SUBJECT_H

#include <stddef.h>

#include "distributor/distributor.h"

/* Every t of "{t=ERROR, u=OTHER}"; error begins with '='. */
void distributor_subject_errors(const char *text, const char *error, char *out, size_t size);
/* The topic of "<intro>t-0". */
void distributor_subject_partition(const char *text, const char *intro, char *out, size_t size);
void distributor_subject_unknown_topic(const char *text, char *out, size_t size);
void distributor_subject_peer(const char *text, char *out, size_t size); /* host/ip:port */
void distributor_subject_mechanism(const char *text, char *out, size_t size);

#endif

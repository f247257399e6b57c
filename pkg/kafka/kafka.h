/* The Kafka port on librdkafka: clients, questions, produced records, commits and readers (model/ports.h says what each does).
 *
 * One thread of the caller: the loop's. librdkafka's own threads wake the loop; calls of librdkafka that can block run on a thread of
 * ours per handle. A thread that does not come back within 30 s is given up and counted; with more than 8 of them the process ends.
 */
#ifndef DV_KAFKA_KAFKA_H
#define DV_KAFKA_KAFKA_H

#include "loop/loop.h"
#include "model/ports.h"

struct kafka;

/* secrets must answer on the loop's thread and outlive the port, as loop and sink must. */
struct kafka *kafka_new(struct loop *loop, struct port_secrets secrets, port_kafka_sink *sink, void *arg);
struct port_kafka kafka_port(struct kafka *kafka);
/* Closes every client; no event follows. Waits at most 5 s for librdkafka's threads. Takes NULL. loop_free() after it. */
void kafka_free(struct kafka *kafka);

#endif

/* Messages between a worker and its master (worker.h): writing and parsing. */
#ifndef ENTRYPOINT_HOST_WORKER_WORKER_MESSAGES_H
#define ENTRYPOINT_HOST_WORKER_WORKER_MESSAGES_H

#include "common/run_id.h"
#include "entrypoint/host/supervisor.h"
#include "entrypoint/wire/link.h"

/* Joins, or asks to be readmitted. */
void worker_send_join(struct supervisor *s, struct link *link);
/* Chooses the interface that leads to MASTER and joins; if none does, joins with that fault. */
void worker_join(struct supervisor *s, struct link *link, const struct net_address *master);
/* Announces that this host is here and joins later. */
void worker_send_fetching(const struct supervisor *s, struct link *link);
void worker_send_stop(struct link *link, bool again);
void worker_answer_beat(struct supervisor *s, struct link *link, const json_t *beat);
/* Sends a farewell to a master of another VERSION, in that version: the job then ends for all
 * hosts, with the reason. Frees the link. */
void worker_part_from_older(const struct supervisor *s, struct link *link, int64_t version);

/* Reads the address of the upstream host for downloads (provision/input_download.h). */
void worker_take_above(struct supervisor *s, const json_t *message);
/* Reads the run ID in a `welcome` or `standby`; returns false and leaves RET unchanged if there is
 * none. */
bool worker_read_run(const json_t *message, char ret[ATTEMPT_RUN_SIZE]);
/* Reads why this host was refused: never a success. */
void worker_read_refusal(const json_t *message, struct error *ret);

#endif

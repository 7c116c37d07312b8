/* What a worker tells its master of itself, and what it reads in its words (worker.h). */
#ifndef ENTRYPOINT_HOST_WORKER_MESSAGES_H
#define ENTRYPOINT_HOST_WORKER_MESSAGES_H

#include "common/run_id.h"
#include "entrypoint/host/supervisor.h"
#include "entrypoint/wire/link.h"

/* It joins, or asks to be taken back. */
void worker_send_join(struct supervisor *s, struct link *link);
/* It is here, and joins later. */
void worker_send_fetching(const struct supervisor *s, struct link *link);
void worker_send_stop(struct link *link, bool again);
void worker_answer_beat(const struct supervisor *s, struct link *link, const json_t *beat);
/* To a master of another VERSION, in its own words, which are few: the job then ends for all hosts,
 * with the reason. Frees the link. */
void worker_part_from_older(const struct supervisor *s, struct link *link, int64_t version);

/* Where the host is that this one asks for what it needs (provision/input_download.h). */
void worker_take_above(struct supervisor *s, const json_t *message);
/* The run's name in a `welcome` or `wait`; false, and RET unchanged, where there is none. */
bool worker_read_run(const json_t *message, char ret[ATTEMPT_RUN_SIZE]);
/* Why it was refused: never a success. */
void worker_read_refusal(const json_t *message, struct error *ret);

#endif

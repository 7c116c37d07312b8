/* Where the first host may be lost: all hosts must share the folder of checkpoints, or who follows
 * it would begin anew. Each is told to write a word there, then each to read that of the host in
 * front of it (host/shared_dir_probe.h). Raises PROVED, or LAUNCH_FAILED with m->fault. However it
 * ends, each is told to take its word away. */
#ifndef ENTRYPOINT_MASTER_SHARED_DIR_H
#define ENTRYPOINT_MASTER_SHARED_DIR_H

#include "entrypoint/master/state.h"

#include <jansson.h>

void shared_dir_init(struct master *m);
void shared_dir_close(struct master *m);
void shared_dir_begin(struct master *m);
void shared_dir_end(struct master *m);
/* A host's answer. */
void shared_dir_told(struct member *b, const json_t *message);

#endif

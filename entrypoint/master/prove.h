/* Where the first host may be lost: all hosts must share the folder of checkpoints, or who follows
 * it would begin anew. Each is told to write a word there, then each to read that of the host in
 * front of it (host/proving.h). Raises PROVED, or LAUNCH_FAILED with m->fault. However it ends,
 * each is told to take its word away. */
#ifndef MASTER_PROVE_H
#define MASTER_PROVE_H

#include "entrypoint/master/state.h"

#include <jansson.h>

void prove_init(struct master *m);
void prove_close(struct master *m);
void prove_begin(struct master *m);
void prove_end(struct master *m);
/* A host's answer. */
void prove_told(struct member *b, const json_t *message);

#endif

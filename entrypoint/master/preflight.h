/* `ringmaster check` after all have joined, or those that came: every host looks at itself and at
 * its ways to others (preflight/preflight_child.h), and tells the master. What is wrong with a host
 * is kept here and told as a row, where it would end a job. */
#ifndef ENTRYPOINT_MASTER_PREFLIGHT_H
#define ENTRYPOINT_MASTER_PREFLIGHT_H

#include "entrypoint/master/state.h"

void preflight_init(struct master *m);
int preflight_open(struct master *m, struct error *err);
void preflight_close(struct master *m);

/* Has all hosts look. */
int preflight_begin(struct master *m, struct error *err);
void preflight_told(struct member *b, const json_t *message);
/* Nobody waits for a host that is gone. */
void preflight_left(struct member *b);

#endif

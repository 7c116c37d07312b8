/* `ringmaster check` after all have joined, or those that came: every host looks at itself and at
 * its ways to others (facts/examine.h), and tells the master. What is wrong with a host is kept
 * here and told as a row, where it would end a job. */
#ifndef MASTER_EXAMINE_H
#define MASTER_EXAMINE_H

#include "entrypoint/master/state.h"

void examine_init(struct master *m);
int examine_open(struct master *m, struct error *err);
void examine_close(struct master *m);

/* Has all hosts look. */
int examine_begin(struct master *m, struct error *err);
void examine_told(struct member *b, const json_t *message);
/* Nobody waits for a host that is gone. */
void examine_left(struct member *b);

#endif

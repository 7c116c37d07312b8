/* Delivery of the verdict to all hosts.
 *
 * The first host exits last. After success it waits until every host that may still be waiting for
 * the verdict has acknowledged it: a host that misses it would take this host for lost and fail.
 * After any other end it does not wait that long. */
#ifndef ENTRYPOINT_MASTER_VERDICT_DELIVERY_H
#define ENTRYPOINT_MASTER_VERDICT_DELIVERY_H

#include "entrypoint/master/state/state.h"

/* Sends the verdict to all connected hosts. */
void verdict_delivery_begin(struct master *m);
/* Records that a host has acknowledged it. */
void verdict_delivery_heard(struct member *b);
/* Returns true if MESSAGE, the first on a link, is from a host that took part in this run and
 * connects after the verdict is known. It is then sent the verdict, and the link becomes this
 * file's. */
bool verdict_delivery_is_asked(const struct master *m, const json_t *message);
void verdict_delivery_meet(struct member *b, struct link *link);
/* Returns true if a host is still connected, or if it follows a lost master and has yet to connect
 * to this one, which has ended the job before all hosts had come. */
bool verdict_delivery_is_expected(const struct master *m, size_t host);
/* Returns true if a host with a running lease has not acknowledged success. */
bool verdict_delivery_is_owed(const struct master *m);

#endif

/* Heartbeats: whether hosts are there, and by how much their clocks differ from ours. Raises
 * HOST_GONE for one that is silent. */
#ifndef MASTER_LEASE_H
#define MASTER_LEASE_H

#include "master/state.h"

void lease_open(struct master *m);
void lease_close(struct master *m);
/* An answer to a heartbeat. */
void lease_alive(struct member *b, const json_t *message);
/* The host is lost to the job. */
void lease_lose(struct member *b, const char *why);

#endif

/* Address and port at which a slice's first rank is reached. */
#ifndef COMMON_SLOTS_SLOT_ADDRESS_H
#define COMMON_SLOTS_SLOT_ADDRESS_H

#include "common/error.h"

#include <stddef.h>

/* Writes this host's own address on the way to MASTER, the host of the job's first rank, to RET:
 * no packet is sent. Without MASTER (NULL), or where the way is unknown, the host's name. */
void slot_address_own(const char *master, char *ret, size_t size);

/* Returns a TCP port that is free on this host now; another process may take it before it is used.
 * -1: error. */
int slot_address_port(struct error *err);

#endif

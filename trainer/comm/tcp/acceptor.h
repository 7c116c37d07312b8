/* Acceptor of the greetings of other ranks at a listening socket. */
#ifndef TRAINER_COMM_TCP_ACCEPTOR_H
#define TRAINER_COMM_TCP_ACCEPTOR_H

#include "common/error.h"
#include "trainer/comm/tcp/mesh.h"

#include <stdint.h>

/* Accepts until all ranks from LEAST up are connected; fills their descriptors, addresses (unless
 * known) and PORTS. A rank that may not join gets the reason; a connection without a greeting
 * within five seconds, or with other bytes, is closed. Fails with EXIT_CODE_NOT_READY at the
 * DEADLINE and names the ranks that are missing and what was refused. */
int acceptor_run(int listener, struct mesh *mesh, const char *job, int least, uint16_t *ports,
                 int64_t deadline, struct error *err);

#endif

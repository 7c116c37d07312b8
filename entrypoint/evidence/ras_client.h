/* Client of NCCL RAS: one question over TCP, text on both sides (NCCL 2.24 and later). Blocks until
 * its deadline, so it is for a child of the supervisor. */
#ifndef ENTRYPOINT_EVIDENCE_RAS_CLIENT_H
#define ENTRYPOINT_EVIDENCE_RAS_CLIENT_H

#include "common/buf.h"
#include "common/error.h"

#include <stdbool.h>
#include <stdint.h>

/* NCCL's own address unless NCCL_RAS_ADDR names another. */
#define RAS_CLIENT_ADDRESS "localhost:28028"

/* Returns the address for ranks with ENVIRONMENT: NCCL_RAS_ADDR, else the default if the host has
 * GPUs. NULL: there is no RAS. */
const char *ras_client_address(char *const *environment, bool has_gpus);

/* Asks for the status of all communicators; appends the answer to RET, up to its maximum. JSON
 * where the other side knows that; with VERBOSE the text for people. DEADLINE is clock_now(). An
 * answer that is longer than RET may be, or incomplete at the deadline, is an error. */
int ras_client_ask(const char *address, bool verbose, int64_t deadline, struct buf *ret,
                   struct error *err);

#endif

/* Transport between the ranks of one host, over shared memory.
 *
 * It is chosen in the shim, for its host alone. Open MPI copies through files that ranks share,
 * which need room; where the kernel lets a rank read another one's memory (process_vm_readv,
 * "CMA"), large messages are copied once instead of twice. Neither is certain in a container, and
 * Open MPI ends ranks that were promised it in vain: so both are looked at first. What the user's
 * options say stays. */
#ifndef ENTRYPOINT_MPI_SHM_TRANSPORT_H
#define ENTRYPOINT_MPI_SHM_TRANSPORT_H

#include "common/argv.h"
#include "common/error.h"

#include <stdbool.h>
#include <stdint.h>

struct shm_transport_facts {
    int read_errno;     /* 0: one process may read another's memory; else why not */
    const char *shared; /* where the files would lie; borrowed */
    int64_t shared_room;
    const char *other; /* where they may lie else: TMPDIR; borrowed */
    int64_t other_room;
};

/* Whether this process may read a child's memory as ranks would read each other's: 0 or an errno.
 */
int shm_transport_may_read(void);

/* Bytes that are left in FOLDER; -1 where it is not there, INT64_MAX where nothing limits them. */
int64_t shm_transport_room(const char *folder);

/* LAUNCHED is the environment that mpirun gave to a shim, and outlives the facts. */
void shm_transport_look(char *const *launched, struct shm_transport_facts *ret);

enum { SHM_TRANSPORT_SAID_SIZE = 512 };
struct shm_transport_choice {
    bool worse; /* than it could be: for a warning */
    char said[SHM_TRANSPORT_SAID_SIZE];
};

/* Adds what follows for RANKS of this host to ENVIRONMENT, where what the user wants is already.
 * One rank alone talks to no other one here: nothing is added and nothing said. */
int shm_transport_add(const struct shm_transport_facts *facts, unsigned ranks,
                      char *const *launched, struct argv *environment,
                      struct shm_transport_choice *ret, struct error *err);

#endif

/* Memory files shared by the ranks of a host: one rank makes them and its others open them. */
#ifndef TRAINER_APP_HOSTS_HOST_MEMORY_H
#define TRAINER_APP_HOSTS_HOST_MEMORY_H

#include "common/error.h"
#include "trainer/comm/comm.h"

#include <stdint.h>

/* What a rank tells the others of its memory file. */
struct host_memory {
    uint64_t host; /* equal for ranks that can see each other's processes; 0: unknown */
    int64_t pid;   /* 0: there is no memory to share */
    int64_t fd;
    uint64_t device, inode; /* identify the memory file */
};

/* An offer without memory. */
struct host_memory host_memory_none(void);
/* Offers the memory file FD, which stays the caller's. */
void host_memory_offer(struct host_memory *own, int fd);
/* Returns the first rank of RANK's host, by what all have reported. */
int host_memory_first(const struct host_memory *all, int rank);
/* Opens what another rank has offered, with FLAGS of open; -1: it cannot be reached. */
int host_memory_open(const struct host_memory *offer, int flags);

#endif

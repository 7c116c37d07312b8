/* A data set that the ranks of a host open together: the first of them scans it or reads its index,
 * and the others map what it found (shared_set.h). Ranks share a set if they see each other's
 * processes and open the same place of the same file system, in the same way; ranks with different
 * data open their own. A rank that cannot map the first one's memory opens the set itself. */
#ifndef TRAINER_APP_HOSTS_HOST_SET_H
#define TRAINER_APP_HOSTS_HOST_SET_H

#include "common/error.h"
#include "trainer/comm/comm.h"
#include "trainer/data/dataset/dataset.h"

/* Collective. Opens the set at PATH as dataset_open_as does. If a first rank fails, all ranks of
 * COMM do: those that share its set with its error. What a log says of a set is with the first rank
 * of each host, thus with rank 0. */
int host_set_open(struct dataset *ret, const char *path, const struct shards_reading *reading,
                  struct comm *comm, struct error *err);

#endif

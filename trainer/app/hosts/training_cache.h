/* Shared picture cache of --cache: the decoded training pictures of a host, which its ranks share
 * (data/cache/picture_cache.h). */
#ifndef TRAINER_APP_HOSTS_TRAINING_CACHE_H
#define TRAINER_APP_HOSTS_TRAINING_CACHE_H

#include "common/error.h"
#include "trainer/comm/comm.h"
#include "trainer/data/dataset/dataset.h"
#include "trainer/data/dataset/dataset_part.h"
#include "trainer/data/dataset/fetch.h"

/* Collective. WHERE is ram or a file. Estimates the size from some pictures, and fails with
 * EXIT_CODE_CONFIG if there is too little memory or room on the disk. Rank 0 logs what it does. A
 * rank that cannot reach its host's memory goes without, with a warning. */
int training_cache_open(struct fetch_cache *ret, const char *where, int side,
                        const struct dataset *set, const struct dataset_part *part,
                        struct comm *comm, struct error *err);

#endif

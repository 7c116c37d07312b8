/* Training data that is divided among hosts: SageMaker's S3DistributionType ShardedByS3Key, and
 * RINGMASTER_SHARDED. Each rank trains on what its host has.
 *
 * Ranks that see the same files have the same part, wherever they run. The parts, in the order of
 * the first ranks that have them, make up one set: its classes are those of all parts, its samples
 * are numbered through, and its hash is that of all parts. A rank reads the samples of its part
 * alone; of the others it knows how many there are. */
#ifndef TRAINER_APP_HOSTS_DATA_PARTS_H
#define TRAINER_APP_HOSTS_DATA_PARTS_H

#include "common/error.h"
#include "trainer/comm/comm.h"
#include "trainer/data/dataset/dataset.h"
#include "trainer/data/dataset/dataset_part.h"

#include <stdbool.h>
#include <stdint.h>

/* Returns true if the platform's description of the channels says that the one at PATH, a folder in
 * /opt/ml/input/data, is divided among hosts. It is taken from SM_INPUT_DATA_CONFIG, else from
 * inputdataconfig.json; what cannot be read there counts as false. */
bool data_parts_declared(const char *path);

/* Collective. Makes SET, of which each rank has opened its own part, the whole set (see above).
 * RET is zeroed if all ranks have the same files. Rank 0 logs the sizes. */
int data_parts_join(struct dataset_part *ret, struct dataset *set, struct comm *comm,
                    struct error *err);

/* Collective. Sets *RET to the least of the ranks' STEPS, which differ with their parts, and logs
 * on rank 0 how many of the COUNT samples an epoch of so many steps of GLOBAL samples leaves out.
 */
int data_parts_steps(struct comm *comm, int64_t steps, int64_t global, size_t count, int64_t *ret,
                     struct error *err);

#endif

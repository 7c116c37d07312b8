/* One index of annotations for all ranks of a host: the first of them reads the JSON into sealed
 * memory, which the others map. Ranks are on one host where they see one another's processes; one
 * that cannot have the memory of the first reads the JSON itself. */
#ifndef TRAINER_APP_TASK_HOST_INDEX_H
#define TRAINER_APP_TASK_HOST_INDEX_H

#include "common/error.h"
#include "trainer/comm/comm.h"
#include "trainer/data/coco/coco_index.h"

/* All ranks together. JSON must outlive the index. */
int host_index_load(struct coco_index *ret, const char *json, struct comm *comm, struct error *err);

#endif

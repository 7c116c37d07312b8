/* One index of annotations shared by all ranks of a host: the first of them parses the JSON into
 * sealed memory, which the others map. Ranks are on one host if they see each other's processes. A
 * rank that cannot map the first one's memory parses the JSON itself. */
#ifndef TRAINER_APP_TASK_HOST_INDEX_H
#define TRAINER_APP_TASK_HOST_INDEX_H

#include "common/error.h"
#include "trainer/comm/comm.h"
#include "trainer/data/coco/coco_index.h"

/* Collective. JSON must outlive the index. */
int host_index_load(struct coco_index *ret, const char *json, struct comm *comm, struct error *err);

#endif

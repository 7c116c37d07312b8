/* Counts of a program's launches on a described device (simulated_gpu.h). */
#ifndef TRAINER_APP_PLAN_LAUNCHES_H
#define TRAINER_APP_PLAN_LAUNCHES_H

#include "trainer/app/plan/simulated_gpu.h"
#include "trainer/graph/program/program.h"

/* Launches of all operators of one kind. */
struct kind_launches {
    int operators;
    struct device_launches launches;
};

/* What BACKEND has launched since it had launched BEFORE. */
struct device_launches launches_since(const struct backend *backend,
                                      const struct device_launches *before);
/* Runs PROGRAM twice, as the first run packs weights besides, and fills OF, which has OP_KINDS
 * elements, with what the second one launched. */
int launches_by_kind(struct program *program, struct kind_launches *of, struct error *err);

#endif

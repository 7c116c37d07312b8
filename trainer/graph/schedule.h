/* Removal of unused operators after a rewrite; the others are renumbered in order. */
#ifndef TRAINER_GRAPH_SCHEDULE_H
#define TRAINER_GRAPH_SCHEDULE_H

#include "common/error.h"
#include "trainer/graph/graph.h"

/* Removes operators that fusion has replaced: their kind is OP_KINDS. */
int graph_compact(struct graph *graph, struct error *err);
/* Also removes those without any effect. */
int graph_schedule(struct graph *graph, struct error *err);

#endif

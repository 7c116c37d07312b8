/* Which operators of a graph are left after a rewrite, numbered anew in their order. */
#ifndef TRAINER_GRAPH_SCHEDULE_H
#define TRAINER_GRAPH_SCHEDULE_H

#include "common/error.h"
#include "trainer/graph/graph.h"

/* Removes operators that were rewritten away: their kind is OP_KINDS. */
int graph_compact(struct graph *graph, struct error *err);
/* Removes those that nothing needs, too. */
int graph_schedule(struct graph *graph, struct error *err);

#endif

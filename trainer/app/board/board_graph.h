/* The network as TensorBoard's "Graphs" shows it: a node for each operator, parameter and input,
 * grouped by the parts of their names. */
#ifndef TRAINER_APP_BOARD_BOARD_GRAPH_H
#define TRAINER_APP_BOARD_BOARD_GRAPH_H

#include "common/buf.h"
#include "common/error.h"
#include "trainer/app/board/board.h"
#include "trainer/graph/graph.h"

/* Appends GRAPH, before it is compiled, as a GraphDef. */
int board_graph_text(struct buf *out, const struct graph *graph, struct error *err);
/* Adds it to the run of steps. */
int board_graph(struct board *board, const struct graph *graph, struct error *err);

#endif

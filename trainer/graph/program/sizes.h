/* Device memory of a program, by use: for errors, tables and reports. */
#ifndef TRAINER_GRAPH_PROGRAM_SIZES_H
#define TRAINER_GRAPH_PROGRAM_SIZES_H

#include "trainer/graph/program/program.h"

enum { SIZES_TEXT_SIZE = 320 };

/* In bytes. */
struct sizes {
    size_t weights, gradients, optimizer, statistics; /* the store's */
    size_t activations;                               /* one arena, including saved values and
                                                       * scratch */
    size_t workspace;                                 /* largest scratch of an operator, part of
                                                       * activations */
    size_t inputs;                                    /* inputs and outputs */
    size_t packed;                                    /* weights in the backend's layout */
};

/* Returns the sizes of a program after its backend was queried and its store laid out, including
 * those of other programs in the same memory; nothing has to be allocated. */
struct sizes sizes_of(const struct program *program);
size_t sizes_sum(const struct sizes *s);
/* Writes "weights 97.5, gradients 97.5, ...: 5498.4 MiB in all". */
void sizes_text(const struct sizes *s, char *text, size_t size);

#endif

/* Last passes of a compile, from plan to bound steps; private to this folder. */
#ifndef TRAINER_GRAPH_PROGRAM_BIND_H
#define TRAINER_GRAPH_PROGRAM_BIND_H

#include "trainer/graph/program/program.h"

#include <stdint.h>

/* Fills place, kept_bytes and packed_bytes. */
int program_measure(struct program *program, struct error *err);
/* Allocates arena, kept and packed memory of the sizes in MEMORY. */
int program_allocate(struct program_memory *memory, struct error *err);
/* Resolves the addresses of all tensors and binds every operator. */
int program_bind(struct program *program, struct error *err);
int program_make_buckets(struct program *program, size_t bucket_bytes, struct error *err);

#endif

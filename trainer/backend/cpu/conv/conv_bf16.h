/* Convolutions and data gradients by own bf16 kernels. They replace oneDNN's for shapes and
 * processors where they are faster, and include the epilogue of OP_CONV2D_AFFINE: 3x3 by Winograd
 * (loop_winograd.c) and 1x1 (loop_point.c), both of stride 1. The work is cut into units that
 * threads take as they become free; each result is computed independently, so it does not depend on
 * the thread. Private to trainer/backend/cpu. */
#ifndef TRAINER_BACKEND_CPU_CONV_CONV_BF16_H
#define TRAINER_BACKEND_CPU_CONV_CONV_BF16_H

#include "trainer/backend/cpu/base/context.h"
#include "trainer/backend/cpu/conv/conv_fold.h"

enum { POINT_GRAIN = 7 /* rows that the 1x1 kernel computes together */ };

struct conv_bf16 {
    const struct cpu *cpu;
    bool is_point;
    struct winograd winograd; /* scratch: of the first thread */
    struct point point;
    struct own_pack pack;
    struct conv_fold fold; /* of OP_CONV2D_AFFINE */
    size_t fold_bytes;     /* of `packed`, before the kernel's own weights */
    size_t rows;           /* pixels of the result, over all images */
    size_t unit_rows;      /* number of them in a unit of 1x1 */
    size_t lines;          /* of tiles, over all images; Winograd only */
    size_t units;          /* pieces of work; a thread takes one at a time */
    size_t scratch;        /* bytes of one thread */
};

/* Returns true if there is a kernel for OP: OP_CONV2D, OP_CONV2D_AFFINE, its data gradient, or that
 * with a norm. */
bool conv_bf16_has(const struct cpu *cpu, const struct graph *graph, const struct op *op);
/* Fills everything that follows from the shapes. */
void conv_bf16_plan(struct conv_bf16 *conv, const struct cpu *cpu, const struct graph *graph,
                    const struct op *op);
size_t conv_bf16_packed(const struct conv_bf16 *conv);
/* Sets the addresses of tensors and scratch (`scratch` bytes per thread, aligned to 64). */
void conv_bf16_place(struct conv_bf16 *conv, const struct graph *graph, const struct op *op,
                     const struct op_addresses *addresses, char *scratch);
/* Returns the rows of the result that UNIT computes. */
void conv_bf16_rows(const struct conv_bf16 *conv, size_t unit, size_t *ret_begin, size_t *ret_end);
/* Winograd: computes lines [begin, end) of tiles on thread THREAD; returns the first pixel of a
 * line. */
void conv_bf16_lines(const struct conv_bf16 *conv, int thread, size_t begin, size_t end);
size_t conv_bf16_line_pixel(const struct conv_bf16 *conv, size_t line);
/* Packs the weights. */
void conv_bf16_refresh(const struct conv_bf16 *conv);

#endif

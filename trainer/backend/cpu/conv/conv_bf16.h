/* Convolutions and data gradients by kernels of our own instead of oneDNN's, for the shapes and
 * processors that gain by it: 3x3 by Winograd's products (loop_winograd.c) and 1x1 (loop_point.c),
 * both of stride 1 in bf16. The work is cut into units that threads take as they become free; each
 * result's arithmetic is its own, so that it does not depend on who makes it. Private to
 * trainer/backend/cpu. */
#ifndef TRAINER_BACKEND_CPU_CONV_CONV_BF16_H
#define TRAINER_BACKEND_CPU_CONV_CONV_BF16_H

#include "trainer/backend/cpu/base/context.h"

enum { POINT_GRAIN = 7 /* rows that the kernel of 1x1 makes together */ };

struct conv_bf16 {
    const struct cpu *cpu;
    bool is_point;
    struct winograd winograd; /* scratch: of the first thread */
    struct point point;
    struct own_pack pack;
    size_t rows;      /* pixels of the result, over all images */
    size_t unit_rows; /* of them in a unit of 1x1 */
    size_t lines;     /* of tiles, over all images; Winograd's */
    size_t units;     /* pieces of work, of which a thread takes one at a time */
    size_t scratch;   /* bytes of one thread */
};

/* Whether there is a kernel for OP: OP_CONV2D, its data gradient, or that with a norm behind. */
bool conv_bf16_has(const struct cpu *cpu, const struct graph *graph, const struct op *op);
/* What follows from the shapes. */
void conv_bf16_plan(struct conv_bf16 *conv, const struct cpu *cpu, const struct graph *graph,
                    const struct op *op);
size_t conv_bf16_packed(const struct conv_bf16 *conv);
/* Where the tensors and the scratch (`scratch` bytes a thread, aligned to 64) lie. */
void conv_bf16_place(struct conv_bf16 *conv, const struct backend_site *site, char *scratch);
/* The rows of the result that UNIT makes. */
void conv_bf16_rows(const struct conv_bf16 *conv, size_t unit, size_t *ret_begin, size_t *ret_end);
/* Winograd's: makes lines [begin, end) of tiles on thread THREAD; the first pixel of a line. */
void conv_bf16_lines(const struct conv_bf16 *conv, int thread, size_t begin, size_t end);
size_t conv_bf16_line_pixel(const struct conv_bf16 *conv, size_t line);
/* Packs the weights anew. */
void conv_bf16_refresh(const struct conv_bf16 *conv);

#endif

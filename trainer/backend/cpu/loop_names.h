/* Names of the bodies in loop_*.c, which are compiled once for each instruction set:
 * LOOP(norm_forward) is norm_forward_avx512 and so on. */
#ifndef CPU_LOOP_NAMES_H
#define CPU_LOOP_NAMES_H

#include "cpu/loops.h"

#define LOOP_PASTE(name, variant) name##_##variant
#define LOOP_NAME(name, variant) LOOP_PASTE(name, variant)
#define LOOP(name) LOOP_NAME(name, LOOP_VARIANT)

void LOOP(norm_sums)(const void *x, enum elem elem, size_t channels, const float *around,
                     float *sum, float *square, size_t begin, size_t end);
void LOOP(norm_forward)(const struct norm_forward *norm, size_t begin, size_t end);
void LOOP(norm_backward_sums)(const struct norm_backward *norm, const struct norm_grad_sums *sums,
                              size_t begin, size_t end);
void LOOP(norm_backward)(const struct norm_backward *norm, size_t begin, size_t end);

void LOOP(frozen_backward)(const struct frozen_backward *frozen, size_t begin, size_t end);
void LOOP(upsample_add)(const void *large, const void *small, enum elem elem, size_t width,
                        size_t channels, void *y);
void LOOP(upsample_grad)(const void *first, const void *second, enum elem elem, size_t width,
                         size_t channels, void *y);

void LOOP(max_pool)(const struct pool *pool, size_t begin, size_t end);
void LOOP(max_pool_grad_row)(const struct pool *pool, const void *dy, const void *dy2, size_t row,
                             void *dx);

bool LOOP(weight_supported)(const struct weight_part *part);
size_t LOOP(weight_scratch)(const struct weight_part *part);
void LOOP(weight_run)(const struct weight_part *part);

bool LOOP(winograd_supported)(const struct winograd *w);
size_t LOOP(winograd_scratch)(const struct winograd *w);
size_t LOOP(winograd_block)(const struct winograd *w);
void LOOP(winograd_run)(const struct winograd *w, size_t begin, size_t end);
void LOOP(winograd_pack)(const struct own_pack *p, size_t begin, size_t end);

bool LOOP(point_supported)(const struct point *p);
void LOOP(point_run)(const struct point *p, size_t begin, size_t end);
void LOOP(point_pack)(const struct own_pack *p, size_t begin, size_t end);

bool LOOP(winograd_weight_supported)(const struct weight_part *part);
size_t LOOP(winograd_weight_scratch)(const struct weight_part *part);
void LOOP(winograd_weight_run)(const struct weight_part *part);

void LOOP(pointwise)(enum pointwise function, const void *a, const void *b, enum elem elem, void *y,
                     size_t begin, size_t end);
void LOOP(widen)(const void *half, float *wide, size_t begin, size_t end);
void LOOP(narrow)(const float *wide, void *half, size_t begin, size_t end);
void LOOP(sum_rows)(const void *x, enum elem elem, size_t channels, size_t rows, float factor,
                    void *y);
void LOOP(sum_columns)(const void *x, enum elem elem, size_t channels, size_t rows, float *y);
void LOOP(spread_row)(const void *x, enum elem elem, size_t channels, size_t rows, float factor,
                      void *y);

void LOOP(blend)(const struct blend *b);
void LOOP(dot_rows)(const void *x, enum elem elem, size_t channels, size_t rows, const float *w,
                    float bias, float *y);
void LOOP(outer_rows)(const float *a, const float *w, enum elem elem, size_t channels, size_t rows,
                      void *y);
void LOOP(weigh_rows)(const float *a, const void *x, enum elem elem, size_t channels, size_t rows,
                      float *y);

#endif

#include "cpu/loop_names.h"

#define LOOP_STRING(word) #word
#define LOOP_WORD(word) LOOP_STRING(word)

extern const struct loops LOOP(loops);

const struct loops LOOP(loops) = {
    .name = LOOP_WORD(LOOP_VARIANT),
    .norm_sums = LOOP(norm_sums),
    .norm_forward = LOOP(norm_forward),
    .norm_backward_sums = LOOP(norm_backward_sums),
    .norm_backward = LOOP(norm_backward),
    .frozen_backward = LOOP(frozen_backward),
    .upsample_add = LOOP(upsample_add),
    .upsample_grad = LOOP(upsample_grad),
    .max_pool = LOOP(max_pool),
    .max_pool_grad_row = LOOP(max_pool_grad_row),
    .weight = {.supported = LOOP(weight_supported),
               .scratch = LOOP(weight_scratch),
               .run = LOOP(weight_run)},
    .winograd_weight = {.supported = LOOP(winograd_weight_supported),
                        .scratch = LOOP(winograd_weight_scratch),
                        .run = LOOP(winograd_weight_run)},
    .winograd_supported = LOOP(winograd_supported),
    .winograd_scratch = LOOP(winograd_scratch),
    .winograd_block = LOOP(winograd_block),
    .winograd_run = LOOP(winograd_run),
    .winograd_pack = LOOP(winograd_pack),
    .point_supported = LOOP(point_supported),
    .point_run = LOOP(point_run),
    .point_pack = LOOP(point_pack),
    .pointwise = LOOP(pointwise),
    .widen = LOOP(widen),
    .narrow = LOOP(narrow),
    .sum_rows = LOOP(sum_rows),
    .sum_columns = LOOP(sum_columns),
    .spread_row = LOOP(spread_row),
    .blend = LOOP(blend),
    .dot_rows = LOOP(dot_rows),
    .outer_rows = LOOP(outer_rows),
    .weigh_rows = LOOP(weigh_rows),
};

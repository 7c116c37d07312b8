#include "trainer/app/board/board_histograms.h"

#include "common/clock.h"

#include <stdio.h>

/* Adds the histogram of values of SLOT. */
static int add(struct board *board, int64_t step, const char *group, const struct store_slot *slot,
               const float *values, float scale, struct error *err) {
    char tag[TFEVENTS_TAG_MAX];
    struct histogram h = {0};
    /* An odd stride meets all places of dimensions that are powers of two. */
    const size_t stride = (slot->count / BOARD_HISTOGRAM_VALUES) | 1;
    const size_t all = (slot->count + stride - 1) / stride;
    const size_t count = all < BOARD_HISTOGRAM_VALUES ? all : BOARD_HISTOGRAM_VALUES;
    histogram_add(&h, values + slot->first, count, stride, scale);
    (void)snprintf(tag, sizeof(tag), "%s/%s", group, slot->name);
    return tfevents_add_histogram(&board->steps, clock_wall(), step, tag, &h, err);
}

int board_histograms(struct board *board, int64_t step, const struct store *store,
                     const float *weights, const float *gradients, float scale, struct error *err) {
    for (int i = 0; board_is_open(board) && i < store->slot_count; i++) {
        const struct store_slot *slot = &store->slots[i];
        if (slot->trained && (add(board, step, "weights", slot, weights, 1, err) != 0 ||
                              add(board, step, "gradients", slot, gradients, scale, err) != 0))
            return -1;
    }
    return 0;
}

/* The weights of maskrcnn_torch.py and maskrcnn_full.py: hashes of name and place. */
#ifndef TESTS_GOLDEN_MASKRCNN_START_H
#define TESTS_GOLDEN_MASKRCNN_START_H

#include "tests/golden/golden.h"
#include "trainer/graph/program/store.h"

#include <stdbool.h>

static inline bool start_begins(const char *name, const char *const *starts) {
    for (; *starts != NULL; starts++)
        if (strncmp(name, *starts, strlen(*starts)) == 0)
            return true;
    return false;
}

static inline float start_value(const char *name, const struct shape *shape, uint64_t seed,
                                size_t i) {
    static const char *const rectified[] = {"rpn.head.conv.", "roi_heads.box_head.",
                                            "roi_heads.mask_head.",
                                            "roi_heads.mask_predictor.conv5_mask.", NULL};
    static const char *const predictors[] = {"rpn.head.cls_logits.", "rpn.head.bbox_pred.",
                                             "roi_heads.box_predictor.",
                                             "roi_heads.mask_predictor.mask_fcn_logits.", NULL};
    uint64_t hash = hashed_name(name);
    bool norm = strstr(name, ".bn") != NULL || strstr(name, "downsample") != NULL;
    if (strstr(name, "running_mean") != NULL)
        return hashed_uniform(hash, seed, i, -0.5, 0.5);
    if (strstr(name, "running_var") != NULL)
        return hashed_uniform(hash, seed, i, 0.5, 1.5);
    if (shape->rank == 1 && strstr(name, "weight") != NULL)
        return hashed_uniform(hash, seed, i, 0.25, 0.5);
    if (shape->rank == 1 && (norm || start_begins(name, rectified))) {
        float value = hashed_uniform(hash, seed, i, 3.0, 3.5);
        return hashed(hashed_name("sign"), seed, i) >> 62 == 0 ? -value : value;
    }
    if (shape->rank == 1)
        return hashed_uniform(hash, seed, i, -0.1, 0.1);
    /* Rows of a transposed convolution are of what it reads. */
    int64_t fan =
        strstr(name, "conv5_mask") != NULL ? shape->dim[0] : shape_count(shape) / shape->dim[0];
    double small = start_begins(name, rectified) || start_begins(name, predictors) ? 0.3 : 1.0;
    double bound = small * pow(3.0 / (double)fan, 0.5);
    return hashed_uniform(hash, seed, i, -bound, bound);
}

static inline void start_store(struct store *store, uint64_t seed) {
    for (int k = 0; k < store->slot_count; k++) {
        const struct store_slot *slot = &store->slots[k];
        float *values = store_at(store, slot, slot->home);
        for (size_t i = 0; i < slot->count; i++)
            values[golden_place(&slot->shape, i)] = start_value(slot->name, &slot->shape, seed, i);
    }
    store_changed(store);
}

#endif

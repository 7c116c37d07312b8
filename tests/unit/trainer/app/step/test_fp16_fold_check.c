#include "trainer/app/step/fp16_fold_check.h"

#include "tests/support/unit.h"
#include "trainer/backend/ref/ref.h"

#include <string.h>

struct world {
    struct backend *backend;
    struct network net;
};

/* A detector with norms that stay as they were given, fused. */
static void open_world(struct world *w, enum dtype dtype, bool training) {
    static const double mean[3] = {0.5, 0.5, 0.5};
    struct network_options o = {.model = "maskrcnn_tiny",
                                .batch = 1,
                                .canvases = {{64, 64}},
                                .canvas_count = 1,
                                .classes = 3,
                                .objects = {.preset = "tv",
                                            .slots = 4,
                                            .image_bytes = 64 * 64 * 3,
                                            .mask_bytes = 4096,
                                            .frozen_norms = true},
                                .dtype = dtype,
                                .fusion = FUSION_ALL,
                                .mean = mean,
                                .std = mean};
    struct error err = {0};
    memset(w, 0, sizeof(*w));
    CU_ASSERT_EQUAL_FATAL(ref_open(&w->backend, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(network_open(&w->net, w->backend, &o, training, &err), 0);
    CU_ASSERT_EQUAL_FATAL(store_start(&w->net.store, 5, NULL), 0);
}

static void close_world(struct world *w) {
    network_done(&w->net);
    backend_close(w->backend);
}

/* Value CHANNEL of the array NAME. */
static void set(struct world *w, const char *name, size_t channel, float value) {
    const struct store_slot *slot = store_find(&w->net.store, name);
    CU_ASSERT_PTR_NOT_NULL_FATAL(slot);
    ((float *)store_at(&w->net.store, slot, slot->home))[channel] = value;
}

static void what_f16_cannot_hold_is_named(void) {
    for (int training = 0; training < 2; training++) {
        struct world w;
        struct error err = {0};
        open_world(&w, DTYPE_F16, training == 1);
        CU_ASSERT_EQUAL(fp16_fold_check(&w.net, &err), 0);
        set(&w, "backbone.body.layer2.0.bn2.weight", 3, -1e7F);
        CU_ASSERT_EQUAL(fp16_fold_check(&w.net, &err), -1);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
        ASSERT_CONTAINS(err.text, "backbone.body.layer2.0.bn2.weight: channel 3 gives");
        ASSERT_CONTAINS(err.text, "--dtype bf16");
        close_world(&w);
    }
}

/* A bias of 65504 is held, of 65505 (before the rounding to f16) it is not. */
static void the_largest_number_is_held(void) {
    struct world w;
    struct error err = {0};
    open_world(&w, DTYPE_F16, true);
    set(&w, "backbone.body.bn1.bias", 0, 65504);
    set(&w, "backbone.body.bn1.running_mean", 0, 0);
    CU_ASSERT_EQUAL(fp16_fold_check(&w.net, &err), 0);
    set(&w, "backbone.body.bn1.bias", 0, -65505);
    CU_ASSERT_EQUAL(fp16_fold_check(&w.net, &err), -1);
    ASSERT_CONTAINS(err.text, "backbone.body.bn1.weight: channel 0 gives");
    close_world(&w);
}

static void other_types_hold_it(void) {
    static const enum dtype types[] = {DTYPE_F32, DTYPE_BF16};
    for (int i = 0; i < 2; i++) {
        struct world w;
        struct error err = {0};
        open_world(&w, types[i], true);
        set(&w, "backbone.body.layer2.0.bn2.weight", 3, 1e7F);
        CU_ASSERT_EQUAL(fp16_fold_check(&w.net, &err), 0);
        close_world(&w);
    }
}

UNIT_SUITE("app.fp16_fold_check", UNIT(what_f16_cannot_hold_is_named),
           UNIT(the_largest_number_is_held), UNIT(other_types_hold_it))

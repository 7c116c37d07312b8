#include "tests/support/unit.h"
#include "trainer/app/step/stepper.h"
#include "trainer/backend/ref/ref.h"
#include "trainer/data/dataset/labelled.h"

#include <string.h>

enum { BATCH = 2, CLASSES = 3, LARGEST = 12 };

struct world {
    struct backend *backend;
    struct comm *self;
    struct network net;
    struct stepper stepper;
};

/* One canvas of side A, or a second one of side B. */
static void open_world(struct world *w, int a, int b) {
    static const double mean[3] = {0.5, 0.5, 0.5};
    struct network_options o = {.model = "resnet20",
                                .batch = BATCH,
                                .image_size = a,
                                .canvases = {{a, a}, {b, b}},
                                .canvas_count = b > 0 ? 2 : 0,
                                .classes = CLASSES,
                                .dtype = DTYPE_F32,
                                .mean = mean,
                                .std = mean};
    struct stepper_options how = {
        .accumulate = 1, .optimizer = {.momentum = 0.9F}, .decay_all = true};
    memset(w, 0, sizeof(*w));
    CU_ASSERT_EQUAL_FATAL(ref_open(&w->backend, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(comm_self_open(&w->self, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(network_open(&w->net, w->backend, &o, true, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(store_start(&w->net.store, 5, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(stepper_open(&w->stepper, &w->net, w->self, &how, NULL), 0);
}

static void close_world(struct world *w) {
    stepper_done(&w->stepper);
    network_done(&w->net);
    comm_close(w->self);
    backend_close(w->backend);
}

static const struct batch *make_batch(int side, int canvas) {
    static uint8_t images[BATCH * LARGEST * LARGEST * 3];
    static int32_t labels[BATCH] = {0, 2};
    static float weights[BATCH] = {1, 1};
    static struct batch_layout layout;
    static struct batch batch;
    for (int i = 0; i < BATCH * side * side * 3; i++)
        images[i] = (uint8_t)(i * 37 % 251);
    layout = labelled_layout(BATCH, side, false);
    batch = (struct batch){
        .layout = &layout, .fields = {images, labels, weights}, .count = BATCH, .canvas = canvas};
    return &batch;
}

static double take_step(struct world *w, int side, int canvas) {
    struct step_outcome outcome;
    CU_ASSERT_EQUAL(stepper_micro(&w->stepper, make_batch(side, canvas), NULL), 0);
    CU_ASSERT_EQUAL(stepper_finish(&w->stepper, 0.1, &outcome, NULL), 0);
    return outcome.loss;
}

static void a_batch_goes_through_the_program_of_its_canvas(void) {
    double first[2], second = 0;
    for (int i = 0; i < 2; i++) {
        struct world alone;
        open_world(&alone, i == 0 ? 8 : LARGEST, 0);
        first[i] = take_step(&alone, i == 0 ? 8 : LARGEST, 0);
        close_world(&alone);
    }
    for (int i = 0; i < 2; i++) {
        struct world both;
        open_world(&both, 8, LARGEST);
        CU_ASSERT_EQUAL(take_step(&both, i == 0 ? 8 : LARGEST, i), first[i]);
        double next = take_step(&both, i == 0 ? LARGEST : 8, 1 - i);
        CU_ASSERT_NOT_EQUAL(next, first[1 - i]);
        second = i == 0 ? next : second;
        CU_ASSERT_NOT_EQUAL(take_step(&both, LARGEST, 1), second);
        close_world(&both);
    }
}

static void a_canvas_that_is_none_and_another_size_are_refused(void) {
    struct world w;
    struct error err = {0};
    open_world(&w, 8, LARGEST);
    CU_ASSERT_EQUAL(stepper_micro(&w.stepper, make_batch(8, 2), &err), -1);
    ASSERT_CONTAINS(err.text, "a batch has canvas 2, but the network has 2 canvases");
    CU_ASSERT_EQUAL(stepper_micro(&w.stepper, make_batch(8, -1), &err), -1);
    CU_ASSERT_EQUAL(stepper_micro(&w.stepper, make_batch(8, 1), &err), -1);
    ASSERT_CONTAINS(err.text, "takes image of 864 bytes, but a batch has 384");
    struct batch odd = *make_batch(8, 0);
    struct batch_layout layout = *odd.layout;
    odd.layout = &layout;
    layout.fields[1].bytes = 99;
    CU_ASSERT_EQUAL(stepper_micro(&w.stepper, &odd, &err), -1);
    ASSERT_CONTAINS(err.text, "takes label of 8 bytes, but a batch has 99");
    layout.count = 1;
    CU_ASSERT_EQUAL(stepper_micro(&w.stepper, &odd, &err), -1);
    ASSERT_CONTAINS(err.text, "takes label of 8 bytes, but a batch has 0");
    close_world(&w);
}

static void all_programs_lie_in_one_memory(void) {
    struct world w;
    size_t largest = 0;
    open_world(&w, 8, LARGEST);
    for (int i = 0; i < 4; i++) {
        const struct program *p = i < 2 ? &w.net.train[i].program : &w.net.eval[i - 2].program;
        CU_ASSERT_PTR_EQUAL(p->memory, &w.net.memory);
        largest = p->plan.arena_bytes > largest ? p->plan.arena_bytes : largest;
    }
    CU_ASSERT_EQUAL(w.net.memory.arena_bytes, largest);
    CU_ASSERT_PTR_NULL(w.net.train[2].program.memory);
    /* On a host pictures keep their three channels. */
    const struct graph *graph = &w.net.train[0].graph;
    for (int i = 0; i < graph->tensor_count; i++)
        CU_ASSERT(graph->tensors[i].shape.rank < 4 || graph->tensors[i].shape.dim[3] != 4);
    close_world(&w);
}

/* As torch: "Expected more than 1 value per channel when training". */
static void norms_of_one_value_a_channel_are_refused(void) {
    static const double mean[3] = {0.5, 0.5, 0.5};
    struct network_options o = {.model = "resnet18",
                                .batch = 1,
                                .image_size = 32,
                                .classes = CLASSES,
                                .dtype = DTYPE_F32,
                                .mean = mean,
                                .std = mean};
    struct network net;
    struct backend *backend = NULL;
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(ref_open(&backend, NULL), 0);
    CU_ASSERT_EQUAL(network_open(&net, backend, &o, true, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_USAGE);
    ASSERT_CONTAINS(err.text, "resnet18 at 32x32 px: layer4.0.");
    ASSERT_CONTAINS(err.text, "one value a channel");
    ASSERT_CONTAINS(err.text, "--batch-size above 1");
    network_done(&net);
    /* Evaluation uses stored statistics. */
    CU_ASSERT_EQUAL(network_open(&net, backend, &o, false, &err), 0);
    network_done(&net);
    o.batch = 2;
    CU_ASSERT_EQUAL(network_open(&net, backend, &o, true, &err), 0);
    network_done(&net);
    backend_close(backend);
}

UNIT_SUITE("run.network", UNIT(norms_of_one_value_a_channel_are_refused),
           UNIT(a_batch_goes_through_the_program_of_its_canvas),
           UNIT(a_canvas_that_is_none_and_another_size_are_refused),
           UNIT(all_programs_lie_in_one_memory))

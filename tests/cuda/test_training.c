/* The device's step (step/device_step.h) on the emulated device, against the host's step on the
 * reference: same losses, same parameters. */
#include "tests/cuda/counted_sums.h"
#include "tests/cuda/emulated.h"
#include "tests/cuda/training.h"
#include "tests/ops/programs.h"
#include "tests/support/net.h"
#include "tests/support/unit.h"
#include "trainer/backend/ref/ref.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 3 };

static const struct training small = {.dtype = DTYPE_F32,
                                      .fusion = FUSION_NORM,
                                      .batch = 2,
                                      .size = 8,
                                      .steps = STEPS,
                                      .decay_all = true,
                                      .rate = 0.01};

/* Weight gradients at the latest and the earliest moments that the events allow, and in between. */
static void the_order_of_streams_changes_no_bit(int accumulate) {
    struct backend *device = NULL;
    struct error err = {0};
    struct training_outcome at_once = {0};
    struct training t = small;
    t.accumulate = accumulate;
    CU_ASSERT_EQUAL_FATAL(emulated_open(&device, true, &err), 0);
    training_run(device, &t, &at_once);
    backend_close(device);
    for (int i = 0; i < 4; i++) {
        struct training_outcome on_streams = {0};
        enum streams_order order = i < STREAMS_MIXED ? (enum streams_order)i : STREAMS_MIXED;
        CU_ASSERT_EQUAL_FATAL(emulated_open_streams(&device, order, (uint64_t)i, &err), 0);
        training_run(device, &t, &on_streams);
        CU_ASSERT_EQUAL(memcmp(on_streams.losses, at_once.losses, sizeof(at_once.losses)), 0);
        CU_ASSERT_EQUAL(memcmp(on_streams.weights, at_once.weights, at_once.count * sizeof(float)),
                        0);
        training_done(&on_streams);
        backend_close(device);
    }
    training_done(&at_once);
}

static void weight_gradients_may_run_whenever_the_events_allow(void) {
    the_order_of_streams_changes_no_bit(1);
}

static void so_may_those_of_micro_batches(void) {
    the_order_of_streams_changes_no_bit(2);
}

/* Like reading a checkpoint into a run. */
static void halve_weights(void *user, struct network *net, int step) {
    void *values = NULL;
    struct error err = {0};
    if (step % 2 == 0)
        return;
    ++*(int *)user;
    CU_ASSERT_EQUAL_FATAL(store_pull(&net->store, STORE_PARAMETERS, &values, &err), 0);
    for (size_t i = 0; i < net->store.count[STORE_PARAMETERS]; i++)
        ((float *)values)[i] /= 2;
    CU_ASSERT_EQUAL(store_push(&net->store, STORE_PARAMETERS, &err), 0);
}

/* The emulated device fails if a product would read a weight that is not the parameter's, rounded:
 * no matter what changed it, and also when a recorded step runs again. */
static void products_read_weights_as_they_are(enum dtype dtype, bool host_writes) {
    struct backend *device = NULL;
    struct error err = {0};
    struct training_outcome first = {0};
    int written = 0;
    struct training t = small;
    t.dtype = dtype;
    t.steps = 7;
    t.bad_from = 3, t.bad_to = 4;
    t.other_size = 12;
    t.accumulate = 2;
    if (host_writes)
        t.after_step = halve_weights, t.user = &written;
    for (int i = 0; i < 3; i++) {
        struct training_outcome outcome = {0};
        enum streams_order order = (enum streams_order)i;
        CU_ASSERT_EQUAL_FATAL(emulated_open_streams(&device, order, (uint64_t)i, &err), 0);
        training_run(device, &t, &outcome);
        backend_close(device);
        CU_ASSERT_EQUAL(outcome.told, t.steps);
        if (i == 0)
            first = outcome;
        else
            CU_ASSERT_EQUAL(memcmp(outcome.weights, first.weights, first.count * sizeof(float)), 0);
        if (i > 0)
            training_done(&outcome);
    }
    CU_ASSERT_EQUAL(written, host_writes ? 3 * (t.steps / 2) : 0);
    training_done(&first);
}

static void weights_are_rounded_by_the_update(void) {
    products_read_weights_as_they_are(DTYPE_F16, false);
    products_read_weights_as_they_are(DTYPE_BF16, false);
}

static void weights_that_the_host_changes_are_rounded_anew(void) {
    products_read_weights_as_they_are(DTYPE_F16, true);
}

/* --- sums between devices that are counted -----------------------------------------------------
 */
/* A recorded step is enqueued twice in all: to warm up and to be recorded. */
static void sums_that_must_not_be_recorded_are_started_in_every_step(void) {
    int started[2];
    for (int i = 0; i < 2; i++) {
        struct backend *device = NULL;
        struct training_outcome outcome = {0};
        struct device_sum sums = {.driver = &counted_driver, .unrecorded = i == 1};
        struct training t = small;
        t.accumulate = 1;
        t.steps = 5;
        t.sums = &sums;
        CU_ASSERT_EQUAL_FATAL(emulated_open_streams(&device, STREAMS_MIXED, 1, NULL), 0);
        counted_sums = 0;
        training_run(device, &t, &outcome);
        started[i] = counted_sums;
        training_done(&outcome);
        backend_close(device);
    }
    CU_ASSERT(started[0] > 0);
    CU_ASSERT_EQUAL(started[1] * 2, started[0] * 5);
}

static struct backend *new_mixed(void) {
    struct backend *device = NULL;
    CU_ASSERT_EQUAL_FATAL(emulated_open_streams(&device, STREAMS_MIXED, 5, NULL), 0);
    return device;
}

static void programs_in_one_memory_give_the_bits_of_programs_apart(void) {
    programs_check_bits(new_mixed, FUSION_NORM);
    programs_check_memory(new_mixed, FUSION_NORM);
}

/* Recorded, in any order of the streams, and operator by operator on one. */
static void two_sizes_of_picture_take_turns_as_on_the_host(void) {
    struct backend *ref = NULL, *device = NULL;
    struct error err = {0};
    struct training_outcome on_host = {0}, first = {0};
    struct training t = small;
    t.accumulate = 2;
    t.steps = 6;
    t.other_size = 12;
    CU_ASSERT_EQUAL_FATAL(ref_open(&ref, &err), 0);
    training_run(ref, &t, &on_host);
    backend_close(ref);
    for (int i = 0; i < 4; i++) {
        struct training_outcome outcome = {0};
        t.check_operators = i == 3;
        CU_ASSERT_EQUAL_FATAL(
            i == 0 ? emulated_open(&device, true, &err)
                   : emulated_open_streams(&device, i == 1 ? STREAMS_MAIN_FIRST : STREAMS_MIXED,
                                           (uint64_t)i, &err),
            0);
        training_run(device, &t, &outcome);
        backend_close(device);
        /* Further on a ReLU of so small a network may have turned round. */
        for (int step = 0; step < 4; step++)
            CU_ASSERT_DOUBLE_EQUAL(outcome.losses[step], on_host.losses[step], 1e-5);
        if (i == 0) {
            first = outcome;
            continue;
        }
        CU_ASSERT_EQUAL(memcmp(outcome.losses, first.losses, sizeof(first.losses)), 0);
        CU_ASSERT_EQUAL(memcmp(outcome.weights, first.weights, first.count * sizeof(float)), 0);
        training_done(&outcome);
    }
    training_done(&first);
    training_done(&on_host);
}

/* When the device tells that a step was given up, the next one is already under way. */
static void steps_given_up_change_nothing(void) {
    struct backend *device = NULL;
    struct error err = {0};
    struct training_outcome all = {0}, fewer = {0};
    struct training t = small;
    t.accumulate = 1;
    CU_ASSERT_EQUAL_FATAL(emulated_open_streams(&device, STREAMS_MAIN_FIRST, 0, &err), 0);
    t.steps = 4;
    t.give_up_from = 2;
    training_run(device, &t, &all);
    t.steps = 2;
    t.give_up_from = 0;
    training_run(device, &t, &fewer);
    CU_ASSERT_EQUAL(memcmp(all.weights, fewer.weights, fewer.count * sizeof(float)), 0);
    CU_ASSERT_EQUAL(memcmp(all.losses, fewer.losses, sizeof(fewer.losses)), 0);
    CU_ASSERT_FATAL(fewer.state_count > 0);
    CU_ASSERT_EQUAL(memcmp(all.states, fewer.states, fewer.state_count * sizeof(float)), 0);
    training_done(&all);
    training_done(&fewer);
    backend_close(device);
}

/* The device finds out by itself, and the next step is already under way when the host hears of it.
 * Twenty of them end the run. */
static void steps_that_are_not_finite_change_nothing(void) {
    struct backend *device = NULL;
    struct error err = {0};
    struct training_outcome some = {0}, fewer = {0}, all = {0};
    struct training t = small;
    t.accumulate = 2;
    CU_ASSERT_EQUAL_FATAL(emulated_open_streams(&device, STREAMS_MAIN_FIRST, 0, &err), 0);
    t.steps = 5;
    t.bad_from = 2;
    t.bad_to = 5;
    training_run(device, &t, &some);
    t.steps = 2;
    training_run(device, &t, &fewer);
    CU_ASSERT_EQUAL(memcmp(some.weights, fewer.weights, fewer.count * sizeof(float)), 0);
    CU_ASSERT_FATAL(fewer.state_count > 0);
    CU_ASSERT_EQUAL(memcmp(some.states, fewer.states, fewer.state_count * sizeof(float)), 0);
    CU_ASSERT_FALSE(isfinite(some.losses[2]));
    training_done(&some);
    training_done(&fewer);
    t.steps = 24;
    t.bad_from = 1;
    t.bad_to = 24;
    CU_ASSERT_EQUAL(training_try(device, &t, &all, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "20 steps in a row"));
    CU_ASSERT_EQUAL(all.told, 20);
    training_done(&all);
    backend_close(device);
}

static void training_goes_on_behind_a_step_that_is_not_finite_as_on_the_host(void) {
    struct backend *ref = NULL, *device = NULL;
    struct error err = {0};
    struct training_outcome on_host = {0}, on_device = {0};
    struct training t = small;
    t.accumulate = 1;
    t.steps = 4;
    t.bad_from = 1;
    t.bad_to = 3;
    CU_ASSERT_EQUAL_FATAL(ref_open(&ref, &err), 0);
    CU_ASSERT_EQUAL_FATAL(emulated_open_streams(&device, STREAMS_MIXED, 3, &err), 0);
    training_run(ref, &t, &on_host);
    training_run(device, &t, &on_device);
    CU_ASSERT(training_difference(&on_device, &on_host) <= 1e-3);
    for (size_t i = 0; i < on_host.state_count; i++)
        CU_ASSERT_DOUBLE_EQUAL(on_device.states[i], on_host.states[i], 1e-3);
    training_done(&on_host);
    training_done(&on_device);
    backend_close(device);
    backend_close(ref);
}

/* Copies every bucket when it is reported ready. */
struct watch {
    struct net *net;
    float *copy;
    int calls;
};

static int copy_bucket(void *user, int index, struct error *err) {
    struct watch *watch = user;
    const struct bucket *bucket = &watch->net->program.buckets[index];
    const float *gradients = watch->net->store.arena[STORE_GRADIENTS];
    watch->calls++;
    return watch->net->backend->table->device->copy(
        watch->net->backend, watch->copy + bucket->first, gradients + bucket->first,
        bucket->count * sizeof(float), err);
}

static void a_bucket_is_ready_on_the_stream_that_is_told_so(void) {
    for (int i = 0; i < 4; i++) {
        struct backend *device = NULL;
        struct net net;
        struct error err = {0};
        CU_ASSERT_EQUAL_FATAL(emulated_open_streams(&device, (enum streams_order)(i % 3), 9, &err),
                              0);
        net_init(&net, device, net_config("resnet20", 1, 8, true),
                 (struct compile_options){
                     .fusion = FUSION_NORM, .bucket_bytes = 64, .one_stream = i == 3});
        CU_ASSERT_EQUAL(net.program.streams.stream == NULL, i == 3);
        cleanup_buf struct buf text = {0};
        buf_init(&text, 1 << 20);
        CU_ASSERT_EQUAL(program_print(&net.program, &text, &err), 0);
        CU_ASSERT_EQUAL(strstr(buf_text(&text), "  side  after ") == NULL, i == 3);
        net_start(&net);
        net_fill(&net, 1);
        size_t count = net.store.count[STORE_GRADIENTS];
        struct watch watch = {.net = &net, .copy = calloc(count, sizeof(float))};
        CU_ASSERT_PTR_NOT_NULL_FATAL(watch.copy);
        net_run(&net, &(struct program_hooks){.user = &watch, .bucket_ready = copy_bucket});
        CU_ASSERT_EQUAL_FATAL(device->table->sync(device, &err), 0);
        CU_ASSERT(watch.calls > 50); /* nearly each parameter its own */
        CU_ASSERT_EQUAL(memcmp(watch.copy, net.store.arena[STORE_GRADIENTS], count * sizeof(float)),
                        0);
        free(watch.copy);
        net_done(&net);
    }
}

static void compare(int accumulate, bool decay_all) {
    struct backend *ref = NULL, *device = NULL;
    struct error err = {0};
    struct training_outcome on_host = {0}, on_device = {0};
    struct training t = small;
    t.accumulate = accumulate;
    t.decay_all = decay_all;
    CU_ASSERT_EQUAL_FATAL(ref_open(&ref, &err), 0);
    CU_ASSERT_EQUAL_FATAL(emulated_open(&device, true, &err), 0);
    training_run(ref, &t, &on_host);
    training_run(device, &t, &on_device);
    for (int i = 0; i < STEPS; i++) {
        CU_ASSERT_DOUBLE_EQUAL(on_device.losses[i], on_host.losses[i],
                               1e-3 * fabs(on_host.losses[i]));
        CU_ASSERT(on_host.penalties[i] > 0);
        CU_ASSERT_DOUBLE_EQUAL(on_device.penalties[i], on_host.penalties[i],
                               1e-4 * on_host.penalties[i]);
    }
    CU_ASSERT(training_difference(&on_device, &on_host) <= 1e-3);
    training_done(&on_host);
    training_done(&on_device);
    backend_close(device);
    backend_close(ref);
}

static void the_devices_step_is_the_hosts(void) {
    compare(1, true);
}

static void micro_batches_add_up_on_the_device_and_norms_may_go_without_decay(void) {
    compare(2, false);
}

static void a_network_too_large_for_the_device_is_reported_with_its_sizes(void) {
    struct backend *device = NULL;
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(emulated_open(&device, true, &err), 0);
    emulated_limit(device, 4 << 20);
    struct training t = {.fusion = FUSION_NORM, .batch = 2, .accumulate = 1};
    struct training_outcome outcome = {0};
    CU_ASSERT_EQUAL(training_try(device, &t, &outcome, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DEVICE);
    static const char *const parts[] = {"weights 1.0",  "gradients 1.0", "optimizer 1.0",
                                        "activations ", "workspace ",    "MiB in all",
                                        "MiB needed",   "MiB free",      "packed weights "};
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, parts[i]));
    backend_close(device);
}

static void let_it_fail(void *user, struct network *net, int step) {
    (void)user;
    if (step == 0)
        emulated_fault(net->backend, 40);
}

/* A device reports a fault at the next wait. In the first step, and wherever it is requested, that
 * is right after the operator. */
static void a_fault_of_the_device_names_operator_and_shape(void) {
    enum { AFTER_STARTING = 150 };
    for (int later = 0; later < 2; later++) {
        struct backend *device = NULL;
        struct error err = {0};
        struct training_outcome outcome = {0};
        CU_ASSERT_EQUAL_FATAL(emulated_open(&device, true, &err), 0);
        struct training t = {.fusion = FUSION_NORM,
                             .batch = 2,
                             .accumulate = 1,
                             .steps = STEPS,
                             .rate = 0.01,
                             .check_operators = later == 1};
        if (later)
            t.after_step = let_it_fail;
        else
            emulated_fault(device, AFTER_STARTING);
        CU_ASSERT_EQUAL(training_try(device, &t, &outcome, &err), -1);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_DEVICE);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "layer"));
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "[2,"));
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "illegal memory access"));
        training_done(&outcome);
        backend_close(device);
    }
}

/* Each optimizer, with an average of the weights; in a recorded step and one by one. */
static void every_optimizer_steps_as_on_the_host(void) {
    for (int kind = OPTIMIZER_SGD + 1; kind < OPTIMIZER_KINDS; kind++) {
        struct training_outcome on_host = {0}, first = {0};
        struct training t = small;
        struct backend *ref = NULL;
        struct error err = {0};
        t.kind = (enum optimizer_kind)kind;
        t.accumulate = 1;
        t.averages = true;
        t.decay_all = false;
        t.steps = 4;
        CU_ASSERT_EQUAL_FATAL(ref_open(&ref, &err), 0);
        training_run(ref, &t, &on_host);
        backend_close(ref);
        for (int recorded = 0; recorded < 2; recorded++) {
            struct training_outcome outcome = {0};
            struct backend *device = NULL;
            t.check_operators = !recorded;
            CU_ASSERT_EQUAL_FATAL(emulated_open(&device, true, &err), 0);
            training_run(device, &t, &outcome);
            backend_close(device);
            for (int step = 0; step < t.steps; step++)
                CU_ASSERT_DOUBLE_EQUAL(outcome.losses[step], on_host.losses[step], 1e-4);
            CU_ASSERT(training_difference(&outcome, &on_host) < 1e-3);
            if (!recorded) {
                first = outcome;
                continue;
            }
            CU_ASSERT_EQUAL(memcmp(outcome.weights, first.weights, first.count * sizeof(float)), 0);
            training_done(&outcome);
        }
        training_done(&first);
        training_done(&on_host);
    }
}

UNIT_SUITE("cuda.training", UNIT(every_optimizer_steps_as_on_the_host),
           UNIT(weight_gradients_may_run_whenever_the_events_allow),
           UNIT(so_may_those_of_micro_batches), UNIT(weights_are_rounded_by_the_update),
           UNIT(sums_that_must_not_be_recorded_are_started_in_every_step),
           UNIT(weights_that_the_host_changes_are_rounded_anew),
           UNIT(two_sizes_of_picture_take_turns_as_on_the_host),
           UNIT(programs_in_one_memory_give_the_bits_of_programs_apart),
           UNIT(steps_given_up_change_nothing), UNIT(steps_that_are_not_finite_change_nothing),
           UNIT(training_goes_on_behind_a_step_that_is_not_finite_as_on_the_host),
           UNIT(a_bucket_is_ready_on_the_stream_that_is_told_so),
           UNIT(the_devices_step_is_the_hosts),
           UNIT(micro_batches_add_up_on_the_device_and_norms_may_go_without_decay),
           UNIT(a_network_too_large_for_the_device_is_reported_with_its_sizes),
           UNIT(a_fault_of_the_device_names_operator_and_shape))

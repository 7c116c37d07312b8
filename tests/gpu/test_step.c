/* The device's step: recorded or not, in repeated runs, compared with the host's, and with a loss
 * scale that overflows. */
#include "tests/cuda/training.h"
#include "tests/gpu/gpu.h"
#include "tests/support/unit.h"
#include "trainer/backend/cuda/base/context.h"
#include "trainer/backend/ref/ref.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { STEPS = 6 };

static struct training plan(enum dtype dtype, enum fusion fusion) {
    return (struct training){.dtype = dtype,
                             .fusion = fusion,
                             .batch = 8,
                             .accumulate = 1,
                             .steps = STEPS,
                             .decay_all = true,
                             .rate = 0.01};
}

static struct cuda_options options(enum dtype dtype) {
    struct cuda_options o = GPU_EXACT;
    o.loss_scale = dtype == DTYPE_F16 ? 1024 : 1;
    return o;
}

/* Runs a training on a device of its own. If RECORDED is false, the device has no support for
 * recording. */
static void run(const struct training *t, bool recorded, struct training_outcome *ret) {
    struct backend *backend = gpu_open(options(t->dtype));
    struct backend_table table = *backend->table;
    struct backend_device device = *table.device;
    const struct backend_table *own = backend->table;
    if (!recorded) {
        device.capture_begin = NULL;
        table.device = &device;
        backend->table = &table;
    }
    training_run(backend, t, ret);
    backend->table = own;
    backend_close(backend);
}

static void compare_bits(const struct training *t, bool recorded) {
    struct training_outcome first = {0}, second = {0};
    run(t, true, &first);
    run(t, recorded, &second);
    CU_ASSERT_EQUAL_FATAL(first.count, second.count);
    bool same = memcmp(first.weights, second.weights, first.count * sizeof(float)) == 0;
    if (!same)
        printf("%s, %s: weights differ by %.3g\n", dtype_name(t->dtype), fusion_name(t->fusion),
               training_difference(&second, &first));
    CU_ASSERT(same);
    CU_ASSERT_EQUAL(memcmp(first.losses, second.losses, sizeof(first.losses)), 0);
    training_done(&first);
    training_done(&second);
}

static const struct {
    enum dtype dtype;
    enum fusion fusion;
} forms[] = {{DTYPE_F32, FUSION_NONE}, {DTYPE_F32, FUSION_ALL}, {DTYPE_BF16, FUSION_ALL},
             {DTYPE_F16, FUSION_NONE}, {DTYPE_F16, FUSION_ALL}, {DTYPE_F16, FUSION_CONV}};
enum { FORMS = sizeof(forms) / sizeof(forms[0]) };

static void a_recorded_step_gives_the_bits_of_the_step_itself(void) {
    for (int i = 0; i < FORMS && gpu_here(); i++) {
        struct training t = plan(forms[i].dtype, forms[i].fusion);
        compare_bits(&t, false);
    }
}

static void recorded_steps_give_the_same_bits_in_every_run(void) {
    for (int i = 0; i < FORMS && gpu_here(); i++) {
        struct training t = plan(forms[i].dtype, forms[i].fusion);
        compare_bits(&t, true);
    }
}

static void micro_batches_give_the_same_bits_in_every_run(void) {
    if (!gpu_here())
        return;
    struct training t = plan(DTYPE_F16, FUSION_ALL);
    t.accumulate = 3;
    t.decay_all = false;
    compare_bits(&t, true);
    compare_bits(&t, false);
}

static void the_devices_steps_are_the_hosts(void) {
    if (!gpu_here())
        return;
    for (int accumulate = 1; accumulate <= 2; accumulate++) {
        struct backend *ref = NULL;
        struct error err = {0};
        struct training_outcome on_host = {0}, on_device = {0};
        struct training t = plan(DTYPE_F32, FUSION_NORM);
        t.batch = 4;
        t.steps = 3;
        t.accumulate = accumulate;
        CU_ASSERT_EQUAL_FATAL(ref_open(&ref, &err), 0);
        training_run(ref, &t, &on_host);
        backend_close(ref);
        run(&t, true, &on_device);
        double difference = training_difference(&on_device, &on_host);
        printf("%d micro-batches, three steps: weights %.3g apart\n", accumulate, difference);
        CU_ASSERT(difference <= 1e-3);
        training_done(&on_host);
        training_done(&on_device);
    }
}

/* The device's control block after each step, and the sum of squares of the weights. */
struct watch {
    struct backend *backend;
    struct control control[TRAINING_STEPS_MAX];
    double squares[TRAINING_STEPS_MAX];
};

static void look(void *user, struct network *net, int step) {
    struct watch *w = user;
    struct error err = {0};
    void *values = NULL;
    const struct control *control = ((struct cuda *)w->backend)->control;
    CU_ASSERT_EQUAL_FATAL(
        w->backend->table->copy_out(w->backend, &w->control[step], control, sizeof(*control), &err),
        0);
    CU_ASSERT_EQUAL_FATAL(store_pull(&net->store, STORE_PARAMETERS, &values, &err), 0);
    for (size_t i = 0; i < net->store.count[STORE_PARAMETERS]; i++)
        w->squares[step] += pow((double)((const float *)values)[i], 2);
}

/* At 2^28 the gradients of the logits exceed f16's largest number: steps are skipped, each halving
 * the scale, until they fit; then training goes on. */
static void an_overflow_skips_the_step_and_halves_the_scale(void) {
    if (!gpu_here())
        return;
    static struct watch w;
    struct training_outcome outcome = {0};
    struct cuda_options o = options(DTYPE_F16);
    o.loss_scale = 268435456;
    o.growth_interval = 1000;
    struct backend *backend = gpu_open(o);
    w = (struct watch){.backend = backend};
    struct training t = plan(DTYPE_F16, FUSION_ALL);
    t.steps = 40;
    t.after_step = look;
    t.user = &w;
    training_run(backend, &t, &outcome);
    CU_ASSERT_EQUAL(w.control[0].skipped, 1);
    CU_ASSERT_EQUAL(w.control[0].state.loss_scale, 134217728);
    CU_ASSERT_EQUAL(w.squares[0], w.squares[1]);
    const struct control *last = &w.control[t.steps - 1];
    printf("%d steps skipped, then a loss scale of %g; loss %g, then %g\n", last->skipped,
           (double)last->state.loss_scale, outcome.losses[0], outcome.losses[t.steps - 1]);
    CU_ASSERT(last->skipped >= 8 && last->skipped < t.steps - 10);
    CU_ASSERT_EQUAL(last->state.loss_scale, ldexp(268435456, -last->skipped));
    CU_ASSERT_NOT_EQUAL(w.squares[t.steps - 1], w.squares[0]);
    CU_ASSERT(isfinite(outcome.losses[t.steps - 1]));
    training_done(&outcome);
    backend_close(backend);
}

UNIT_SUITE("gpu.step", UNIT(a_recorded_step_gives_the_bits_of_the_step_itself),
           UNIT(recorded_steps_give_the_same_bits_in_every_run),
           UNIT(micro_batches_give_the_same_bits_in_every_run),
           UNIT(the_devices_steps_are_the_hosts),
           UNIT(an_overflow_skips_the_step_and_halves_the_scale))

#include "trainer/app/plan/count_launches.h"

#include "common/cleanup.h"
#include "trainer/app/plan/launches.h"
#include "trainer/app/step/stepper.h"

#include <stdlib.h>
#include <string.h>

static int print_kinds(struct program *program, struct buf *out, struct error *err) {
    struct kind_launches of[OP_KINDS];
    if (launches_by_kind(program, of, err) != 0 ||
        buf_printf(out, err, "%9s %11s %9s %9s  %s\n", "operators", "own kernels", "early",
                   "libraries", "launches of") != 0)
        return -1;
    for (int kind = 0; kind < OP_KINDS; kind++) {
        const struct device_launches *l = &of[kind].launches;
        if (of[kind].operators > 0 &&
            buf_printf(out, err, "%9d %11lu %9lu %9lu  %s\n", of[kind].operators, l->kernels,
                       l->early, l->products, op_name((enum op_kind)kind)) != 0)
            return -1;
    }
    return 0;
}

/* Fills a batch of zeros for the pass; LAYOUT names its fields. */
static int fill_batch(struct batch *batch, struct batch_layout *layout, const struct pass *pass,
                      char **ret_memory, struct error *err) {
    for (int i = 0; i < pass->input_count; i++)
        (void)batch_layout_add(layout, pass->graph.tensors[pass->inputs[i].tensor].name,
                               pass->inputs[i].bytes);
    *ret_memory = calloc(1, layout->bytes + 1);
    if (*ret_memory == NULL)
        return error_no_memory(err, "a batch");
    batch->layout = layout;
    for (int i = 0; i < layout->count; i++)
        batch->fields[i] = *ret_memory + layout->fields[i].offset;
    return 0;
}

static int take_step(struct stepper *stepper, const struct batch *batch, struct error *err) {
    struct step_outcome outcome;
    return stepper_micro(stepper, batch, err) != 0 ? -1 : stepper_finish(stepper, 0, &outcome, err);
}

static int print_step(struct stepper *stepper, const struct batch *batch, struct buf *out,
                      struct error *err) {
    if (take_step(stepper, batch, err) != 0)
        return -1;
    const struct device_launches before = device_launches(stepper->net->backend);
    if (take_step(stepper, batch, err) != 0)
        return -1;
    const struct device_launches l = launches_since(stepper->net->backend, &before);
    return buf_printf(out, err,
                      "launches: %lu own kernels, %lu of them may begin before preceding ones end, "
                      "%lu calls of cuDNN and cuBLASLt, %lu copies and fills\n",
                      l.kernels, l.early, l.products, l.copies);
}

int count_launches(struct network *net, int canvas, struct comm *comm, struct buf *out,
                   struct error *err) {
    struct stepper stepper = {0};
    struct batch batch = {.canvas = canvas};
    struct batch_layout layout = {0};
    cleanup_free char *memory = NULL;
    const struct stepper_options options = {
        .accumulate = 1, .optimizer = {.momentum = 0.9F, .weight_decay = 1e-4F}, .decay_all = true};
    if (print_kinds(&net->train[canvas].program, out, err) != 0 ||
        fill_batch(&batch, &layout, &net->train[canvas], &memory, err) != 0)
        return -1;
    int result = stepper_open(&stepper, net, comm, &options, err);
    if (result == 0)
        result = print_step(&stepper, &batch, out, err);
    stepper_done(&stepper);
    return result;
}

/* Metrics of a training step. */
#include "trainer/backend/cpu/base/context.h"
#include "trainer/graph/op_roi.h"
#include "trainer/graph/op_rpn.h"
#include "trainer/math/image_size.h"

struct total_op {
    struct cpu_step step;
    size_t images;
    const float *rpn, *box, *mask;
    const int32_t *size;
    float *metrics;
};

/* Losses arrive as means over this batch. Multiplied by the number of pictures they can be added to
 * those of other batches and ranks, to be divided once at the end. Counts are sums already. */
static int run(void *context, struct error *err) {
    (void)err;
    const struct total_op *op = context;
    double images = 0, loss = 0;
    for (size_t n = 0; n < op->images; n++)
        images += op->size[n * IMAGE_SIZE_FIELDS + IMAGE_SIZE_VALID] != 0;
    const double means[DETECT_METRICS] = {
        [DETECT_LOSS_CLASSIFIER] = (double)op->box[BOX_LOSS_CLASSIFIER],
        [DETECT_LOSS_BOX_REG] = (double)op->box[BOX_LOSS_BOX_REG],
        [DETECT_LOSS_MASK] = (double)op->mask[0],
        [DETECT_LOSS_OBJECTNESS] = (double)op->rpn[RPN_LOSS_OBJECTNESS],
        [DETECT_LOSS_RPN_BOX_REG] = (double)op->rpn[RPN_LOSS_BOX],
        [DETECT_ACCURACY] = (double)op->box[BOX_LOSS_ACCURACY]};
    for (int i = 0; i < DETECT_METRICS; i++)
        op->metrics[i] = (float)(images * means[i]);
    for (int i = DETECT_LOSS_CLASSIFIER; i <= DETECT_LOSS_RPN_BOX_REG; i++)
        loss += images * means[i];
    op->metrics[DETECT_LOSS] = (float)loss;
    op->metrics[DETECT_IMAGES] = (float)images;
    op->metrics[DETECT_POSITIVES] = op->box[BOX_LOSS_POSITIVES];
    op->metrics[DETECT_RPN_POSITIVES] = op->rpn[RPN_LOSS_POSITIVES];
    return 0;
}

static int bind(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                const struct op_addresses *addresses, struct backend_bound *ret_bound,
                struct error *err) {
    struct total_op *bound = cpu_step_new(cpu, sizeof *bound, run, NULL, ret_bound, err);
    if (bound == NULL)
        return -1;
    bound->images = (size_t)cpu_input(graph, op, TOTAL_LOSS_SIZE)->shape.dim[0];
    bound->rpn = addresses->inputs[TOTAL_LOSS_RPN];
    bound->box = addresses->inputs[TOTAL_LOSS_BOX];
    bound->mask = addresses->inputs[TOTAL_LOSS_MASK];
    bound->size = addresses->inputs[TOTAL_LOSS_SIZE];
    bound->metrics = addresses->outputs[TOTAL_LOSS_METRICS];
    return 0;
}

const struct cpu_operator cpu_total_loss = {NULL, NULL, bind};

/* Region proposal network (Ren et al. 2015, section 3): one head with shared weights on all
 * levels, its proposals, and in training its losses. */
#include "trainer/graph/build/build.h"
#include "trainer/graph/build/build_rpn.h"
#include "trainer/models/detector.h"

#include <stdio.h>

/* Activations [N * pixels, 3] and [N * pixels, 12] of each level. */
struct levels {
    int logits[DETECT_LEVELS_MAX], deltas[DETECT_LEVELS_MAX];
};

/* A 1x1 convolution, as a linear layer on each pixel. */
static struct graph_weights pixelwise(const struct detector *d, const char *name, int outputs) {
    struct graph_weights w = {TENSOR_NONE, TENSOR_NONE, TENSOR_NONE, TENSOR_NONE};
    char text[TENSOR_NAME_SIZE];
    (void)snprintf(text, sizeof(text), "%s.weight", name);
    w.weight = graph_parameter(d->graph, text, shape_2(outputs, d->family->pyramid),
                               INIT_NORMAL_HUNDREDTH, 0);
    graph_file(d->graph, w.weight, FILE_PIXELWISE);
    w.bias = graph_bias_parameter(d->graph, name, outputs, INIT_ZERO, 0);
    return w;
}

static void head(const struct detector *d, struct levels *ret) {
    static const char conv[] = "rpn.head.conv.0.0", cls[] = "rpn.head.cls_logits",
                      box[] = "rpn.head.bbox_pred";
    const struct op_window window = {.kernel = 3, .stride = 1, .pad = 1};
    const int channels = d->family->pyramid;
    struct graph_weights w =
        detector_conv_weights(d, conv, channels, channels, 3, INIT_NORMAL_HUNDREDTH);
    struct graph_weights c = pixelwise(d, cls, DETECT_ANCHORS);
    struct graph_weights b = pixelwise(d, box, 4 * DETECT_ANCHORS);
    for (int i = 0; i < d->rpn.levels; i++) {
        int x = graph_conv2d_bias_with(d->graph, conv, d->maps[i], &w, window, true);
        ret->logits[i] = graph_linear_with(d->graph, cls, x, &c);
        ret->deltas[i] = graph_linear_with(d->graph, box, x, &b);
    }
}

struct detector_proposals detector_rpn(const struct detector *d) {
    const struct maskrcnn_tensors *t = d->t;
    struct detector_proposals ret = {.losses = TENSOR_NONE};
    struct levels levels;
    head(d, &levels);
    const struct rpn_proposals best =
        graph_proposals(d->graph, "rpn", levels.logits, levels.deltas, t->image_size, &d->rpn);
    ret.box = best.box;
    ret.count = best.count;
    ret.nan = best.nan;
    if (!d->config->training)
        return ret;
    const struct rpn_samples samples = graph_rpn_targets(
        d->graph, "rpn.targets", t->gt_box, t->gt_count, t->image_size, t->key, &d->rpn);
    ret.losses =
        graph_rpn_loss(d->graph, "rpn.loss", levels.logits, levels.deltas, &samples, &d->rpn);
    return ret;
}

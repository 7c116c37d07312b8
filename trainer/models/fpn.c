/* Feature pyramid network (Lin et al. 2017, section 3): a 1x1 convolution of each stage's map,
 * plus the upsampled coarser level, then a 3x3. P6, for anchors only, is every other pixel of P5
 * (torchvision's LastLevelMaxPool). */
#include "trainer/graph/build/build.h"
#include "trainer/models/detector.h"

#include <stdio.h>

static int conv(const struct detector *d, const char *part, int number, int x, int kernel) {
    struct op_window window = {.kernel = kernel, .stride = 1, .pad = kernel / 2};
    char name[TENSOR_NAME_SIZE];
    (void)snprintf(name, sizeof(name), "backbone.fpn.%s.%d.0", part, number);
    const int64_t inputs =
        kernel == 1 ? backbone_channels(&d->family->backbone, number) : d->family->pyramid;
    struct graph_weights w =
        detector_conv_weights(d, name, inputs, d->family->pyramid, kernel, INIT_UNIFORM_FAN_IN_3);
    return graph_conv2d_bias_with(d->graph, name, x, &w, window, false);
}

void detector_pyramid(struct detector *d, const int stages[BACKBONE_STAGES]) {
    int coarser = TENSOR_NONE;
    for (int i = BACKBONE_STAGES - 1; i >= 0; i--) {
        int inner = conv(d, "inner_blocks", i, stages[i], 1);
        if (coarser != TENSOR_NONE)
            inner = graph_upsample_add(d->graph, inner, coarser);
        d->maps[i] = conv(d, "layer_blocks", i, inner, 3);
        coarser = inner;
    }
    d->maps[BACKBONE_STAGES] = graph_max_pool(d->graph, d->maps[BACKBONE_STAGES - 1],
                                              (struct op_window){.kernel = 1, .stride = 2});
}

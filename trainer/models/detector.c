#include "trainer/models/detector.h"

#include <stdio.h>

void detector_op(const struct detector *d, enum op_kind kind, const char *name, const int *inputs,
                 const struct op_attr *attr, int ret_outputs[OP_OUTPUTS_MAX]) {
    int op = graph_op(d->graph, kind, name, inputs, attr);
    for (int i = 0; i < OP_OUTPUTS_MAX; i++)
        ret_outputs[i] = op < 0 ? TENSOR_NONE : d->graph->ops[op].outputs[i];
}

struct graph_weights detector_conv_weights(const struct detector *d, const char *name,
                                           int64_t inputs, int64_t outputs, int kernel,
                                           enum tensor_init init) {
    struct graph_weights w = {TENSOR_NONE, TENSOR_NONE, TENSOR_NONE, TENSOR_NONE};
    char text[TENSOR_NAME_SIZE];
    (void)snprintf(text, sizeof(text), "%s.weight", name);
    w.weight = graph_parameter(d->graph, text, shape_4(outputs, kernel, kernel, inputs), init, 0);
    w.bias = graph_bias_parameter(d->graph, name, outputs, INIT_ZERO, 0);
    return w;
}

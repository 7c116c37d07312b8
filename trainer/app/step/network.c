#include "trainer/app/step/network.h"

#include <string.h>

/* A network is one store of parameters and several compiled programs that use it: a training and an
 * evaluation pass for each canvas. They are compiled together, so that they share the memory of
 * activations, as only one runs at a time.
 *
 * A pass finds its inputs by role and its outputs by name. Batches carry fields under the same
 * names, so the network and the data set meet here without knowing each other.
 *
 * network_check_side and network_describe build a graph without compiling it, for questions about a
 * network before there is a backend. */

/* On a device pictures are padded to four channels: libraries have slower kernels for convolutions
 * of three. The fourth channel is zero. */
enum { DEVICE_STEM_CHANNELS = 4 };

/* At most this many outputs of a network, in addition to its metrics. */
enum { PASS_OUTPUTS_MAX = 64 };

static void pass_done(struct pass *pass) {
    program_done(&pass->program);
    graph_done(&pass->graph);
}

/* Programs go before the memory and the store that they point into. */
void network_done(struct network *net) {
    for (int i = 0; i < NETWORK_CANVASES_MAX; i++) {
        pass_done(&net->eval[i]);
        pass_done(&net->train[i]);
    }
    program_memory_done(&net->memory);
    store_done(&net->store);
}

/* Finds the inputs and the metrics of a pass. In evaluation a network may have no metrics, only
 * outputs for the task. */
static int find_ends(struct pass *pass, struct error *err) {
    for (int i = 0; i < pass->graph.tensor_count; i++) {
        if (pass->graph.tensors[i].role != TENSOR_INPUT)
            continue;
        if (pass->input_count == BATCH_FIELDS_MAX)
            return error_set(err, EXIT_CODE_INTERNAL, "the network has more than %d inputs",
                             BATCH_FIELDS_MAX);
        pass->inputs[pass->input_count++].tensor = i;
    }
    pass->metrics = graph_find(&pass->graph, "metrics");
    return pass->metrics != TENSOR_NONE || !pass->graph.training
               ? 0
               : error_set(err, EXIT_CODE_INTERNAL, "the network has no output named metrics");
}

/* Completes the list of inputs of a pass that has been compiled. Offsets are those of a block that
 * holds all inputs, each aligned as the backend requires it; input_staging.h copies such a block at
 * once. */
static void place_inputs(struct pass *pass) {
    for (int i = 0; i < pass->input_count; i++) {
        struct pass_input *input = &pass->inputs[i];
        input->bytes = tensor_bytes(&pass->graph.tensors[input->tensor]);
        input->address = program_address(&pass->program, input->tensor);
        input->offset = pass->input_bytes;
        pass->input_bytes += backend_aligned(input->bytes);
    }
}

/* A batch norm in training needs two values a channel: of a single value the variance is 0, and
 * the output is the bias whatever the input. */
static int check_norms(const struct graph *graph, int batch, struct error *err) {
    for (int i = 0; graph->training && i < graph->op_count; i++) {
        const struct op *op = &graph->ops[i];
        if (op->kind != OP_BATCH_NORM)
            continue;
        const struct shape *x = &graph->tensors[op->inputs[NORM_X]].shape;
        if (x->dim[0] * x->dim[1] * x->dim[2] > 1)
            continue;
        return error_set(err, EXIT_CODE_USAGE,
                         "%s belongs to a batch norm with one value a channel, which cannot be "
                         "trained: give a --batch-size above %d, or a larger --image-size",
                         graph->tensors[op->inputs[NORM_GAMMA]].name, batch);
    }
    return 0;
}

/* Builds the graph of one pass. Dropout and smoothing of labels belong to training alone. A canvas
 * may set its own batch. */
static int pass_build(struct pass *pass, const struct network *net, const struct network_options *o,
                      struct network_canvas canvas, bool training, struct error *err) {
    struct model_options options = {
        .batch = canvas.batch > 0 ? canvas.batch : o->batch,
        .height = canvas.height,
        .width = canvas.width,
        .classes = o->classes,
        .training = training,
        .objects = o->objects,
        .zero_gamma = o->zero_gamma,
        .dtype = o->dtype,
        .stem_channels = net->backend->table->device != NULL ? DEVICE_STEM_CHANNELS : 0,
        .label_smoothing = training ? o->label_smoothing : 0,
        .dropout = training ? o->dropout : 0,
    };
    for (int c = 0; c < 3; c++) {
        options.mean[c] = (float)o->mean[c];
        options.std[c] = (float)o->std[c];
    }
    /* Metrics are read by the model's list. */
    pass->model = net->model;
    if (net->model->build(&pass->graph, net->model, &options, err) != 0 ||
        find_ends(pass, err) != 0 || check_norms(&pass->graph, options.batch, err) != 0)
        return error_wrap(err, "%s at %dx%d px", o->model, canvas.height, canvas.width);
    if (o->keeps != 0)
        pass->graph.keeps = o->keeps;
    return 0;
}

/* Compiles all programs, in memory that they share or each in its own. With `apart` each program
 * has memory of its own, so that several may run at once. */
static int compile(struct network *net, struct program *const *programs,
                   struct graph *const *graphs, int count, const struct network_options *o,
                   struct error *err) {
    const struct compile_options options = {
        .fusion = o->fusion, .one_stream = o->one_stream, .memory = o->memory};
    if (!o->apart)
        return programs_compile(programs, graphs, count, &net->memory, &net->store, net->backend,
                                &options, err);
    for (int i = 0; i < count; i++)
        if (program_compile(programs[i], graphs[i], &net->store, net->backend, &options, err) != 0)
            return -1;
    return 0;
}

/* On failure NET is left for network_done. An image classifier without canvases has one, of the
 * image size. */
int network_open(struct network *net, struct backend *backend, const struct network_options *o,
                 bool training, struct error *err) {
    *net = (struct network){.backend = backend, .model = model_need(o->model, err)};
    if (net->model == NULL)
        return -1;
    struct network_canvas canvases[NETWORK_CANVASES_MAX] = {
        {.height = o->image_size, .width = o->image_size}};
    if (o->canvas_count > NETWORK_CANVASES_MAX)
        return error_set(err, EXIT_CODE_INTERNAL, "more than %d canvases", NETWORK_CANVASES_MAX);
    if (o->canvas_count > 0)
        memcpy(canvases, o->canvases, sizeof(canvases));
    net->canvases = o->canvas_count > 0 ? o->canvas_count : 1;
    struct program *programs[2 * NETWORK_CANVASES_MAX];
    struct graph *graphs[2 * NETWORK_CANVASES_MAX];
    int count = 0;
    /* Training passes come first: one of them determines the layout of the store. */
    for (int trains = training ? 1 : 0; trains >= 0; trains--) {
        for (int i = 0; i < net->canvases; i++, count++) {
            struct pass *pass = trains == 1 ? &net->train[i] : &net->eval[i];
            if (pass_build(pass, net, o, canvases[i], trains == 1, err) != 0)
                return -1;
            programs[count] = &pass->program;
            graphs[count] = &pass->graph;
        }
    }
    if (compile(net, programs, graphs, count, o, err) != 0)
        return error_wrap(err, "%s", o->model);
    for (int i = 0; i < net->canvases; i++) {
        place_inputs(&net->train[i]);
        place_inputs(&net->eval[i]);
    }
    return 0;
}

/* RET is filled in even on failure. */
int network_describe(struct graph *ret, const struct network *net, const struct network_options *o,
                     struct error *err) {
    const struct network_canvas only = {.height = o->image_size, .width = o->image_size};
    struct pass pass = {0};
    const int result =
        pass_build(&pass, net, o, o->canvas_count > 0 ? o->canvases[0] : only, true, err);
    *ret = pass.graph;
    return result;
}

/* The smallest training graph of that side is built: the builders refuse sides that their pooling
 * cannot divide. */
int network_check_side(const struct model *model, int side, struct error *err) {
    struct graph graph = {0};
    struct model_options options = {
        .batch = 1, .height = side, .width = side, .classes = 2, .training = true};
    for (int c = 0; c < 3; c++)
        options.std[c] = 1;
    int result = model->build(&graph, model, &options, err);
    graph_done(&graph);
    return result == 0 ? 0 : error_wrap(err, "--image-size %d", side);
}

/* Returns the pass among PASSES for the canvas of BATCH, or NULL. */
struct pass *network_pass(const struct network *net, struct pass *passes, const struct batch *batch,
                          struct error *err) {
    if (batch->canvas >= 0 && batch->canvas < net->canvases)
        return &passes[batch->canvas];
    (void)error_set(err, EXIT_CODE_INTERNAL,
                    "a batch has canvas %d, but the network has %d canvases", batch->canvas,
                    net->canvases);
    return NULL;
}

/* Returns the batch's values for an input, borrowed. Name and size must fit exactly: a mismatch is
 * a fault of the program, not of the data. */
const void *pass_values(const struct pass *pass, int input, const struct batch *batch,
                        struct error *err) {
    const size_t bytes = pass->inputs[input].bytes;
    const char *name = pass->graph.tensors[pass->inputs[input].tensor].name;
    int field = batch_layout_find(batch->layout, name);
    if (field >= 0 && batch->layout->fields[field].bytes == bytes)
        return batch->fields[field];
    (void)error_set(err, EXIT_CODE_INTERNAL, "%s takes %s of %zu bytes, but a batch has %zu",
                    pass->model->name, name, bytes,
                    field >= 0 ? batch->layout->fields[field].bytes : 0);
    return NULL;
}

/* Copies all inputs of a batch to the backend. It is for backends that compute on the host, and for
 * evaluations. */
int pass_feed(struct pass *pass, const struct batch *batch, struct error *err) {
    struct backend *backend = pass->program.backend;
    for (int i = 0; i < pass->input_count; i++) {
        const struct pass_input *input = &pass->inputs[i];
        const void *values = pass_values(pass, i, batch, err);
        if (values == NULL ||
            backend->table->copy_in(backend, input->address, values, input->bytes, err) != 0)
            return -1;
    }
    return 0;
}

/* Returns 0 for an output that the network does not have, which is how a task asks. */
static size_t output_bytes(void *user, const char *name) {
    const struct pass *pass = user;
    int tensor = graph_find(&pass->graph, name);
    return tensor == TENSOR_NONE ? 0 : tensor_bytes(&pass->graph.tensors[tensor]);
}

/* Callback of struct task_outputs; waits for a device. */
static int read_output(void *user, const char *name, void *ret_values, size_t bytes,
                       struct error *err) {
    struct pass *pass = user;
    return program_read(&pass->program, name, ret_values, bytes, err);
}

struct task_outputs pass_outputs(struct pass *pass, const float *metrics) {
    return (struct task_outputs){metrics, output_bytes, read_output, pass};
}

/* A pass without metrics gives zeros. Metrics are sorted by the model's list, while the graph's
 * output has them by index. */
int pass_metrics(struct pass *pass, float ret_metrics[MODEL_METRICS_MAX], struct error *err) {
    float all[PASS_OUTPUTS_MAX];
    memset(ret_metrics, 0, MODEL_METRICS_MAX * sizeof(*ret_metrics));
    if (pass->metrics == TENSOR_NONE)
        return 0;
    size_t bytes = tensor_bytes(&pass->graph.tensors[pass->metrics]);
    if (bytes > sizeof(all))
        return error_set(err, EXIT_CODE_INTERNAL, "metrics of %zu bytes", bytes);
    if (program_read(&pass->program, "metrics", all, bytes, err) != 0)
        return -1;
    const struct model_metric *metric = pass->model->metrics;
    for (int i = 0; metric[i].name != NULL; i++)
        ret_metrics[i] = all[metric[i].index];
    return 0;
}

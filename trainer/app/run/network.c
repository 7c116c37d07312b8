#include "run/network.h"

/* On a device pictures are padded to four channels: convolutions of three find slower kernels. */
enum { DEVICE_STEM_CHANNELS = 4 };

const double NETWORK_MEAN[3] = {0.485, 0.456, 0.406};
const double NETWORK_STD[3] = {0.229, 0.224, 0.225};

static void pass_done(struct pass *pass) {
    program_done(&pass->program);
    graph_done(&pass->graph);
}

void network_done(struct network *net) {
    pass_done(&net->eval);
    pass_done(&net->train);
    program_memory_done(&net->memory);
    store_done(&net->store);
}

static int pass_build(struct pass *pass, const struct network *net, const struct network_options *o,
                      bool training, struct error *err) {
    struct resnet_config config = {
        .model = o->model,
        .batch = o->batch,
        .image_size = o->image_size,
        .classes = o->classes,
        .training = training,
        .zero_gamma = o->zero_gamma,
        .dtype = o->dtype,
        .stem_channels = net->backend->table->device != NULL ? DEVICE_STEM_CHANNELS : 0,
        .label_smoothing = training ? o->label_smoothing : 0,
    };
    for (int c = 0; c < 3; c++) {
        config.mean[c] = (float)o->mean[c];
        config.std[c] = (float)o->std[c];
    }
    if (resnet_build(&pass->graph, &config, &pass->tensors, err) != 0)
        return error_wrap(err, "%s at %d px", o->model, o->image_size);
    return 0;
}

int network_open(struct network *net, struct backend *backend, const struct network_options *o,
                 bool training, struct error *err) {
    *net = (struct network){.backend = backend};
    if ((training && pass_build(&net->train, net, o, true, err) != 0) ||
        pass_build(&net->eval, net, o, false, err) != 0)
        return -1;
    struct compile_options compile = {.fusion = o->fusion, .one_lane = o->one_lane};
    struct program *programs[] = {&net->train.program, &net->eval.program};
    struct graph *graphs[] = {&net->train.graph, &net->eval.graph};
    int first = training ? 0 : 1;
    if (programs_compile(&programs[first], &graphs[first], 2 - first, &net->memory, &net->store,
                         net->backend, &compile, err) != 0)
        return error_wrap(err, "%s at %d px", o->model, o->image_size);
    return 0;
}

int pass_feed(struct pass *pass, const struct batch *batch, struct error *err) {
    const struct tensor *all = pass->graph.tensors;
    const struct resnet_tensors *t = &pass->tensors;
    if (program_write(&pass->program, "image", batch->images, tensor_bytes(&all[t->image]), err) !=
        0)
        return -1;
    if (program_write(&pass->program, "label", batch->labels, tensor_bytes(&all[t->label]), err) !=
        0)
        return -1;
    return program_write(&pass->program, "weight", batch->weights, tensor_bytes(&all[t->weight]),
                         err);
}

int pass_metrics(struct pass *pass, float ret_metrics[LOSS_METRICS], struct error *err) {
    return program_read(&pass->program, "metrics", ret_metrics, LOSS_METRICS * sizeof(float), err);
}

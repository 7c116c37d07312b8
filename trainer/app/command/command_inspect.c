#include "command/command.h"
#include "command/command_coco.h"
#include "command/command_inspect_data.h"
#include "command/output.h"
#include "common/buf.h"
#include "device/cpus.h"
#include "device/device.h"
#include "options/options.h"
#include "run/network.h"

#include <omp.h>
#include <string.h>

enum { PLAN_TEXT_MAX = 64 * 1024 * 1024 };

/* The training graph of the flags, compiled: every operator, the buckets, the memory plan. */
static int inspect_plan(int argc, char *const *argv, struct error *err) {
    struct options o;
    if (options_parse(&o, COMMAND_PLAN, argc, argv, err) != 0)
        return -1;
    const struct model *model = model_need(o.model, err);
    if (model == NULL)
        return -1;
    cleanup_comm struct comm *alone = NULL;
    if (comm_self_open(&alone, err) != 0 || device_settle(&o, alone, err) != 0)
        return -1;
    int threads = o.threads > 0 ? (int)o.threads : cpus_affinity();
    omp_set_num_threads(threads);
    struct network_options n = {
        .model = o.model,
        .batch = (int)o.batch_size,
        .image_size = o.image_size > 0 ? (int)o.image_size : model->image_size,
        .classes = (int)o.synthetic_classes,
        .dtype = device_dtype(o.dtype),
        .fusion = device_fusion(&o),
        .mean = MODEL_MEAN,
        .std = MODEL_STD,
    };
    cleanup_backend struct backend *backend = NULL;
    if (device_open(&backend, &o, threads, alone, false, err) != 0)
        return -1;
    struct network net;
    cleanup_buf struct buf text = {0};
    buf_init(&text, PLAN_TEXT_MAX);
    int result = network_open(&net, backend, &n, true, err);
    if (result == 0)
        result = program_print(&net.train[0].program, &text, err);
    network_done(&net);
    if (result == 0)
        result = output_text(buf_text(&text), err);
    return result;
}

int command_inspect(int argc, char *const *argv, struct error *err) {
    if (argc > 0 && strcmp(argv[0], "plan") == 0)
        return inspect_plan(argc - 1, argv + 1, err);
    if (argc > 0 && strcmp(argv[0], "coco") == 0)
        return command_inspect_coco(argc - 1, argv + 1, err);
    if (argc > 0 && strcmp(argv[0], "data") == 0)
        return command_inspect_data(argc - 1, argv + 1, err);
    if (argc == 1 && strcmp(argv[0], "--cuda") == 0)
        return command_inspect_cuda(err);
    return error_set(
        err, EXIT_CODE_USAGE,
        "usage: ringtrain inspect plan|data|coco [--FLAG VALUE]..., or inspect --cuda");
}

void command_inspect_help(FILE *out, int argc, char *const *argv) {
    fprintf(
        out,
        "usage: ringtrain inspect plan [--FLAG VALUE]...\n\n"
        "Prints the compiled training step: operators, gradient buckets, memory plan.\n\n"
        "usage: ringtrain inspect --cuda\n\n"
        "Prints driver, libraries and GPUs, as this program was made with and as it finds them; "
        "%d where it cannot train on GPUs here.\n\n",
        EXIT_CODE_DEVICE);
    options_print(out, COMMAND_PLAN, argc, argv);
    command_inspect_data_help(out);
    command_inspect_coco_help(out);
}

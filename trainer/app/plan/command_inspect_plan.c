#include "trainer/app/plan/command_inspect_plan.h"
#include "common/text/wrap.h"

#include "common/buf.h"
#include "common/system/cpus.h"
#include "trainer/app/command/output/output.h"
#include "trainer/app/device/device.h"
#include "trainer/app/options/options.h"
#include "trainer/app/plan/count_launches.h"
#include "trainer/app/plan/simulated_gpu.h"
#include "trainer/app/step/network.h"
#include "trainer/app/task/detect_data.h"
#include "trainer/data/detect/bucket_plan.h"

#include <omp.h>
#include <string.h>

enum { PLAN_TEXT_MAX = 64 * 1024 * 1024, COCO_CLASSES = 80 };

/* Used if there is no data set to choose canvases from: torchvision's sizes, landscape. */
static const char UNSEEN_CANVAS[] = "800x1344";

static int fill_canvases(struct network_options *n, const struct options *o, struct error *err) {
    struct bucket_plan plan;
    bool given = strcmp(o->canvases, "auto") != 0;
    if (bucket_plan_parse(&plan, given ? o->canvases : UNSEEN_CANVAS, err) != 0)
        return error_wrap(err, "--canvases");
    for (int i = 0; i < plan.count; i++)
        n->canvases[i] = (struct network_canvas){.height = plan.canvases[i].height,
                                                 .width = plan.canvases[i].width};
    n->canvas_count = plan.count;
    return 0;
}

static int fill_options(struct network_options *n, const struct options *o,
                        const struct model *model, struct error *err) {
    *n = (struct network_options){
        .model = o->model,
        .batch = (int)o->batch_size,
        .image_size = o->image_size > 0 ? (int)o->image_size : model->image_size,
        .classes = (int)o->synthetic_classes,
        .dtype = device_dtype(o->dtype),
        .fusion = device_fusion(o),
        .mean = MODEL_MEAN,
        .std = MODEL_STD,
    };
    if (model->task != MODEL_DETECT)
        return 0;
    n->classes = COCO_CLASSES;
    detect_objects_unseen(&n->objects, o);
    return fill_canvases(n, o, err);
}

static int open_backend(struct backend **ret, struct options *o, struct comm *alone,
                        struct error *err) {
    if (o->device != NULL)
        return device_simulate_open(ret, o, err);
    int threads = o->threads > 0 ? (int)o->threads : cpus_affinity();
    omp_set_num_threads(threads);
    return device_open(ret, o, threads, alone, false, err);
}

static int print(struct network *net, const struct network_options *n, bool launches,
                 struct comm *alone, struct buf *text, struct error *err) {
    for (int i = 0; i < net->canvases; i++) {
        if (net->canvases > 1 && buf_printf(text, err, "%scanvas of %dx%d px\n", i > 0 ? "\n" : "",
                                            n->canvases[i].height, n->canvases[i].width) != 0)
            return -1;
        if (program_print(&net->train[i].program, text, err) != 0 ||
            (launches && count_launches(net, i, alone, text, err) != 0))
            return -1;
    }
    return 0;
}

int command_inspect_plan(int argc, char *const *argv, struct error *err) {
    struct options o;
    struct network_options n;
    struct network net;
    if (options_parse(&o, COMMAND_PLAN, argc, argv, err) != 0)
        return -1;
    const struct model *model = model_need(o.model, err);
    if (model == NULL)
        return -1;
    cleanup_comm struct comm *alone = NULL;
    if (comm_self_open(&alone, err) != 0 ||
        (o.device != NULL ? device_simulate_settle(&o, err) : device_settle(&o, alone, err)) != 0 ||
        fill_options(&n, &o, model, err) != 0)
        return -1;
    cleanup_backend struct backend *backend = NULL;
    if (open_backend(&backend, &o, alone, err) != 0)
        return -1;
    cleanup_buf struct buf text = {0};
    buf_init(&text, PLAN_TEXT_MAX);
    int result = network_open(&net, backend, &n, true, err);
    if (result == 0)
        result = print(&net, &n, o.device != NULL, alone, &text, err);
    network_done(&net);
    return result == 0 ? output_text(buf_text(&text), err) : -1;
}

void command_inspect_plan_help(FILE *out, int argc, char *const *argv) {
    wrap_printf(
        out,
        "usage: ringtrain inspect plan [--FLAG VALUE]...\n\nPrints the compiled training step: "
        "operators, gradient buckets, memory plan. With --device it is compiled for a simulated "
        "GPU, and the kernel launches of a step are counted. A detection network gets %d classes, "
        "frozen norms as with --init, and canvases of %s pixels.\n\n",
        COCO_CLASSES, UNSEEN_CANVAS);
    options_print(out, COMMAND_PLAN, argc, argv, true);
}

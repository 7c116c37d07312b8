#include "trainer/app/run/run_setup.h"

#include "common/buf.h"
#include "common/log/log.h"
#include "common/str.h"
#include "trainer/app/device/device.h"
#include "trainer/app/device/ranks.h"
#include "trainer/app/run/learning_rate.h"
#include "trainer/app/run/report.h"
#include "trainer/data/order/picture_sizes.h"

#include <inttypes.h>
#include <string.h>

enum { ANNOUNCED_MAX = 64 * 1024 };

/* Detection networks have canvases instead of an image size. */
static int run_text(struct buf *out, const struct run_setup *setup, int64_t global_batch,
                    struct error *err) {
    const struct options *o = setup->options;
    const size_t images = setup->data.training.source.count;
    if (buf_printf(out, err, "%s, %s, ", o->model, dtype_name(device_dtype(o->dtype))) != 0 ||
        (setup->request.model->task == MODEL_CLASSIFY &&
         buf_printf(out, err, "%d px, ", setup->request.image_size) != 0))
        return -1;
    return buf_printf(out, err,
                      "%zu class%s; %zu training image%s, %zu to evaluate on; %" PRId64
                      " step%s of %" PRId64 " image%s",
                      setup->data.classes, setup->data.classes == 1 ? "" : "es", images,
                      STR_PLURAL(images), setup->data.validation.source.count,
                      setup->schedule.total_steps, STR_PLURAL(setup->schedule.total_steps),
                      global_batch, STR_PLURAL(global_batch));
}

static int sizes_text(struct buf *out, const struct run_setup *setup, struct error *err) {
    struct picture_sizes sizes;
    const int full = setup->request.image_size;
    if (picture_sizes_parse(&sizes, setup->options->progressive, full, err) != 0)
        return -1;
    return sizes.count == 0                          ? 0
           : buf_printf(out, err, "pictures: ") != 0 ? -1
                                                     : picture_sizes_text(out, &sizes, full, err);
}

/* Pictures that canvases leave out are reported by the task. */
static int left_out_text(struct buf *out, const struct run_setup *setup, int64_t global_batch,
                         struct error *err) {
    const int64_t images = (int64_t)setup->data.training.source.count;
    const int64_t left_out = images - setup->steps_per_epoch * global_batch;
    if (setup->sampler.groups.count > 0 || setup->sampler.part.steps > 0 || left_out == 0)
        return 0;
    return buf_printf(out, err,
                      "%" PRId64 " images: %" PRId64 " are left out of each pass (incomplete last "
                      "batch), others each time",
                      images, left_out);
}

#ifdef __clang__
#define COMPILER "clang " __clang_version__
#else
#define COMPILER "gcc " __VERSION__
#endif

/* What runs, and with what flags beside its recipe's. */
static int program_text(struct buf *out, const struct run_setup *setup, struct error *err) {
    const struct options *o = setup->options;
    cleanup_buf struct buf flags = {0};
    buf_init(&flags, ANNOUNCED_MAX);
    if (options_differences(&flags, COMMAND_TRAIN, o, err) != 0)
        return -1;
    const bool ranks = comm_size(setup->comm) > 1;
    return buf_printf(
        out, err, "ringtrain %s, " COMPILER "%s%s; %s%s%s%s", RINGMASTER_VERSION, ranks ? ", " : "",
        ranks_library(setup->comm),
        o->recipe != NULL ? "recipe " : "flags: ", o->recipe != NULL ? o->recipe : buf_text(&flags),
        o->recipe != NULL && flags.size > 0 ? " with " : "",
        o->recipe != NULL ? buf_text(&flags) : "");
}

static void log_line_of(struct buf *line) {
    if (line->size > 0)
        log_info("%.*s", (int)strcspn(buf_text(line), "\n"), buf_text(line));
    buf_consume(line, line->size);
}

int run_setup_announce(const struct run_setup *setup, int64_t global_batch, struct error *err) {
    cleanup_buf struct buf text = {0};
    buf_init(&text, ANNOUNCED_MAX);
    if (!setup->first)
        return 0;
    if (program_text(&text, setup, err) != 0)
        return -1;
    log_line_of(&text);
    if (run_text(&text, setup, global_batch, err) != 0)
        return -1;
    log_line_of(&text);
    if (sizes_text(&text, setup, err) != 0)
        return -1;
    log_line_of(&text);
    if (left_out_text(&text, setup, global_batch, err) != 0)
        return -1;
    log_line_of(&text);
    if (learning_rate_scale_text(&text, setup->options, &setup->schedule, global_batch, err) != 0)
        return -1;
    log_line_of(&text);
    if (learning_rate_images_text(&text, setup->options, global_batch, err) != 0 ||
        learning_rate_unreached_text(&text, setup->options, &setup->schedule, err) != 0)
        return -1;
    report_notes(&text);
    return 0;
}

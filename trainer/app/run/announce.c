#include "run/announce.h"

#include "common/buf.h"
#include "common/log.h"
#include "device/device.h"
#include "run/notes.h"
#include "run/rate.h"

#include <inttypes.h>
#include <string.h>

enum { TEXT_MAX = 4096 };

/* Networks that find objects have canvases in place of a size. */
static int tell_run(struct buf *out, const struct job *job, struct error *err) {
    const struct options *o = job->options;
    if (buf_printf(out, err, "%s, %s, ", o->model, dtype_name(device_dtype(o->dtype))) != 0 ||
        (job->ask.model->task == MODEL_CLASSIFY &&
         buf_printf(out, err, "%d px, ", job->ask.image_size) != 0))
        return -1;
    return buf_printf(out, err,
                      "%zu classes; %zu training images, %zu to evaluate on; %" PRId64
                      " steps of %" PRId64 " images",
                      job->data.classes, job->data.training.source.count,
                      job->data.validation.source.count, job->schedule.total_steps,
                      job->state.global_batch);
}

/* What canvases leave out their task tells. */
static int tell_left_out(struct buf *out, const struct job *job, struct error *err) {
    const int64_t images = (int64_t)job->data.training.source.count;
    const int64_t left_out = images - job->steps_per_epoch * job->state.global_batch;
    if (job->sampler.groups.count > 0 || left_out == 0)
        return 0;
    return buf_printf(out, err,
                      "%" PRId64 " images: %" PRId64 " are left out of each pass (incomplete last "
                      "batch), others each time",
                      images, left_out);
}

static void tell(struct buf *line) {
    if (line->size > 0)
        log_info("%.*s", (int)strcspn(buf_text(line), "\n"), buf_text(line));
    buf_consume(line, line->size);
}

int announce(const struct job *job, struct error *err) {
    cleanup_buf struct buf text = {0};
    buf_init(&text, TEXT_MAX);
    if (!job->first)
        return 0;
    if (tell_run(&text, job, err) != 0)
        return -1;
    tell(&text);
    if (tell_left_out(&text, job, err) != 0)
        return -1;
    tell(&text);
    if (rate_tell_scale(&text, job->options, &job->schedule, job->state.global_batch, err) != 0)
        return -1;
    tell(&text);
    if (rate_tell_unreached(&text, job->options, &job->schedule, err) != 0)
        return -1;
    notes_tell(&text);
    return 0;
}

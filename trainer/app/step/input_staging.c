#include "trainer/app/step/input_staging.h"

/* Events, counted from first_event. */
enum { EVENT_COPIED, EVENT_CONSUMED };

int input_staging_open(struct input_staging *f, struct network *net, int first_event,
                       struct error *err) {
    *f = (struct input_staging){.backend = net->backend, .first_event = first_event};
    for (int k = 0; k < net->canvases; k++)
        if (net->train[k].input_bytes > f->bytes)
            f->bytes = net->train[k].input_bytes;
    if (f->backend->table->device->select == NULL)
        return 0;
    f->staging = f->backend->table->alloc(f->backend, f->bytes, err);
    if (f->staging == NULL)
        return error_wrap(err, "the next input");
    /* The main stream clears it, the copy stream fills it. */
    return f->backend->table->sync(f->backend, err);
}

void input_staging_done(struct input_staging *f) {
    if (f->staging != NULL)
        f->backend->table->free(f->backend, f->staging, f->bytes);
    *f = (struct input_staging){0};
}

/* Enqueues the copy on the copy stream, as soon as the previous input has left the staging
 * buffer. */
static int copy_batch(struct input_staging *f, const struct pass *pass, const void *const *values,
                      struct error *err) {
    const struct backend_device *ops = f->backend->table->device;
    if (ops->wait(f->backend, f->first_event + EVENT_CONSUMED, err) != 0)
        return -1;
    for (int i = 0; i < pass->input_count; i++)
        if (ops->copy(f->backend, f->staging + pass->inputs[i].offset, values[i],
                      pass->inputs[i].bytes, err) != 0)
            return -1;
    return ops->event(f->backend, f->first_event + EVENT_COPIED, err);
}

static int consume(struct input_staging *f, const struct pass *pass, struct error *err) {
    const struct backend_device *ops = f->backend->table->device;
    if (ops->wait(f->backend, f->first_event + EVENT_COPIED, err) != 0)
        return -1;
    for (int i = 0; i < pass->input_count; i++) {
        const struct pass_input *input = &pass->inputs[i];
        if (ops->copy(f->backend, input->address, f->staging + input->offset, input->bytes, err) !=
            0)
            return -1;
    }
    return ops->event(f->backend, f->first_event + EVENT_CONSUMED, err);
}

/* For a device without streams. */
static int copy_at_once(struct input_staging *f, const struct pass *pass, const void *const *values,
                        struct error *err) {
    for (int i = 0; i < pass->input_count; i++)
        if (f->backend->table->copy_in(f->backend, pass->inputs[i].address, values[i],
                                       pass->inputs[i].bytes, err) != 0)
            return -1;
    return 0;
}

int input_staging_put(struct input_staging *f, const struct pass *pass, const struct batch *batch,
                      struct error *err) {
    const void *values[BATCH_FIELDS_MAX];
    const struct backend_table *table = f->backend->table;
    for (int i = 0; i < pass->input_count; i++)
        if ((values[i] = pass_values(pass, i, batch, err)) == NULL)
            return -1;
    if (f->staging == NULL)
        return copy_at_once(f, pass, values, err);
    /* The previous batch was copied long ago, except in the first moments of a step. */
    if (table->device->reach(f->backend, f->first_event + EVENT_COPIED, err) != 0 ||
        table->device->select(f->backend, STREAM_COPY, err) != 0)
        return -1;
    int result = copy_batch(f, pass, values, err);
    if (table->device->select(f->backend, STREAM_MAIN, result == 0 ? err : NULL) != 0 ||
        result != 0)
        return -1;
    return consume(f, pass, err);
}

int input_staging_clear(struct input_staging *f, const struct pass *pass, struct error *err) {
    for (int i = 0; i < pass->input_count; i++)
        if (f->backend->table->device->clear(f->backend, pass->inputs[i].address,
                                             pass->inputs[i].bytes, err) != 0)
            return -1;
    return 0;
}

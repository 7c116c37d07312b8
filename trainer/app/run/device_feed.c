#include "run/device_feed.h"

/* Behind device_feed.first_mark. */
enum { MARK_COPIED, MARK_CONSUMED };

static size_t align(size_t bytes) {
    return (bytes + BACKEND_ALIGNMENT - 1) / BACKEND_ALIGNMENT * BACKEND_ALIGNMENT;
}

int device_feed_open(struct device_feed *f, struct pass *pass, int first_mark, struct error *err) {
    *f = (struct device_feed){
        .backend = pass->program.backend, .pass = pass, .first_mark = first_mark};
    for (int i = 0; i < pass->input_count; i++) {
        f->tensors[i] =
            (struct feed_tensor){.input = program_address(&pass->program, pass->inputs[i]),
                                 .bytes = tensor_bytes(&pass->graph.tensors[pass->inputs[i]]),
                                 .offset = f->bytes};
        f->bytes += align(f->tensors[i].bytes);
    }
    if (f->backend->table->device->select == NULL)
        return 0;
    f->staging = f->backend->table->alloc(f->backend, f->bytes, err);
    if (f->staging == NULL)
        return error_wrap(err, "the next input");
    /* It is cleared on the main lane, and filled on another. */
    return f->backend->table->sync(f->backend, err);
}

void device_feed_done(struct device_feed *f) {
    if (f->staging != NULL)
        f->backend->table->free(f->backend, f->staging, f->bytes);
    *f = (struct device_feed){0};
}

/* On the copy lane, as soon as the input before has left the staging buffer. */
static int copy_batch(struct device_feed *f, const void *const *values, struct error *err) {
    const struct backend_device *ops = f->backend->table->device;
    if (ops->wait(f->backend, f->first_mark + MARK_CONSUMED, err) != 0)
        return -1;
    for (int i = 0; i < f->pass->input_count; i++)
        if (ops->copy(f->backend, f->staging + f->tensors[i].offset, values[i], f->tensors[i].bytes,
                      err) != 0)
            return -1;
    return ops->mark(f->backend, f->first_mark + MARK_COPIED, err);
}

static int consume(struct device_feed *f, struct error *err) {
    const struct backend_device *ops = f->backend->table->device;
    if (ops->wait(f->backend, f->first_mark + MARK_COPIED, err) != 0)
        return -1;
    for (int i = 0; i < f->pass->input_count; i++)
        if (ops->copy(f->backend, f->tensors[i].input, f->staging + f->tensors[i].offset,
                      f->tensors[i].bytes, err) != 0)
            return -1;
    return ops->mark(f->backend, f->first_mark + MARK_CONSUMED, err);
}

int device_feed_put(struct device_feed *f, const struct batch *batch, struct error *err) {
    const void *values[BATCH_FIELDS_MAX];
    const struct backend_table *table = f->backend->table;
    for (int i = 0; i < f->pass->input_count; i++)
        if ((values[i] = pass_values(f->pass, i, batch, err)) == NULL)
            return -1;
    if (f->staging == NULL) {
        for (int i = 0; i < f->pass->input_count; i++)
            if (table->copy_in(f->backend, f->tensors[i].input, values[i], f->tensors[i].bytes,
                               err) != 0)
                return -1;
        return 0;
    }
    /* The batch before has long been copied, but for the first moments of a step. */
    if (table->device->reach(f->backend, f->first_mark + MARK_COPIED, err) != 0 ||
        table->device->select(f->backend, LANE_COPY, err) != 0)
        return -1;
    int result = copy_batch(f, values, err);
    if (table->device->select(f->backend, LANE_MAIN, result == 0 ? err : NULL) != 0 || result != 0)
        return -1;
    return consume(f, err);
}

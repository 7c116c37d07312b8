#include "trainer/app/step/room.h"

#include "common/cleanup.h"
#include "trainer/graph/program/sizes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    MIB = 1024 * 1024,
    TRIES = 8,
    EVALUATION_DEPTH = 3, /* batches of an evaluation's ring */
    DECODER_PICTURES = 4, /* pictures of a batch that a decoder thread's file, decoded picture and
                           * rows take */
    STACK_MIB = 8,        /* of each thread */
    REST_MIB = 64,        /* compiled kernels, operators, messages, checkpoints */
};

/* --- the batch that fits ---------------------------------------------------------------------- */

int room_largest(const struct room_need *need, int batch, int64_t left) {
    /* A network of small pictures may need two: batch normalization of one value a channel has no
     * variance, so that its training is refused. */
    const int least = batch > 2 && need->of(need->user, 1) < 0 ? 2 : 1;
    int64_t low = need->of(need->user, least), high = need->of(need->user, batch);
    if (low < 0 || low > left || batch <= least)
        return 0;
    int64_t each = high > low ? (high - low + batch - least - 1) / (batch - least) : 1;
    int64_t fits = least + (left - low) / each;
    fits = fits < batch ? fits : batch - 1;
    /* Memory grows almost linearly with the batch, so a few tries are enough. */
    for (int i = 0; i < TRIES && fits > least; i++) {
        int64_t wanted = need->of(need->user, (int)fits);
        if (wanted >= 0 && wanted <= left)
            return (int)fits;
        int64_t less = wanted > 0 ? (int64_t)((double)fits * (double)left / (double)wanted) : 1;
        fits = less < fits ? less : fits - 1;
    }
    return least;
}

/* --- what is asked for ------------------------------------------------------------------------ */

/* One kind of memory: the host's, with or without the network, or a device's. */
struct kind {
    const struct room *room;
    bool network, data;
};

static int64_t mib_up(int64_t bytes) {
    return (bytes + MIB - 1) / MIB;
}

/* Rings of both sets, and the buffers of their decoder threads. */
static int64_t data_bytes(const struct room *r, int batch) {
    int own = r->network->batch;
    int64_t training = (int64_t)r->data->training.source.layout.bytes / own;
    int64_t validation = (int64_t)r->data->validation.source.layout.bytes / own;
    int64_t larger = training > validation ? training : validation;
    return (r->depth * training + EVALUATION_DEPTH * validation) * batch +
           r->threads->data * DECODER_PICTURES * larger;
}

static int64_t rest_bytes(const struct room *r) {
    return (int64_t)(REST_MIB + STACK_MIB * (r->threads->data + r->threads->compute)) * MIB;
}

static int64_t beside_bytes(const struct kind *kind, int batch) {
    return kind->data ? data_bytes(kind->room, batch) + rest_bytes(kind->room) : 0;
}

/* Callback that stops the compilation of a network compiled only for its sizes. */
static int note_sizes(void *user, const struct sizes *sizes, struct error *err) {
    (void)err;
    *(int64_t *)user = (int64_t)sizes_sum(sizes);
    return -1;
}

/* Returns the memory that a plan for that batch size needs. */
static int64_t need_of(void *user, int batch) {
    const struct kind *kind = user;
    struct network_options n = *kind->room->network;
    cleanup_free struct network *net = calloc(1, sizeof(*net));
    int64_t bytes = -1;
    if (!kind->network)
        return beside_bytes(kind, batch);
    if (net == NULL)
        return -1;
    n.batch = batch;
    n.memory = (struct compile_memory){note_sizes, &bytes};
    (void)network_open(net, kind->room->backend, &n, kind->room->depth > 0, NULL);
    network_done(net);
    return bytes < 0 ? -1 : bytes + beside_bytes(kind, batch);
}

static bool detects(const struct room *r) {
    const struct model *model = model_find(r->network->model);
    return model != NULL && model->task == MODEL_DETECT;
}

static int refuse(const struct kind *kind, const struct sizes *sizes, int64_t wanted,
                  const struct memory_left *left, enum exit_code code, struct error *err) {
    char advice[160], text[SIZES_TEXT_SIZE] = "", more[96] = "";
    const struct room *r = kind->room;
    const struct room_need need = {need_of, (void *)kind};
    int fits = room_largest(&need, r->network->batch, left->bytes);
    if (fits > 0)
        (void)snprintf(advice, sizeof(advice), "--batch-size %d fits", fits);
    else
        (void)snprintf(advice, sizeof(advice),
                       "not even --batch-size 1 fits: use smaller pictures (%s), --dtype bf16, a "
                       "smaller network or more memory",
                       detects(r) ? "--short-side, --long-side" : "--image-size");
    if (kind->network)
        sizes_text(sizes, text, sizeof(text));
    if (kind->data)
        (void)snprintf(more, sizeof(more),
                       "%sbatches and decoders %" PRId64 " MiB, threads and the rest %" PRId64
                       " MiB",
                       kind->network ? "; " : "", mib_up(data_bytes(r, r->network->batch)),
                       mib_up(rest_bytes(r)));
    return error_set(err, code,
                     "memory: %" PRId64 " MiB needed for --batch-size %d, %" PRId64
                     " MiB available (%s): %s (%s%s)",
                     mib_up(wanted), r->network->batch, left->bytes / MIB, left->bounds, advice,
                     text, more);
}

static int check(const struct kind *kind, const struct sizes *sizes, const struct memory_left *left,
                 enum exit_code code, struct error *err) {
    int64_t wanted = (kind->network ? (int64_t)sizes_sum(sizes) : 0) +
                     beside_bytes(kind, kind->room->network->batch);
    return wanted <= left->bytes ? 0 : refuse(kind, sizes, wanted, left, code, err);
}

int room_check(void *user, const struct sizes *sizes, struct error *err) {
    const struct room *r = user;
    const struct backend_device *device = r->backend->table->device;
    const struct memory_left host = memory_left("", comm_local_size(r->comm));
    const struct kind here = {.room = r, .network = device == NULL, .data = true};
    if (check(&here, sizes, &host, EXIT_CODE_CONFIG, err) != 0)
        return -1;
    size_t free =
        device != NULL && device->memory_left != NULL ? device->memory_left(r->backend) : 0;
    const struct memory_left gpu = {(int64_t)free, "this GPU"};
    const struct kind there = {.room = r, .network = true};
    return free > 0 ? check(&there, sizes, &gpu, EXIT_CODE_DEVICE, err) : 0;
}

#include "trainer/app/serve/serve_classes.h"

#include "common/cleanup.h"
#include "common/json/json.h"
#include "trainer/app/serve/serve_pass.h"
#include "trainer/data/dataset/augment.h"
#include "trainer/data/dataset/fetch.h"
#include "trainer/eval/top_classes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The network is compiled once for each size of a batch, as one pass for each canvas
 * (step/network.h), and `compute` picks the pass of its size. Threads that decode share only what
 * is constant after the opening; buffers of a batch belong to the one thread that computes.
 *
 * Pictures are decoded to the size of the network's input, a byte for each channel. Decoder and
 * crop are those of an evaluation, so that a served score equals that of `ringtrain predict`. Mean
 * and deviation are part of the network. */

struct serve_classes {
    struct network *net;               /* borrowed, these three */
    const struct model_config *config; /* of the model */
    const struct picture_queue *queue; /* with all sizes that NET is compiled for */
    struct augment crop;
    size_t top;
    uint8_t *pixels;        /* owned, all below; of the largest batch */
    float *weights;         /* that all its pictures count */
    float *logits;          /* of the largest batch */
    struct top_class *best; /* [top + 1] */
};

/* Bytes of one decoded picture: height, width and channels, a byte each. */
static size_t picture_bytes(const struct serve_classes *s) {
    return (size_t)s->crop.image_size * (size_t)s->crop.image_size * IMAGE_CHANNELS;
}

static int worker_open(const struct servable *servable, void **ret_worker, struct error *err) {
    (void)servable;
    struct fetcher *fetcher = calloc(1, sizeof(*fetcher));
    *ret_worker = fetcher;
    return fetcher == NULL ? error_no_memory(err, "decoding pictures") : fetcher_init(fetcher, err);
}

static void worker_close(void *worker) {
    if (worker != NULL)
        fetcher_done(worker);
    free(worker);
}

/* Allocates the pixels, which the server frees with the picture. All pictures have one size, hence
 * one group. Fails with EXIT_CODE_DATA if the bytes are no picture that can be decoded. */
static int decode(const struct servable *servable, void *worker, const uint8_t *bytes, size_t size,
                  struct served_picture *picture, struct error *err) {
    const struct serve_classes *s = servable->own;
    picture->queued.group = 0;
    picture->bytes = picture_bytes(s);
    picture->pixels = malloc(picture->bytes);
    if (picture->pixels == NULL)
        return error_no_memory(err, "a picture");
    return fetch_picture(worker, bytes, size, &s->crop, 0, 0, 0, picture->pixels, err);
}

/* SIZE is one of the queue's, which the passes were made from in the same order. */
static struct pass *pass_of(const struct serve_classes *s, int size) {
    int at = 0;
    while (s->queue->sizes[at] != size)
        at++;
    return &s->net->eval[at];
}

/* Writes the answer of PICTURE, or its error. Values that are not finite are an error of this
 * picture alone: JSON has no form for them, and other pictures of the batch may be good. */
static void answer(const struct serve_classes *s, const float *logits,
                   struct served_picture *picture) {
    const size_t count = top_classes_find(logits, s->config->classes, s->top, s->best);
    for (size_t i = 0; i < count; i++) {
        if (isfinite(s->best[i].probability))
            continue;
        (void)error_set(&picture->error, EXIT_CODE_INTERNAL,
                        "the network's output is not finite for this picture");
        return;
    }
    cleanup_json json_t *classes =
        json_pack("{s:o}", "classes", top_classes_json(s->config->class_names, s->best, count));
    cleanup_free char *text = classes != NULL ? json_shortest(classes, JSON_COMPACT) : NULL;
    buf_init(&picture->answer, SERVABLE_ANSWER_MAX);
    if (text == NULL)
        (void)error_no_memory(&picture->error, "an answer");
    else
        (void)buf_add_text(&picture->answer, text, &picture->error);
}

/* Places beyond COUNT are black, so that a padded batch does not depend on the one before. A COUNT
 * of 0 is the rehearsal of batch_sizes.c. The weight of each picture is an input that only the loss
 * reads. */
static int compute(const struct servable *servable, struct served_picture *const *pictures,
                   int count, int size, struct error *err) {
    struct serve_classes *s = servable->own;
    const size_t bytes = picture_bytes(s), classes = s->config->classes;
    struct pass *pass = pass_of(s, size);
    for (int i = 0; i < size; i++)
        if (i < count)
            memcpy(s->pixels + (size_t)i * bytes, pictures[i]->pixels, bytes);
        else
            memset(s->pixels + (size_t)i * bytes, 0, bytes);
    const struct serve_input inputs[] = {{"image", s->pixels}, {"weight", s->weights}};
    if (serve_pass_run(pass, inputs, 2, err) != 0 ||
        program_read(&pass->program, "logits", s->logits, (size_t)size * classes * sizeof(float),
                     err) != 0)
        return -1;
    for (int i = 0; i < count; i++)
        answer(s, s->logits + (size_t)i * classes, pictures[i]);
    return 0;
}

/* Frees the memory of a size that batch_sizes.c has found to be no faster. */
static void drop(const struct servable *servable, int size) {
    program_done(&pass_of(servable->own, size)->program);
}

static void close_classes(struct servable *servable) {
    struct serve_classes *s = servable->own;
    free(s->pixels);
    free(s->weights);
    free(s->logits);
    free(s->best);
    free(s);
}

/* All buffers have room for the largest batch. Those that exist on a failure are freed by
 * `close`. */
static int allocate(struct serve_classes *s, int most, struct error *err) {
    const size_t count = (size_t)most;
    s->pixels = malloc(count * picture_bytes(s));
    s->weights = calloc(count, sizeof(*s->weights));
    s->logits = calloc(count * s->config->classes, sizeof(*s->logits));
    s->best = calloc(s->top + 1, sizeof(*s->best));
    if (s->pixels == NULL || s->weights == NULL || s->logits == NULL || s->best == NULL)
        return error_no_memory(err, "batches");
    for (int i = 0; i < most; i++)
        s->weights[i] = 1;
    return 0;
}

/* What RET holds is freed by servable_close, also if this fails. A network that has fewer classes
 * than --top answers with all of them. */
int serve_classes_open(struct servable *ret, struct network *net, const struct model_config *config,
                       const struct options *o, const struct picture_queue *queue,
                       struct network_options *ret_network, struct error *err) {
    static const struct servable_table table = {
        .worker_open = worker_open,
        .worker_close = worker_close,
        .decode = decode,
        .compute = compute,
        .drop = drop,
        .close = close_classes,
    };
    struct serve_classes *s = calloc(1, sizeof(*s));
    if (s == NULL)
        return error_no_memory(err, "batches");
    *ret = (struct servable){.table = &table, .own = s};
    s->net = net;
    s->config = config;
    s->queue = queue;
    s->crop = augment_center_crop(config->image_size, (int)o->resize, config->resize_side);
    s->top = (size_t)o->top < config->classes ? (size_t)o->top : config->classes;
    ret_network->apart = true;
    ret_network->canvas_count = queue->size_count;
    for (int i = 0; i < queue->size_count; i++)
        ret_network->canvases[i] = (struct network_canvas){
            .height = config->image_size, .width = config->image_size, .batch = queue->sizes[i]};
    const int most = queue->sizes[queue->size_count - 1];
    return augment_check(&s->crop, err) != 0 ? -1 : allocate(s, most, err);
}

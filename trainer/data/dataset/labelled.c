#include "trainer/data/dataset/labelled.h"

#include "trainer/data/codec/image.h"
#include "trainer/data/dataset/fetch.h"
#include "trainer/data/order/sampler.h"
#include "trainer/math/sample_key.h"

#include <stdlib.h>
#include <string.h>

/* Replaces an unusable picture; near the mean of any normalization. */
enum { GREY = 128 };

static size_t picture_bytes(int side) {
    return (size_t)side * (size_t)side * IMAGE_CHANNELS;
}

struct batch_layout labelled_layout(int batch, int side, bool keyed) {
    struct batch_layout layout = {0};
    const size_t count = (size_t)batch;
    (void)batch_layout_add(&layout, "image", count * picture_bytes(side));
    (void)batch_layout_add(&layout, "label", count * sizeof(int32_t));
    (void)batch_layout_add(&layout, "weight", count * sizeof(float));
    if (keyed)
        (void)batch_layout_add(&layout, "key", count * SAMPLE_KEY_WORDS * sizeof(int32_t));
    return layout;
}

static int worker_open(const struct source *source, void **ret_worker, struct error *err) {
    (void)source;
    struct fetcher *fetcher = calloc(1, sizeof(*fetcher));
    if (fetcher == NULL)
        return error_no_memory(err, "reading pictures");
    *ret_worker = fetcher;
    return fetcher_init(fetcher, err);
}

static void worker_close(void *worker) {
    if (worker != NULL)
        fetcher_done(worker);
    free(worker);
}

/* Returns the side of the pictures of CANVAS. */
static int side_of(const struct labelled *l, int canvas) {
    return canvas == 0 ? l->augment.image_size : l->sizes.side[canvas - 1];
}

/* Returns the recipe for pictures of CANVAS. */
static struct augment augment_of(const struct labelled *l, int canvas) {
    struct augment a = l->augment;
    a.image_size = side_of(l, canvas);
    a.resize_side = (int)((int64_t)l->augment.resize_side * a.image_size / l->augment.image_size);
    return a;
}

static int canvas_of(const struct source *source, uint32_t epoch) {
    const struct labelled *l = source->set;
    return picture_sizes_canvas(&l->sizes, epoch);
}

/* Sets the label and weight of a place; returns its pixels. */
static uint8_t *begin(const struct source *source, const struct batch *batch, int place,
                      float weight) {
    const struct labelled *l = source->set;
    const int64_t sample = batch->samples[place];
    ((int32_t *)batch->fields[LABELLED_LABEL])[place] =
        sample == SAMPLER_PADDING ? 0 : l->set->labels[sample];
    ((float *)batch->fields[LABELLED_WEIGHT])[place] = weight;
    if (l->keyed)
        sample_key_fill((int32_t *)batch->fields[LABELLED_KEY] + place * SAMPLE_KEY_WORDS, l->seed,
                        batch->epoch, (uint32_t)(sample == SAMPLER_PADDING ? 0 : sample));
    return (uint8_t *)batch->fields[LABELLED_IMAGE] +
           (size_t)place * picture_bytes(side_of(l, batch->canvas));
}

static int change_colors(const struct labelled *l, const struct batch *batch, int place, int side,
                         uint8_t *pixels, struct error *err) {
    const uint64_t sample = (uint64_t)batch->samples[place];
    struct color_plan plan;
    color_draw(&l->color, l->seed, batch->epoch, sample, &plan);
    color_render(&plan, pixels, (size_t)side * (size_t)side);
    const double deviation = blur_draw(&l->blur, l->seed, batch->epoch, sample);
    return blur_render(&l->blur, deviation, pixels, side, side, err);
}

static int fill(const struct source *source, void *worker, const struct batch *batch, int place,
                const char **ret_damage, struct error *err) {
    const struct labelled *l = source->set;
    struct fetcher *fetcher = worker;
    const struct augment augment = augment_of(l, batch->canvas);
    uint8_t *pixels = begin(source, batch, place, 1);
    if (fetch_sample_kept(fetcher, l->set, (size_t)batch->samples[place], &l->kept, &augment,
                          l->seed, batch->epoch, pixels, err) != 0)
        return -1;
    *ret_damage = fetcher->damage;
    return change_colors(l, batch, place, augment.image_size, pixels, err);
}

static void clear(const struct source *source, const struct batch *batch, int place) {
    const struct labelled *l = source->set;
    uint8_t *pixels = begin(source, batch, place, 0);
    memset(pixels, batch->samples[place] == SAMPLER_PADDING ? 0 : GREY,
           picture_bytes(side_of(l, batch->canvas)));
}

static void ahead(const struct source *source, const struct lanes_piece *piece) {
    const struct labelled *l = source->set;
    if (l->order != NULL)
        shard_sequence_read_ahead(l->order, l->set, piece);
}

static void sample_name(const struct source *source, size_t sample, char *text, size_t size) {
    const struct labelled *l = source->set;
    dataset_sample_name(l->set, sample, text, size);
}

int labelled_source(struct source *ret, struct labelled *labelled, int batch, struct error *err) {
    static const struct source_table table = {
        .inspect = "data",
        .worker_open = worker_open,
        .worker_close = worker_close,
        .fill = fill,
        .clear = clear,
        .canvas = canvas_of,
        .ahead = ahead,
        .sample_name = sample_name,
    };
    if (augment_check(&labelled->augment, err) != 0)
        return -1;
    for (int canvas = 0; canvas <= labelled->sizes.count; canvas++)
        labelled->layouts[canvas] =
            labelled_layout(batch, side_of(labelled, canvas), labelled->keyed);
    *ret = (struct source){
        .table = &table,
        .set = labelled,
        .name = labelled->set->root != NULL ? labelled->set->root : "synthetic",
        .count = labelled->set->count,
        .batch = batch,
        .layout = labelled->layouts[0],
        .layouts = labelled->layouts,
    };
    return 0;
}

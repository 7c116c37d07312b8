#include "trainer/app/task/detect_pictures.h"

#include "common/cleanup.h"
#include "common/log/log.h"
#include "trainer/data/codec/jpeg.h"
#include "trainer/data/codec/picture.h"
#include "trainer/data/codec/resize.h"
#include "trainer/data/draw/canvas/canvas.h"
#include "trainer/data/draw/labels/label.h"
#include "trainer/data/draw/painter.h"
#include "trainer/math/image_size.h"
#include "trainer/math/random.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Pictures of a detector for people: those of an evaluation, painted by data/draw from the files,
 * and those of a training batch, painted from the memory of the batch. Both reach their reader
 * through task_show.take as JPEGs.
 *
 * The pictures of an evaluation are chosen once, by keys from the seed that do not depend on ranks,
 * epochs or scores. The same pictures are thus shown after every evaluation, and their progress can
 * be compared.
 *
 * A file that cannot be read is a warning and leaves a gap, because showing pictures is no part of
 * the work. */

/* Quality of the JPEGs. */
enum { QUALITY = 90 };

/* Keys of the random choice, distinct from all others of the seed. Loaders key their draws by the
 * epoch, which never gets that far. */
enum { STREAM_EPOCH = INT32_MAX };

/* A picture of the set with its place in the random order. */
struct choice {
    bool empty; /* it has no objects */
    uint64_t key;
    size_t sample;
};

/* Pictures without objects come last, so they are shown only if there are too few others. Equal
 * keys are ordered by sample, because qsort is not stable. */
static int by_key(const void *a, const void *b) {
    const struct choice *x = a, *y = b;
    if (x->empty != y->empty)
        return x->empty ? 1 : -1;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return (x->sample > y->sample) - (x->sample < y->sample);
}

static int by_sample(const void *a, const void *b) {
    const struct choice *x = a, *y = b;
    return (x->sample > y->sample) - (x->sample < y->sample);
}

/* Reorders RET, which has an entry for each picture, so that the first COUNT are those to show. The
 * chosen ones are then put into the order of the set. */
static void choose(const struct detection_set *set, uint64_t seed, size_t count,
                   struct choice *ret) {
    for (size_t i = 0; i < set->count; i++) {
        struct random random = random_stream(seed, STREAM_EPOCH, i);
        uint64_t high = random_u32(&random);
        ret[i] = (struct choice){set->pictures[i].count == 0, high << 32 | random_u32(&random), i};
    }
    qsort(ret, set->count, sizeof(*ret), by_key);
    qsort(ret, count, sizeof(*ret), by_sample);
}

/* State shared by the pictures of one call. */
struct showing {
    const struct detection_set *set;
    const struct task_show *show;
    struct painter_request request;
    struct painter painter;
    struct picture_reader reader;
    struct image picture;
    struct buf encoded;
};

/* What the painter lent is gone afterwards. */
static void showing_done(struct showing *s) {
    painter_done(&s->painter);
    picture_reader_done(&s->reader);
    image_done(&s->picture);
    buf_done(&s->encoded);
}

/* Paints one picture into `encoded`. *RET is borrowed from the painter until its next picture. */
static int paint(struct showing *s, size_t sample, const struct image **ret, struct error *err) {
    char path[PATH_MAX];
    size_t objects = 0;
    if (detection_set_path(s->set, sample, path, sizeof(path), err) != 0 ||
        picture_reader_read(&s->reader, path, &s->picture, err) != 0)
        return -1;
    if (painter_paint(&s->painter, &s->request, s->set->pictures[sample].image, &s->picture, ret,
                      &objects, err) != 0)
        return error_wrap(err, "%s", path);
    s->encoded.size = 0;
    return jpeg_encode(*ret, QUALITY, &s->encoded, err);
}

/* The id is that of the picture in the annotations, which names files and events. */
static int show_one(struct showing *s, size_t sample, struct error *err) {
    const struct image *painted = NULL;
    struct error why = {0};
    if (paint(s, sample, &painted, &why) != 0) {
        log_warning("not shown: %s", why.text);
        return 0;
    }
    const struct task_picture picture = {
        .id = s->set->index->images[s->set->pictures[sample].image].id,
        .height = painted->height,
        .width = painted->width,
        .bytes = s->encoded.data,
        .size = s->encoded.size,
    };
    return s->show->take(s->show->user, &picture, err);
}

/* Names are made at the first call and kept in D, as each evaluation needs the same. */
int detect_pictures(struct detect_data *d, const struct coco_results *found,
                    const struct task_show *show, struct error *err) {
    const struct detection_set *set = &d->validation.set;
    size_t count = show->count < set->count ? show->count : set->count;
    cleanup_free struct choice *chosen = calloc(set->count + 1, sizeof(*chosen));
    if (chosen == NULL)
        return error_no_memory(err, "pictures to show");
    /* Without fonts the names have not been made yet. */
    if (d->names.fonts == NULL && draw_names_of_index(&d->names, set->index, NULL, err) != 0)
        return -1;
    choose(set, show->seed, count, chosen);
    struct showing s = {.set = set,
                        .show = show,
                        .request = {.index = set->index,
                                    .results = found,
                                    .truth = true,
                                    .least_score = show->least_score,
                                    .names = &d->names},
                        .encoded = {.max = JPEG_BYTES_MAX}};
    int result = 0;
    for (size_t i = 0; i < count && result == 0; i++)
        result = show_one(&s, chosen[i].sample, err);
    showing_done(&s);
    return result;
}

/* Values of a batch's field, or NULL. */
static const void *field_of(const struct batch *batch, const char *name) {
    const int field = batch_layout_find(batch->layout, name);
    return field >= 0 ? batch->fields[field] : NULL;
}

/* Swaps left and right in place; the middle column of an odd width stays. */
static void mirror(struct image *image) {
    for (int y = 0; y < image->height; y++)
        for (int x = 0; x < image->width / 2; x++) {
            uint8_t kept[IMAGE_CHANNELS];
            uint8_t *left = image_pixel(image, x, y);
            uint8_t *right = image_pixel(image, image->width - 1 - x, y);
            memcpy(kept, left, sizeof(kept));
            memcpy(left, right, sizeof(kept));
            memcpy(right, kept, sizeof(kept));
        }
}

/* What is painted of one place of a batch. */
struct place {
    int32_t size[IMAGE_SIZE_FIELDS];
    uint8_t *pixels; /* borrowed, as stored in the batch */
    const float *boxes;
    const int32_t *labels;
    int objects;
};

/* PLACES is the number of pictures of a full batch: the fields have room for so many, and dividing
 * by it gives the bytes of one. The cast drops a const that the image type lacks; the pixels are
 * only read. */
static struct place place_of(const struct batch *batch, int i, size_t places) {
    const struct batch_layout *layout = batch->layout;
    const size_t image_bytes = layout->fields[batch_layout_find(layout, "image")].bytes / places;
    const size_t slots =
        layout->fields[batch_layout_find(layout, "gt_label")].bytes / places / sizeof(int32_t);
    const size_t at = (size_t)i;
    struct place p = {
        .pixels = (uint8_t *)(uintptr_t)field_of(batch, "image") + at * image_bytes,
        .boxes = (const float *)field_of(batch, "gt_box") + at * slots * 4,
        .labels = (const int32_t *)field_of(batch, "gt_label") + at * slots,
        .objects = ((const int32_t *)field_of(batch, "gt_count"))[i],
    };
    memcpy(p.size, (const int32_t *)field_of(batch, "image_size") + at * IMAGE_SIZE_FIELDS,
           sizeof(p.size));
    return p;
}

/* Boxes of a batch are corners in pixels of the scaled picture. Labels count from 1, as 0 is the
 * background. */
static void paint_objects(struct image *image, const struct place *p, char *const *names) {
    for (int k = 0; k < p->objects; k++) {
        const float *b = p->boxes + (size_t)k * 4;
        const double box[4] = {(double)b[0], (double)b[1], (double)(b[2] - b[0]),
                               (double)(b[3] - b[1])};
        const struct color color = color_of((uint32_t)k);
        canvas_box(image, box, color, 2);
        const char *name = names[p->labels[k] - 1];
        const int top = (int)b[1] - label_measure(NULL, name, 1).height;
        label_paint(image, (int)b[0], top > 0 ? top : 0, NULL, name, color, 1);
    }
}

/* The batch holds the picture as it was stored; the network scales and mirrors it itself. Both are
 * done again here, so that boxes fit. */
static int show_place(const struct task_data *data, const struct place *p, int number,
                      const struct task_show *show, struct error *err) {
    cleanup_resizer struct resizer resizer = {0};
    cleanup_image struct image shown = {0};
    cleanup_buf struct buf encoded = {.max = JPEG_BYTES_MAX};
    const struct image stored = {.pixels = p->pixels,
                                 .width = p->size[IMAGE_SIZE_SOURCE_W],
                                 .height = p->size[IMAGE_SIZE_SOURCE_H]};
    if (resize_whole(&resizer, &stored, p->size[IMAGE_SIZE_W], p->size[IMAGE_SIZE_H], &shown,
                     err) != 0)
        return -1;
    /* Boxes in the batch are those of the mirrored picture. */
    if (p->size[IMAGE_SIZE_FLIP])
        mirror(&shown);
    paint_objects(&shown, p, data->class_names);
    if (jpeg_encode(&shown, QUALITY, &encoded, err) != 0)
        return -1;
    const struct task_picture picture = {.id = number,
                                         .height = shown.height,
                                         .width = shown.width,
                                         .bytes = encoded.data,
                                         .size = encoded.size};
    return show->take(show->user, &picture, err);
}

/* Places that only fill the batch are passed over. */
int detect_pictures_batch(const struct task_data *data, const struct batch *batch,
                          const struct task_show *show, struct error *err) {
    for (int i = 0; i < batch->count && (size_t)i < show->count; i++) {
        const struct place p = place_of(batch, i, (size_t)data->training.source.batch);
        if (p.size[IMAGE_SIZE_VALID] && show_place(data, &p, i + 1, show, err) != 0)
            return -1;
    }
    return 0;
}

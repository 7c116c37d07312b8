#include "trainer/app/task/detect_pictures.h"

#include "common/cleanup.h"
#include "common/log/log.h"
#include "trainer/data/codec/jpeg.h"
#include "trainer/data/codec/picture.h"
#include "trainer/data/draw/painter.h"
#include "trainer/math/random.h"

#include <limits.h>
#include <stdlib.h>

enum { QUALITY = 90 };

/* Keys of the random choice, distinct from all others of the seed. */
enum { STREAM_EPOCH = INT32_MAX };

struct choice {
    bool empty; /* it has no objects */
    uint64_t key;
    size_t sample;
};

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

/* Reorders RET, which has an entry for each picture, so that the first COUNT are those to show. */
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

static void showing_done(struct showing *s) {
    painter_done(&s->painter);
    picture_reader_done(&s->reader);
    image_done(&s->picture);
    buf_done(&s->encoded);
}

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

int detect_pictures(struct detect_data *d, const struct coco_results *found,
                    const struct task_show *show, struct error *err) {
    const struct detection_set *set = &d->validation.set;
    size_t count = show->count < set->count ? show->count : set->count;
    cleanup_free struct choice *chosen = calloc(set->count + 1, sizeof(*chosen));
    if (chosen == NULL)
        return error_no_memory(err, "pictures to show");
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

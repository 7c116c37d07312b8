#include "trainer/data/detect/detection_source.h"

#include "trainer/data/detect/detection_outline.h"

#include "trainer/math/image_size.h"
#include "trainer/math/mask_bits.h"
#include "trainer/math/mask_target.h"
#include "trainer/math/sample_key.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* The table of functions by which the loader (dataset/loader.h) makes batches for a detector. It
 * ties the other files of this folder to the fields of a batch, and has no rules of its own.
 *
 * Masks are the reason for most of it. Their size is known only once they are made, and the batch's
 * memory is fixed. Each place therefore collects its masks in a block beside the batch (struct
 * masks), and `finish` copies them into the common pool. A pool for the average of a batch is much
 * smaller than one for the worst picture in every place. */

/* Indices of batch.fields. The order is that in which layout_of adds them; the last three exist
 * only with outlines. */
enum field {
    IMAGE,
    IMAGE_SIZE,
    KEY,
    GT_BOX,
    GT_LABEL,
    GT_COUNT,
    GT_MASK_AT,
    MASK_POOL,
    GT_PARTS,
    POLYGON,
    POINT
};

/* Kept beside the fields of a batch, as its `own` data. */
struct masks {
    struct detection_bits *places; /* owned; [count] */
    int count;                     /* places */
    struct source_dropped dropped; /* of the whole batch; written by finish */
};

/* Bytes of masks of a whole batch. `check` keeps the product within 31 bits, as offsets are i32. */
static size_t pool_bytes(const struct detection_samples *samples, int batch) {
    return (size_t)batch * (size_t)samples->bits_of_picture;
}

/* The names are the inputs of the network, which takes fields by name and compares their sizes. */
static struct batch_layout layout_of(const struct detection_samples *samples, int batch) {
    struct batch_layout layout = {0};
    const size_t n = (size_t)batch, objects = n * (size_t)samples->slots;
    (void)batch_layout_add(&layout, "image", n * samples->image_bytes);
    (void)batch_layout_add(&layout, "image_size", n * IMAGE_SIZE_FIELDS * sizeof(int32_t));
    (void)batch_layout_add(&layout, "key", n * SAMPLE_KEY_WORDS * sizeof(int32_t));
    (void)batch_layout_add(&layout, "gt_box", objects * 4 * sizeof(float));
    (void)batch_layout_add(&layout, "gt_label", objects * sizeof(int32_t));
    (void)batch_layout_add(&layout, "gt_count", n * sizeof(int32_t));
    (void)batch_layout_add(&layout, "gt_mask_at", objects * MASK_FIELDS * sizeof(int32_t));
    (void)batch_layout_add(&layout, "mask_bits", pool_bytes(samples, batch));
    /* Networks that read masks from bitmaps have no such inputs. */
    if (samples->polygons == 0)
        return layout;
    const size_t part = MASK_PART_FIELDS * sizeof(int32_t);
    (void)batch_layout_add(&layout, "gt_parts", objects * part);
    (void)batch_layout_add(&layout, "polygon", n * (size_t)samples->polygons * part);
    (void)batch_layout_add(&layout, "point", n * (size_t)samples->points * 2 * sizeof(float));
    return layout;
}

/* The fields of a batch, with the capacities by which the other files compute places in them. */
static struct detection_fields fields_of(const struct source *source, const struct batch *batch) {
    const struct detection_samples *samples = source->set;
    /* The last three fields of a batch are not there without outlines, and must not be read. */
    const bool outlines = samples->polygons > 0;
    return (struct detection_fields){.slots = samples->slots,
                                     .image_bytes = samples->image_bytes,
                                     .pool_bytes = pool_bytes(samples, source->batch),
                                     .image = batch->fields[IMAGE],
                                     .image_size = batch->fields[IMAGE_SIZE],
                                     .gt_box = batch->fields[GT_BOX],
                                     .gt_label = batch->fields[GT_LABEL],
                                     .gt_count = batch->fields[GT_COUNT],
                                     .gt_mask_at = batch->fields[GT_MASK_AT],
                                     .mask_bits = batch->fields[MASK_POOL],
                                     .key = batch->fields[KEY],
                                     .polygons = samples->polygons,
                                     .points = samples->points,
                                     .gt_parts = outlines ? batch->fields[GT_PARTS] : NULL,
                                     .polygon = outlines ? batch->fields[POLYGON] : NULL,
                                     .point = outlines ? batch->fields[POINT] : NULL};
}

/* A worker of zeros is ready: its decoder and buffers are made when they are first needed. */
static int worker_open(const struct source *source, void **ret_worker, struct error *err) {
    (void)source;
    *ret_worker = calloc(1, sizeof(struct detection_worker));
    return *ret_worker != NULL ? 0 : error_no_memory(err, "reading pictures");
}

/* WORKER may be NULL: worker_open has failed then. */
static void worker_close(void *worker) {
    if (worker != NULL)
        detection_worker_done(worker);
    free(worker);
}

/* On failure batch_close frees what there is; `count` never exceeds the places. */
static int batch_open(const struct source *source, struct batch *batch, struct error *err) {
    struct masks *masks = calloc(1, sizeof(*masks));
    batch->own = masks;
    if (masks == NULL)
        return error_no_memory(err, "masks");
    masks->places = calloc((size_t)source->batch, sizeof(*masks->places));
    masks->count = masks->places != NULL ? source->batch : 0;
    return masks->places != NULL ? 0 : error_no_memory(err, "masks");
}

/* Called for a batch that was never opened, too: without own data there is nothing to free. */
static void batch_close(struct batch *batch) {
    struct masks *masks = batch->own;
    for (int i = 0; masks != NULL && i < masks->count; i++)
        detection_bits_done(&masks->places[i]);
    if (masks != NULL)
        free(masks->places);
    free(masks);
    batch->own = NULL;
}

/* Called from several threads for different places of a batch. All that they share is constant. */
static int fill(const struct source *source, void *worker, const struct batch *batch, int place,
                const char **ret_damage, struct error *err) {
    const struct detection_samples *samples = source->set;
    const struct detection_fields fields = fields_of(source, batch);
    struct detection_worker *own = worker;
    struct masks *masks = batch->own;
    if (detection_sample_fill(own, samples->set, &samples->recipe, (size_t)batch->samples[place],
                              batch->epoch, &fields, place, &masks->places[place], err) != 0)
        return -1;
    *ret_damage = own->damage;
    return 0;
}

/* Padding and unreadable samples count as pictures without objects. */
static void clear(const struct source *source, const struct batch *batch, int place) {
    const struct detection_fields fields = fields_of(source, batch);
    struct masks *masks = batch->own;
    detection_sample_clear(&fields, place, &masks->places[place]);
}

/* Called when no place of the batch is being filled any more. Counts what did not fit: objects
 * without a slot, masks without room in the pool. */
static int finish(const struct source *source, const struct batch *batch, struct error *err) {
    const struct detection_fields fields = fields_of(source, batch);
    struct masks *masks = batch->own;
    /* The slot of the loader has had another batch before. */
    masks->dropped = (struct source_dropped){0};
    for (int i = 0; i < masks->count; i++)
        masks->dropped.objects += masks->places[i].objects_dropped;
    return detection_bits_gather(&fields, masks->places, masks->count, &masks->dropped.masks, err);
}

/* Valid from `finish` on until the batch's memory is filled again. */
static struct source_dropped dropped(const struct batch *batch) {
    return ((const struct masks *)batch->own)->dropped;
}

/* A path that is too long is cut: the name is for messages alone. */
static void sample_name(const struct source *source, size_t sample, char *text, size_t size) {
    const struct detection_samples *samples = source->set;
    if (detection_set_path(samples->set, sample, text, size, NULL) != 0 && size > 0)
        text[size - 1] = '\0';
}

/* Refuses a recipe or capacities that are out of range. The limits of masks and points also keep
 * their offsets within 31 bits for a whole batch. */
static int check(const struct detection_samples *samples, int batch, struct error *err) {
    if (detection_recipe_check(&samples->recipe, err) != 0)
        return -1;
    if (samples->slots < 1 || samples->slots > DETECTION_SLOTS_MAX)
        return error_set(err, EXIT_CODE_USAGE, "%d slots for objects; expected 1 to %d",
                         samples->slots, DETECTION_SLOTS_MAX);
    if (batch < 1 || batch > DETECTION_BATCH_MAX)
        return error_set(err, EXIT_CODE_USAGE, "a batch of %d pictures; expected 1 to %d", batch,
                         DETECTION_BATCH_MAX);
    if (samples->bits_of_picture < 1 || samples->bits_of_picture > DETECTION_BITS_PICTURE_MAX ||
        samples->bits_of_picture > INT32_MAX / batch)
        return error_set(err, EXIT_CODE_USAGE,
                         "%" PRId64 " bytes of masks for each of %d pictures; expected 1 to %d",
                         samples->bits_of_picture, batch, DETECTION_BITS_PICTURE_MAX);
    if (samples->polygons > DETECTION_POLYGONS_MAX || samples->points > DETECTION_POINTS_MAX ||
        samples->points > INT32_MAX / batch)
        return error_set(
            err, EXIT_CODE_USAGE,
            "outlines of %d polygons and %d points for each of %d pictures; expected at most %d "
            "and %d",
            samples->polygons, samples->points, batch, DETECTION_POLYGONS_MAX,
            DETECTION_POINTS_MAX < INT32_MAX / batch ? DETECTION_POINTS_MAX : INT32_MAX / batch);
    return 0;
}

/* Raises samples->image_bytes, which the fields of every batch depend on: SAMPLES must not change
 * afterwards. */
int detection_source(struct source *ret, struct detection_samples *samples, int batch,
                     struct error *err) {
    /* No `canvas`: a batch's canvas is the group of its samples. No `ahead`: pictures are single
     * files. */
    static const struct source_table table = {
        .worker_open = worker_open,
        .worker_close = worker_close,
        .batch_open = batch_open,
        .batch_close = batch_close,
        .fill = fill,
        .clear = clear,
        .finish = finish,
        .dropped = dropped,
        .inspect = "coco",
        .sample_name = sample_name,
    };
    if (check(samples, batch, err) != 0)
        return -1;
    /* The slot of a picture holds the largest one of this set, or more if the caller asked for
     * it. */
    const size_t needed = detection_image_bytes(samples->set, &samples->recipe);
    if (samples->image_bytes < needed)
        samples->image_bytes = needed;
    *ret = (struct source){
        .table = &table,
        .set = samples,
        .name = samples->set->folder,
        .count = samples->set->count,
        .batch = batch,
        .layout = layout_of(samples, batch),
    };
    return 0;
}

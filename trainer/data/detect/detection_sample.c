#include "trainer/data/detect/detection_sample.h"

#include "trainer/math/image_size.h"
#include "trainer/math/random.h"
#include "trainer/math/sample_key.h"

#include <inttypes.h>
#include <limits.h>
#include <string.h>

/* One place of a batch, from the draw to the pixels; detection_limits.c computes beforehand how
 * much memory that takes at most. All random numbers come from one stream for (seed, epoch,
 * sample), in a fixed order: first the mirroring, then the side.
 *
 * detection_source.c calls detection_sample_fill from the loader's workers. detection_groups.c
 * calls detection_draw alone, to know the canvas that a picture needs in an epoch. */

/* A worker of zeros has no memory yet, and may be freed as well. */
void detection_worker_done(struct detection_worker *worker) {
    picture_reader_done(&worker->reader);
    image_done(&worker->picture);
    resizer_done(&worker->resizer);
    detection_objects_scratch_done(&worker->objects);
    *worker = (struct detection_worker){0};
}

/* The steps must end exactly at the largest short side, for which canvases and memory are planned.
 * The limit of pixels keeps the bytes of a picture within 31 bits. */
int detection_recipe_check(const struct detection_recipe *recipe, struct error *err) {
    const struct detect_sizes *sizes = &recipe->sizes;
    if (detect_sizes_check(sizes, err) != 0)
        return -1;
    if (recipe->short_step < 0 ||
        (recipe->short_step > 0 &&
         (recipe->short_low < 1 || recipe->short_low > sizes->short_side ||
          (sizes->short_side - recipe->short_low) % recipe->short_step != 0)))
        return error_set(err, EXIT_CODE_USAGE,
                         "short sides from %d in steps of %d; expected to end at %d, the largest",
                         recipe->short_low, recipe->short_step, sizes->short_side);
    if (recipe->pixels_max < 1 || recipe->pixels_max > INT32_MAX / IMAGE_CHANNELS)
        return error_set(err, EXIT_CODE_USAGE,
                         "pictures of at most %" PRId64 " pixels; expected 1 to %d",
                         recipe->pixels_max, INT32_MAX / IMAGE_CHANNELS);
    return 0;
}

/* Only a scaling that makes a picture smaller is worth while here: the point is to pass fewer bytes
 * to the device. */
bool detection_is_host_scaled(const struct detection_recipe *recipe, struct detect_size picture,
                              struct detect_size scaled) {
    int64_t pixels = (int64_t)picture.height * picture.width;
    return recipe->host_scale ||
           (pixels > recipe->pixels_max && (int64_t)scaled.height * scaled.width < pixels);
}

/* Returns how many short sides there are to draw from. */
static int sides_of(const struct detection_recipe *recipe) {
    return recipe->short_step > 0
               ? (recipe->sizes.short_side - recipe->short_low) / recipe->short_step + 1
               : 1;
}

/* Counted down from the largest side: of an even number of sides it is the lower one in the
 * middle. */
int detection_middle_side(const struct detection_recipe *recipe) {
    const int above = sides_of(recipe) / 2;
    return recipe->sizes.short_side - above * recipe->short_step;
}

/* Canvases and capacities are measured at the largest size, which Detectron2's rounding of a
 * smaller side can exceed by a pixel, for example if both are odd halves: clamp to it. */
static struct detect_size at_most(struct detect_size size, struct detect_size most) {
    return (struct detect_size){size.height < most.height ? size.height : most.height,
                                size.width < most.width ? size.width : most.width};
}

struct detection_draw detection_draw(const struct detection_recipe *recipe,
                                     struct detect_size picture, uint32_t epoch, uint64_t sample) {
    struct random random = random_stream(recipe->seed, epoch, sample);
    struct detect_sizes sizes = recipe->sizes;
    /* The number is drawn whether or not pictures are mirrored, so that the sides do not depend on
     * that option. */
    struct detection_draw draw = {.flip = random_below(&random, 2) == 1 && recipe->flip,
                                  .rule = recipe->sizes.rule};
    if (recipe->short_step > 0)
        sizes.short_side =
            recipe->short_low +
            recipe->short_step * (int)random_below(&random, (uint32_t)sides_of(recipe));
    draw.scaled = at_most(detect_resized(&sizes, picture), detect_resized(&recipe->sizes, picture));
    draw.host_scaled = detection_is_host_scaled(recipe, picture, draw.scaled);
    return draw;
}

/* Reads the picture at full size. Its size must match the annotations, or all boxes would be wrong.
 * A rotated picture is the usual cause, and is named. */
static int read_picture(struct detection_worker *worker, const struct detection_set *set,
                        size_t sample, struct error *err) {
    const struct detection_picture *picture = &set->pictures[sample];
    char path[PATH_MAX];
    worker->damage = NULL;
    if (detection_set_path(set, sample, path, sizeof(path), err) != 0 ||
        picture_reader_read(&worker->reader, path, &worker->picture, err) != 0)
        return -1;
    worker->damage = worker->reader.damage;
    if (worker->picture.width == picture->width && worker->picture.height == picture->height)
        return 0;
    bool turned =
        worker->picture.width == picture->height && worker->picture.height == picture->width;
    return error_set(
        err, EXIT_CODE_DATA, "%s: %d x %d pixels, but %d x %d in %s%s", path, worker->picture.width,
        worker->picture.height, picture->width, picture->height, set->index->path,
        turned ? "; it is stored rotated: the EXIF orientation is ignored, rotate the file itself"
               : "");
}

/* Writes the pixels of place I, scaled if the draw says so, and what the network has to do with
 * them. Bytes after the picture are zeroed: the slot may hold an earlier, larger one. */
static int fill_image(struct detection_worker *worker, const struct detection_draw *draw,
                      const struct detection_fields *fields, int i, struct error *err) {
    const struct image *picture = &worker->picture;
    struct detect_size size = {picture->height, picture->width};
    uint8_t *pixels = fields->image + (size_t)i * fields->image_bytes;
    if (draw->host_scaled)
        size = draw->scaled;
    size_t bytes = (size_t)size.height * (size_t)size.width * IMAGE_CHANNELS;
    if (bytes > fields->image_bytes)
        return error_set(err, EXIT_CODE_INTERNAL, "a picture of %d x %d in a slot of %zu bytes",
                         size.width, size.height, fields->image_bytes);
    if (draw->host_scaled) {
        const struct resize_map map = {.width = picture->width,
                                       .height = picture->height,
                                       .virtual_width = size.width,
                                       .virtual_height = size.height,
                                       .window = {0, 0, size.width, size.height}};
        if (resize_window(&worker->resizer, picture, &map, pixels, err) != 0)
            return -1;
    } else {
        memcpy(pixels, picture->pixels, bytes);
    }
    memset(pixels + bytes, 0, fields->image_bytes - bytes);
    /* The size as given, the size to scale to, and the mirroring. A picture that was scaled here
     * has its size twice. */
    const int32_t numbers[IMAGE_SIZE_FIELDS] = {size.height,        size.width, draw->scaled.height,
                                                draw->scaled.width, draw->flip, 1};
    memcpy(fields->image_size + (size_t)i * IMAGE_SIZE_FIELDS, numbers, sizeof(numbers));
    return 0;
}

/* The block of masks keeps its memory, and is empty. */
void detection_sample_clear(const struct detection_fields *fields, int i,
                            struct detection_bits *bits) {
    detection_fields_clear(fields, i);
    bits->size = 0;
    bits->objects_dropped = 0;
}

/* The place is cleared first, as the objects are written only where there are some, and again on
 * failure, as a part may have been written. */
int detection_sample_fill(struct detection_worker *worker, const struct detection_set *set,
                          const struct detection_recipe *recipe, size_t sample, uint32_t epoch,
                          const struct detection_fields *fields, int i, struct detection_bits *bits,
                          struct error *err) {
    const struct detection_picture *picture = &set->pictures[sample];
    struct detection_draw draw =
        detection_draw(recipe, detection_picture_size(picture), epoch, sample);
    detection_sample_clear(fields, i, bits);
    if (read_picture(worker, set, sample, err) != 0 ||
        fill_image(worker, &draw, fields, i, err) != 0 ||
        detection_objects_fill(&worker->objects, set, sample, &draw, fields, i, bits, err) != 0) {
        detection_sample_clear(fields, i, bits);
        return -1;
    }
    /* The key is for random choices within the network (math/sample_key.h). */
    sample_key_fill(&fields->key[(size_t)i * SAMPLE_KEY_WORDS], recipe->seed, epoch,
                    (uint32_t)sample);
    return 0;
}

#include "detect/detection_sample.h"

#include "kernels/image_size.h"
#include "kernels/random.h"
#include "kernels/sample_key.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES_STEP = 64 };

void detection_worker_done(struct detection_worker *worker) {
    picture_reader_done(&worker->reader);
    image_done(&worker->picture);
    resizer_done(&worker->resizer);
    coco_outline_done(&worker->outline);
    rle_brush_done(&worker->brush);
    rle_done(&worker->mask);
    detection_crop_done(&worker->crop);
    free(worker->order);
    *worker = (struct detection_worker){0};
}

int detection_recipe_check(const struct detection_recipe *recipe, struct error *err) {
    const struct detect_sizes *sizes = &recipe->sizes;
    if (detect_sizes_check(sizes, err) != 0)
        return -1;
    if (recipe->short_step < 0 ||
        (recipe->short_step > 0 &&
         (recipe->short_low < 1 || recipe->short_low > sizes->short_side ||
          (sizes->short_side - recipe->short_low) % recipe->short_step != 0)))
        return error_set(err, EXIT_CODE_USAGE, "short sides from %d by %d do not end at %d",
                         recipe->short_low, recipe->short_step, sizes->short_side);
    if (recipe->pixels_max < 1 || recipe->pixels_max > INT32_MAX / IMAGE_CHANNELS)
        return error_set(err, EXIT_CODE_USAGE, "pictures of at most %" PRId64 " pixels",
                         recipe->pixels_max);
    return 0;
}

static bool is_host_scaled(const struct detection_recipe *recipe, struct detect_size picture,
                           struct detect_size scaled) {
    int64_t pixels = (int64_t)picture.height * picture.width;
    return recipe->host_scale ||
           (pixels > recipe->pixels_max && (int64_t)scaled.height * scaled.width < pixels);
}

struct detection_draw detection_draw(const struct detection_recipe *recipe,
                                     struct detect_size picture, uint32_t epoch, uint64_t sample) {
    struct random random = random_stream(recipe->seed, epoch, sample);
    struct detect_sizes sizes = recipe->sizes;
    struct detection_draw draw = {.flip = random_below(&random, 2) == 1 && recipe->flip};
    if (recipe->short_step > 0) {
        int choices = (sizes.short_side - recipe->short_low) / recipe->short_step + 1;
        sizes.short_side =
            recipe->short_low + recipe->short_step * (int)random_below(&random, (uint32_t)choices);
    }
    draw.scaled = detect_resized(&sizes, picture);
    draw.host_scaled = is_host_scaled(recipe, picture, draw.scaled);
    return draw;
}

size_t detection_image_bytes(const struct detection_set *set,
                             const struct detection_recipe *recipe) {
    size_t most = 0;
    for (size_t i = 0; i < set->count; i++) {
        struct detect_size picture = detection_picture_size(&set->pictures[i]);
        struct detect_size scaled = detect_resized(&recipe->sizes, picture);
        if (!is_host_scaled(recipe, picture, scaled))
            scaled = picture;
        size_t pixels = (size_t)scaled.height * (size_t)scaled.width;
        most = pixels > most ? pixels : most;
    }
    return (most * IMAGE_CHANNELS + BYTES_STEP - 1) / BYTES_STEP * BYTES_STEP;
}

/* Reads the picture, which must be as large as the annotations say. */
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
    return error_set(err, EXIT_CODE_DATA, "%s: %d x %d pixels, but %d x %d in %s", path,
                     worker->picture.width, worker->picture.height, picture->width, picture->height,
                     set->index->path);
}

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
    const int32_t numbers[IMAGE_SIZE_FIELDS] = {size.height,        size.width, draw->scaled.height,
                                                draw->scaled.width, draw->flip, 1};
    memcpy(fields->image_size + (size_t)i * IMAGE_SIZE_FIELDS, numbers, sizeof(numbers));
    return 0;
}

static double box_area(const struct detection_object *object) {
    return ((double)object->box[2] - object->box[0]) * ((double)object->box[3] - object->box[1]);
}

struct sized {
    double area;
    uint32_t number;
};

static int larger_first(const void *a, const void *b) {
    const struct sized *left = a, *right = b;
    if (left->area != right->area)
        return left->area > right->area ? -1 : 1;
    return (left->number > right->number) - (left->number < right->number);
}

static int compare_numbers(const void *a, const void *b) {
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    return (left > right) - (left < right);
}

/* The numbers of the SLOTS largest objects, ascending, to worker->order. */
static int choose_objects(struct detection_worker *worker, const struct detection_object *objects,
                          uint32_t count, uint32_t slots, struct error *err) {
    struct sized *sized = calloc(count + 1, sizeof(*sized));
    if (count > worker->order_capacity) {
        free(worker->order);
        worker->order = calloc(count, sizeof(*worker->order));
        worker->order_capacity = worker->order != NULL ? count : 0;
    }
    if (sized == NULL || worker->order_capacity < count) {
        free(sized);
        return error_no_memory(err, "objects");
    }
    for (uint32_t i = 0; i < count; i++)
        sized[i] = (struct sized){box_area(&objects[i]), i};
    if (count > slots)
        qsort(sized, count, sizeof(*sized), larger_first);
    for (uint32_t i = 0; i < count; i++)
        worker->order[i] = sized[i].number;
    if (count > slots)
        qsort(worker->order, slots, sizeof(*worker->order), compare_numbers);
    free(sized);
    return 0;
}

/* Mirrored, then scaled, in torchvision's order and rounding. */
static void fill_box(const struct detection_object *object, struct detect_size picture,
                     const struct detection_draw *draw, float ret[4]) {
    const float width = (float)picture.width;
    float ratio_x = (float)draw->scaled.width / width;
    float ratio_y = (float)draw->scaled.height / (float)picture.height;
    ret[0] = (draw->flip ? width - object->box[2] : object->box[0]) * ratio_x;
    ret[1] = object->box[1] * ratio_y;
    ret[2] = (draw->flip ? width - object->box[0] : object->box[2]) * ratio_x;
    ret[3] = object->box[3] * ratio_y;
}

static int fill_mask(struct detection_worker *worker, const struct detection_set *set,
                     const struct detection_object *object, struct detect_size picture,
                     const struct detection_draw *draw, struct detection_bits *bits,
                     int32_t ret_at[MASK_FIELDS], struct error *err) {
    memset(ret_at, 0, MASK_FIELDS * sizeof(*ret_at));
    if (!object->outlined)
        return 0;
    if (coco_index_mask(set->index, &set->index->annotations[object->annotation], &worker->outline,
                        &worker->brush, &worker->mask, err) != 0)
        return error_wrap(err, "%s", set->index->path);
    if (!draw->host_scaled)
        return detection_bits_add(bits, &worker->mask, ret_at, err);
    const struct detection_scaling scaling = {picture, draw->scaled, draw->flip};
    worker->crop.bits.size = 0;
    if (detection_bits_add(&worker->crop.bits, &worker->mask, worker->crop.at, err) != 0)
        return -1;
    return detection_bits_add_scaled(bits, &worker->crop, &scaling, ret_at, err);
}

static int fill_objects(struct detection_worker *worker, const struct detection_set *set,
                        const struct detection_picture *picture, const struct detection_draw *draw,
                        const struct detection_fields *fields, int i, struct detection_bits *bits,
                        struct error *err) {
    const struct detection_object *objects = &set->objects[picture->first];
    const struct detect_size size = detection_picture_size(picture);
    const size_t slots = (size_t)fields->slots, first = (size_t)i * slots;
    uint32_t used = picture->count < slots ? picture->count : (uint32_t)slots;
    if (choose_objects(worker, objects, picture->count, (uint32_t)slots, err) != 0)
        return -1;
    for (size_t k = 0; k < used; k++) {
        const struct detection_object *object = &objects[worker->order[k]];
        fill_box(object, size, draw, &fields->gt_box[(first + k) * 4]);
        fields->gt_label[first + k] = object->label;
        if (fill_mask(worker, set, object, size, draw, bits,
                      &fields->gt_mask_at[(first + k) * MASK_FIELDS], err) != 0)
            return -1;
    }
    fields->gt_count[i] = (int32_t)used;
    bits->objects_dropped = (int32_t)(picture->count - used);
    return 0;
}

static void fill_key(const struct detection_recipe *recipe, uint32_t epoch, size_t sample,
                     int32_t key[SAMPLE_KEY_WORDS]) {
    key[SAMPLE_KEY_SEED_LOW] = (int32_t)(uint32_t)recipe->seed;
    key[SAMPLE_KEY_SEED_HIGH] = (int32_t)(uint32_t)(recipe->seed >> 32);
    key[SAMPLE_KEY_EPOCH] = (int32_t)epoch;
    key[SAMPLE_KEY_SAMPLE] = (int32_t)(uint32_t)sample;
}

void detection_sample_clear(const struct detection_fields *fields, int i,
                            struct detection_bits *bits) {
    detection_fields_clear(fields, i);
    bits->size = 0;
    bits->objects_dropped = 0;
}

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
        fill_objects(worker, set, picture, &draw, fields, i, bits, err) != 0) {
        detection_sample_clear(fields, i, bits);
        return -1;
    }
    fill_key(recipe, epoch, sample, &fields->key[(size_t)i * SAMPLE_KEY_WORDS]);
    return 0;
}

#include "trainer/data/shapes/prepare.h"

#include "common/cleanup.h"
#include "common/file/file.h"
#include "trainer/data/codec/jpeg.h"
#include "trainer/data/shapes/shapes.h"
#include "trainer/math/random.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

/* Minimum contrast, summed over channels, between a shape and both colours of its background. */
enum { CONTRAST = 120, COLOR_TRIES = 100 };

/* Ranges of channel values: backgrounds are rather dark, shapes rather light, and they overlap. */
enum { GROUND_SPAN = 190, SHAPE_SPAN = 190 };

void prepare_defaults(struct prepare_options *options) {
    *options = (struct prepare_options){
        .train = 4000, .validation = 800, .classes = 8, .side = 40, .quality = 90, .seed = 1};
}

static int refuse(struct error *err, const char *name, int64_t value, int64_t min, int64_t max) {
    return error_set(err, EXIT_CODE_USAGE, "%s is %lld; expected %lld to %lld", name,
                     (long long)value, (long long)min, (long long)max);
}

static int check_options(const struct prepare_options *o, struct error *err) {
    if (o->classes < 2 || o->classes > SHAPE_FORMS)
        return refuse(err, "classes", o->classes, 2, SHAPE_FORMS);
    if (o->train < o->classes || o->train > PREPARE_COUNT_MAX)
        return refuse(err, "train", o->train, o->classes, PREPARE_COUNT_MAX);
    if (o->validation < o->classes || o->validation > PREPARE_COUNT_MAX)
        return refuse(err, "validation", o->validation, o->classes, PREPARE_COUNT_MAX);
    if (o->side < PREPARE_SIDE_MIN || o->side > PREPARE_SIDE_MAX)
        return refuse(err, "side", o->side, PREPARE_SIDE_MIN, PREPARE_SIDE_MAX);
    if (o->quality < 1 || o->quality > 100)
        return refuse(err, "quality", o->quality, 1, 100);
    return 0;
}

static int distance(const uint8_t a[IMAGE_CHANNELS], const uint8_t b[IMAGE_CHANNELS]) {
    int sum = 0;
    for (int c = 0; c < IMAGE_CHANNELS; c++)
        sum += abs(a[c] - b[c]);
    return sum;
}

/* Draws channels in BASE .. BASE+SPAN-1. */
static void random_color(struct random *random, int base, uint32_t span,
                         uint8_t color[IMAGE_CHANNELS]) {
    for (int c = 0; c < IMAGE_CHANNELS; c++)
        color[c] = (uint8_t)(base + (int)random_below(random, span));
}

/* Draws picture NUMBER: its form is NUMBER mod classes, all else is random. */
static int draw_picture(const struct prepare_options *o, uint64_t number, struct image *image,
                        struct error *err) {
    struct random random = random_stream(o->seed, 0, number);
    uint8_t from[IMAGE_CHANNELS], to[IMAGE_CHANNELS];
    if (image_resize(image, o->side, o->side, err) != 0)
        return -1;
    struct drawn_shape shape = {.form = (enum shape_form)(number % (uint64_t)o->classes)};
    shape.radius = o->side * random_between(&random, 0.22, 0.42);
    shape.x = random_between(&random, shape.radius, o->side - shape.radius);
    shape.y = random_between(&random, shape.radius, o->side - shape.radius);
    shape.turn = random_between(&random, -3.14159265358979323846, 3.14159265358979323846);
    random_color(&random, 0, GROUND_SPAN, from);
    random_color(&random, 0, GROUND_SPAN, to);
    random_color(&random, 256 - SHAPE_SPAN, SHAPE_SPAN, shape.color);
    for (int try = 0; try < COLOR_TRIES && (distance(shape.color, from) < CONTRAST ||
                                            distance(shape.color, to) < CONTRAST);
         try++)
        random_color(&random, 256 - SHAPE_SPAN, SHAPE_SPAN, shape.color);
    int noise = (int)random_below(&random, 24);
    shape_ground(image, from, to, noise, o->seed, number);
    shape_draw(&shape, image);
    return 0;
}

static int write_file(const char *path, const struct buf *bytes, struct error *err) {
    cleanup_file FILE *file = fopen(path, "wbxe"); /* never overwrites a file */
    if (file == NULL)
        return error_set_errno(err, EXIT_CODE_USAGE, "%s", path);
    if (fwrite(bytes->data, 1, bytes->size, file) != bytes->size || fflush(file) != 0)
        return error_set_errno(err, file_write_code(errno), "%s", path);
    return 0;
}

/* Pictures FIRST .. FIRST+COUNT-1 into FOLDER/PART; files are numbered within the part. BEFORE are
 * written already. */
static int write_part(const struct prepare_options *o, const char *part, uint64_t first, int count,
                      int before, struct error *err) {
    cleanup_image struct image image = {0};
    cleanup_buf struct buf bytes;
    char path[PATH_MAX];
    buf_init(&bytes, JPEG_BYTES_MAX);
    for (int i = 0; i < count; i++) {
        const char *name =
            shape_name((enum shape_form)((first + (uint64_t)i) % (uint64_t)o->classes));
        int length = snprintf(path, sizeof(path), "%s/%s/%s/%07d.jpg", o->folder, part, name, i);
        if (length < 0 || (size_t)length >= sizeof(path))
            return error_set(err, EXIT_CODE_USAGE, "%.64s...: path too long", o->folder);
        bytes.size = 0;
        if (draw_picture(o, first + (uint64_t)i, &image, err) != 0 ||
            jpeg_encode(&image, o->quality, &bytes, err) != 0 || write_file(path, &bytes, err) != 0)
            return -1;
        if (o->written != NULL)
            o->written(o->context, before + i + 1);
    }
    return 0;
}

static int make_folders(const struct prepare_options *o, const char *part, struct error *err) {
    char path[PATH_MAX];
    struct stat st;
    snprintf(path, sizeof(path), "%s/%s", o->folder, part);
    if (lstat(path, &st) == 0)
        return error_set(err, EXIT_CODE_USAGE, "%s exists already; nothing was written", path);
    for (int c = 0; c < o->classes; c++) {
        snprintf(path, sizeof(path), "%s/%s/%s", o->folder, part, shape_name((enum shape_form)c));
        if (file_make_dirs(path, err) != 0)
            return -1;
    }
    return 0;
}

int prepare_shapes(const struct prepare_options *o, struct error *err) {
    if (check_options(o, err) != 0 || make_folders(o, "train", err) != 0 ||
        make_folders(o, "val", err) != 0)
        return -1;
    /* Validation continues the numbering after training: no picture is in both. */
    uint64_t first =
        (uint64_t)(o->train + o->classes - 1) / (uint64_t)o->classes * (uint64_t)o->classes;
    if (write_part(o, "train", 0, o->train, 0, err) != 0)
        return -1;
    return write_part(o, "val", first, o->validation, o->train, err);
}

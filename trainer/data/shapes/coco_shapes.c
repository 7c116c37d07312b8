#include "trainer/data/shapes/coco_shapes.h"

#include "common/cleanup.h"
#include "common/file/file.h"
#include "trainer/data/codec/jpeg.h"
#include "trainer/data/shapes/coco_scene.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

enum { JSON_MAX = 1 << 30, WRONG_AREAS = 2 };

void coco_shapes_defaults(struct prepare_options *options) {
    *options = (struct prepare_options){
        .train = 300, .validation = 60, .side = 128, .quality = 90, .seed = 1};
}

static int make_path(char path[PATH_MAX], const char *folder, const char *rest, struct error *err) {
    int length = snprintf(path, PATH_MAX, "%s/%s", folder, rest);
    if (length < 0 || length >= PATH_MAX)
        return error_set(err, EXIT_CODE_USAGE, "%.64s...: path too long", folder);
    return 0;
}

/* Creates FOLDER/PART, which must not exist yet. */
static int make_part(const char *folder, const char *part, struct error *err) {
    char path[PATH_MAX];
    struct stat st;
    if (make_path(path, folder, part, err) != 0)
        return -1;
    if (lstat(path, &st) == 0)
        return error_set(err, EXIT_CODE_USAGE, "%s exists already; nothing was written", path);
    return file_make_dirs(path, err);
}

static int add_image(const struct coco_scene *scene, int number, struct buf *json,
                     struct error *err) {
    return buf_printf(json, err,
                      "%s{\"id\":%d,\"file_name\":\"%07d.jpg\",\"width\":%d,\"height\":%d}",
                      number > 0 ? ",\n" : "", number + 1, number, scene->width, scene->height);
}

static int add_categories(struct buf *json, struct error *err) {
    for (int c = 0; c < COCO_SCENE_CATEGORIES; c++)
        if (buf_printf(json, err, "%s{\"id\":%" PRId64 ",\"name\":\"%s\"}", c > 0 ? "," : "",
                       COCO_SCENE_CATEGORY_ROWS[c].id,
                       shape_name(COCO_SCENE_CATEGORY_ROWS[c].form)) != 0)
            return -1;
    return 0;
}

static int write_picture(const struct prepare_options *o, const char *part, int number,
                         const struct image *image, struct error *err) {
    cleanup_buf struct buf bytes = {.max = JPEG_BYTES_MAX};
    char name[64], path[PATH_MAX];
    snprintf(name, sizeof(name), "%s/%07d.jpg", part, number);
    if (make_path(path, o->folder, name, err) != 0 ||
        jpeg_encode(image, o->quality, &bytes, err) != 0)
        return -1;
    cleanup_file FILE *file = fopen(path, "wbxe");
    if (file == NULL)
        return error_set_errno(err, EXIT_CODE_USAGE, "%s", path);
    if (fwrite(bytes.data, 1, bytes.size, file) != bytes.size || fflush(file) != 0)
        return error_set_errno(err, file_write_code(errno), "%s", path);
    return 0;
}

/* Writes pictures FIRST .. FIRST+COUNT-1 of the set to PART. */
static int write_part(const struct prepare_options *o, const char *part, int first, int count,
                      struct error *err) {
    cleanup_image struct image image = {0};
    cleanup_buf struct buf images = {.max = JSON_MAX}, objects = {.max = JSON_MAX},
                           json = {.max = JSON_MAX};
    int64_t next_id = 1;
    for (int i = 0; i < count; i++) {
        const int longer = o->long_side > 0 ? o->long_side : o->side;
        struct coco_scene scene = {.seed = o->seed,
                                   .number = (uint64_t)first + (uint64_t)i,
                                   .width = i % 2 == 0 ? longer : o->side,
                                   .height = i % 2 == 0 ? o->side : longer,
                                   .image_id = i + 1,
                                   .wrong_areas = first == 0 ? WRONG_AREAS : 0};
        if (coco_scene_draw(&scene, &image, &objects, &next_id, err) != 0 ||
            add_image(&scene, i, &images, err) != 0 || write_picture(o, part, i, &image, err) != 0)
            return -1;
        if (o->written != NULL)
            o->written(o->context, first + i + 1);
    }
    char name[64], path[PATH_MAX];
    snprintf(name, sizeof(name), "annotations/instances_%s.json", part);
    if (make_path(path, o->folder, name, err) != 0 ||
        buf_printf(&json, err, "{\"images\":[\n%s],\n\"annotations\":[\n%s],\n\"categories\":[",
                   buf_text(&images), buf_text(&objects)) != 0 ||
        add_categories(&json, err) != 0 || buf_add_text(&json, "]}\n", err) != 0)
        return -1;
    return file_publish(path, json.data, json.size, 0644, err);
}

int coco_shapes_write(const struct prepare_options *o, struct error *err) {
    if (o->train < 1 || o->train > PREPARE_COUNT_MAX || o->validation < 1 ||
        o->validation > PREPARE_COUNT_MAX || o->side < PREPARE_SIDE_MIN ||
        o->side > PREPARE_SIDE_MAX ||
        (o->long_side != 0 && (o->long_side < o->side || o->long_side > PREPARE_SIDE_MAX)) ||
        o->quality < 1 || o->quality > 100)
        return error_set(err, EXIT_CODE_USAGE,
                         "%d and %d pictures, sides of %d and %d px, quality %d; expected 1 to %d, "
                         "%d to %d, and 1 to 100",
                         (int)o->train, (int)o->validation, (int)o->side, (int)o->long_side,
                         (int)o->quality, PREPARE_COUNT_MAX, PREPARE_SIDE_MIN, PREPARE_SIDE_MAX);
    if (make_part(o->folder, "train", err) != 0 || make_part(o->folder, "val", err) != 0 ||
        make_part(o->folder, "annotations", err) != 0)
        return -1;
    /* Validation continues the numbering after training: no picture is in both. */
    if (write_part(o, "train", 0, o->train, err) != 0)
        return -1;
    return write_part(o, "val", o->train, o->validation, err);
}

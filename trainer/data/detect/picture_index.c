#include "trainer/data/detect/picture_index.h"

#include "common/cleanup.h"
#include "common/file/file.h"
#include "common/json/json.h"
#include "common/str.h"
#include "trainer/data/codec/picture.h"
#include "trainer/data/detect/detection_set.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX ((size_t)1 << 32)

void picture_index_done(struct picture_index *index) {
    free(index->images);
    free(index->categories);
    buf_done(&index->names);
    buf_done(&index->bad);
    *index = (struct picture_index){0};
}

static int add_name(struct picture_index *p, const char *name, uint64_t *ret, struct error *err) {
    *ret = p->names.size;
    return buf_add(&p->names, name, strlen(name) + 1, err);
}

static int note_bad(struct picture_index *p, const char *path, const struct error *why,
                    struct error *err) {
    size_t length = strlen(path);
    bool named = strncmp(why->text, path, length) == 0;
    p->bad_count++;
    return buf_printf(&p->bad, err, "%s%s%s\n", named ? "" : path, named ? "" : ": ", why->text);
}

/* Adds PATH as number NUMBER of the list. */
static int add_picture(struct picture_index *p, struct picture_reader *reader, const char *path,
                       size_t number, struct error *err) {
    struct coco_image *image = &p->images[p->index.image_count];
    struct error why = {0};
    int width = 0, height = 0;
    if (picture_reader_size(reader, path, &width, &height, &why) != 0)
        return note_bad(p, path, &why, err);
    if (width > DETECTION_PICTURE_SIDE_MAX || height > DETECTION_PICTURE_SIDE_MAX) {
        (void)error_set(&why, EXIT_CODE_DATA, "%d x %d pixels; sides of at most %d are allowed",
                        width, height, DETECTION_PICTURE_SIDE_MAX);
        return note_bad(p, path, &why, err);
    }
    *image = (struct coco_image){
        .id = (int64_t)number + 1, .width = (uint32_t)width, .height = (uint32_t)height};
    p->index.image_count++;
    return add_name(p, path, &image->name, err);
}

/* Parses the file's name as a number; returns false if it is not one. */
static bool number_of(const char *path, int64_t *ret) {
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    char digits[20];
    size_t size = strcspn(name, ".");
    if (size == 0 || size >= sizeof(digits) || strspn(name, "0123456789") != size)
        return false;
    memcpy(digits, name, size);
    digits[size] = '\0';
    return str_parse_int(digits, 0, INT64_MAX, ret, NULL) == 0;
}

static int by_id(const void *a, const void *b) {
    const struct coco_image *x = a, *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

static void sort(struct picture_index *p) {
    qsort(p->images, p->index.image_count, sizeof(*p->images), by_id);
}

/* If every picture has a distinct number, these are the ids. */
static int take_numbers(struct picture_index *p, struct error *err) {
    const size_t count = p->index.image_count;
    cleanup_free struct coco_image *places = malloc(count * sizeof(*places));
    if (places == NULL)
        return error_no_memory(err, "numbers of pictures");
    memcpy(places, p->images, count * sizeof(*places));
    bool numbers = true;
    for (size_t i = 0; i < count && numbers; i++)
        numbers = number_of(p->names.data + p->images[i].name, &p->images[i].id);
    if (numbers)
        sort(p);
    for (size_t i = 1; i < count && numbers; i++)
        numbers = p->images[i - 1].id != p->images[i].id;
    if (!numbers)
        memcpy(p->images, places, count * sizeof(*places));
    return 0;
}

static int add_categories(struct picture_index *p, const struct picture_categories *categories,
                          struct error *err) {
    size_t count = 0;
    for (size_t c = 0; c < categories->count; c++) {
        struct coco_category *category = &p->categories[count];
        category->id = categories->ids[c];
        if (category->id == -1)
            continue;
        if (category->id < 0 || (count > 0 && category->id <= category[-1].id))
            return error_set(err, EXIT_CODE_DATA,
                             "the model's \"category_ids\" do not ascend at %" PRId64,
                             category->id);
        if (add_name(p, categories->names[c], &category->name, err) != 0)
            return -1;
        count++;
    }
    p->index.category_count = count;
    return 0;
}

static int make(struct picture_index *p, char *const *paths, size_t count,
                const struct picture_categories *categories, struct error *err) {
    cleanup_picture_reader struct picture_reader reader = {0};
    buf_init(&p->names, TEXT_MAX);
    buf_init(&p->bad, TEXT_MAX);
    p->images = calloc(count + 1, sizeof(*p->images));
    p->categories = calloc(categories->count + 1, sizeof(*p->categories));
    if (p->images == NULL || p->categories == NULL)
        return error_no_memory(err, "list of pictures");
    for (size_t i = 0; i < count; i++)
        if (add_picture(p, &reader, paths[i], i, err) != 0)
            return -1;
    if (p->index.image_count == 0)
        return error_set(err, EXIT_CODE_DATA, "none of the %zu files is a picture: %.*s", count,
                         (int)strcspn(buf_text(&p->bad), "\n"), buf_text(&p->bad));
    if (take_numbers(p, err) != 0 || add_categories(p, categories, err) != 0)
        return -1;
    p->index.images = p->images;
    p->index.categories = p->categories;
    p->index.names = p->names.data;
    p->index.names_size = p->names.size;
    p->index.lists = COCO_LIST_IMAGES | COCO_LIST_CATEGORIES;
    p->index.path = "the pictures";
    return 0;
}

int picture_index_make(struct picture_index *ret, char *const *paths, size_t count,
                       const struct picture_categories *categories, struct error *err) {
    *ret = (struct picture_index){0};
    if (make(ret, paths, count, categories, err) == 0)
        return 0;
    picture_index_done(ret);
    return -1;
}

/* A path may hold any bytes, but JSON needs UTF-8. */
static json_t *text_json(const char *text) {
    cleanup_buf struct buf clean = {.max = TEXT_MAX};
    json_t *value = json_string(text);
    if (value == NULL && str_add_utf8(&clean, text, strlen(text), NULL) == 0)
        value = json_string(buf_text(&clean));
    return value;
}

int picture_index_write(const struct picture_index *p, const char *path, struct error *err) {
    cleanup_json json_t *root =
        json_pack("{s:[], s:[], s:[]}", "images", "categories", "annotations");
    cleanup_buf struct buf text = {.max = TEXT_MAX};
    json_t *images = json_object_get(root, "images");
    json_t *categories = json_object_get(root, "categories");
    for (size_t i = 0; i < p->index.image_count; i++) {
        const struct coco_image *image = &p->images[i];
        (void)json_array_append_new(
            images, json_pack("{s:I, s:o, s:i, s:i}", "id", (json_int_t)image->id, "file_name",
                              text_json(coco_index_name(&p->index, image->name)), "width",
                              (int)image->width, "height", (int)image->height));
    }
    for (size_t c = 0; c < p->index.category_count; c++)
        (void)json_array_append_new(
            categories, json_pack("{s:I, s:o}", "id", (json_int_t)p->categories[c].id, "name",
                                  text_json(coco_index_name(&p->index, p->categories[c].name))));
    if (json_array_size(images) != p->index.image_count ||
        json_array_size(categories) != p->index.category_count)
        return error_no_memory(err, path);
    if (json_add_text(root, &text, err) != 0)
        return -1;
    return file_publish(path, text.data, text.size, 0644, err);
}

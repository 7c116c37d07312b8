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

/* The index has its lists in ordinary memory instead of a mapping, and no annotations. All code for
 * sets thus serves for predictions, too.
 *
 * Only the header of each file is read here, for its size. trainer/app/task/detect_data.c makes
 * such an index of the pictures that a user names. trainer/app/task/detect_predictions.c writes it
 * as a JSON, because results refer to pictures by their ids. */

#define TEXT_MAX ((size_t)1 << 32) /* bytes of names, of messages, or of the JSON */

/* The index itself has nothing to free: it points into the lists. */
void picture_index_done(struct picture_index *index) {
    free(index->images);
    free(index->categories);
    buf_done(&index->names);
    buf_done(&index->bad);
    *index = (struct picture_index){0};
}

/* Names are offsets, as in an index: the block may move until all are there. */
static int add_name(struct picture_index *p, const char *name, uint64_t *ret, struct error *err) {
    *ret = p->names.size;
    return buf_add(&p->names, name, strlen(name) + 1, err);
}

/* Adds a line about a file that is left out. Some errors begin with the path, which must not be
 * there twice. */
static int note_bad(struct picture_index *p, const char *path, const struct error *why,
                    struct error *err) {
    size_t length = strlen(path);
    bool named = strncmp(why->text, path, length) == 0;
    p->bad_count++;
    return buf_printf(&p->bad, err, "%s%s%s\n", named ? "" : path, named ? "" : ": ", why->text);
}

/* Adds PATH as number NUMBER of the list, from 0. A file that is no picture is noted and no error:
 * one of many must not end a prediction. The id is the place in the list, counted with those left
 * out. */
static int add_picture(struct picture_index *p, struct picture_reader *reader, const char *path,
                       size_t number, struct error *err) {
    struct coco_image *image = &p->images[p->index.image_count];
    struct error why = {0};
    /* The slot of an image that turns out to be none is used for the next one. */
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

/* Parses the file's name, up to its first dot, as a number; returns false if it is not one. Up to
 * 19 digits, as an id has 63 bits. */
static bool number_of(const char *path, int64_t *ret) {
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    char digits[20];
    /* All up to the dot must be digits, and a name that begins with a dot has none. */
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

/* Sorts by id, as coco_index_image bisects. */
static void sort(struct picture_index *p) {
    qsort(p->images, p->index.image_count, sizeof(*p->images), by_id);
}

/* Makes the numbers in the names the ids, if every picture has a distinct one, and sorts the images
 * by them. Otherwise the places in the list stay, which are in order already. */
static int take_numbers(struct picture_index *p, struct error *err) {
    const size_t count = p->index.image_count;
    cleanup_free struct coco_image *places = malloc(count * sizeof(*places));
    if (places == NULL)
        return error_no_memory(err, "numbers of pictures");
    /* Ids are overwritten while they are read; this is the way back. */
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

/* Copies the model's categories, but those that stand for a gap in its labels. They must ascend, as
 * an index is searched by bisection. */
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
                             "the model's \"category_ids\" do not ascend at %" PRId64
                             "; expected -1, or more than the one before",
                             category->id);
        if (add_name(p, categories->names[c], &category->name, err) != 0)
            return -1;
        count++;
    }
    p->index.category_count = count;
    return 0;
}

/* Fills an index of zeros. Pointers into the lists are set last, when nothing moves any more. */
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
    /* The first line of what is wrong stands for all. */
    if (p->index.image_count == 0)
        return error_set(err, EXIT_CODE_DATA, "none of the %zu files is a picture: %.*s", count,
                         (int)strcspn(buf_text(&p->bad), "\n"), buf_text(&p->bad));
    if (take_numbers(p, err) != 0 || add_categories(p, categories, err) != 0)
        return -1;
    p->index.images = p->images;
    p->index.categories = p->categories;
    p->index.names = p->names.data;
    p->index.names_size = p->names.size;
    /* Annotations are missing as a list, which detection_set.c accepts for predictions alone. */
    p->index.lists = COCO_LIST_IMAGES | COCO_LIST_CATEGORIES;
    p->index.path = "the pictures";
    return 0;
}

/* RET is empty on failure. */
int picture_index_make(struct picture_index *ret, char *const *paths, size_t count,
                       const struct picture_categories *categories, struct error *err) {
    *ret = (struct picture_index){0};
    if (make(ret, paths, count, categories, err) == 0)
        return 0;
    picture_index_done(ret);
    return -1;
}

/* Returns TEXT as a JSON string. A path may hold any bytes, but JSON needs UTF-8: other bytes are
 * replaced. NULL without memory, at which json_pack of the caller fails. */
static json_t *text_json(const char *text) {
    cleanup_buf struct buf clean = {.max = TEXT_MAX};
    json_t *value = json_string(text);
    if (value == NULL && str_add_utf8(&clean, text, strlen(text), NULL) == 0)
        value = json_string(buf_text(&clean));
    return value;
}

/* jansson fails for lack of memory alone here. A list that is shorter than it should be is how that
 * shows. */
int picture_index_write(const struct picture_index *p, const char *path, struct error *err) {
    /* Built as a tree: it is as large as the list of pictures, which is in memory anyway. */
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

#include "trainer/data/coco/coco_build.h"

#include "common/file/file.h"
#include "common/grow.h"
#include "trainer/data/coco/coco_build_parts.h"
#include "trainer/data/coco/coco_file.h"
#include "trainer/data/coco/coco_json.h"
#include "trainer/data/coco/coco_record.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The JSON is read once, from front to back, in whatever order its three lists come. Images and
 * categories go to lists in memory, outlines straight to the index file, and annotations to a list
 * that still holds the ids of their image and category. coco_build_write.c replaces these ids by
 * numbers and writes the rest, once all lists are known.
 *
 * A document tree would be simpler, but the JSON of COCO's training set has more than 400 MB, and a
 * tree takes several times that in memory.
 *
 * coco_load.c calls coco_build for an index in memory, and coco_build_file for one that stays on
 * the disk. */

/* The named lists, "images": [...] and "categories": [...]. */
struct naming {
    const char *one, *many; /* for messages */
    const char *key;        /* key of the name */
    size_t max;             /* items; more are refused */
};

static const struct naming IMAGES = {"image", "images", "file_name", COCO_IMAGES_MAX};
static const struct naming CATEGORIES = {"category", "categories", "name", COCO_CATEGORIES_MAX};

/* Returns KEY if it is one of those that are read, else NULL. */
static const char *known_key(const struct json_text *key, const struct naming *naming) {
    const char *const keys[] = {"id", "width", "height", naming->key};
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        if (json_text_is(key, keys[i]))
            return keys[i];
    return NULL;
}

/* Reads the value of KEY. The pointer KEY is one that known_key returned; what is left after the
 * first three is the key of the name. */
static int read_named_field(struct coco_builder *b, const char *key, struct coco_named *ret,
                            struct error *err) {
    if (strcmp(key, "id") == 0)
        return json_stream_integer(&b->stream, &ret->id, err);
    if (strcmp(key, "width") == 0)
        return coco_read_side(&b->stream, &ret->width, err);
    if (strcmp(key, "height") == 0)
        return coco_read_side(&b->stream, &ret->height, err);
    return coco_add_name(b, &ret->name, err);
}

/* Reads one object of a named list. Keys may come in any order, and unknown ones are skipped. A
 * null counts as absent. Returns -1 without an "id", since annotations refer to an item by its id.
 * A missing name stays empty, and missing sides stay 0. */
static int read_named(struct coco_builder *b, const struct naming *naming, struct coco_named *ret,
                      struct error *err) {
    struct json_text text;
    bool has_id = false;
    int more;
    *ret = (struct coco_named){0};
    if (json_stream_object(&b->stream, err) != 0)
        return -1;
    while ((more = json_stream_key(&b->stream, &text, err)) == 1) {
        const char *key = known_key(&text, naming);
        enum json_kind kind = JSON_KIND_END;
        if (json_stream_kind(&b->stream, &kind, err) != 0)
            return -1;
        if (key == NULL || kind == JSON_KIND_NULL) {
            if (json_stream_skip(&b->stream, err) != 0)
                return -1;
            continue;
        }
        has_id |= strcmp(key, "id") == 0;
        if (read_named_field(b, key, ret, err) != 0)
            return error_wrap(err, "\"%s\"", key);
    }
    if (more == 0 && !has_id)
        return error_set(err, EXIT_CODE_DATA, "no \"id\"; expected a whole number");
    return more;
}

/* Reads a list to its end. The offset of each item is noted before it is read, because after an
 * error the stream is somewhere within it, and its id may not have been seen. */
static int read_named_list(struct coco_builder *b, struct coco_named_list *list,
                           const struct naming *naming, struct error *err) {
    int more;
    if (json_stream_array(&b->stream, err) != 0)
        return error_wrap(err, "the list of %s", naming->many);
    while ((more = json_stream_item(&b->stream, err)) == 1) {
        struct coco_named item;
        uint64_t at = json_stream_tell(&b->stream);
        if (list->count == naming->max)
            return error_set(err, EXIT_CODE_DATA, "more than %zu %s", naming->max, naming->many);
        if (read_named(b, naming, &item, err) != 0)
            return coco_name_record(b, naming->one, list->count, at, err);
        if (coco_named_add(list, &item, err) != 0)
            return -1;
    }
    return more;
}

/* Keeps an annotation with the ids that it refers to. The offset of its outline counts from the
 * start of the section: what is in the file already, and then what the buffer holds. */
static int add_annotation(struct coco_builder *b, const struct coco_record *record,
                          struct error *err) {
    if (grow_array(&b->annotations, &b->annotation_capacity, b->annotation_count + 1,
                   sizeof(*b->annotations), "annotations", err) != 0)
        return -1;
    unsigned flags = (record->crowd ? COCO_ANNOTATION_CROWD : 0U) |
                     ((record->has & COCO_HAS_BOX) != 0 ? COCO_ANNOTATION_BOX : 0U) |
                     ((record->has & COCO_HAS_AREA) != 0 ? COCO_ANNOTATION_AREA : 0U);
    struct coco_pending *pending = &b->annotations[b->annotation_count++];
    *pending =
        (struct coco_pending){.image_id = record->image_id,
                              .category_id = record->category_id,
                              .annotation = {.id = record->id,
                                             .area = record->area,
                                             .segment = b->segments_flushed + record->segment,
                                             .segment_size = (uint32_t)record->segment_size,
                                             .order = (uint32_t)(b->annotation_count - 1),
                                             .kind = (uint16_t)record->kind,
                                             .flags = (uint16_t)flags}};
    memcpy(pending->annotation.box, record->box, sizeof(record->box));
    return 0;
}

/* Reads the list of annotations. The buffer of outlines is written to the file between two
 * annotations, so that an outline is never divided. */
static int read_annotations(struct coco_builder *b, struct error *err) {
    int more;
    if (json_stream_array(&b->stream, err) != 0)
        return error_wrap(err, "the list of annotations");
    while ((more = json_stream_item(&b->stream, err)) == 1) {
        struct coco_record record;
        uint64_t at = json_stream_tell(&b->stream);
        if (b->annotation_count == COCO_ANNOTATIONS_MAX)
            return error_set(err, EXIT_CODE_DATA, "more than %d annotations", COCO_ANNOTATIONS_MAX);
        if (coco_record_read(&b->stream, &b->outline, &b->segments, b->needs, &record, err) != 0)
            return coco_name_record(b, "annotation", b->annotation_count, at, err);
        if (add_annotation(b, &record, err) != 0 || coco_flush_segments(b, false, err) != 0)
            return -1;
    }
    return more;
}

/* Notes that LIST, called NAME, is there. Parsers of JSON take the last of two members of one name;
 * both together would be a set that no other program sees. */
static int note_list(struct coco_builder *b, unsigned list, const char *name, struct error *err) {
    if ((b->head.lists & list) != 0)
        return error_set(err, EXIT_CODE_DATA,
                         "a second member \"%s\": expected one; join the two lists", name);
    b->head.lists |= list;
    return 0;
}

/* Reads the list named KEY, or skips any other value, such as "info" and "licenses". A list that is
 * there counts in the head even if it is empty: only a missing one is worth a warning
 * (coco_index_missing). */
static int read_part(struct coco_builder *b, const struct json_text *key, struct error *err) {
    if (json_text_is(key, "images"))
        return note_list(b, COCO_LIST_IMAGES, "images", err) != 0
                   ? -1
                   : read_named_list(b, &b->images, &IMAGES, err);
    if (json_text_is(key, "categories"))
        return note_list(b, COCO_LIST_CATEGORIES, "categories", err) != 0
                   ? -1
                   : read_named_list(b, &b->categories, &CATEGORIES, err);
    if (json_text_is(key, "annotations"))
        return note_list(b, COCO_LIST_ANNOTATIONS, "annotations", err) != 0
                   ? -1
                   : read_annotations(b, err);
    return json_stream_skip(&b->stream, err);
}

/* Reads the top level. A list there is what detectors write as results, which is easily mistaken
 * for annotations, so it has a message of its own. */
static int read_document(struct coco_builder *b, struct error *err) {
    struct json_text key;
    enum json_kind kind;
    int more;
    if (json_stream_kind(&b->stream, &kind, err) != 0)
        return -1;
    if (kind == JSON_KIND_ARRAY)
        return error_set(err, EXIT_CODE_DATA,
                         "a list, as results of a detector are; expected an object with images, "
                         "annotations and categories");
    if (json_stream_object(&b->stream, err) != 0)
        return -1;
    while ((more = json_stream_key(&b->stream, &key, err)) == 1)
        if (read_part(b, &key, err) != 0)
            return -1;
    return more == 0 ? json_stream_finish(&b->stream, err) : -1;
}

/* Returns true if the file is still as long and was not written between the two looks, as far as
 * its time of modification tells. */
static bool same_times(const struct stat *a, const struct stat *b) {
    return a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
           a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* A key that was made from the old content, with annotations from the new one, would make the index
 * valid for the wrong JSON. Hence a JSON that is written to meanwhile is an error. */
static int build(struct coco_builder *b, struct error *err) {
    struct stat before, after;
    if (coco_json_open(&b->stream, b->json, err) != 0)
        return -1;
    if (fstat(b->stream.fd, &before) != 0)
        return error_set_errno(err, EXIT_CODE_DATA, "%s", b->json);
    if (b->keyed && coco_json_key(b->stream.fd, b->json, &b->head.source, err) != 0)
        return -1;
    if (coco_begin_file(b, err) != 0)
        return -1;
    if (read_document(b, err) != 0)
        return error_wrap(err, "%s", b->json);
    if (fstat(b->stream.fd, &after) != 0 || !same_times(&before, &after))
        return error_set(err, EXIT_CODE_DATA, "%s: changed while it was read", b->json);
    return coco_end_file(b, err);
}

int coco_build(const char *json, int fd, bool keyed, enum coco_outlines outlines,
               struct error *err) {
    struct coco_builder builder = {.json = json,
                                   .fd = fd,
                                   .keyed = keyed,
                                   .needs = COCO_HAS_ID | COCO_HAS_IMAGE | COCO_HAS_CATEGORY};
    if (outlines == COCO_OUTLINES_NONE)
        builder.needs |= COCO_BOXES_ALONE;
    int failed = build(&builder, err);
    coco_builder_done(&builder);
    return failed;
}

/* The index is built in a temporary file beside PATH and renamed, so that neither a failure nor
 * another process ever leaves half of one at PATH. */
int coco_build_file(const char *json, const char *path, struct error *err) {
    char temp[4096];
    int fd = file_publish_open(path, temp, 0644, err);
    if (fd < 0)
        return -1;
    if (coco_build(json, fd, true, COCO_OUTLINES_ALL, err) != 0) {
        file_publish_abort(fd, temp);
        return -1;
    }
    return file_publish_commit(fd, temp, path, err);
}

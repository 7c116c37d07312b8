#include "trainer/data/coco/coco_build_parts.h"

#include "common/grow.h"
#include "trainer/data/coco/coco_record.h"

#include <inttypes.h>
#include <stdlib.h>

enum { NAMES_MAX = 1024 * 1024 * 1024, SEGMENTS_MAX = 256 * 1024 * 1024 };

void coco_builder_done(struct coco_builder *b) {
    json_stream_done(&b->stream);
    coco_outline_done(&b->outline);
    buf_done(&b->segments);
    buf_done(&b->names);
    free(b->images.items);
    free(b->categories.items);
    free(b->annotations);
    *b = (struct coco_builder){0};
}

int coco_named_add(struct coco_named_list *list, const struct coco_named *item, struct error *err) {
    if (grow_array(&list->items, &list->capacity, list->count + 1, sizeof(*list->items),
                   "images and categories", err) != 0)
        return -1;
    list->items[list->count] = *item;
    list->items[list->count].order = list->count;
    list->count++;
    return 0;
}

int coco_read_side(struct json_stream *s, uint32_t *ret, struct error *err) {
    int64_t side = 0;
    if (json_stream_integer(s, &side, err) != 0)
        return -1;
    if (side < 0 || side > RLE_PIXELS_MAX)
        return error_set(err, EXIT_CODE_DATA, "%" PRId64 " pixels; expected 0 to %d", side,
                         RLE_PIXELS_MAX);
    *ret = (uint32_t)side;
    return 0;
}

int coco_add_name(struct coco_builder *b, uint64_t *ret, struct error *err) {
    struct json_text text;
    if (json_stream_text(&b->stream, &text, err) != 0)
        return -1;
    *ret = b->names.size;
    if (json_text_add(&text, &b->names, err) != 0)
        return -1;
    return buf_add(&b->names, "", 1, err);
}

int coco_name_record(const struct coco_builder *b, const char *what, size_t number, uint64_t offset,
                     struct error *err) {
    int64_t id = 0;
    switch (coco_record_find_id(b->json, offset, &id)) {
    case COCO_ID_FOUND:
        return error_wrap(err, "%s %" PRId64, what, id);
    case COCO_ID_UNREADABLE:
        return error_wrap(err, "%s number %zu (its id is not a whole number of 64 bits)", what,
                          number + 1);
    default:
        return error_wrap(err, "%s number %zu (without id)", what, number + 1);
    }
}

int coco_begin_file(struct coco_builder *b, struct error *err) {
    buf_init(&b->segments, SEGMENTS_MAX);
    buf_init(&b->names, NAMES_MAX);
    b->written = 0;
    b->head.sections[COCO_SECTION_SEGMENTS].offset = sizeof(b->head);
    /* The first name is the empty one, used for items without a name. */
    return buf_add(&b->names, "", 1, err);
}

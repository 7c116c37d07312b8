#include "trainer/data/coco/coco_record.h"

#include "common/cleanup.h"
#include "common/json/json_number.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The values of a record go to a struct as they come; only the outline, which may be long, goes
 * packed to a buffer of the caller's. coco_build.c reads annotations with it, and coco_results.c
 * the results of a detector. They differ in the keys that they need, which the caller passes.
 *
 * A damaged record is read twice. The stream cannot go back, so coco_record_find_id opens the file
 * again to find an id for the message, with a small scanner that tolerates what the strict reader
 * does not. */

/* Limit of the search for the id of a damaged record, in bytes from its beginning. COCO's own files
 * have the id last, after an outline that may be long. */
enum { FIND_MAX = 4 * 1024 * 1024 };

/* Reads four numbers. An empty list counts as no box; any other number of them is an error. */
static int read_box(struct json_stream *s, struct coco_record *ret, struct error *err) {
    int count = 0, more;
    if (json_stream_array(s, err) != 0)
        return -1;
    while ((more = json_stream_item(s, err)) == 1) {
        double number = 0;
        if (json_stream_number(s, &number, err) != 0)
            return -1;
        if (count < 4)
            ret->box[count] = number;
        count++;
    }
    if (more == 0 && count != 0 && count != 4)
        return error_set(err, EXIT_CODE_DATA, "%d numbers; a box has 4", count);
    if (count == 4)
        ret->has |= COCO_HAS_BOX;
    return more;
}

/* Reads 0, 1, true or false: COCO writes "iscrowd" as a number; a truth value has the same
 * meaning. */
static int read_flag(struct json_stream *s, bool *ret, struct error *err) {
    enum json_kind kind = JSON_KIND_END;
    int64_t number = 0;
    if (json_stream_kind(s, &kind, err) != 0)
        return -1;
    if (kind == JSON_KIND_BOOL)
        return json_stream_bool(s, ret, err);
    if (json_stream_integer(s, &number, err) != 0)
        return -1;
    *ret = number != 0;
    return 0;
}

/* Notes with BIT that the key was there, and reads its value. A number with a fraction is an
 * error. */
static int read_integer(struct json_stream *s, unsigned bit, int64_t *field,
                        struct coco_record *ret, struct error *err) {
    ret->has |= bit;
    return json_stream_integer(s, field, err);
}

static int read_real(struct json_stream *s, unsigned bit, double *field, struct coco_record *ret,
                     struct error *err) {
    ret->has |= bit;
    return json_stream_number(s, field, err);
}

/* Appends the packed outline to SEGMENTS and notes which bytes of it are this record's. */
static int read_segment(struct json_stream *s, struct coco_outline *room, struct buf *segments,
                        struct coco_record *ret, struct error *err) {
    ret->segment = segments->size;
    if (coco_segment_read(s, room, segments, &ret->kind, err) != 0)
        return -1;
    ret->segment_size = segments->size - ret->segment;
    return 0;
}

/* Reads the value of KEY, or skips it if nothing here uses it. An outline is skipped without a look
 * at its syntax beyond JSON's where boxes alone are wanted. */
static int read_field(struct json_stream *s, const struct json_text *key, struct coco_outline *room,
                      struct buf *segments, unsigned needs, struct coco_record *ret,
                      struct error *err) {
    enum json_kind kind = JSON_KIND_END;
    if (json_stream_kind(s, &kind, err) != 0)
        return -1;
    if (kind == JSON_KIND_NULL)
        return json_stream_skip(s, err);
    if (json_text_is(key, "image_id"))
        return read_integer(s, COCO_HAS_IMAGE, &ret->image_id, ret, err);
    if (json_text_is(key, "category_id"))
        return read_integer(s, COCO_HAS_CATEGORY, &ret->category_id, ret, err);
    if (json_text_is(key, "bbox"))
        return read_box(s, ret, err);
    if (json_text_is(key, "score"))
        return read_real(s, COCO_HAS_SCORE, &ret->score, ret, err);
    if (json_text_is(key, "segmentation") && (needs & COCO_BOXES_ALONE) == 0)
        return read_segment(s, room, segments, ret, err);
    if (json_text_is(key, "area"))
        return read_real(s, COCO_HAS_AREA, &ret->area, ret, err);
    if (json_text_is(key, "iscrowd"))
        return read_flag(s, &ret->crowd, err);
    if (json_text_is(key, "id"))
        return read_integer(s, COCO_HAS_ID, &ret->id, ret, err);
    return json_stream_skip(s, err);
}

/* Names the first key among the bits of MISSING; the order of the table is that of the messages. */
static int check_needs(unsigned missing, struct error *err) {
    static const struct {
        unsigned bit;
        const char *key;
    } KEYS[] = {
        {COCO_HAS_ID, "id"},    {COCO_HAS_IMAGE, "image_id"}, {COCO_HAS_CATEGORY, "category_id"},
        {COCO_HAS_BOX, "bbox"}, {COCO_HAS_AREA, "area"},      {COCO_HAS_SCORE, "score"},
    };
    for (size_t i = 0; i < sizeof(KEYS) / sizeof(KEYS[0]); i++)
        if ((missing & KEYS[i].bit) != 0)
            return error_set(err, EXIT_CODE_DATA, "no \"%s\"", KEYS[i].key);
    return 0;
}

/* Reads the object to its end and then checks that it had what is needed. The error of a value
 * names its key; that of the record is the caller's to add. SEGMENTS keeps the bytes of an outline
 * that failed. */
int coco_record_read(struct json_stream *s, struct coco_outline *room, struct buf *segments,
                     unsigned needs, struct coco_record *ret, struct error *err) {
    struct coco_record record = {0};
    struct json_text key;
    int more;
    if (json_stream_object(s, err) != 0)
        return -1;
    while ((more = json_stream_key(s, &key, err)) == 1) {
        /* The key is copied for messages before its value is read, because its bytes may be in the
         * stream's window, which moves on. A longer name than any known one is cut. */
        char name[24];
        size_t size = key.size < sizeof(name) - 1 ? key.size : sizeof(name) - 1;
        memcpy(name, key.bytes, size);
        name[size] = '\0';
        if (read_field(s, &key, room, segments, needs, &record, err) != 0)
            return error_wrap(err, "\"%s\"", name);
    }
    /* RET stays as it was on failure. A key that occurs twice has overwritten its first value. */
    if (more < 0 || check_needs(needs & ~record.has, err) != 0)
        return -1;
    *ret = record;
    return 0;
}

/* Returns the end of the string that begins at AT, after the opening quote: its closing quote, or
 * END. An escaped character is skipped, whatever it is. */
static const char *string_end(const char *at, const char *end) {
    while (at < end && *at != '"')
        at += *at == '\\' && at + 1 < end ? 2 : 1;
    return at;
}

static const char *skip_blanks(const char *at) {
    return at + strspn(at, " \t\r\n");
}

/* Counts brackets outside of strings, and looks for the string "id" at the first level, followed by
 * a colon. It reads from a NUL-terminated copy, so that no comparison runs beyond its end. An
 * object inside the record may have an "id" of its own, which is not taken. */
enum coco_id coco_record_find_id(const char *path, uint64_t offset, int64_t *ret) {
    cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    cleanup_free char *text = malloc(FIND_MAX + 1);
    /* A file that is gone by now is no new error: the message lacks the id. */
    ssize_t size = fd >= 0 && text != NULL ? pread(fd, text, FIND_MAX, (off_t)offset) : -1;
    if (size <= 0)
        return COCO_ID_NONE;
    text[size] = '\0';
    int depth = 0;
    const char *end = text + size;
    for (const char *at = text; at < end; at++) {
        if (*at == '{' || *at == '[')
            depth++;
        /* The end of the record: what follows belongs to the next one. */
        if ((*at == '}' || *at == ']') && --depth <= 0)
            return COCO_ID_NONE;
        if (*at != '"')
            continue;
        const char *start = at + 1;
        at = string_end(start, end);
        struct json_number number;
        if (depth != 1 || at - start != 2 || memcmp(start, "id", 2) != 0)
            continue;
        const char *colon = at < end ? skip_blanks(at + 1) : end;
        if (*colon != ':')
            continue;
        if (json_number_read(skip_blanks(colon + 1), &number) == NULL || !number.is_integer)
            return COCO_ID_UNREADABLE;
        *ret = number.integer;
        return COCO_ID_FOUND;
    }
    return COCO_ID_NONE;
}

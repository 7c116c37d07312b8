#include "trainer/data/coco/coco_segment.h"

#include "common/grow.h"
#include "trainer/data/coco/coco_pack.h"
#include "trainer/eval/rle_text.h"

#include <inttypes.h>
#include <stdlib.h>

/* Reading packs an outline as soon as it is seen, so that doubles are in memory for one object
 * alone. coco_pack.c has the encoding of numbers and points; here are the two kinds of outlines
 * that are made of them.
 *
 * Unpacking is the reverse, one outline at a time, when a mask or the polygons are wanted. The
 * bytes may come from a file or from another rank, so each count is checked against its ceiling
 * again.
 *
 * The caller's `room` is scratch memory that grows to the largest outline and is reused. Its
 * content is valid until the next call with it. */

/* Frees what ROOM has grown to; the struct can be used again. */
void coco_outline_done(struct coco_outline *outline) {
    free(outline->numbers);
    free(outline->sizes);
    rle_done(&outline->runs);
    *outline = (struct coco_outline){0};
}

/* Makes room for as many polygons and numbers in all. The ceilings keep a hostile file from asking
 * for gigabytes for one object. */
static int make_room(struct coco_outline *o, size_t parts, size_t numbers, struct error *err) {
    if (parts > COCO_PARTS_MAX || numbers > COCO_NUMBERS_MAX)
        return error_set(err, EXIT_CODE_DATA,
                         "an outline; expected at most %d polygons and %d numbers", COCO_PARTS_MAX,
                         COCO_NUMBERS_MAX);
    if (grow_array(&o->sizes, &o->size_capacity, parts, sizeof(*o->sizes), "an outline", err) != 0)
        return -1;
    return grow_array(&o->numbers, &o->number_capacity, numbers, sizeof(*o->numbers), "an outline",
                      err);
}

/* Appends a number to the polygon that is being read, and keeps room for that polygon's size. */
static int add_number(struct coco_outline *room, double number, struct error *err) {
    if (make_room(room, room->count + 1, room->number_count + 1, err) != 0)
        return -1;
    room->numbers[room->number_count++] = number;
    return 0;
}

/* Interprets the polygon at START as pycocotools does: an odd last number is ignored, and a single
 * point, or none, covers nothing. Five numbers leave two points, which must not be mistaken for the
 * four numbers of a box: the first point is appended again. */
static int settle_polygon(struct coco_outline *room, size_t start, struct error *err) {
    size_t size = room->number_count - start;
    if (size < 4) {
        room->number_count = start;
        return 0;
    }
    room->number_count -= size % 2;
    if (size == 5 && (add_number(room, room->numbers[start], err) != 0 ||
                      add_number(room, room->numbers[start + 1], err) != 0))
        return -1;
    room->sizes[room->count++] = (uint32_t)(room->number_count - start);
    return 0;
}

/* Reads one polygon, a flat list x, y, x, y..., into ROOM. */
static int read_polygon(struct json_stream *s, struct coco_outline *room, struct error *err) {
    size_t start = room->number_count;
    if (json_stream_array(s, err) != 0)
        return -1;
    int more;
    while ((more = json_stream_item(s, err)) == 1) {
        double number = 0;
        if (json_stream_number(s, &number, err) != 0 || add_number(room, number, err) != 0)
            return -1;
    }
    return more == 0 ? settle_polygon(room, start, err) : more;
}

/* Reads a list of polygons, and packs those that cover something. They are collected first, as
 * their number comes before them in the packed form. *RET is COCO_SEGMENT_NONE if none is left, and
 * then nothing is appended. */
static int read_polygons(struct json_stream *s, struct coco_outline *room, struct buf *out,
                         enum coco_segment_kind *ret, struct error *err) {
    room->count = room->number_count = 0;
    if (json_stream_array(s, err) != 0)
        return -1;
    int more;
    while ((more = json_stream_item(s, err)) == 1)
        if (read_polygon(s, room, err) != 0)
            return -1;
    if (more < 0)
        return -1;
    *ret = room->count > 0 ? COCO_SEGMENT_POLYGONS : COCO_SEGMENT_NONE;
    if (room->count == 0)
        return 0;
    if (coco_pack_count(out, room->count, err) != 0)
        return -1;
    /* Each polygon is packed for itself: one with more than two decimals does not make the others
     * larger. */
    const double *numbers = room->numbers;
    for (size_t i = 0; i < room->count; i++) {
        if (coco_pack_count(out, room->sizes[i], err) != 0 ||
            coco_pack_points(out, numbers, room->sizes[i], err) != 0)
            return -1;
        numbers += room->sizes[i];
    }
    return 0;
}

/* Reads the "size" of a mask of runs: height, then width. */
static int read_size(struct json_stream *s, int64_t size[2], struct error *err) {
    int count = 0, more;
    if (json_stream_array(s, err) != 0)
        return -1;
    while ((more = json_stream_item(s, err)) == 1) {
        int64_t number = 0;
        if (json_stream_integer(s, &number, err) != 0)
            return -1;
        if (count < 2)
            size[count] = number;
        count++;
    }
    if (more == 0 && count != 2)
        return error_set(err, EXIT_CODE_DATA, "a mask's size of %d numbers; expected 2", count);
    return more;
}

/* Reads uncompressed counts, as COCO has for crowds. rle_add refuses those that no mask can
 * have. */
static int read_run_list(struct json_stream *s, struct rle *runs, struct error *err) {
    int more;
    if (json_stream_array(s, err) != 0)
        return -1;
    while ((more = json_stream_item(s, err)) == 1) {
        int64_t run = 0;
        if (json_stream_integer(s, &run, err) != 0 || rle_add(runs, run, err) != 0)
            return -1;
    }
    return more;
}

/* Reads "counts" as text: a string is copied, and a list, with ROOM's runs in between, is written
 * as the string of the same runs. One packed form serves for both. A second "counts" of the same
 * object replaces the first. */
static int read_counts(struct json_stream *s, struct coco_outline *room, struct buf *text,
                       struct error *err) {
    enum json_kind kind = JSON_KIND_END;
    room->runs.count = 0;
    buf_consume(text, text->size);
    if (json_stream_kind(s, &kind, err) != 0)
        return -1;
    /* Written as a string at once, so that a list of runs takes no more room in the index than a
     * string. */
    if (kind == JSON_KIND_ARRAY) {
        if (read_run_list(s, &room->runs, err) != 0)
            return -1;
        return rle_format(&room->runs, text, err);
    }
    struct json_text written;
    if (json_stream_text(s, &written, err) != 0)
        return -1;
    return json_text_add(&written, text, err);
}

/* Reads a mask of runs; "size" may come after "counts". The string itself is not parsed here, which
 * would cost as much as making the mask: rle_parse finds a wrong one. */
static int read_runs(struct json_stream *s, struct coco_outline *room, struct buf *out,
                     struct error *err) {
    cleanup_buf struct buf text = {.max = JSON_STREAM_STRING_MAX};
    struct json_text key;
    int64_t size[2] = {0, 0};
    bool counts = false;
    int more;
    if (json_stream_object(s, err) != 0)
        return -1;
    while ((more = json_stream_key(s, &key, err)) == 1) {
        bool is_counts = json_text_is(&key, "counts");
        int failed = is_counts                    ? read_counts(s, room, &text, err)
                     : json_text_is(&key, "size") ? read_size(s, size, err)
                                                  : json_stream_skip(s, err);
        if (failed != 0)
            return -1;
        counts |= is_counts;
    }
    if (more < 0)
        return -1;
    /* The order of the keys is free, so that both can be judged only at the end of the object. */
    if (!counts || !rle_size_fits(size[0], size[1]))
        return error_set(err, EXIT_CODE_DATA,
                         "a mask %s \"counts\" and of the size %" PRId64 " x %" PRId64
                         "; expected both, \"size\" as height and width",
                         counts ? "with" : "without", size[0], size[1]);
    if (coco_pack_count(out, (uint64_t)size[0], err) != 0 ||
        coco_pack_count(out, (uint64_t)size[1], err) != 0)
        return -1;
    return buf_add(out, text.data, text.size, err);
}

/* The JSON's type tells the kind: an object is runs, a list polygons. Anything else but null is an
 * error. */
int coco_segment_read(struct json_stream *s, struct coco_outline *room, struct buf *out,
                      enum coco_segment_kind *ret, struct error *err) {
    enum json_kind kind = JSON_KIND_END;
    if (json_stream_kind(s, &kind, err) != 0)
        return -1;
    if (kind == JSON_KIND_OBJECT) {
        *ret = COCO_SEGMENT_RUNS;
        return read_runs(s, room, out, err);
    }
    if (kind == JSON_KIND_ARRAY)
        return read_polygons(s, room, out, ret, err);
    *ret = COCO_SEGMENT_NONE;
    if (kind == JSON_KIND_NULL)
        return json_stream_skip(s, err);
    return json_stream_error(s, err, "expected polygons or runs");
}

/* Undoes read_polygons. Sizes are taken as they are; rle_from_parts refuses an odd one or one that
 * is too small. */
int coco_segment_outline(const struct coco_segment *segment, struct coco_outline *ret,
                         struct error *err) {
    struct coco_bytes in = {segment->bytes, segment->bytes + segment->size};
    uint64_t count = 0;
    ret->count = ret->number_count = 0;
    if (segment->kind != COCO_SEGMENT_POLYGONS)
        return error_set(err, EXIT_CODE_DATA, "an outline of runs, or none; expected polygons");
    if (coco_unpack_count(&in, COCO_PARTS_MAX, &count, err) != 0)
        return -1;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t size = 0;
        /* make_room checks the sum over all polygons, before the points are unpacked into it. */
        if (coco_unpack_count(&in, COCO_NUMBERS_MAX, &size, err) != 0 ||
            make_room(ret, ret->count + 1, ret->number_count + size, err) != 0 ||
            coco_unpack_points(&in, ret->numbers + ret->number_count, size, err) != 0)
            return -1;
        ret->sizes[ret->count++] = (uint32_t)size;
        ret->number_count += size;
    }
    return 0;
}

/* For masks that this program itself has made, as a detector's results (coco_results.c). */
int coco_segment_add_runs(const struct rle *mask, struct buf *out, struct error *err) {
    if (coco_pack_count(out, mask->height, err) != 0 || coco_pack_count(out, mask->width, err) != 0)
        return -1;
    return rle_format(mask, out, err);
}

/* The text is the rest of the segment and is not looked at. It is valid as long as the segment's
 * bytes. */
int coco_segment_runs(const struct coco_segment *segment, struct coco_runs *ret,
                      struct error *err) {
    struct coco_bytes in = {segment->bytes, segment->bytes + segment->size};
    uint64_t rows = 0, columns = 0;
    if (segment->kind != COCO_SEGMENT_RUNS)
        return error_set(err, EXIT_CODE_DATA, "an outline of polygons, or none; expected runs");
    if (coco_unpack_count(&in, RLE_PIXELS_MAX, &rows, err) != 0 ||
        coco_unpack_count(&in, RLE_PIXELS_MAX, &columns, err) != 0)
        return -1;
    *ret = (struct coco_runs){.text = (const char *)in.at,
                              .length = (size_t)(in.end - in.at),
                              .height = (uint32_t)rows,
                              .width = (uint32_t)columns};
    return 0;
}

/* Polygons are drawn onto a picture of the given size; a mask of runs keeps the size that it was
 * written with. */
int coco_segment_mask(const struct coco_segment *segment, struct coco_outline *room,
                      struct rle_scratch *scratch, uint32_t height, uint32_t width, struct rle *ret,
                      struct error *err) {
    if (segment->kind == COCO_SEGMENT_NONE)
        return error_set(err, EXIT_CODE_DATA,
                         "no mask; expected \"segmentation\" with polygons or runs");
    if (segment->kind == COCO_SEGMENT_RUNS) {
        struct coco_runs runs;
        if (coco_segment_runs(segment, &runs, err) != 0)
            return -1;
        return rle_parse(ret, runs.text, runs.length, runs.height, runs.width, err);
    }
    if (coco_segment_outline(segment, room, err) != 0)
        return -1;
    struct rle_parts parts = {.numbers = room->numbers,
                              .sizes = room->sizes,
                              .count = room->count,
                              .height = height,
                              .width = width};
    return rle_from_parts(ret, scratch, &parts, err);
}

#include "trainer/data/coco/coco_results_write.h"

#include "common/buf.h"
#include "common/file/file.h"

#include <inttypes.h>

enum { FLUSH = 1 << 20, TEXT_MAX = 1 << 30 };

static int add_box(struct buf *out, const double box[4], struct error *err) {
    return buf_printf(out, err, ",\"bbox\":[%.17g,%.17g,%.17g,%.17g]", box[0], box[1], box[2],
                      box[3]);
}

/* The alphabet of run strings has one character that JSON escapes. */
static int add_text(struct buf *out, const char *text, size_t length, struct error *err) {
    for (size_t from = 0, at = 0; at <= length; at++) {
        if (at < length && text[at] != '\\')
            continue;
        if (buf_add(out, text + from, at - from, err) != 0 ||
            (at < length && buf_add_text(out, "\\\\", err) != 0))
            return -1;
        from = at + 1;
    }
    return 0;
}

static int add_mask(struct buf *out, const struct coco_results *results, size_t number,
                    struct error *err) {
    const struct coco_segment segment = coco_result_segment(results, number);
    struct coco_runs runs;
    if (coco_segment_runs(&segment, &runs, err) != 0 ||
        buf_printf(out, err, ",\"segmentation\":{\"size\":[%" PRIu32 ",%" PRIu32 "],\"counts\":\"",
                   runs.height, runs.width) != 0 ||
        add_text(out, runs.text, runs.length, err) != 0)
        return -1;
    return buf_add_text(out, "\"}", err);
}

static int add_result(struct buf *out, const struct coco_results *results, size_t number,
                      enum coco_parts parts, struct error *err) {
    const struct coco_result *result = &results->list[number];
    if (buf_printf(out, err, "%s\n{\"image_id\":%" PRId64 ",\"category_id\":%" PRId64,
                   number > 0 ? "," : "", result->image_id, result->category_id) != 0)
        return -1;
    if ((parts & COCO_PARTS_BOXES) != 0 && !result->has_box)
        return error_set(err, EXIT_CODE_DATA, "result %zu has no box; expected one in each",
                         number);
    if ((parts & COCO_PARTS_BOXES) != 0 && add_box(out, result->box, err) != 0)
        return -1;
    if ((parts & COCO_PARTS_MASKS) != 0 && add_mask(out, results, number, err) != 0)
        return -1;
    return buf_printf(out, err, ",\"score\":%.17g}", result->score);
}

static int write_all(const struct coco_results *results, enum coco_parts parts, int fd,
                     struct error *err) {
    cleanup_buf struct buf out = {.max = TEXT_MAX};
    if (buf_add_text(&out, "[", err) != 0)
        return -1;
    for (size_t i = 0; i < results->count; i++) {
        if (add_result(&out, results, i, parts, err) != 0)
            return error_wrap(err, "%s: result %zu", results->path, i + 1);
        if (out.size < FLUSH)
            continue;
        if (file_write_all(fd, out.data, out.size, err) != 0)
            return -1;
        buf_consume(&out, out.size);
    }
    if (buf_add_text(&out, "]\n", err) != 0)
        return -1;
    return file_write_all(fd, out.data, out.size, err);
}

int coco_results_write(const struct coco_results *results, enum coco_parts parts, const char *path,
                       struct error *err) {
    char temp[4096];
    int fd = file_publish_open(path, temp, 0644, err);
    if (fd < 0)
        return -1;
    if (write_all(results, parts, fd, err) != 0) {
        file_publish_abort(fd, temp);
        return error_wrap(err, "%s", path);
    }
    return file_publish_commit(fd, temp, path, err);
}

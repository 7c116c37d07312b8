#include "trainer/data/coco/coco_results.h"

#include "common/grow.h"
#include "common/json/json_stream.h"
#include "trainer/data/coco/coco_json.h"
#include "trainer/data/coco/coco_record.h"

#include <stdlib.h>
#include <string.h>

void coco_results_done(struct coco_results *results) {
    free(results->list);
    buf_done(&results->segments);
    *results = (struct coco_results){0};
}

int coco_results_append(struct coco_results *results, const struct coco_result *result,
                        struct error *err) {
    if (results->count == COCO_RESULTS_MAX)
        return error_set(err, EXIT_CODE_DATA, "more than %zu results", COCO_RESULTS_MAX);
    if (grow_array(&results->list, &results->capacity, results->count + 1, sizeof(*results->list),
                   "results", err) != 0)
        return -1;
    results->list[results->count++] = *result;
    return 0;
}

static int add_record(struct coco_results *results, const struct coco_record *record,
                      struct error *err) {
    struct coco_result result = {.image_id = record->image_id,
                                 .category_id = record->category_id,
                                 .score = record->score,
                                 .segment = record->segment,
                                 .segment_size = (uint32_t)record->segment_size,
                                 .kind = (uint16_t)record->kind,
                                 .has_box = (record->has & COCO_HAS_BOX) != 0};
    memcpy(result.box, record->box, sizeof(record->box));
    return coco_results_append(results, &result, err);
}

void coco_results_begin(struct coco_results *ret, const char *name, bool masks) {
    *ret = (struct coco_results){.path = name, .boxes = true, .masks = masks};
    buf_init(&ret->segments, COCO_RESULTS_SEGMENTS_MAX);
}

int coco_results_add(struct coco_results *results, const struct coco_result *result,
                     const struct rle *mask, struct error *err) {
    struct coco_result added = *result;
    added.has_box = true;
    added.kind = COCO_SEGMENT_NONE;
    added.segment = results->segments.size;
    added.segment_size = 0;
    if (mask != NULL) {
        if (coco_segment_add_runs(mask, &results->segments, err) != 0)
            return -1;
        added.kind = COCO_SEGMENT_RUNS;
        added.segment_size = (uint32_t)(results->segments.size - added.segment);
    }
    return coco_results_append(results, &added, err);
}

/* All results must have what the first one has. */
static int check_kind(struct coco_results *results, const struct coco_record *record,
                      struct error *err) {
    bool box = (record->has & COCO_HAS_BOX) != 0, mask = record->kind != COCO_SEGMENT_NONE;
    if (results->count == 0) {
        results->boxes = box;
        results->masks = true;
    }
    results->masks &= mask;
    if (results->boxes && !box)
        return error_set(err, EXIT_CODE_DATA, "no \"bbox\"; expected one, as the first result has");
    if (!results->boxes && !mask)
        return error_set(err, EXIT_CODE_DATA,
                         "neither \"bbox\" nor \"segmentation\"; expected one of them");
    return 0;
}

static int read_list(struct coco_results *results, struct json_stream *s, struct coco_outline *room,
                     struct error *err) {
    const unsigned needs = COCO_HAS_IMAGE | COCO_HAS_CATEGORY | COCO_HAS_SCORE;
    int more;
    if (json_stream_array(s, err) != 0)
        return -1;
    while ((more = json_stream_item(s, err)) == 1) {
        struct coco_record record;
        if (coco_record_read(s, room, &results->segments, needs, &record, err) != 0 ||
            check_kind(results, &record, err) != 0)
            return error_wrap(err, "result %zu", results->count + 1);
        if (add_record(results, &record, err) != 0)
            return -1;
    }
    return more == 0 ? json_stream_finish(s, err) : -1;
}

int coco_results_read(struct coco_results *ret, const char *path, struct error *err) {
    cleanup_json_stream struct json_stream stream = {0};
    cleanup_coco_outline struct coco_outline room = {0};
    cleanup_coco_results struct coco_results results = {0};
    buf_init(&results.segments, COCO_RESULTS_SEGMENTS_MAX);
    if (coco_json_open(&stream, path, err) != 0)
        return -1;
    if (read_list(&results, &stream, &room, err) != 0)
        return error_wrap(err, "%s", path);
    results.path = path;
    *ret = results;
    results = (struct coco_results){0};
    return 0;
}

struct coco_segment coco_result_segment(const struct coco_results *results, size_t number) {
    const struct coco_result *result = &results->list[number];
    return (struct coco_segment){.kind = result->kind,
                                 .bytes = (const uint8_t *)buf_text(&results->segments) +
                                          result->segment,
                                 .size = result->segment_size};
}

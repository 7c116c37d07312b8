#include "trainer/data/coco/coco_results_pack.h"

#include "common/cleanup.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct head {
    uint64_t count;
    uint64_t segments; /* bytes */
};

int coco_results_pack(const struct coco_results *results, struct buf *out, struct error *err) {
    const struct head head = {results->count, results->segments.size};
    if (buf_add(out, &head, sizeof(head), err) != 0)
        return -1;
    if (results->count > 0 &&
        buf_add(out, results->list, results->count * sizeof(*results->list), err) != 0)
        return -1;
    if (results->segments.size == 0)
        return 0;
    return buf_add(out, results->segments.data, results->segments.size, err);
}

static int damaged(struct error *err) {
    return error_set(
        err, EXIT_CODE_INTERNAL,
        "results from another rank are damaged; expected what coco_results_pack writes");
}

static int unpack_result(struct coco_results *results, const char *bytes, uint64_t segments,
                         size_t base, struct error *err) {
    struct coco_result result;
    memcpy(&result, bytes, sizeof(result));
    if (result.segment > segments || result.segment_size > segments - result.segment)
        return damaged(err);
    result.segment += base;
    return coco_results_append(results, &result, err);
}

int coco_results_unpack(struct coco_results *results, const void *bytes, size_t size,
                        struct error *err) {
    struct head head;
    const char *list = (const char *)bytes + sizeof(head);
    const size_t base = results->segments.size;
    if (size < sizeof(head))
        return damaged(err);
    memcpy(&head, bytes, sizeof(head));
    size -= sizeof(head);
    if (head.count > size / sizeof(struct coco_result) ||
        head.segments != size - head.count * sizeof(struct coco_result))
        return damaged(err);
    for (uint64_t i = 0; i < head.count; i++)
        if (unpack_result(results, list + i * sizeof(struct coco_result), head.segments, base,
                          err) != 0)
            return -1;
    if (head.segments == 0)
        return 0;
    return buf_add(&results->segments, list + head.count * sizeof(struct coco_result),
                   head.segments, err);
}

struct placed {
    int64_t image_id;
    size_t number;
};

static int compare_placed(const void *a, const void *b) {
    const struct placed *left = a, *right = b;
    if (left->image_id != right->image_id)
        return left->image_id < right->image_id ? -1 : 1;
    return (left->number > right->number) - (left->number < right->number);
}

int coco_results_sort(struct coco_results *results, struct error *err) {
    const size_t count = results->count;
    cleanup_free struct placed *placed = calloc(count + 1, sizeof(*placed));
    struct coco_result *list = calloc(count + 1, sizeof(*list));
    if (placed == NULL || list == NULL) {
        free(list);
        return error_no_memory(err, "results");
    }
    for (size_t i = 0; i < count; i++)
        placed[i] = (struct placed){results->list[i].image_id, i};
    qsort(placed, count, sizeof(*placed), compare_placed);
    for (size_t i = 0; i < count; i++)
        list[i] = results->list[placed[i].number];
    free(results->list);
    results->list = list;
    results->capacity = count + 1;
    return 0;
}

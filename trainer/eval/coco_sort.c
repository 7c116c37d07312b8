#include "trainer/eval/coco_sort.h"

#include <string.h>

enum { INSERTION_WIDTH = 16 };

static void insertion(struct coco_scored *items, size_t count) {
    for (size_t i = 1; i < count; i++) {
        struct coco_scored item = items[i];
        size_t at = i;
        for (; at > 0 && items[at - 1].score < item.score; at--)
            items[at] = items[at - 1];
        items[at] = item;
    }
}

/* Merges two sorted runs, FROM[0..left) and FROM[left..count), into TO. */
static void merge(const struct coco_scored *from, size_t left, size_t count,
                  struct coco_scored *to) {
    size_t a = 0, b = left, out = 0;
    while (a < left && b < count)
        to[out++] = from[b].score > from[a].score ? from[b++] : from[a++];
    memcpy(to + out, from + a, (left - a) * sizeof(*to));
    out += left - a;
    memcpy(to + out, from + b, (count - b) * sizeof(*to));
}

void coco_sort(struct coco_scored *items, size_t count, struct coco_scored *scratch) {
    for (size_t at = 0; at < count; at += INSERTION_WIDTH)
        insertion(items + at, count - at < INSERTION_WIDTH ? count - at : INSERTION_WIDTH);
    struct coco_scored *from = items, *to = scratch;
    for (size_t width = INSERTION_WIDTH; width < count; width *= 2) {
        for (size_t at = 0; at < count; at += 2 * width) {
            size_t here = count - at < 2 * width ? count - at : 2 * width;
            merge(from + at, here < width ? here : width, here, to + at);
        }
        struct coco_scored *swap = from;
        from = to;
        to = swap;
    }
    if (from != items)
        memcpy(items, from, count * sizeof(*items));
}

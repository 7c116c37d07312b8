#include "trainer/eval/coco_pairs.h"

#include "common/cleanup.h"
#include "trainer/eval/coco_rules.h"

#include <stdlib.h>

void coco_pairs_done(struct coco_pairs *pairs) {
    free(pairs->truth_order);
    free(pairs->found_order);
    free(pairs->list);
    free(pairs->category_start);
    *pairs = (struct coco_pairs){0};
}

static size_t key_of(const struct coco_object *object, bool by_category) {
    return by_category ? object->category : object->image;
}

/* One stable pass of counting sort, from the numbers FROM (NULL: 0, 1, 2...) to TO. */
static void sort_pass(const struct coco_objects *objects, bool by_category, const uint32_t *from,
                      uint32_t *to, size_t *starts, size_t keys) {
    for (size_t k = 0; k <= keys; k++)
        starts[k] = 0;
    for (size_t i = 0; i < objects->count; i++)
        starts[key_of(&objects->list[i], by_category) + 1]++;
    for (size_t k = 0; k < keys; k++)
        starts[k + 1] += starts[k];
    for (size_t i = 0; i < objects->count; i++) {
        uint32_t number = from != NULL ? from[i] : (uint32_t)i;
        to[starts[key_of(&objects->list[number], by_category)]++] = number;
    }
}

/* Sorts the numbers of OBJECTS by category, image, position in the list. */
static int make_order(const struct coco_objects *objects, const struct coco_input *input,
                      uint32_t **ret, struct error *err) {
    size_t keys =
        input->image_count > input->category_count ? input->image_count : input->category_count;
    cleanup_free uint32_t *by_image = calloc(objects->count + 1, sizeof(*by_image));
    cleanup_free uint32_t *order = calloc(objects->count + 1, sizeof(*order));
    cleanup_free size_t *starts = calloc(keys + 1, sizeof(*starts));
    if (by_image == NULL || order == NULL || starts == NULL)
        return error_no_memory(err, "the order of objects");
    sort_pass(objects, false, NULL, by_image, starts, input->image_count);
    sort_pass(objects, true, by_image, order, starts, input->category_count);
    *ret = TAKE_PTR(order);
    return 0;
}

/* One of the two sorted lists during the merge. */
struct side {
    const struct coco_objects *objects;
    const uint32_t *order;
    size_t at;
};

static uint64_t key_at(const struct side *side) {
    if (side->at == side->objects->count)
        return UINT64_MAX;
    const struct coco_object *object = &side->objects->list[side->order[side->at]];
    return ((uint64_t)object->category << 32) | object->image;
}

static uint32_t take(struct side *side, uint64_t key) {
    size_t start = side->at;
    while (key_at(side) == key)
        side->at++;
    return (uint32_t)(side->at - start);
}

/* Walks both lists together; counts the pairs, and writes them if there is a list. */
static void walk(struct coco_pairs *pairs, struct side truth, struct side found) {
    size_t count = 0, hits = 0;
    for (;;) {
        uint64_t a = key_at(&truth), b = key_at(&found);
        uint64_t key = a < b ? a : b;
        if (key == UINT64_MAX)
            break;
        struct coco_pair pair = {
            .category = (uint32_t)(key >> 32), .truth = truth.at, .found = found.at, .hits = hits};
        pair.truth_count = take(&truth, key);
        pair.found_count = take(&found, key);
        size_t limit = coco_limit(COCO_LIMITS - 1);
        hits += pair.found_count < limit ? pair.found_count : limit;
        if (pairs->list != NULL) {
            pairs->list[count] = pair;
            pairs->category_start[pair.category + 1] = count + 1;
        }
        count++;
    }
    pairs->count = count;
    pairs->hit_count = hits;
}

static int check(const struct coco_objects *objects, const struct coco_input *input,
                 struct error *err) {
    if (objects->count > COCO_OBJECTS_MAX)
        return error_set(err, EXIT_CODE_DATA, "%zu objects; expected at most %d to score",
                         objects->count, COCO_OBJECTS_MAX);
    for (size_t i = 0; i < objects->count; i++)
        if (objects->list[i].image >= input->image_count ||
            objects->list[i].category >= input->category_count)
            return error_set(err, EXIT_CODE_INTERNAL,
                             "object %zu: image %zu of %zu, category %zu of %zu", i,
                             (size_t)objects->list[i].image, input->image_count,
                             (size_t)objects->list[i].category, input->category_count);
    return 0;
}

int coco_pairs_make(struct coco_pairs *ret, const struct coco_input *input, struct error *err) {
    if (check(&input->truth, input, err) != 0 || check(&input->found, input, err) != 0 ||
        make_order(&input->truth, input, &ret->truth_order, err) != 0 ||
        make_order(&input->found, input, &ret->found_order, err) != 0)
        return -1;
    struct side truth = {&input->truth, ret->truth_order, 0};
    struct side found = {&input->found, ret->found_order, 0};
    walk(ret, truth, found);
    ret->category_start = calloc(input->category_count + 1, sizeof(*ret->category_start));
    ret->list = calloc(ret->count + 1, sizeof(*ret->list));
    if (ret->list == NULL || ret->category_start == NULL)
        return error_no_memory(err, "pairs of image and category");
    walk(ret, truth, found);
    for (size_t c = 0; c < input->category_count; c++)
        if (ret->category_start[c + 1] < ret->category_start[c])
            ret->category_start[c + 1] = ret->category_start[c];
    return 0;
}

#include "trainer/data/detect/detection_groups.h"

#include "common/cleanup.h"

#include <inttypes.h>
#include <stdlib.h>

static size_t add_sizes(struct detect_size *pictures, size_t count,
                        const struct detection_set *set) {
    for (size_t i = 0; set != NULL && i < set->count; i++)
        pictures[count++] = detection_picture_size(&set->pictures[i]);
    return count;
}

int detection_set_plan(const struct detection_set *learnt, const struct detection_set *scored,
                       const struct detect_sizes *sizes, size_t global_batch,
                       struct bucket_plan *ret, struct error *err) {
    const size_t most = (learnt != NULL ? learnt->count : 0) + (scored != NULL ? scored->count : 0);
    cleanup_free struct detect_size *pictures = calloc(most + 1, sizeof(*pictures));
    if (pictures == NULL)
        return error_no_memory(err, "the sizes of pictures");
    const size_t first = add_sizes(pictures, 0, learnt);
    const size_t count = add_sizes(pictures, first, scored);
    if (bucket_plan_make(ret, sizes, pictures, count, first, global_batch, err) != 0)
        return error_wrap(err, "%s", (learnt != NULL ? learnt : scored)->index->path);
    return 0;
}

int detection_set_plan_drawn(const struct detection_set *set, const struct detection_recipe *recipe,
                             size_t global_batch, struct bucket_plan *plan, struct error *err) {
    cleanup_free struct detect_size *pictures = calloc(set->count + 1, sizeof(*pictures));
    if (pictures == NULL)
        return error_no_memory(err, "the sizes of pictures");
    (void)add_sizes(pictures, 0, set);
    bucket_plan_add_smaller(plan, &recipe->sizes, detection_middle_side(recipe), pictures,
                            set->count, global_batch);
    return 0;
}

void detection_groups_done(struct detection_groups *groups) {
    free(groups->samples);
    *groups = (struct detection_groups){0};
}

static int find_canvases(const struct detection_set *set, const struct detect_sizes *sizes,
                         const struct bucket_plan *plan, uint8_t *ret, struct error *err) {
    for (size_t i = 0; i < set->count; i++) {
        struct detect_size scaled =
            detect_resized(sizes, detection_picture_size(&set->pictures[i]));
        int at = bucket_plan_place(plan, scaled);
        if (at == CANVAS_NONE)
            return error_set(err, EXIT_CODE_USAGE,
                             "%s: image %" PRId64 ", scaled to a height of %d and a width of %d, "
                             "fits none of the canvases",
                             set->index->path, set->index->images[set->pictures[i].image].id,
                             scaled.height, scaled.width);
        ret[i] = (uint8_t)at;
    }
    return 0;
}

int detection_groups_make(struct detection_groups *ret, const struct detection_set *set,
                          const struct detect_sizes *sizes, const struct bucket_plan *plan,
                          struct error *err) {
    cleanup_detection_groups struct detection_groups groups = {.count = plan->count};
    cleanup_free uint8_t *canvas_of = calloc(set->count + 1, sizeof(*canvas_of));
    groups.samples = calloc(set->count + 1, sizeof(*groups.samples));
    if (canvas_of == NULL || groups.samples == NULL)
        return error_no_memory(err, "groups of pictures");
    if (find_canvases(set, sizes, plan, canvas_of, err) != 0)
        return -1;
    size_t count = 0;
    for (int canvas = 0; canvas < plan->count; canvas++) {
        size_t first = count;
        for (size_t i = 0; i < set->count; i++)
            if (canvas_of[i] == canvas)
                groups.samples[count++] = (uint32_t)i;
        groups.sizes[canvas] = count - first;
    }
    *ret = groups;
    groups = (struct detection_groups){0};
    return 0;
}

int detection_choose_canvas(const void *choice, uint32_t epoch, uint32_t sample) {
    const struct detection_choice *c = choice;
    const struct detect_size size = detection_picture_size(&c->set->pictures[sample]);
    return bucket_plan_place(c->plan, detection_draw(c->recipe, size, epoch, sample).scaled);
}

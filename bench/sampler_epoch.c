/* How long the order of an epoch takes where sizes are drawn (order/sampler_epoch.h), and how
 * many pixels of canvases it saves: pictures with COCO's sizes, short sides of 640 to 800 as
 * detectron2 draws them.
 *
 *     bench_sampler_epoch [PICTURES [GLOBAL_BATCH]] */
#include "trainer/data/order/sampler_epoch.h"
#include "common/clock.h"
#include "trainer/data/detect/detection_groups.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

enum { EPOCHS = 5, PICTURES = 118287, GLOBAL_BATCH = 16, SHAPES = 5 };

/* Height and width, of ten pictures so many; most of COCO's are of these. */
static const uint16_t shapes[SHAPES][3] = {
    {480, 640, 4}, {427, 640, 3}, {640, 480, 1}, {640, 427, 1}, {360, 640, 1}};

struct bench {
    struct detection_set set;
    struct coco_index index;
    struct bucket_plan plan;
    struct detection_groups groups;
    struct detection_recipe recipe;
    struct detection_choice choice;
    struct sampler sampler;
};

static int fill_set(struct bench *b, size_t count, struct error *err) {
    static char path[] = "pictures";
    b->set.pictures = calloc(count + 1, sizeof(*b->set.pictures));
    if (b->set.pictures == NULL)
        return error_no_memory(err, "pictures");
    for (size_t i = 0; i < count; i++) {
        size_t of_ten = i % 10, shape = 0;
        while (shape + 1 < SHAPES && of_ten >= shapes[shape][2])
            of_ten -= shapes[shape++][2];
        b->set.pictures[i].height = shapes[shape][0];
        b->set.pictures[i].width = shapes[shape][1];
    }
    b->index.path = path;
    b->set.index = &b->index;
    b->set.count = count;
    return 0;
}

static int open_bench(struct bench *b, size_t count, int global, struct error *err) {
    b->recipe = (struct detection_recipe){.sizes = {DETECT_SIZE_D2, 800, 1333},
                                          .short_low = 640,
                                          .short_step = 32,
                                          .pixels_max = DETECTION_PIXELS_DEFAULT,
                                          .seed = 1};
    const struct detect_sizes *sizes = &b->recipe.sizes;
    if (fill_set(b, count, err) != 0 ||
        detection_set_plan(&b->set, NULL, sizes, (size_t)global, &b->plan, err) != 0 ||
        detection_set_plan_drawn(&b->set, &b->recipe, (size_t)global, &b->plan, err) != 0 ||
        detection_groups_make(&b->groups, &b->set, sizes, &b->plan, err) != 0)
        return -1;
    b->choice = (struct detection_choice){&b->set, &b->recipe, &b->plan};
    b->sampler = (struct sampler){.count = count,
                                  .ranks = 1,
                                  .batch = global,
                                  .accumulate = 1,
                                  .seed = 1,
                                  .shuffle = true,
                                  .groups = {.samples = b->groups.samples,
                                             .count = b->groups.count,
                                             .choose = detection_choose_canvas,
                                             .user = &b->choice}};
    for (int i = 0; i < b->groups.count; i++)
        b->sampler.groups.sizes[i] = b->groups.sizes[i];
    return sampler_check(&b->sampler, err);
}

static double pixels_of(const struct bench *b, int canvas) {
    return (double)b->plan.canvases[canvas].height * b->plan.canvases[canvas].width;
}

static int measure(struct bench *b, struct error *err) {
    cleanup_sampler_epoch struct sampler_epoch e = {0};
    double chosen = 0, own = 0;
    if (sampler_epoch_init(&e, &b->sampler, err) != 0)
        return -1;
    for (uint32_t epoch = 0; epoch < EPOCHS; epoch++) {
        const int64_t start = clock_now();
        sampler_epoch_make(&e, epoch);
        printf("epoch %u: %.3f s\n", epoch, (double)(clock_now() - start) / (double)CLOCK_SECOND);
        for (int64_t step = 0; step < e.steps; step++) {
            chosen += pixels_of(b, sampler_epoch_group(&e, epoch, step));
            own += pixels_of(b, sampler_group(&b->sampler, epoch, step));
        }
    }
    printf("%zu pictures on %d canvases, %lld steps: %.1f%% of the pixels of the largest sizes'\n",
           b->set.count, b->plan.count, (long long)e.steps, 100 * chosen / own);
    return 0;
}

int main(int argc, char **argv) {
    struct bench b = {.set = {0}};
    struct error err = {0};
    const long count = argc > 1 ? strtol(argv[1], NULL, 10) : PICTURES;
    const long global = argc > 2 ? strtol(argv[2], NULL, 10) : GLOBAL_BATCH;
    int failed = count < 1 || count > INT_MAX || global < 1 || global > INT_MAX
                     ? error_set(&err, EXIT_CODE_USAGE,
                                 "usage: bench_sampler_epoch [PICTURES [GLOBAL_BATCH]]")
                     : open_bench(&b, (size_t)count, (int)global, &err);
    if (failed == 0)
        failed = measure(&b, &err);
    detection_groups_done(&b.groups);
    free(b.set.pictures);
    if (failed != 0)
        fprintf(stderr, "bench_sampler_epoch: %s\n", err.text);
    return failed != 0 ? (int)err.code : 0;
}

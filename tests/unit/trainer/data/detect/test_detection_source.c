#include "trainer/data/detect/detection_source.h"

#include "common/clock.h"
#include "common/crc32c.h"
#include "common/file/file.h"
#include "common/str.h"
#include "tests/support/unit.h"
#include "trainer/data/coco/coco_folder.h"
#include "trainer/data/coco/coco_load.h"
#include "trainer/data/dataset/loader.h"
#include "trainer/data/detect/detection_groups.h"
#include "trainer/data/detect/detection_outline.h"
#include "trainer/data/shapes/coco_shapes.h"
#include "trainer/math/image_size.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A set on canvases, read by a loader. */
struct scene {
    struct coco_folder folder;
    struct coco_index index;
    struct detection_set set;
    struct detection_groups groups;
    struct bucket_plan plan;
    struct detection_choice choice;
    struct detection_samples samples;
    struct source source;
    struct sampler sampler;
    struct error err;
};

static const char *shapes_folder(void) {
    static char folder[PATH_MAX];
    struct error err = {0};
    struct prepare_options options = {0};
    if (folder[0] != '\0')
        return folder;
    snprintf(folder, sizeof(folder), "%s/shapes", unit_temp_dir());
    coco_shapes_defaults(&options);
    options.folder = folder;
    options.train = 30;
    options.validation = 5;
    options.side = 64;
    CU_ASSERT_EQUAL_FATAL(coco_shapes_write(&options, &err), 0);
    return folder;
}

/* The recipe of Detectron2: sizes are drawn, the host scales pictures, and masks are outlines. */
static void as_detectron2(struct scene *s, int short_side) {
    struct detection_recipe *recipe = &s->samples.recipe;
    recipe->sizes.rule = DETECT_SIZE_D2;
    recipe->short_step = short_side / 8;
    recipe->short_low = short_side - 3 * recipe->short_step;
    recipe->host_scale = true;
    CU_ASSERT_EQUAL_FATAL(
        detection_outline_measure(&s->set, &s->samples.polygons, &s->samples.points, &s->err), 0);
}

static void scene_make(struct scene *s, const char *folder, bool d2, int short_side, int batch) {
    const struct detection_options options = {.pick = DETECTION_PICK_TV};
    memset(s, 0, sizeof(*s));
    CU_ASSERT_EQUAL_FATAL(coco_folder_open(&s->folder, folder, &s->err), 0);
    CU_ASSERT_EQUAL_FATAL(coco_load(&s->index, s->folder.sets[0].json, NULL, &s->err), 0);
    CU_ASSERT_EQUAL_FATAL(
        detection_set_make(&s->set, &s->index, s->folder.sets[0].pictures, &options, &s->err), 0);
    s->samples = (struct detection_samples){
        .set = &s->set,
        .recipe = {.sizes = {DETECT_SIZE_TV, short_side, short_side * 5 / 3},
                   .flip = true,
                   .pixels_max = DETECTION_PIXELS_DEFAULT,
                   .seed = 3},
        .slots = 64,
        .bits_of_picture = DETECTION_BITS_DEFAULT};
    const struct detection_recipe *recipe = &s->samples.recipe;
    if (d2)
        as_detectron2(s, short_side);
    CU_ASSERT_EQUAL_FATAL(detection_source(&s->source, &s->samples, batch, &s->err), 0);
    CU_ASSERT_EQUAL_FATAL(
        detection_set_plan(&s->set, NULL, &recipe->sizes, (size_t)batch, &s->plan, &s->err), 0);
    if (d2)
        CU_ASSERT_EQUAL_FATAL(
            detection_set_plan_drawn(&s->set, recipe, (size_t)batch, &s->plan, &s->err), 0);
    CU_ASSERT_EQUAL_FATAL(
        detection_groups_make(&s->groups, &s->set, &recipe->sizes, &s->plan, &s->err), 0);
    s->sampler =
        (struct sampler){.count = s->set.count,
                         .ranks = 1,
                         .batch = batch,
                         .accumulate = 1,
                         .seed = 3,
                         .shuffle = true,
                         .groups = {.samples = s->groups.samples, .count = s->groups.count}};
    memcpy(s->sampler.groups.sizes, s->groups.sizes,
           (size_t)s->groups.count * sizeof(*s->groups.sizes));
    s->choice = (struct detection_choice){&s->set, recipe, &s->plan};
    if (d2) {
        s->sampler.groups.choose = detection_choose_canvas;
        s->sampler.groups.user = &s->choice;
    }
}

static void scene_done(struct scene *s) {
    detection_groups_done(&s->groups);
    detection_set_done(&s->set);
    coco_index_done(&s->index);
    coco_folder_done(&s->folder);
}

static uint64_t hash_batch(const struct batch *batch) {
    uint64_t hash = STR_HASH_START;
    for (int i = 0; i < batch->layout->count; i++) {
        /* The pixels take megabytes: this is the fastest checksum. */
        const uint32_t crc = crc32c(0, batch->fields[i], batch->layout->fields[i].bytes);
        hash = str_hash(hash, &crc, sizeof(crc));
    }
    return str_hash(hash, &batch->step, sizeof(batch->step));
}

/* Reads all batches of EPOCHS epochs from (epoch, step) on; each has the size of its group's
 * canvas. Returns a hash of their bytes. */
static uint64_t read_all(struct scene *s, uint32_t epoch, int64_t step, uint32_t epochs,
                         int threads, uint64_t *hashes) {
    cleanup_loader struct loader *loader = NULL;
    const struct loader_options options = {.source = &s->source,
                                           .sampler = s->sampler,
                                           .epoch = epoch,
                                           .step = step,
                                           .epochs = epochs,
                                           .threads = threads,
                                           .depth = 3};
    uint64_t all = STR_HASH_START;
    int64_t count = 0;
    CU_ASSERT_EQUAL_FATAL(loader_start(&options, &loader, &s->err), 0);
    for (;;) {
        const struct batch *batch = NULL;
        enum loader_result result =
            loader_next(loader, clock_now() + 60 * CLOCK_SECOND, &batch, &s->err);
        if (result == LOADER_END)
            break;
        CU_ASSERT_EQUAL_FATAL(result, LOADER_BATCH);
        const int32_t *sizes = batch->fields[batch_layout_find(batch->layout, "image_size")];
        const struct detect_size canvas = s->plan.canvases[batch->canvas];
        for (int i = 0; i < s->source.batch; i++) {
            const int32_t *size = &sizes[i * IMAGE_SIZE_FIELDS];
            CU_ASSERT_EQUAL(size[IMAGE_SIZE_VALID], 1);
            CU_ASSERT(size[IMAGE_SIZE_H] <= canvas.height && size[IMAGE_SIZE_W] <= canvas.width);
        }
        uint64_t hash = hash_batch(batch);
        all = str_hash(all, &hash, sizeof(hash));
        if (hashes != NULL)
            hashes[count] = hash;
        count++;
        loader_release(loader, batch);
    }
    CU_ASSERT_EQUAL(count, (int64_t)(epochs - epoch) * sampler_steps(&s->sampler) - step);
    return all;
}

static void check_threads_and_resume(const char *folder, bool d2, int short_side, int batch) {
    struct scene s;
    enum { STEPS_MAX = 256 };
    uint64_t hashes[STEPS_MAX], again[STEPS_MAX];
    scene_make(&s, folder, d2, short_side, batch);
    int64_t steps = sampler_steps(&s.sampler);
    CU_ASSERT_FATAL(steps > 2 && 2 * steps < STEPS_MAX);
    uint64_t one = read_all(&s, 0, 0, 2, 1, hashes);
    CU_ASSERT_EQUAL(read_all(&s, 0, 0, 2, 4, NULL), one);
    read_all(&s, 0, steps - 1, 2, 2, again);
    CU_ASSERT_EQUAL(memcmp(again, hashes + steps - 1, (size_t)(steps + 1) * sizeof(*again)), 0);
    CU_ASSERT_NOT_EQUAL(hashes[0], hashes[steps]);
    scene_done(&s);
}

static void batches_are_the_same_for_any_threads_and_after_a_resume(void) {
    check_threads_and_resume(shapes_folder(), false, 96, 4);
    check_threads_and_resume(shapes_folder(), true, 96, 4);
    check_threads_and_resume(shapes_folder(), true, 128, 4);
}

static double area(struct detect_size size) {
    return (double)size.height * size.width;
}

/* If sizes are drawn, pictures take canvases that suit them in that epoch: with far less padding
 * than on those of their largest size, in as many steps, and different ones in each epoch. */
static void drawn_sizes_take_smaller_canvases(void) {
    struct scene s;
    enum { PIXELS = 128, PICTURES = 4, EPOCHS = 6 };
    double pixels = 0, largest = 0;
    int64_t moved = 0, of_steps = 0;
    scene_make(&s, shapes_folder(), true, PIXELS, PICTURES);
    const int64_t steps = sampler_steps(&s.sampler);
    cleanup_loader struct loader *loader = NULL;
    const struct loader_options options = {
        .source = &s.source, .sampler = s.sampler, .epochs = EPOCHS, .threads = 2, .depth = 2};
    CU_ASSERT_EQUAL_FATAL(loader_start(&options, &loader, &s.err), 0);
    const struct batch *batch = NULL;
    for (; loader_next(loader, clock_now() + 60 * CLOCK_SECOND, &batch, &s.err) == LOADER_BATCH;
         loader_release(loader, batch)) {
        const int own = sampler_group(&s.sampler, batch->epoch, batch->step);
        pixels += area(s.plan.canvases[batch->canvas]);
        largest += area(s.plan.canvases[own]);
        moved += batch->canvas != own;
        of_steps++;
        CU_ASSERT(area(s.plan.canvases[batch->canvas]) <= area(s.plan.canvases[own]));
    }
    CU_ASSERT_EQUAL(of_steps, EPOCHS * steps);
    CU_ASSERT(moved > 0);
    printf("%lld of %lld steps on smaller canvases, %.3f of the pixels\n", (long long)moved,
           (long long)of_steps, pixels / largest);
    CU_ASSERT(pixels < 0.95 * largest);
    scene_done(&s);
}

/* A thread sanitizer finds the same races in small pictures. */
#if defined(__SANITIZE_THREAD__)
enum { REAL_SIDE = 128, REAL_SIDE_D2 = 96 };
#else
enum { REAL_SIDE = 800, REAL_SIDE_D2 = 400 };
#endif

static void batches_of_real_pictures_are_the_same_for_any_threads(void) {
    char folder[PATH_MAX];
    const char *data = getenv("RINGMASTER_DATA");
    snprintf(folder, sizeof(folder), "%s/coco128", data != NULL ? data : "");
    if (data == NULL || access(folder, R_OK) != 0) {
        unit_skip("RINGMASTER_DATA does not lead to coco128");
        return;
    }
    check_threads_and_resume(folder, false, REAL_SIDE, 3);
    check_threads_and_resume(folder, true, REAL_SIDE_D2, 3);
}

/* Several ranks, in turn, make what one rank makes alone: the same bytes in each place. */
static void ranks_share_a_batch(void) {
    struct scene whole, part;
    scene_make(&whole, shapes_folder(), false, 96, 6);
    for (int ranks = 2; ranks <= 3; ranks++) {
        scene_make(&part, shapes_folder(), false, 96, 6 / ranks);
        CU_ASSERT_EQUAL(part.samples.image_bytes, whole.samples.image_bytes);
        part.sampler.groups = whole.sampler.groups;
        part.sampler.ranks = ranks;
        CU_ASSERT_EQUAL(sampler_steps(&part.sampler), sampler_steps(&whole.sampler));
        for (int64_t step = 0; step < sampler_steps(&whole.sampler); step++)
            for (int i = 0; i < 6; i++) {
                part.sampler.rank = i / part.sampler.batch;
                CU_ASSERT_EQUAL(sampler_at(&part.sampler, 1, step, 0, i % part.sampler.batch),
                                sampler_at(&whole.sampler, 1, step, 0, i));
            }
        scene_done(&part);
    }
    scene_done(&whole);
}

/* The first batch of epoch 1 on rank RANK. */
static const struct batch *first_batch(struct scene *s, int rank, struct loader **ret_loader) {
    const struct batch *batch = NULL;
    s->sampler.rank = rank;
    const struct loader_options options = {.source = &s->source,
                                           .sampler = s->sampler,
                                           .epoch = 1,
                                           .epochs = 2,
                                           .threads = 2,
                                           .depth = 2};
    CU_ASSERT_EQUAL_FATAL(loader_start(&options, ret_loader, &s->err), 0);
    CU_ASSERT_EQUAL_FATAL(
        loader_next(*ret_loader, clock_now() + 60 * CLOCK_SECOND, &batch, &s->err), LOADER_BATCH);
    return batch;
}

/* Compares what does not depend on the place in the batch: picture, sizes, boxes, outlines. */
static void check_share(const struct batch *whole, const struct batch *part, int rank) {
    static const char *const fields[] = {"image",    "image_size", "key",  "gt_box",
                                         "gt_label", "gt_count",   "point"};
    for (size_t f = 0; f < sizeof(fields) / sizeof(fields[0]); f++) {
        int at = batch_layout_find(part->layout, fields[f]);
        CU_ASSERT_FATAL(at >= 0);
        size_t bytes = part->layout->fields[at].bytes;
        const char *all = whole->fields[batch_layout_find(whole->layout, fields[f])];
        CU_ASSERT_EQUAL(memcmp(part->fields[at], all + (size_t)rank * bytes, bytes), 0);
    }
}

/* Drawn sizes and mirroring, and everything that follows from them. */
static void draws_are_the_same_on_any_number_of_ranks(void) {
    struct scene whole;
    struct loader *loader = NULL;
    scene_make(&whole, shapes_folder(), true, 128, 6);
    const struct batch *all = first_batch(&whole, 0, &loader);
    for (int ranks = 2; ranks <= 3; ranks++)
        for (int rank = 0; rank < ranks; rank++) {
            struct scene part;
            struct loader *own = NULL;
            scene_make(&part, shapes_folder(), true, 128, 6 / ranks);
            part.sampler.groups = whole.sampler.groups;
            part.sampler.ranks = ranks;
            check_share(all, first_batch(&part, rank, &own), rank);
            loader_done(own);
            scene_done(&part);
        }
    loader_done(loader);
    scene_done(&whole);
}

static void what_does_not_fit_is_counted(void) {
    struct scene s;
    scene_make(&s, shapes_folder(), false, 96, 4);
    s.samples.slots = 1;
    s.samples.bits_of_picture = 40;
    CU_ASSERT_EQUAL_FATAL(detection_source(&s.source, &s.samples, 4, &s.err), 0);
    cleanup_loader struct loader *loader = NULL;
    const struct loader_options options = {
        .source = &s.source, .sampler = s.sampler, .epochs = 1, .threads = 2, .depth = 2};
    CU_ASSERT_EQUAL_FATAL(loader_start(&options, &loader, &s.err), 0);
    struct source_dropped dropped = {0};
    int64_t objects = 0, wanted = 0;
    for (const struct batch *batch = NULL;
         loader_next(loader, clock_now() + 60 * CLOCK_SECOND, &batch, &s.err) == LOADER_BATCH;
         loader_release(loader, batch)) {
        struct source_dropped one = s.source.table->dropped(batch);
        const int32_t *counts = batch->fields[batch_layout_find(batch->layout, "gt_count")];
        dropped.objects += one.objects;
        dropped.masks += one.masks;
        for (int i = 0; i < 4; i++) {
            objects += counts[i];
            wanted += s.set.pictures[batch->samples[i]].count;
        }
    }
    CU_ASSERT_EQUAL(dropped.objects, wanted - objects);
    CU_ASSERT(dropped.objects > 0 && dropped.masks > 0);
    scene_done(&s);
}

static void a_missing_picture_is_a_bad_sample(void) {
    struct scene s;
    char path[PATH_MAX];
    cleanup_bad_samples struct bad_samples faults = {0};
    scene_make(&s, shapes_folder(), false, 96, 4);
    CU_ASSERT_EQUAL_FATAL(bad_samples_init(&faults, s.set.count, &s.err), 0);
    CU_ASSERT_EQUAL(detection_set_path(&s.set, 2, path, sizeof(path), &s.err), 0);
    CU_ASSERT_EQUAL(remove(path), 0);
    for (int64_t allowed = 0; allowed < 2; allowed++) {
        cleanup_loader struct loader *loader = NULL;
        const struct loader_options options = {.source = &s.source,
                                               .sampler = s.sampler,
                                               .epochs = 3,
                                               .threads = 2,
                                               .depth = 2,
                                               .faults = &faults,
                                               .bad_allowed = allowed};
        CU_ASSERT_EQUAL_FATAL(loader_start(&options, &loader, &s.err), 0);
        enum loader_result result = LOADER_BATCH;
        int empty = 0;
        while (result == LOADER_BATCH) {
            const struct batch *batch = NULL;
            result = loader_next(loader, clock_now() + 60 * CLOCK_SECOND, &batch, &s.err);
            if (result != LOADER_BATCH)
                break;
            const int32_t *sizes = batch->fields[batch_layout_find(batch->layout, "image_size")];
            for (int i = 0; i < 4; i++) {
                int valid = sizes[i * IMAGE_SIZE_FIELDS + IMAGE_SIZE_VALID];
                CU_ASSERT_EQUAL(valid, batch->samples[i] != 2);
                empty += !valid;
            }
            loader_release(loader, batch);
        }
        CU_ASSERT_EQUAL(result, allowed == 0 ? LOADER_BAD : LOADER_END);
        CU_ASSERT_EQUAL(empty > 0, allowed == 1);
        if (allowed == 0)
            ASSERT_CONTAINS(s.err.text, path);
    }
    CU_ASSERT_EQUAL(bad_samples_count(&faults, BAD_SAMPLE_BAD), 1);
    scene_done(&s);
}

/* Networks for training and evaluation have one input, so the smaller set uses the larger one's
 * slots. */
static void slots_can_be_larger_than_the_set_needs(void) {
    struct scene s;
    scene_make(&s, shapes_folder(), false, 96, 4);
    const size_t needed = s.samples.image_bytes;
    CU_ASSERT_EQUAL(needed, detection_image_bytes(&s.set, &s.samples.recipe));
    s.samples.image_bytes = 2 * needed;
    CU_ASSERT_EQUAL_FATAL(detection_source(&s.source, &s.samples, 4, &s.err), 0);
    CU_ASSERT_EQUAL(s.samples.image_bytes, 2 * needed);
    CU_ASSERT_EQUAL(s.source.layout.fields[0].bytes, 4 * 2 * needed);
    read_all(&s, 0, 0, 1, 2, NULL);
    s.samples.image_bytes = 1;
    CU_ASSERT_EQUAL_FATAL(detection_source(&s.source, &s.samples, 4, &s.err), 0);
    CU_ASSERT_EQUAL(s.samples.image_bytes, needed);
    scene_done(&s);
}

static void sizes_that_cannot_be_are_refused(void) {
    struct scene s;
    scene_make(&s, shapes_folder(), false, 96, 4);
    struct detection_samples wrong[5];
    int batches[5] = {4, 4, 4, 4, 0};
    for (int i = 0; i < 5; i++)
        wrong[i] = s.samples;
    wrong[0].slots = 0;
    wrong[1].slots = DETECTION_SLOTS_MAX + 1;
    wrong[2].bits_of_picture = 0;
    wrong[3].recipe.sizes.short_side = 0;
    for (int i = 0; i < 5; i++) {
        struct error err = {0};
        CU_ASSERT_EQUAL(detection_source(&s.source, &wrong[i], batches[i], &err), -1);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_USAGE);
    }
    scene_done(&s);
}

UNIT_SUITE("detect.detection_source", UNIT(batches_are_the_same_for_any_threads_and_after_a_resume),
           UNIT(drawn_sizes_take_smaller_canvases),
           UNIT(batches_of_real_pictures_are_the_same_for_any_threads), UNIT(ranks_share_a_batch),
           UNIT(draws_are_the_same_on_any_number_of_ranks), UNIT(what_does_not_fit_is_counted),
           UNIT(slots_can_be_larger_than_the_set_needs), UNIT(sizes_that_cannot_be_are_refused),
           UNIT(a_missing_picture_is_a_bad_sample))

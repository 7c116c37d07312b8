/* The score of a network that finds objects, on the generated set of shapes: the loader's
 * batches, and outputs that are made of the truth itself, which scores 1. */
#include "tests/unit/trainer/app/task/detect_ask.h"

#include "common/clock.h"
#include "trainer/app/task/detect_data.h"
#include "trainer/app/task/score.h"
#include "trainer/app/task/tasks.h"
#include "trainer/data/coco/coco_results.h"
#include "trainer/data/codec/jpeg.h"
#include "trainer/data/dataset/loader.h"
#include "trainer/data/detect/detection_scores.h"
#include "trainer/math/image_size.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 28 };

/* What a perfect network would say of a batch. */
struct perfect {
    float box[BATCH * ROOM * 4], score[BATCH * ROOM], mask[BATCH * ROOM * SIDE * SIDE];
    int32_t label[BATCH * ROOM], count[BATCH], nan[BATCH];
};

static const struct {
    const char *name;
    size_t offset, bytes;
} OUTPUTS[] = {
    {"found_box", offsetof(struct perfect, box), sizeof(((struct perfect *)0)->box)},
    {"found_score", offsetof(struct perfect, score), sizeof(((struct perfect *)0)->score)},
    {"found_label", offsetof(struct perfect, label), sizeof(((struct perfect *)0)->label)},
    {"found_count", offsetof(struct perfect, count), sizeof(((struct perfect *)0)->count)},
    {"found_nan", offsetof(struct perfect, nan), sizeof(((struct perfect *)0)->nan)},
    {"found_mask", offsetof(struct perfect, mask), sizeof(((struct perfect *)0)->mask)},
};

static size_t output_bytes(void *user, const char *name) {
    (void)user;
    for (size_t i = 0; i < sizeof(OUTPUTS) / sizeof(OUTPUTS[0]); i++)
        if (strcmp(OUTPUTS[i].name, name) == 0)
            return OUTPUTS[i].bytes;
    return 0;
}

static int read_output(void *user, const char *name, void *ret_values, size_t bytes,
                       struct error *err) {
    for (size_t i = 0; i < sizeof(OUTPUTS) / sizeof(OUTPUTS[0]); i++)
        if (strcmp(OUTPUTS[i].name, name) == 0 && OUTPUTS[i].bytes == bytes) {
            memcpy(ret_values, (const char *)user + OUTPUTS[i].offset, bytes);
            return 0;
        }
    return error_set(err, EXIT_CODE_INTERNAL, "no output %s", name);
}

static const void *field(const struct batch *batch, const char *name) {
    return batch->fields[batch_layout_find(batch->layout, name)];
}

/* The logits of all masks of a batch's second picture, and which pictures these were. */
static float second_mask = 4;
static int64_t second[VALIDATION];
static size_t second_count;

/* Boxes and labels as the batch has them; whole boxes as masks. SHIFT moves all boxes. */
static void say(struct perfect *p, const struct batch *batch, float shift) {
    const float *box = field(batch, "gt_box");
    const int32_t *label = field(batch, "gt_label"), *count = field(batch, "gt_count");
    for (int i = 0; i < BATCH * ROOM; i++) {
        for (int k = 0; k < 4; k++)
            p->box[i * 4 + k] = box[i * 4 + k] + shift;
        p->label[i] = label[i];
        p->score[i] = 0.9F - 0.01F * (float)i;
    }
    for (int i = 0; i < BATCH * ROOM * SIDE * SIDE; i++)
        p->mask[i] = i < ROOM * SIDE * SIDE ? 4 : second_mask;
    memcpy(p->count, count, sizeof(p->count));
}

/* What pictures were handed over. */
struct shown {
    int64_t ids[VALIDATION];
    int count;
};

static int take(void *user, const struct task_picture *picture, struct error *err) {
    struct shown *shown = user;
    cleanup_image struct image back = {0};
    cleanup_jpeg_decoder struct jpeg_decoder decoder = {0};
    CU_ASSERT_EQUAL_FATAL(jpeg_decoder_init(&decoder, err), 0);
    CU_ASSERT_EQUAL(jpeg_open(&decoder, picture->bytes, picture->size, err), 0);
    CU_ASSERT(decoder.width == picture->width && decoder.height == picture->height);
    CU_ASSERT(picture->width == 2 * picture->height + 4); /* squares, side by side */
    CU_ASSERT_FATAL(shown->count < VALIDATION);
    shown->ids[shown->count++] = picture->id;
    return 0;
}

static int refuse(void *user, const struct task_picture *picture, struct error *err) {
    (void)user, (void)picture;
    return error_set(err, EXIT_CODE_CONFIG, "no room for it");
}

static struct shown show(struct score *score, size_t count, uint64_t seed) {
    struct shown shown = {.count = 0};
    const struct task_show how = {
        .count = count, .seed = seed, .least_score = 0.5, .take = take, .user = &shown};
    CU_ASSERT_EQUAL(score->data->task->score_show(score->own, &how, NULL), 0);
    return shown;
}

/* The file has what was scored; pictures hang on the seed alone. */
static void check_evaluation(struct score *score, const struct evaluation *e) {
    char path[PATH_MAX + 16];
    struct error err = {0};
    cleanup_coco_results struct coco_results back = {0};
    struct detection_scores scores;
    const struct detect_data *d = score->data->own;
    snprintf(path, sizeof(path), "%s/found.json", folder);
    CU_ASSERT_EQUAL_FATAL(score->data->task->score_write(score->own, path, &err), 0);
    CU_ASSERT_EQUAL_FATAL(coco_results_read(&back, path, &err), 0);
    CU_ASSERT(back.boxes && back.masks && back.count > 0);
    CU_ASSERT_EQUAL_FATAL(
        detection_scores(&d->validation.index, &back, 1, &scores, NULL, NULL, &err), 0);
    CU_ASSERT_DOUBLE_EQUAL(scores.box[0], e->figures[0].value, 0);
    CU_ASSERT_DOUBLE_EQUAL(scores.mask[0], e->figures[COCO_STATS].value, 0);

    struct shown one = show(score, 3, 1), again = show(score, 3, 1), other = show(score, 3, 2);
    CU_ASSERT(one.count == 3 && one.ids[0] < one.ids[1] && one.ids[1] < one.ids[2]);
    CU_ASSERT_EQUAL(memcmp(&one, &again, sizeof(one)), 0);
    CU_ASSERT_NOT_EQUAL(memcmp(&one, &other, sizeof(one)), 0);
    CU_ASSERT_EQUAL(show(score, 100, 1).count, VALIDATION);
    const struct task_show how = {.count = 3, .take = refuse};
    CU_ASSERT_EQUAL(score->data->task->score_show(score->own, &how, &err), -1);
    CU_ASSERT_STRING_EQUAL(err.text, "no room for it");
}

static void look_at_masks(struct score *score) {
    char path[PATH_MAX + 16];
    struct error err = {0};
    cleanup_coco_results struct coco_results back = {0};
    cleanup_coco_outline struct coco_outline outline = {0};
    cleanup_rle_scratch struct rle_scratch scratch = {0};
    cleanup_rle struct rle mask = {0};
    size_t empty = 0;
    snprintf(path, sizeof(path), "%s/found.json", folder);
    CU_ASSERT_EQUAL_FATAL(score->data->task->score_write(score->own, path, &err), 0);
    CU_ASSERT_EQUAL_FATAL(coco_results_read(&back, path, &err), 0);
    for (size_t i = 0; i < back.count; i++) {
        const struct coco_segment segment = coco_result_segment(&back, i);
        bool is_second = false;
        for (size_t k = 0; k < second_count; k++)
            is_second = is_second || second[k] == back.list[i].image_id;
        CU_ASSERT_EQUAL_FATAL(coco_segment_mask(&segment, &outline, &scratch, 0, 0, &mask, &err),
                              0); /* runs */
        CU_ASSERT_EQUAL(rle_area(&mask) == 0, is_second && second_mask < 0);
        empty += is_second;
    }
    CU_ASSERT(empty > 0 && empty < back.count);
}

static void score_shifted(float shift, struct evaluation *e) {
    struct task_request ask = ask_with(NULL, NULL);
    struct task_data data;
    struct score score;
    struct loader *loader = NULL;
    struct error err = {0};
    const struct batch *batch = NULL;
    CU_ASSERT_EQUAL_FATAL(task_open(&data, &ask, &err), 0);
    struct loader_options load = {.source = &data.validation.source,
                                  .sampler = {.count = data.validation.source.count,
                                              .ranks = 1,
                                              .batch = BATCH,
                                              .accumulate = 1,
                                              .groups = data.validation.groups},
                                  .epochs = 1,
                                  .threads = 2,
                                  .depth = 2};
    CU_ASSERT_EQUAL_FATAL(loader_start(&load, &loader, &err), 0);
    CU_ASSERT_EQUAL_FATAL(score_open(&score, &data, &err), 0);
    struct perfect *p = calloc(1, sizeof(*p));
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    struct task_outputs outputs = {.bytes = output_bytes, .read = read_output, .user = p};
    *e = (struct evaluation){0};
    second_count = 0;
    while (loader_next(loader, clock_now() + 60 * CLOCK_SECOND, &batch, &err) == LOADER_BATCH) {
        say(p, batch, shift);
        if (batch->count > 1) {
            const struct detect_data *d = data.own;
            const size_t sample = (size_t)batch->samples[1];
            CU_ASSERT_FATAL(second_count < VALIDATION);
            second[second_count++] =
                d->validation.index.images[d->validation.set.pictures[sample].image].id;
        }
        CU_ASSERT_EQUAL(score_batch(&score, batch, &outputs, &e->images, &err), 0);
        loader_release(loader, batch);
    }
    CU_ASSERT_EQUAL(score_end(&score, alone, e, &err), 0);
    if (second_mask < 0)
        look_at_masks(&score);
    else
        check_evaluation(&score, e);
    score_close(&score);
    loader_done(loader);
    task_close(&data);
    free(p);
}

static void the_truth_scores_one_and_what_lies_beside_it_nothing(void) {
    struct evaluation e;
    cleanup_buf struct buf text;
    score_shifted(0, &e);
    CU_ASSERT_EQUAL(e.images, VALIDATION);
    CU_ASSERT_EQUAL_FATAL(e.count, 24);
    CU_ASSERT_DOUBLE_EQUAL(evaluation_figure(&e, "bbox_mAP"), 1, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(evaluation_figure(&e, "bbox_AR100"), 1, 1e-9);
    /* Boxes are no shapes: their masks hit the squares alone. */
    CU_ASSERT(evaluation_figure(&e, "segm_AP50") > 0.3);
    CU_ASSERT(evaluation_figure(&e, "segm_mAP") < 0.9);
    buf_init(&text, 8192);
    CU_ASSERT_EQUAL(task_print(task_of(MODEL_DETECT), &text, 2, &e, NULL), 0);
    ASSERT_CONTAINS(buf_text(&text), "evaluation: epoch 2, 9 images\nbbox\n");
    ASSERT_CONTAINS(buf_text(&text), "\nsegm\n");
    CU_ASSERT(text.data[text.size - 1] != '\n');

    score_shifted(500, &e);
    CU_ASSERT_DOUBLE_EQUAL(evaluation_figure(&e, "bbox_mAP"), 0, 0);
    CU_ASSERT_DOUBLE_EQUAL(evaluation_figure(&e, "segm_mAP"), 0, 0);
}

static void masks_belong_to_their_pictures(void) {
    struct evaluation e;
    second_mask = -4;
    score_shifted(0, &e);
    second_mask = 4;
}

static void a_rank_without_pictures_scores_nothing(void) {
    struct task_request ask = ask_with(NULL, NULL);
    struct task_data data;
    struct score score;
    struct evaluation e = {0};
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(task_open(&data, &ask, &err), 0);
    CU_ASSERT_EQUAL_FATAL(score_open(&score, &data, &err), 0);
    CU_ASSERT_EQUAL_FATAL(score_end(&score, alone, &e, &err), 0);
    CU_ASSERT_EQUAL(e.count, COCO_STATS);
    CU_ASSERT_DOUBLE_EQUAL(evaluation_figure(&e, "bbox_mAP"), 0, 0);
    score_close(&score);
    task_close(&data);
}

int main(void) {
    static const struct unit_case cases[] = {
        UNIT(make_set),
        UNIT(the_truth_scores_one_and_what_lies_beside_it_nothing),
        UNIT(masks_belong_to_their_pictures),
        UNIT(a_rank_without_pictures_scores_nothing),
    };
    if (comm_self_open(&alone, NULL) != 0)
        return 1;
    int result = unit_main("app.detect", cases, sizeof(cases) / sizeof(cases[0]));
    comm_close(alone);
    return result;
}

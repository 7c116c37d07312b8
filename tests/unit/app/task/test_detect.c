/* Data and score of a network that finds objects, on the generated set of shapes: the loader's
 * batches, and outputs that are made of the truth itself, which scores 1. */
#include "task/task.h"

#include "coco/coco_results.h"
#include "codec/jpeg.h"
#include "common/clock.h"
#include "common/file.h"
#include "detect/detection_scores.h"
#include "kernels/image_size.h"
#include "set/loader.h"
#include "shapes/coco_shapes.h"
#include "support/unit.h"
#include "task/detect_data.h"
#include "task/score.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 2, ROOM = 8, SIDE = 28, TRAIN = 24, VALIDATION = 9 };

static const struct model_metric LIST[] = {
    [METRIC_LOSS] = {"loss", 0, METRIC_MEAN, true},
    [METRIC_SAMPLES] = {"images", 1, METRIC_SUM, true},
    {NULL, 0, METRIC_SUM, false},
};
static const struct model MODEL = {.name = "finder", .task = MODEL_DETECT, .metrics = LIST};

static struct options options;
static struct inputs inputs;
static struct comm *alone;
static char folder[PATH_MAX];

static void make_set(void) {
    struct prepare_options o;
    coco_shapes_defaults(&o);
    snprintf(folder, sizeof(folder), "%s/shapes", unit_temp_dir());
    o.folder = folder;
    o.train = TRAIN;
    o.validation = VALIDATION;
    o.seed = 5;
    CU_ASSERT_EQUAL_FATAL(coco_shapes_write(&o, NULL), 0);
}

/* A small training on the set, with one more flag. */
static struct task_ask ask_with(const char *flag, const char *value) {
    struct error err = {0};
    options = (struct options){.data = folder, .canvases = "auto", .bad_samples = "fail"};
    options.batch_size = BATCH;
    options.accumulate = 1;
    options.short_side = 96;
    options.long_side = 160;
    options.gt_slots = ROOM;
    options.flip = true;
    options.norm_epsilon = 1e-5;
    if (flag != NULL && strcmp(flag, "train-set") == 0)
        options.train_set = value;
    if (flag != NULL && strcmp(flag, "canvases") == 0)
        options.canvases = value;
    CU_ASSERT_EQUAL_FATAL(
        inputs_find(&inputs, &options, COMMAND_TRAIN, MODEL_DETECT, "/nowhere", &err), 0);
    return (struct task_ask){
        .options = &options, .inputs = &inputs, .comm = alone, .model = &MODEL};
}

static void the_sets_of_a_folder_are_opened_by_their_names(void) {
    struct task_ask ask = ask_with(NULL, NULL);
    struct task_data data;
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(task_open(&data, &ask, &err), 0);
    CU_ASSERT(data.training.source.count > TRAIN / 2 && data.training.source.count <= TRAIN);
    CU_ASSERT_EQUAL(data.validation.source.count, VALIDATION);
    CU_ASSERT_EQUAL(data.classes, 3);
    CU_ASSERT(data.class_names[0][0] != '\0');
    CU_ASSERT(data.training.canvas_count >= 1);
    CU_ASSERT_EQUAL(data.training.canvas_count, data.training.groups.count);
    size_t sum = 0;
    for (int g = 0; g < data.training.groups.count; g++) {
        sum += data.training.groups.sizes[g];
        CU_ASSERT(data.training.canvases[g].height % 32 == 0);
    }
    CU_ASSERT_EQUAL(sum, data.training.source.count);
    CU_ASSERT(batch_layout_find(&data.training.source.layout, "gt_box") >= 0);
    /* One network takes both. */
    const struct batch_layout *a = &data.training.source.layout;
    const struct batch_layout *b = &data.validation.source.layout;
    CU_ASSERT_EQUAL_FATAL(a->count, b->count);
    for (int i = 0; i < a->count; i++)
        CU_ASSERT_EQUAL(a->fields[i].bytes, b->fields[i].bytes);
    CU_ASSERT_EQUAL(a->fields[batch_layout_find(a, "image")].bytes,
                    (size_t)data.objects.image_bytes * BATCH);
    task_close(&data);
}

/* A network has one input for the pictures of both. */
static void sets_with_pictures_of_other_sizes_have_one_layout(void) {
    static char large[PATH_MAX];
    struct prepare_options o;
    struct task_ask ask = ask_with(NULL, NULL);
    struct task_data data;
    struct error err = {0};
    coco_shapes_defaults(&o);
    snprintf(large, sizeof(large), "%s/large", unit_temp_dir());
    o.folder = large;
    o.train = 1;
    o.validation = VALIDATION;
    o.side = 160;
    CU_ASSERT_EQUAL_FATAL(coco_shapes_write(&o, NULL), 0);
    snprintf(inputs.validation, sizeof(inputs.validation), "%s", large);
    CU_ASSERT_EQUAL_FATAL(task_open(&data, &ask, &err), 0);
    const struct batch_layout *one = &data.training.source.layout;
    const struct batch_layout *other = &data.validation.source.layout;
    int image = batch_layout_find(one, "image");
    CU_ASSERT(one->fields[image].bytes >= (size_t)BATCH * 160 * 160 * 3);
    CU_ASSERT_EQUAL(one->fields[image].bytes, other->fields[image].bytes);
    CU_ASSERT_EQUAL(one->fields[image].bytes, BATCH * (size_t)data.objects.image_bytes);
    task_close(&data);
}

/* Canvases are those of what is trained on, unless a picture that is scored fits on none of them.
 */
static void a_picture_that_is_scored_has_a_canvas_too(void) {
    static const char json[] =
        "{\"images\":[{\"id\":1,\"file_name\":\"wide.jpg\",\"width\":300,\"height\":100}],"
        "\"annotations\":[{\"id\":1,\"image_id\":1,\"category_id\":3,\"bbox\":[1,1,20,20],"
        "\"area\":400,\"iscrowd\":0}],\"categories\":[{\"id\":3,\"name\":\"circle\"},"
        "{\"id\":17,\"name\":\"square\"},{\"id\":90,\"name\":\"triangle\"}]}";
    static char wide[PATH_MAX / 2];
    char path[PATH_MAX];
    struct task_ask ask = ask_with(NULL, NULL);
    struct task_data data;
    struct error err = {0};
    int32_t widest = 0;
    snprintf(wide, sizeof(wide), "%s/wide", unit_temp_dir());
    snprintf(path, sizeof(path), "%s/val", wide);
    CU_ASSERT_EQUAL_FATAL(file_make_dirs(path, &err), 0);
    snprintf(path, sizeof(path), "%s/annotations", wide);
    CU_ASSERT_EQUAL_FATAL(file_make_dirs(path, &err), 0);
    snprintf(path, sizeof(path), "%s/annotations/instances_val.json", wide);
    CU_ASSERT_EQUAL_FATAL(file_publish(path, json, strlen(json), 0644, &err), 0);
    snprintf(inputs.validation, sizeof(inputs.validation), "%s", wide);
    CU_ASSERT_EQUAL_FATAL(task_open(&data, &ask, &err), 0);
    CU_ASSERT_EQUAL(data.validation.source.count, 1);
    for (int g = 0; g < data.validation.canvas_count; g++)
        if (data.validation.canvases[g].width > widest)
            widest = data.validation.canvases[g].width;
    CU_ASSERT(widest >= 160); /* 300 x 100 on sides of 96 and at most 160 */
    task_close(&data);
}

static void a_set_that_is_not_there_is_told_with_those_that_are(void) {
    struct task_ask ask = ask_with("train-set", "train2017");
    struct task_data data;
    struct error err = {0};
    CU_ASSERT_EQUAL(task_open(&data, &ask, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    ASSERT_CONTAINS(err.text, "no set 'train2017' (--train-set); there are train, val");
    task_close(&data);
    ask = ask_with("train-set", "val"); /* named, it may be any */
    CU_ASSERT_EQUAL(task_open(&data, &ask, &err), 0);
    task_close(&data);
    ask = ask_with("canvases", "64x64");
    CU_ASSERT_EQUAL(task_open(&data, &ask, &err), -1);
    task_close(&data);
}

/* The model says how pictures are scaled, and which categories its labels are. */
static void a_trained_model_is_scored_as_it_was_trained(void) {
    struct task_ask ask = ask_with(NULL, NULL);
    struct task_data data, again;
    struct model_config config = {0}, back = {0};
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(task_open(&data, &ask, &err), 0);
    data.task->describe(&data, &ask, &config);
    CU_ASSERT_STRING_EQUAL(config.preset, "tv");
    CU_ASSERT(config.short_side == 96 && config.long_side == 160 && config.classes == 3);
    CU_ASSERT_EQUAL(data.objects.slots, ROOM);
    CU_ASSERT(data.objects.image_bytes > 0 && !data.objects.frozen_norms);

    ask.trained = &config;
    options.short_side = 800; /* not asked for */
    CU_ASSERT_EQUAL_FATAL(task_open(&again, &ask, &err), 0);
    again.task->describe(&again, &ask, &back);
    CU_ASSERT(back.short_side == 96 && back.long_side == 160);
    CU_ASSERT_EQUAL(again.training.source.count, 0);
    CU_ASSERT_EQUAL(again.validation.source.count, VALIDATION);
    task_close(&again);

    int64_t id = config.category_ids[1];
    config.category_ids[1] = 77;
    CU_ASSERT_EQUAL(task_open(&again, &ask, &err), -1);
    ASSERT_CONTAINS(err.text, "label 2 is category ");
    task_close(&again);
    config.category_ids[1] = id;
    config.classes = 2;
    CU_ASSERT_EQUAL(task_open(&again, &ask, &err), -1);
    ASSERT_CONTAINS(err.text, "3 categories, the model 2");
    task_close(&again);
    config.classes = 3;
    config.preset = (char[]){"none"};
    CU_ASSERT_EQUAL(task_open(&again, &ask, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    task_close(&again);
    task_close(&data);
}

/* Every place of a batch is computed: a set that is scored has no more than it fills. A training
 * keeps what it is told. */
static void what_is_scored_takes_no_more_places_than_it_fills(void) {
    struct task_ask ask = ask_with(NULL, NULL);
    struct task_data data, again;
    struct model_config config = {0};
    struct error err = {0};
    options.batch_size = 16;
    CU_ASSERT_EQUAL_FATAL(task_open(&data, &ask, &err), 0);
    CU_ASSERT_EQUAL(data.training.source.batch, 16);
    CU_ASSERT_EQUAL(data.validation.source.batch, 16);
    data.task->describe(&data, &ask, &config);
    ask.trained = &config;
    CU_ASSERT_EQUAL_FATAL(task_open(&again, &ask, &err), 0);
    CU_ASSERT_EQUAL(again.validation.source.batch, VALIDATION);
    const struct batch_layout *layout = &again.validation.source.layout;
    CU_ASSERT_EQUAL(layout->fields[batch_layout_find(layout, "mask_bits")].bytes,
                    (size_t)again.objects.mask_bytes);
    task_close(&again);
    options.batch_size = 4;
    CU_ASSERT_EQUAL_FATAL(task_open(&again, &ask, &err), 0);
    CU_ASSERT_EQUAL(again.validation.source.batch, 4);
    task_close(&again);

    cleanup_picture_list struct picture_list one = {0};
    const struct detect_data *d = data.own;
    char path[PATH_MAX];
    CU_ASSERT_EQUAL_FATAL(detection_set_path(&d->validation.set, 0, path, sizeof(path), &err), 0);
    CU_ASSERT_EQUAL_FATAL(picture_list_add(&one, path, &err), 0);
    ask.pictures = &one;
    CU_ASSERT_EQUAL_FATAL(task_open(&again, &ask, &err), 0);
    CU_ASSERT_EQUAL(again.validation.source.batch, 1);
    task_close(&again);
    task_close(&data);
}

static double rule_of(const struct model_config *config, const char *name) {
    for (size_t i = 0; i < config->rule_count; i++)
        if (strcmp(config->rules[i].name, name) == 0)
            return config->rules[i].value;
    return -1;
}

/* As it says itself, however the flag stands now; a description of earlier versions says nothing,
 * and the preset's rules count. */
static void a_trained_model_is_used_by_its_own_rules(void) {
    struct task_ask ask = ask_with(NULL, NULL);
    struct task_data data, again;
    struct model_config config = {0};
    struct error err = {0};
    options.norm_epsilon = 0;
    CU_ASSERT_EQUAL_FATAL(task_open(&data, &ask, &err), 0);
    data.task->describe(&data, &ask, &config);
    CU_ASSERT_EQUAL(config.rule_count, DETECT_RULES);
    CU_ASSERT_EQUAL(rule_of(&config, "norm_epsilon"), 0);
    CU_ASSERT_EQUAL(rule_of(&config, "box_score_thresh"), 0.05);
    CU_ASSERT_EQUAL(data.objects.rules->value[RULE_NORM_EPSILON], 0);

    ask.trained = &config;
    options.norm_epsilon = 0.5; /* not asked for */
    config.rules[RULE_DETECTIONS].value = 9;
    CU_ASSERT_EQUAL_FATAL(task_open(&again, &ask, &err), 0);
    CU_ASSERT_EQUAL(again.objects.rules->value[RULE_NORM_EPSILON], 0);
    CU_ASSERT_EQUAL(again.objects.rules->value[RULE_DETECTIONS], 9);
    task_close(&again);

    config.rules[RULE_DETECTIONS].value = 0;
    CU_ASSERT_EQUAL(task_open(&again, &ask, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    ASSERT_CONTAINS(err.text, "config.json: \"rules\": box_detections_per_img: 0 is not");
    task_close(&again);

    config.rule_count = 0;
    CU_ASSERT_EQUAL_FATAL(task_open(&again, &ask, &err), 0);
    CU_ASSERT_EQUAL(again.objects.rules->value[RULE_NORM_EPSILON], 1e-5);
    CU_ASSERT_EQUAL(again.objects.rules->value[RULE_DETECTIONS], 100);
    task_close(&again);
    task_close(&data);
}

/* What a perfect network would say of a batch. */
struct perfect {
    float box[BATCH * ROOM * 4], score[BATCH * ROOM], mask[BATCH * ROOM * SIDE * SIDE];
    int32_t label[BATCH * ROOM], count[BATCH];
};

static const struct {
    const char *name;
    size_t offset, bytes;
} OUTPUTS[] = {
    {"found_box", offsetof(struct perfect, box), sizeof(((struct perfect *)0)->box)},
    {"found_score", offsetof(struct perfect, score), sizeof(((struct perfect *)0)->score)},
    {"found_label", offsetof(struct perfect, label), sizeof(((struct perfect *)0)->label)},
    {"found_count", offsetof(struct perfect, count), sizeof(((struct perfect *)0)->count)},
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

static struct shown show(struct score *score, size_t count, uint64_t seed) {
    struct shown shown = {.count = 0};
    const struct task_show how = {
        .count = count, .seed = seed, .least_score = 0.5, .take = take, .user = &shown};
    CU_ASSERT_EQUAL(score->data->task->score_show(score->own, &how, NULL), 0);
    return shown;
}

/* The file has what was scored; pictures hang on the seed alone. */
static void look_at_findings(struct score *score, const struct evaluation *e) {
    char path[PATH_MAX + 16];
    struct error err = {0};
    cleanup_coco_results struct coco_results back = {0};
    struct detection_scores scores;
    const struct detect_data *d = score->data->own;
    snprintf(path, sizeof(path), "%s/found.json", folder);
    CU_ASSERT_EQUAL_FATAL(score->data->task->score_write(score->own, path, &err), 0);
    CU_ASSERT_EQUAL_FATAL(coco_results_read(&back, path, &err), 0);
    CU_ASSERT(back.boxes && back.masks && back.count > 0);
    CU_ASSERT_EQUAL_FATAL(detection_scores(&d->validation.index, &back, 1, &scores, &err), 0);
    CU_ASSERT_DOUBLE_EQUAL(scores.box[0], e->figures[0].value, 0);
    CU_ASSERT_DOUBLE_EQUAL(scores.mask[0], e->figures[COCO_STATS].value, 0);

    struct shown one = show(score, 3, 1), again = show(score, 3, 1), other = show(score, 3, 2);
    CU_ASSERT(one.count == 3 && one.ids[0] < one.ids[1] && one.ids[1] < one.ids[2]);
    CU_ASSERT_EQUAL(memcmp(&one, &again, sizeof(one)), 0);
    CU_ASSERT_NOT_EQUAL(memcmp(&one, &other, sizeof(one)), 0);
    CU_ASSERT_EQUAL(show(score, 100, 1).count, VALIDATION);
}

static void look_at_masks(struct score *score) {
    char path[PATH_MAX + 16];
    struct error err = {0};
    cleanup_coco_results struct coco_results back = {0};
    cleanup_coco_outline struct coco_outline outline = {0};
    cleanup_rle_brush struct rle_brush brush = {0};
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
        CU_ASSERT_EQUAL_FATAL(coco_segment_mask(&segment, &outline, &brush, 0, 0, &mask, &err),
                              0); /* runs */
        CU_ASSERT_EQUAL(rle_area(&mask) == 0, is_second && second_mask < 0);
        empty += is_second;
    }
    CU_ASSERT(empty > 0 && empty < back.count);
}

static void score_shifted(float shift, struct evaluation *e) {
    struct task_ask ask = ask_with(NULL, NULL);
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
        look_at_findings(&score, e);
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
    struct task_ask ask = ask_with(NULL, NULL);
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
        UNIT(the_sets_of_a_folder_are_opened_by_their_names),
        UNIT(sets_with_pictures_of_other_sizes_have_one_layout),
        UNIT(a_picture_that_is_scored_has_a_canvas_too),
        UNIT(a_set_that_is_not_there_is_told_with_those_that_are),
        UNIT(a_trained_model_is_scored_as_it_was_trained),
        UNIT(what_is_scored_takes_no_more_places_than_it_fills),
        UNIT(a_trained_model_is_used_by_its_own_rules),
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

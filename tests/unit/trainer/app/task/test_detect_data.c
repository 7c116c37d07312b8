/* The data of a network that finds objects: the generated set of shapes, and sets made for single
 * cases. */
#include "tests/unit/trainer/app/task/detect_ask.h"

#include "common/file/file.h"
#include "common/log/log.h"
#include "trainer/app/task/detect_data.h"
#include "trainer/app/task/tasks.h"
#include "trainer/checkpoint/safetensors.h"
#include "trainer/data/detect/detection_outline.h"

static void the_sets_of_a_folder_are_opened_by_their_names(void) {
    struct task_request ask = ask_with(NULL, NULL);
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
    /* Both sets fit the same network. */
    const struct batch_layout *a = &data.training.source.layout;
    const struct batch_layout *b = &data.validation.source.layout;
    CU_ASSERT_EQUAL_FATAL(a->count, b->count);
    for (int i = 0; i < a->count; i++)
        CU_ASSERT_EQUAL(a->fields[i].bytes, b->fields[i].bytes);
    CU_ASSERT_EQUAL(a->fields[batch_layout_find(a, "image")].bytes,
                    (size_t)data.objects.image_bytes * BATCH);
    task_close(&data);
}

/* A network has a single input for the pictures of both sets. */
static void sets_with_pictures_of_other_sizes_have_one_layout(void) {
    static char large[PATH_MAX];
    struct prepare_options o;
    struct task_request ask = ask_with(NULL, NULL);
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

/* Canvases are those of the training pictures, unless a picture to score fits on none of them. */
static void a_picture_that_is_scored_has_a_canvas_too(void) {
    static const char json[] =
        "{\"images\":[{\"id\":1,\"file_name\":\"wide.jpg\",\"width\":300,\"height\":100}],"
        "\"annotations\":[{\"id\":1,\"image_id\":1,\"category_id\":3,\"bbox\":[1,1,20,20],"
        "\"area\":400,\"iscrowd\":0,\"segmentation\":[[1,1,21,1,21,21,1,21]]}],\"categories\":[{"
        "\"id\":3,\"name\":\"circle\"},"
        "{\"id\":17,\"name\":\"square\"},{\"id\":90,\"name\":\"triangle\"}]}";
    static char wide[PATH_MAX / 2];
    char path[PATH_MAX];
    struct task_request ask = ask_with(NULL, NULL);
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
    CU_ASSERT_EQUAL(task_open(&data, &ask, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    ASSERT_CONTAINS(err.text, "/val/wide.jpg: No such file or directory (1 such files");
    task_close(&data);
    snprintf(path, sizeof(path), "%s/val/wide.jpg", wide);
    CU_ASSERT_EQUAL_FATAL(file_publish(path, "x", 1, 0644, &err), 0);
    CU_ASSERT_EQUAL_FATAL(task_open(&data, &ask, &err), 0);
    CU_ASSERT_EQUAL(data.validation.source.count, 1);
    for (int g = 0; g < data.validation.canvas_count; g++)
        if (data.validation.canvases[g].width > widest)
            widest = data.validation.canvases[g].width;
    CU_ASSERT(widest >= 160); /* 300 x 100 is scaled to a long side of 160 */
    for (int g = 0; g < data.training.groups.count; g++) /* a group is empty or fills a batch */
        CU_ASSERT(data.training.groups.sizes[g] == 0 || data.training.groups.sizes[g] >= BATCH);
    task_close(&data);
}

static void a_set_that_is_not_there_is_reported_with_those_that_are(void) {
    struct task_request ask = ask_with("train-set", "train2017");
    struct task_data data;
    struct error err = {0};
    CU_ASSERT_EQUAL(task_open(&data, &ask, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    ASSERT_CONTAINS(err.text, "no set 'train2017' (--train-set); there are train, val");
    task_close(&data);
    ask = ask_with("train-set", "val"); /* any set can be named */
    CU_ASSERT_EQUAL(task_open(&data, &ask, &err), 0);
    task_close(&data);
    ask = ask_with("canvases", "64x64");
    CU_ASSERT_EQUAL(task_open(&data, &ask, &err), -1);
    task_close(&data);
}

/* The model determines how pictures are scaled and which categories its labels stand for. */
static void a_trained_model_is_scored_as_it_was_trained(void) {
    struct task_request ask = ask_with(NULL, NULL);
    struct task_data data, again;
    struct model_config config = {0}, back = {0};
    struct error err = {0};
    options.anchor_samples = 32;
    options.region_samples = 48;
    CU_ASSERT_EQUAL_FATAL(task_open(&data, &ask, &err), 0);
    CU_ASSERT(data.objects.anchor_samples == 32 && data.objects.region_samples == 48);
    data.task->describe(&data, &ask, &config);
    CU_ASSERT_STRING_EQUAL(config.preset, "tv");
    CU_ASSERT(config.short_side == 96 && config.long_side == 160 && config.classes == 3);
    CU_ASSERT_EQUAL(data.objects.slots, ROOM);
    CU_ASSERT(data.objects.image_bytes > 0 && !data.objects.frozen_norms);

    ask.trained = &config;
    options.short_side = 800; /* not set by the user */
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
    ASSERT_CONTAINS(err.text, "3 categories, but the model has 2");
    task_close(&again);
    config.classes = 3;
    config.preset = (char[]){"none"};
    CU_ASSERT_EQUAL(task_open(&again, &ask, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    task_close(&again);
    task_close(&data);
}

static double rule_of(const struct model_config *config, const char *name) {
    for (size_t i = 0; i < config->rule_count; i++)
        if (strcmp(config->rules[i].name, name) == 0)
            return config->rules[i].value;
    return -1;
}

/* The model's own rules apply, whatever the flags are now; a description by an earlier version has
 * no rules, so those of the preset apply. */
static void a_trained_model_is_used_by_its_own_rules(void) {
    struct task_request ask = ask_with(NULL, NULL);
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
    options.norm_epsilon = 0.5; /* not set by the user */
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

/* Creates a set in the folder NAME that consists of annotations only: no picture is opened here. */
static void say_set(const char *name, const char *json) {
    static char at[PATH_MAX / 2];
    char path[PATH_MAX];
    struct error err = {0};
    snprintf(at, sizeof(at), "%s/%s", unit_temp_dir(), name);
    static const char *const folders[] = {"train", "val", "annotations"};
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof(path), "%s/%s", at, folders[i]);
        CU_ASSERT_EQUAL_FATAL(file_make_dirs(path, &err), 0);
    }
    snprintf(path, sizeof(path), "%s/annotations/instances_train.json", at);
    CU_ASSERT_EQUAL_FATAL(file_publish(path, json, strlen(json), 0644, &err), 0);
    snprintf(inputs.training, sizeof(inputs.training), "%s", at);
    inputs.scored = false;
}

/* A request for a set with COUNT objects, each as large as its picture of SIDE x SIDE. */
static struct task_request ask_large(struct buf *json, const char *name, int side, int count) {
    struct task_request ask = ask_with(NULL, NULL);
    struct error err = {0};
    buf_init(json, 1 << 20);
    CU_ASSERT_EQUAL_FATAL(buf_printf(json, &err,
                                     "{\"images\":[{\"id\":1,\"file_name\":\"a.jpg\",\"width\":%d,"
                                     "\"height\":%d}],\"categories\":[{\"id\":3,\"name\":"
                                     "\"circle\"}],\"annotations\":[",
                                     side, side),
                          0);
    for (int i = 1; i <= count; i++)
        CU_ASSERT_EQUAL_FATAL(
            buf_printf(json, &err,
                       "%s{\"id\":%d,\"image_id\":1,\"category_id\":3,\"bbox\":[0,0,%d,%d],"
                       "\"area\":9,\"iscrowd\":0,\"segmentation\":[[0,0,%d,0,%d,%d,0,%d]]}",
                       i > 1 ? "," : "", i, side, side, side, side, side, side),
            0);
    CU_ASSERT_EQUAL_FATAL(buf_add_text(json, "]}", &err), 0);
    say_set(name, buf_text(json));
    options.batch_size = 1;
    options.gt_slots = 256;
    return ask;
}

static int64_t mask_bytes_of(const struct task_request *ask) {
    struct task_data data;
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(task_open(&data, ask, &err), 0);
    const struct batch_layout *layout = &data.training.source.layout;
    int64_t bytes = (int64_t)layout->fields[batch_layout_find(layout, "mask_bits")].bytes;
    CU_ASSERT_EQUAL(data.objects.mask_bytes, bytes);
    task_close(&data);
    return bytes;
}

/* There is room for the masks of the picture with the largest ones, up to a ceiling. */
static void masks_of_large_objects_have_room(void) {
    cleanup_buf struct buf json = {0};
    struct task_request ask = ask_large(&json, "large0", 1200, 40);
    const int64_t wanted = (int64_t)40 * (1200 / 8) * 1200;
    int64_t bytes = mask_bytes_of(&ask);
    CU_ASSERT(bytes >= wanted && bytes < wanted + 64);
    options.gt_slots = 10;
    bytes = mask_bytes_of(&ask);
    CU_ASSERT(bytes >= wanted / 4 && bytes < wanted / 4 + 64);
    /* Masks that the host scales are smaller, and objects drawn from outlines have none. */
    options.gt_slots = 40;
    options.preset = OPTION_PRESET_MLPERF;
    CU_ASSERT_EQUAL(mask_bytes_of(&ask), DETECTION_BITS_DEFAULT);
    buf_done(&json);
    ask = ask_large(&json, "large1", 1600, 40);
    CU_ASSERT_EQUAL(mask_bytes_of(&ask), DETECTION_BITS_DEFAULT);
    buf_done(&json);
    ask = ask_large(&json, "large2", 1200, 200); /* 34 MiB */
    CU_ASSERT_EQUAL(mask_bytes_of(&ask), DETECTION_BITS_PICTURE_MAX);
}

/* Writes a weights file whose predictor has ROWS rows. */
static void write_predictor(const char *path, int64_t rows) {
    static float values[128 * 4];
    struct error err = {0};
    const struct array array = {.name = "model.roi_heads.box_predictor.cls_score.weight",
                                .type = ARRAY_F32,
                                .rank = 2,
                                .shape = {rows, 4},
                                .data = values};
    CU_ASSERT_EQUAL_FATAL(safetensors_write(path, &array, 1, NULL, 0, &err), 0);
}

/* If the weights have a row for each id, labels are ids, also for users of the model. The
 * categories are 3, 17 and 90. */
static void labels_are_ids_where_the_weights_have_them_so(void) {
    char path[PATH_MAX];
    struct task_data data, again;
    struct error err = {0};
    snprintf(path, sizeof(path), "%s/coco_v1.safetensors", unit_temp_dir());
    for (int64_t rows = 90; rows <= 92; rows++) {
        struct task_request ask = ask_with(NULL, NULL);
        const bool ids = rows == 91;
        write_predictor(path, rows);
        options.init = path;
        options.frozen_stages = -1;
        CU_ASSERT_EQUAL_FATAL(task_open(&data, &ask, &err), 0);
        CU_ASSERT_EQUAL(data.classes, ids ? 90 : 3);
        const struct detect_data *d = data.own;
        const struct detection_set *set = &d->training.set;
        for (size_t i = 0; i < set->object_count; i++) {
            const struct coco_annotation *a = &set->index->annotations[set->objects[i].annotation];
            const int64_t id = set->index->categories[a->category].id;
            CU_ASSERT_EQUAL(set->objects[i].label, ids ? id : (int64_t)a->category + 1);
            CU_ASSERT_EQUAL(d->category_ids[set->objects[i].label - 1], id);
        }
        if (ids) {
            struct model_config config = {0};
            CU_ASSERT(d->category_ids[0] == -1 && d->category_ids[89] == 90);
            data.task->describe(&data, &ask, &config);
            ask.trained = &config;
            options.init = NULL;
            CU_ASSERT_EQUAL_FATAL(task_open(&again, &ask, &err), 0);
            CU_ASSERT(((struct detect_data *)again.own)->id_labels && again.classes == 90);
            task_close(&again);
            cleanup_picture_list struct picture_list one = {0};
            char picture[PATH_MAX];
            CU_ASSERT_EQUAL_FATAL(
                detection_set_path(&d->validation.set, 0, picture, sizeof(picture), &err), 0);
            CU_ASSERT_EQUAL_FATAL(picture_list_add(&one, picture, &err), 0);
            ask.pictures = &one;
            CU_ASSERT_EQUAL_FATAL(task_open(&again, &ask, &err), 0);
            CU_ASSERT_EQUAL(again.classes, 90);
            CU_ASSERT_EQUAL(((struct detect_data *)again.own)->given.index.category_count, 3);
            task_close(&again);
        }
        task_close(&data);
    }
}

static char heard[8192]; /* what was logged */

static void hear(void *context, const char *line, size_t size) {
    (void)context;
    size_t used = strlen(heard);
    snprintf(heard + used, sizeof(heard) - used, "%.*s", (int)size, line);
}

/* Only objects of the training set are reported: a set for scoring has no slots. */
static void objects_beyond_the_slots_are_reported(void) {
    struct task_request ask = ask_with(NULL, NULL);
    struct task_data data;
    struct error err = {0};
    options.gt_slots = 1;
    heard[0] = '\0';
    CU_ASSERT_EQUAL_FATAL(task_open(&data, &ask, &err), 0);
    ASSERT_CONTAINS(heard, " with more than 1 objects (at most ");
    const char *told = strstr(heard, " with more than 1 objects");
    CU_ASSERT(told != NULL && strstr(told + 1, " with more than 1 objects") == NULL);
    ASSERT_CONTAINS(heard, "instances_train.json: ");
    CU_ASSERT_PTR_NULL(strstr(heard, "instances_val.json: "));
    task_close(&data);
}

/* What a network for a described device needs to know about data that is not available. */
static void data_that_nobody_has_is_like_cocos(void) {
    static const char *const names[] = {"tv", "d2", "mlperf"};
    for (int preset = OPTION_PRESET_TV; preset <= OPTION_PRESET_MLPERF; preset++) {
        const bool outlines = preset != OPTION_PRESET_TV;
        const struct options o = {.preset = preset,
                                  .batch_size = 3,
                                  .gt_slots = 70,
                                  .anchor_samples = 32,
                                  .region_samples = 48};
        struct model_objects objects;
        detect_objects_unseen(&objects, &o);
        CU_ASSERT_STRING_EQUAL(objects.preset, names[preset]);
        CU_ASSERT(objects.anchor_samples == 32 && objects.region_samples == 48);
        CU_ASSERT_EQUAL(objects.slots, 70);
        CU_ASSERT_EQUAL(objects.image_bytes, (int64_t)640 * 640 * 3);
        CU_ASSERT_EQUAL(objects.mask_bytes, 3 * (int64_t)DETECTION_BITS_DEFAULT);
        CU_ASSERT_EQUAL(objects.polygons, outlines ? DETECTION_POLYGONS_MAX : 0);
        CU_ASSERT_EQUAL(objects.points, outlines ? DETECTION_POINTS_MAX : 0);
        CU_ASSERT(objects.frozen_norms && objects.frozen_stages == 2);
    }
}

/* Returns how many different short sides are drawn for the first picture in many epochs. */
static int sides_drawn(const struct detect_part *part) {
    bool seen[512] = {false};
    int count = 0;
    for (uint32_t epoch = 0; epoch < 200; epoch++) {
        const struct detect_size size =
            detection_draw(&part->samples.recipe, detection_picture_size(&part->set.pictures[0]),
                           epoch, 0)
                .scaled;
        const int side = size.height < size.width ? size.height : size.width;
        CU_ASSERT_FATAL(side > 0 && side < 512);
        count += !seen[side];
        seen[side] = true;
    }
    return count;
}

/* One picture has an object with an outline, the other has only a crowd. */
static void a_preset_says_how_data_becomes_samples(void) {
    static const char json[] =
        "{\"images\":[{\"id\":1,\"file_name\":\"a.jpg\",\"width\":300,\"height\":300},"
        "{\"id\":2,\"file_name\":\"b.jpg\",\"width\":300,\"height\":300}],\"annotations\":["
        "{\"id\":1,\"image_id\":1,\"category_id\":3,\"bbox\":[10,10,20,30],\"area\":600,"
        "\"iscrowd\":0,\"segmentation\":[[10,10,30,10,30,40,10,40]]},"
        "{\"id\":2,\"image_id\":2,\"category_id\":3,\"bbox\":[1,1,20,20],\"area\":400,"
        "\"iscrowd\":1,\"segmentation\":{\"size\":[300,300],\"counts\":[0,90000]}}],"
        "\"categories\":[{\"id\":3,\"name\":\"circle\"}]}";
    static const struct {
        int preset;
        enum detect_size_rule rule;
        enum mask_paste_rule paste;
        size_t pictures;
        bool host_scale, outlines, last_pixel;
        int sides;
        float right; /* edge of the object's box */
    } rows[] = {
        {OPTION_PRESET_TV, DETECT_SIZE_TV, MASK_PASTE_TV, 2, false, false, false, 1, 30},
        {OPTION_PRESET_D2, DETECT_SIZE_D2, MASK_PASTE_D2, 1, true, true, false, 6, 30},
        {OPTION_PRESET_MLPERF, DETECT_SIZE_MB, MASK_PASTE_TV, 2, false, true, true, 1, 29},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct task_request ask = ask_with(NULL, NULL);
        struct task_data data;
        struct error err = {0};
        char name[16];
        snprintf(name, sizeof(name), "preset%zu", i);
        say_set(name, json);
        options.preset = rows[i].preset;
        options.batch_size = 1;
        CU_ASSERT_EQUAL_FATAL(task_open(&data, &ask, &err), 0);
        const struct detect_data *d = data.own;
        const struct detection_samples *samples = &d->training.samples;
        CU_ASSERT_EQUAL(samples->recipe.sizes.rule, rows[i].rule);
        CU_ASSERT_EQUAL(detect_paste(d), rows[i].paste);
        CU_ASSERT_EQUAL(d->training.set.count, rows[i].pictures);
        CU_ASSERT_EQUAL(samples->recipe.host_scale, rows[i].host_scale);
        CU_ASSERT_EQUAL(samples->polygons > 0 && samples->points >= 4, rows[i].outlines);
        CU_ASSERT_EQUAL(data.objects.polygons > 0, rows[i].outlines);
        CU_ASSERT_EQUAL(detect_last_pixel(d), rows[i].last_pixel);
        CU_ASSERT_DOUBLE_EQUAL((double)d->training.set.objects[0].box[2], (double)rows[i].right, 0);
        CU_ASSERT_EQUAL(sides_drawn(&d->training), rows[i].sides);
        task_close(&data);
    }
}

int main(void) {
    static const struct unit_case cases[] = {
        UNIT(make_set),
        UNIT(the_sets_of_a_folder_are_opened_by_their_names),
        UNIT(sets_with_pictures_of_other_sizes_have_one_layout),
        UNIT(a_picture_that_is_scored_has_a_canvas_too),
        UNIT(a_set_that_is_not_there_is_reported_with_those_that_are),
        UNIT(a_trained_model_is_scored_as_it_was_trained),
        UNIT(a_trained_model_is_used_by_its_own_rules),
        UNIT(masks_of_large_objects_have_room),
        UNIT(labels_are_ids_where_the_weights_have_them_so),
        UNIT(objects_beyond_the_slots_are_reported),
        UNIT(data_that_nobody_has_is_like_cocos),
        UNIT(a_preset_says_how_data_becomes_samples),
    };
    (void)log_set_sink((struct log_sink){.put = hear});
    if (comm_self_open(&alone, NULL) != 0)
        return 1;
    int result = unit_main("app.detect_data", cases, sizeof(cases) / sizeof(cases[0]));
    comm_close(alone);
    return result;
}

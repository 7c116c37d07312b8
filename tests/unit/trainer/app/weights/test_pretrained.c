/* On stores of training graphs, as a training has them: their slots lie in the order in which
 * gradients are made. */
#include "trainer/app/weights/pretrained.h"

#include "common/file/file.h"
#include "common/run_id.h"
#include "tests/support/unit.h"
#include "trainer/app/weights/weights.h"
#include "trainer/backend/ref/ref.h"
#include "trainer/graph/gradient/backward.h"
#include "trainer/math/bf16.h"
#include "trainer/math/f16.h"
#include "trainer/models/detector_names.h"
#include "trainer/models/maskrcnn.h"
#include "trainer/models/resnet.h"
#include "trainer/models/vgg.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES_SIZE = 512, MOST = 400 };

struct built {
    struct backend *backend;
    struct graph graph;
    struct store store;
};

/* The store of M's graph, which was described. */
static void store_open(struct built *m, uint64_t seed) {
    CU_ASSERT_EQUAL_FATAL(ref_open(&m->backend, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(graph_add_gradients(&m->graph, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(store_init(&m->store, m->backend, &m->graph, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(store_start(&m->store, seed, NULL), 0);
}

static void model_open(struct built *m, int classes, uint64_t seed) {
    struct resnet_tensors tensors;
    struct resnet_config c = {.model = "resnet20",
                              .batch = 1,
                              .image_size = 32,
                              .classes = classes,
                              .training = true,
                              .std = {1, 1, 1}};
    *m = (struct built){0};
    CU_ASSERT_EQUAL_FATAL(resnet_build(&m->graph, &c, &tensors, NULL), 0);
    store_open(m, seed);
}

/* VGG-16 of an eighth of its channels. */
static void vgg_open(struct built *m, int classes, uint64_t seed) {
    const struct model_options options = {.batch = 1,
                                          .height = 224,
                                          .width = 224,
                                          .classes = classes,
                                          .training = true,
                                          .std = {1, 1, 1}};
    *m = (struct built){0};
    CU_ASSERT_EQUAL_FATAL(vgg_build_narrow(&m->graph, &options, 8, NULL), 0);
    store_open(m, seed);
}

static void model_done(struct built *m) {
    store_done(&m->store);
    graph_done(&m->graph);
    backend_close(m->backend);
}

static const float *at(const struct built *m, const char *name) {
    const struct store_slot *slot = store_find(&m->store, name);
    CU_ASSERT_PTR_NOT_NULL_FATAL(slot);
    return store_at(&m->store, slot, slot->home);
}

/* How M's weights go into a file. */
struct export {
    const char *prefix;
    enum array_type type; /* F32 or one of 16 bits */
    bool headless;
    const char *extra;   /* a tensor that no model has */
    const char *without; /* a tensor that is left out */
    const char *nan;     /* a tensor with NaN as its first value */
    const char *minus;   /* one with -1 as its first value */
};

static void *narrowed(const struct array *array, enum array_type type) {
    size_t count = (size_t)array_count(array);
    uint16_t *halves = malloc(count * sizeof(*halves));
    float *plain = malloc(count * sizeof(*plain));
    CU_ASSERT_FATAL(halves != NULL && plain != NULL);
    memcpy(plain, array->data, count * sizeof(*plain));
    if (array->ohwi)
        array_ohwi_to_oihw(array->data, plain, array->shape[0], array->shape[1], array->shape[2],
                           array->shape[3]);
    for (size_t i = 0; i < count; i++)
        halves[i] = type == ARRAY_F16 ? f16_from_f32(plain[i]) : bf16_from_f32(plain[i]);
    free(plain);
    return halves;
}

static const char *export(struct built *m, const struct export *how) {
    static char path[4096], names[MOST][NAMES_SIZE];
    static struct array arrays[MOST];
    static float extra[2] = {1, 2};
    struct weights w = {0};
    size_t count = 0;
    (void)snprintf(path, sizeof(path), "%s/init.safetensors", unit_temp_dir());
    CU_ASSERT_EQUAL_FATAL(weights_list(&w, &m->store, WEIGHTS_MODEL | WEIGHTS_BATCHES, 3, NULL), 0);
    for (size_t i = 0; i < w.count; i++) {
        const struct array *array = &w.arrays[i];
        if ((how->headless && strncmp(array->name, "fc.", 3) == 0) ||
            (how->without != NULL && strcmp(array->name, how->without) == 0))
            continue;
        if (how->nan != NULL && strcmp(array->name, how->nan) == 0)
            *(float *)array->data = NAN;
        if (how->minus != NULL && strcmp(array->name, how->minus) == 0)
            *(float *)array->data = -1;
        arrays[count] = *array;
        (void)snprintf(names[count], NAMES_SIZE, "%s%s", how->prefix, array->name);
        arrays[count].name = names[count];
        if (how->type != ARRAY_F32 && array->type == ARRAY_F32) {
            arrays[count].data = narrowed(array, how->type);
            arrays[count].type = how->type;
            arrays[count].ohwi = false;
        }
        count++;
    }
    if (how->extra != NULL)
        arrays[count++] =
            (struct array){.name = how->extra, .rank = 1, .shape = {2}, .data = extra};
    CU_ASSERT_EQUAL_FATAL(safetensors_write(path, arrays, count, NULL, 0, NULL), 0);
    for (size_t i = 0; i < count; i++)
        if (arrays[i].type == ARRAY_F16 || arrays[i].type == ARRAY_BF16)
            free(arrays[i].data);
    weights_done(&w);
    return path;
}

/* A model of CLASSES from one of 10 that was exported so: 0 or the error. */
static int read_model(struct built *ret, int classes, const struct export *how, struct buf *notes,
                      struct error *err) {
    struct built source;
    model_open(&source, 10, 5);
    /* Statistics that no start value has. */
    ((float *)source.store.arena[STORE_STATE])[3] = 0.75F;
    const char *path = export(&source, how);
    model_open(ret, classes, 9);
    buf_init(notes, 10000);
    int failed = pretrained_read(&ret->store, NULL, path, NULL, notes, err);
    model_done(&source);
    return failed;
}

static bool near(const struct built *m, const char *name, double bound) {
    struct built source;
    model_open(&source, 10, 5);
    const struct store_slot *slot = store_find(&m->store, name);
    const float *ours = at(m, name), *theirs = at(&source, name);
    double worst = 0;
    for (size_t i = 0; i < slot->count; i++)
        worst = fmax(worst, fabs((double)ours[i] - (double)theirs[i]));
    model_done(&source);
    return worst <= bound;
}

static void a_file_of_the_same_model_is_taken_whole(void) {
    struct built m;
    cleanup_buf struct buf notes = {0};
    CU_ASSERT_EQUAL(read_model(&m, 10, &(struct export){.prefix = ""}, &notes, NULL), 0);
    CU_ASSERT(near(&m, "conv1.weight", 0) && near(&m, "layer3.2.conv2.weight", 0));
    CU_ASSERT(near(&m, "fc.weight", 0) && near(&m, "fc.bias", 0));
    CU_ASSERT_EQUAL(((float *)m.store.arena[STORE_STATE])[3], 0.75F);
    CU_ASSERT_STRING_EQUAL(buf_text(&notes), "");
    model_done(&m);
}

static void another_number_of_classes_leaves_the_head_and_says_so(void) {
    struct built m, fresh;
    cleanup_buf struct buf notes = {0};
    CU_ASSERT_EQUAL(read_model(&m, 7, &(struct export){.prefix = ""}, &notes, NULL), 0);
    ASSERT_CONTAINS(buf_text(&notes),
                    "is for 10 classes, the data has 7: fc keeps its initial values\n");
    CU_ASSERT_EQUAL(strchr(buf_text(&notes), '\n')[1], '\0'); /* that is all */
    CU_ASSERT(near(&m, "layer2.0.downsample.0.weight", 0));
    model_open(&fresh, 7, 9);
    size_t bytes = store_find(&m.store, "fc.weight")->count * sizeof(float);
    CU_ASSERT_EQUAL(memcmp(at(&m, "fc.weight"), at(&fresh, "fc.weight"), bytes), 0);
    CU_ASSERT_EQUAL(memcmp(at(&m, "fc.bias"), at(&fresh, "fc.bias"), 7 * sizeof(float)), 0);
    model_done(&fresh);
    model_done(&m);
}

static void write_weights(const char *path, const char *bytes) {
    CU_ASSERT_EQUAL_FATAL(file_publish(path, bytes, strlen(bytes), 0644, NULL), 0);
}

static void a_file_is_looked_at_where_it_will_be_read(void) {
    char folder[PATH_MAX], model[PATH_MAX + 32], path[PATH_MAX], kept[PATH_MAX + 64];
    struct error err = {0};
    struct options o = {.resume = "auto"};
    (void)snprintf(folder, sizeof(folder), "%s/published", unit_temp_dir());
    (void)snprintf(model, sizeof(model), "%s/model.safetensors", folder);
    (void)snprintf(kept, sizeof(kept), "%s/checkpoints", unit_temp_dir());
    CU_ASSERT_EQUAL(pretrained_check(&o, kept, NULL), 0); /* none is asked for */
    o.init = folder;
    CU_ASSERT_EQUAL(pretrained_check(&o, kept, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    CU_ASSERT_EQUAL_FATAL(file_make_dirs(folder, NULL), 0);
    CU_ASSERT_EQUAL(pretrained_check(&o, kept, &err), -1);
    ASSERT_CONTAINS(err.text, "/published/model.safetensors: No such file");
    write_weights(model, "PK\x03\x04 and more");
    CU_ASSERT_EQUAL(pretrained_check(&o, kept, &err), -1);
    ASSERT_CONTAINS(err.text, "--init: ");
    ASSERT_CONTAINS(err.text, "a PyTorch file");
    CU_ASSERT_EQUAL(pretrained_path(folder, path, NULL), 0);
    CU_ASSERT_STRING_EQUAL(path, model);
    CU_ASSERT_EQUAL(pretrained_path(model, path, NULL), 0);
    CU_ASSERT_STRING_EQUAL(path, model);
    /* It is not read if the run may resume from a checkpoint. */
    o.resume = "somewhere.safetensors";
    CU_ASSERT_EQUAL(pretrained_check(&o, kept, NULL), 0);
    o.resume = "auto";
    CU_ASSERT_EQUAL_FATAL(file_make_dirs(kept, NULL), 0);
    (void)snprintf(path, sizeof(path), "%s/checkpoints/step-000000005.safetensors",
                   unit_temp_dir());
    write_weights(path, "x");
    CU_ASSERT_EQUAL(pretrained_check(&o, kept, NULL), 0);
    o.resume = "none";
    CU_ASSERT_EQUAL(pretrained_check(&o, kept, NULL), -1);
    CU_ASSERT_EQUAL(setenv(ATTEMPT_VARIABLE, "2", 1), 0);
    CU_ASSERT_EQUAL(pretrained_check(&o, kept, NULL), 0);
    CU_ASSERT_EQUAL(unsetenv(ATTEMPT_VARIABLE), 0);
}

static void types_of_16_bits_are_widened(void) {
    static const struct {
        enum array_type type;
        double bound;
    } CASES[] = {{ARRAY_F16, 1e-3}, {ARRAY_BF16, 8e-3}};
    for (int i = 0; i < 2; i++) {
        struct built m;
        cleanup_buf struct buf notes = {0};
        struct export how = {.prefix = "", .type = CASES[i].type};
        CU_ASSERT_EQUAL(read_model(&m, 10, &how, &notes, NULL), 0);
        CU_ASSERT(near(&m, "conv1.weight", CASES[i].bound) && !near(&m, "conv1.weight", 0));
        CU_ASSERT(near(&m, "layer3.0.conv1.weight", CASES[i].bound));
        CU_ASSERT(near(&m, "fc.weight", CASES[i].bound));
        model_done(&m);
    }
}

static void a_backbone_is_found_by_its_prefix(void) {
    struct built m;
    cleanup_buf struct buf notes = {0};
    struct export how = {.prefix = "backbone.body.", .headless = true, .extra = "rpn.bias"};
    CU_ASSERT_EQUAL(read_model(&m, 10, &how, &notes, NULL), 0);
    CU_ASSERT(near(&m, "layer1.0.conv1.weight", 0));
    CU_ASSERT_FALSE(near(&m, "fc.weight", 1e-3));
    ASSERT_CONTAINS(buf_text(&notes), "the prefix \"backbone.body.\"");
    ASSERT_CONTAINS(buf_text(&notes),
                    "has no backbone.body.fc.weight: fc keeps its initial values");
    ASSERT_CONTAINS(buf_text(&notes), "1 tensors are not used: rpn.bias\n");
    model_done(&m);
}

/* Three linear layers: the last one counts the classes, whichever comes first in the store. */
static void of_several_linear_layers_the_last_is_the_head(void) {
    struct built source, m, fresh;
    cleanup_buf struct buf notes = {0};
    buf_init(&notes, 10000);
    vgg_open(&source, 10, 5);
    const char *path = export(&source, &(struct export){.prefix = "module."});
    vgg_open(&m, 7, 9);
    vgg_open(&fresh, 7, 9);
    CU_ASSERT_EQUAL(pretrained_read(&m.store, NULL, path, NULL, &notes, NULL), 0);
    ASSERT_CONTAINS(buf_text(&notes),
                    "is for 10 classes, the data has 7: classifier.6 keeps its initial values");
    ASSERT_CONTAINS(buf_text(&notes), "the prefix \"module.\"");
    static const char *const taken[] = {"features.0.weight", "classifier.0.weight",
                                        "classifier.3.weight"};
    for (int i = 0; i < 3; i++)
        CU_ASSERT_EQUAL(at(&m, taken[i])[5], at(&source, taken[i])[5]);
    CU_ASSERT_EQUAL(at(&m, "classifier.6.weight")[5], at(&fresh, "classifier.6.weight")[5]);
    model_done(&source);
    model_done(&m);
    model_done(&fresh);
}

static void refused(const struct export *how, const char *words) {
    struct built m;
    struct error err = {0};
    cleanup_buf struct buf notes = {0};
    CU_ASSERT_EQUAL(read_model(&m, 10, how, &notes, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    ASSERT_CONTAINS(err.text, "init.safetensors: ");
    ASSERT_CONTAINS(err.text, words);
    model_done(&m);
}

static void what_does_not_fit_is_refused_by_name(void) {
    refused(&(struct export){.prefix = "", .without = "layer2.1.bn1.running_var"},
            "1 of the model's");
    refused(&(struct export){.prefix = "", .without = "layer2.1.bn1.running_var"},
            "the first is layer2.1.bn1.running_var");
    refused(&(struct export){.prefix = "", .nan = "layer2.1.conv1.weight"},
            "layer2.1.conv1.weight: value 0 is not finite");
    refused(&(struct export){.prefix = "", .nan = "layer2.1.conv1.weight", .type = ARRAY_BF16},
            "layer2.1.conv1.weight: value 0 is not finite");
    refused(&(struct export){.prefix = "", .minus = "layer2.1.bn1.running_var"},
            "layer2.1.bn1.running_var: value 0 is a variance below zero");
}

static void another_width_is_refused(void) {
    struct built m;
    struct error err = {0};
    cleanup_buf struct buf notes = {0};
    static float one[3] = {1, 2, 3};
    char path[4096];
    struct array array = {.name = "conv1.weight", .rank = 1, .shape = {3}, .data = one};
    (void)snprintf(path, sizeof(path), "%s/small.safetensors", unit_temp_dir());
    CU_ASSERT_EQUAL_FATAL(safetensors_write(path, &array, 1, NULL, 0, NULL), 0);
    model_open(&m, 10, 1);
    buf_init(&notes, 1000);
    CU_ASSERT_EQUAL(pretrained_read(&m.store, NULL, path, NULL, &notes, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    ASSERT_CONTAINS(err.text, "conv1.weight has the shape [");
    model_done(&m);
}

/* A small detector for CLASSES, the background among them, as --init is given to: norms and first
 * layers are constants. */
static void detector_open(struct built *m, int classes, uint64_t seed) {
    const struct maskrcnn_config config = {.model = "maskrcnn_tiny",
                                           .preset = "tv",
                                           .batch = 1,
                                           .canvas_h = 64,
                                           .canvas_w = 64,
                                           .classes = classes - 1,
                                           .objects = 4,
                                           .image_bytes = 3 * 64 * 64,
                                           .mask_bytes = 1000,
                                           .training = true,
                                           .frozen_norms = true,
                                           .frozen_stages = 2,
                                           .std = {1, 1, 1}};
    struct maskrcnn_tensors tensors;
    *m = (struct built){0};
    CU_ASSERT_EQUAL_FATAL(maskrcnn_build(&m->graph, &config, &tensors, NULL), 0);
    store_open(m, seed);
}

/* Writes FROM's weights as RENAME calls them; those that it calls nothing are left out. */
static const char *detector_file(struct built *from, bool (*rename)(const char *, char *)) {
    static char path[4096], names[MOST][ARRAY_NAME_MAX];
    static struct array arrays[MOST];
    struct weights w = {0};
    size_t count = 0;
    (void)snprintf(path, sizeof(path), "%s/detector.safetensors", unit_temp_dir());
    CU_ASSERT_EQUAL_FATAL(weights_list(&w, &from->store, WEIGHTS_MODEL, 0, NULL), 0);
    CU_ASSERT_FATAL(w.count <= MOST);
    for (size_t i = 0; i < w.count; i++) {
        if (!rename(w.arrays[i].name, names[count]))
            continue;
        arrays[count] = w.arrays[i];
        arrays[count].name = names[count];
        count++;
    }
    CU_ASSERT_EQUAL_FATAL(safetensors_write(path, arrays, count, NULL, 0, NULL), 0);
    weights_done(&w);
    return path;
}

static bool before_0_12(const char *name, char *ret) {
    if (!DETECTOR_NAMES.old_name(name, ret, ARRAY_NAME_MAX))
        (void)snprintf(ret, ARRAY_NAME_MAX, "%s", name);
    return true;
}

/* A classifier's file: the body, and a head of its own. */
static bool as_classifier(const char *name, char *ret) {
    static const char body[] = "backbone.body.", score[] = "roi_heads.box_predictor.cls_score";
    if (strncmp(name, score, sizeof(score) - 1) == 0)
        (void)snprintf(ret, ARRAY_NAME_MAX, "fc%s", name + sizeof(score) - 1);
    else
        (void)snprintf(ret, ARRAY_NAME_MAX, "%s", name + sizeof(body) - 1);
    return strncmp(name, score, sizeof(score) - 1) == 0 ||
           strncmp(name, body, sizeof(body) - 1) == 0;
}

/* Which of the named tensors of a detector for CLASSES are those of the file. */
static void check_detector(int classes, bool (*rename)(const char *, char *), bool fpn, bool head,
                           const char *note) {
    struct built from, m, fresh;
    struct error err = {0};
    cleanup_buf struct buf notes = {0};
    buf_init(&notes, 4000);
    detector_open(&from, 3, 7);
    detector_open(&m, classes, 8);
    detector_open(&fresh, classes, 8);
    CU_ASSERT_EQUAL(pretrained_read(&m.store, &DETECTOR_NAMES, detector_file(&from, rename), NULL,
                                    &notes, &err),
                    0);
    const struct {
        const char *name;
        bool taken;
    } rows[] = {{"backbone.body.layer1.0.conv1.weight", true},
                {"backbone.fpn.inner_blocks.0.0.weight", fpn},
                {"rpn.head.conv.0.0.weight", fpn},
                {"roi_heads.mask_head.1.0.weight", fpn},
                {"roi_heads.box_head.fc6.weight", fpn},
                {"roi_heads.box_predictor.cls_score.weight", head}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct built *as = rows[i].taken ? &from : &fresh;
        CU_ASSERT_EQUAL(at(&m, rows[i].name)[5], at(as, rows[i].name)[5]);
    }
    if (note != NULL)
        ASSERT_CONTAINS(buf_text(&notes), note);
    else
        CU_ASSERT_EQUAL(notes.size, 0);
    model_done(&from);
    model_done(&m);
    model_done(&fresh);
}

static void a_detector_is_read_under_its_old_names(void) {
    check_detector(3, before_0_12, true, true, NULL);
}

/* A body in somebody's own module: its names are none of a detector's. */
static bool as_body_of_model(const char *name, char *ret) {
    static const char body[] = "backbone.body.";
    (void)snprintf(ret, ARRAY_NAME_MAX, "model.%s", name + sizeof(body) - 1);
    return strncmp(name, body, sizeof(body) - 1) == 0;
}

/* It is found by itself; in the whole network's file under a prefix, all is. */
static bool in_a_module(const char *name, char *ret) {
    (void)snprintf(ret, ARRAY_NAME_MAX, "module.%s", name);
    return true;
}

static void a_detector_finds_the_prefix_of_a_body_and_of_all(void) {
    check_detector(3, as_body_of_model, false, false,
                   "names the model's tensors with the prefix \"model.\"");
    check_detector(3, as_body_of_model, false, false, "holds a body alone");
    check_detector(3, in_a_module, true, true,
                   "names the model's tensors with the prefix \"module.\"");
}

static void a_prefix_can_be_given(void) {
    struct built from, m;
    struct error err = {0};
    cleanup_buf struct buf notes = {0};
    buf_init(&notes, 4000);
    detector_open(&from, 3, 7);
    detector_open(&m, 3, 8);
    const char *path = detector_file(&from, as_body_of_model);
    CU_ASSERT_EQUAL(pretrained_read(&m.store, &DETECTOR_NAMES, path, "encoder.", &notes, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    ASSERT_CONTAINS(err.text, "detector.safetensors: no weight of the model has the prefix "
                              "\"encoder.\"");
    CU_ASSERT_EQUAL(pretrained_read(&m.store, &DETECTOR_NAMES, path, "model.", &notes, &err), 0);
    ASSERT_CONTAINS(buf_text(&notes), "holds a body alone: 85 tensors are taken");
    const char *name = "backbone.body.layer1.0.conv1.weight";
    CU_ASSERT_EQUAL(at(&m, name)[5], at(&from, name)[5]);
    /* If the file has the model's own names, the prefix may be empty. */
    CU_ASSERT_EQUAL(pretrained_read(&m.store, &DETECTOR_NAMES, detector_file(&from, before_0_12),
                                    "", &notes, &err),
                    0);
    name = "rpn.head.conv.0.0.weight";
    CU_ASSERT_EQUAL(at(&m, name)[5], at(&from, name)[5]);
    model_done(&from);
    model_done(&m);
}

static void a_detector_for_other_classes_leaves_its_predictors(void) {
    check_detector(5, before_0_12, true, false,
                   "is for 2 classes, the data has 4: roi_heads.box_predictor.cls_score.weight and "
                   "the other layers that depend on the classes keep their initial values");
}

static void of_a_classifier_a_detector_takes_the_body(void) {
    check_detector(3, as_classifier, false, false,
                   "holds a body alone: 85 tensors are taken, 38 keep their initial values");
    check_detector(3, as_classifier, false, false, "2 tensors are not used: fc.");
}

UNIT_SUITE("app.pretrained", UNIT(a_file_of_the_same_model_is_taken_whole),
           UNIT(another_number_of_classes_leaves_the_head_and_says_so),
           UNIT(a_file_is_looked_at_where_it_will_be_read), UNIT(types_of_16_bits_are_widened),
           UNIT(a_backbone_is_found_by_its_prefix), UNIT(what_does_not_fit_is_refused_by_name),
           UNIT(another_width_is_refused), UNIT(of_several_linear_layers_the_last_is_the_head),
           UNIT(a_detector_finds_the_prefix_of_a_body_and_of_all), UNIT(a_prefix_can_be_given),
           UNIT(a_detector_is_read_under_its_old_names),
           UNIT(a_detector_for_other_classes_leaves_its_predictors),
           UNIT(of_a_classifier_a_detector_takes_the_body))

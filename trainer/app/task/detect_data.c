#include "trainer/app/task/detect_data.h"

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/log/log.h"
#include "common/str.h"
#include "common/table.h"
#include "trainer/app/device/ranks.h"
#include "trainer/app/task/detect_batches.h"
#include "trainer/app/task/detect_labels.h"
#include "trainer/app/task/detect_rules_io.h"
#include "trainer/app/task/host_index.h"
#include "trainer/data/coco/coco_folder.h"
#include "trainer/data/coco/coco_task.h"
#include "trainer/data/detect/detection_outline.h"
#include "trainer/models/detect_preset.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Opening of a detector's data: which file of annotations a folder offers, how pictures are sized
 * and augmented under a preset, and what the network gets of the objects. detect_open is the way
 * in, from the row of detect.c; batches follow in detect_batches.c.
 *
 * A preset is the rules of one known training of Mask R-CNN. Its part that concerns data is in
 * PRESETS here, and its part that concerns operators in models/detect_preset.c; the names connect
 * them.
 *
 * A model that is scored brings its preset and sizes in its config.json, and the flags of those are
 * then ignored: pictures must be prepared as they were in training. */

/* Bytes of a description of a set for the log. */
enum { TEXT_MAX = 4096 };

/* A preset's rules for data. */
struct preset {
    const char *name;
    enum detect_size_rule rule;
    enum detection_pick pick;
    enum mask_paste_rule paste;
    bool host_scale;
    bool outlines;   /* masks are rasterized from polygons, if there are any */
    bool last_pixel; /* boxes include their last pixels */
    bool many_sizes; /* short sides are drawn at random */
};

/* Indexed by the option, so that a row's place is its number. */
static const struct preset PRESETS[] = {
    [OPTION_PRESET_TV] = {"tv", DETECT_SIZE_TV, DETECTION_PICK_TV, MASK_PASTE_TV, false, false,
                          false, false},
    [OPTION_PRESET_D2] = {"d2", DETECT_SIZE_D2, DETECTION_PICK_USED, MASK_PASTE_D2, true, true,
                          false, true},
    [OPTION_PRESET_MLPERF] = {"mlperf", DETECT_SIZE_MB, DETECTION_PICK_TV, MASK_PASTE_TV, false,
                              true, true, false},
};

/* Detectron2's six short sides, 640, 672 ... 800, as fractions. A step of 32 pixels for a short
 * side of 800. */
enum { SHORT_STEPS = 5, SHORT_PARTS = 25 };

/* Groups and set borrow from the index, which goes last. */
static void part_done(struct detect_part *part) {
    detection_groups_done(&part->groups);
    detection_set_done(&part->set);
    coco_index_done(&part->index);
}

/* Also after a failed detect_open. The names are counted by DATA, which has them from here. */
void detect_close(struct task_data *data) {
    struct detect_data *d = data->own;
    for (size_t c = 0; d->class_names != NULL && c < data->classes; c++)
        free(d->class_names[c]);
    free(d->class_names);
    free(d->category_ids);
    draw_names_done(&d->names);
    part_done(&d->validation);
    part_done(&d->training);
    picture_index_done(&d->given);
    free(d);
}

/* A set of which one is wanted: for training, for the evaluations of a training, or to score on. */
struct wanted {
    const char *path; /* a folder, or a JSON file */
    const char *name; /* NULL: by how it begins */
    bool training;
    bool alone; /* there is no other set: a folder's only one is meant, whatever its name */
};

/* Returns true if SET is for the other purpose by its name. A set called "val2017" is not taken for
 * training only because it is alone in its folder. */
static bool is_for_other(const struct coco_set *set, const struct wanted *w) {
    const char *other = w->training ? "val" : "train";
    return strncmp(set->name, other, strlen(other)) == 0;
}

/* Returns the set that is wanted, borrowed from FOLDER, or NULL with an error that names the flag
 * to choose with. */
static const struct coco_set *pick_set(const struct coco_folder *folder, const struct wanted *w,
                                       struct error *err) {
    const struct coco_set *only = coco_folder_only(folder);
    if (w->name == NULL && w->alone && only != NULL && !is_for_other(only, w))
        return only;
    const char *flag = w->training                   ? "--train-set"
                       : w->name != NULL || w->alone ? "--val-set"
                                                     : "--val-set NAME, --validation FILE.json or "
                                                       "--validation none";
    return coco_folder_pick(folder, w->path, w->name, w->training ? "train" : "val", flag, err);
}

/* Keeps the paths of the set's annotations and of its pictures in PART. */
static int find_set(struct detect_part *part, const struct wanted *w, struct error *err) {
    cleanup_coco_folder struct coco_folder folder = {0};
    if (coco_folder_open(&folder, w->path, err) != 0)
        return -1;
    const struct coco_set *set = pick_set(&folder, w, err);
    if (set == NULL)
        return -1;
    if (set->pictures[0] == '\0')
        return error_set(err, EXIT_CODE_DATA,
                         "%s: no folder with the pictures of '%s' beside it; expected %s/, "
                         "images/%s/ or images/",
                         set->json, set->name, set->name, set->name);
    memcpy(part->json, set->json, sizeof(part->json));
    memcpy(part->pictures, set->pictures, sizeof(part->pictures));
    return 0;
}

/* Checks now, and not after the first epoch, that a set can be scored. */
static int check_scored(const struct detect_part *part, bool aloud, struct error *err) {
    struct coco_task_ids ids;
    char text[512];
    if (coco_task_check(&part->index, err) != 0 || coco_task_ids(&part->index, &ids, err) != 0)
        return -1;
    coco_task_ids_text(&ids, text, sizeof(text));
    if (text[0] != '\0' && aloud)
        log_warning("%s: %s", part->json, text);
    return 0;
}

/* Finds missing files of the validation set before the first epoch rather than after it; each rank
 * checks its share. Missing files up to ALLOWED are left to --bad-samples, which meets them again
 * when they are read. */
static int check_files(const struct detect_part *part, const struct task_request *request,
                       int64_t allowed, struct error *err) {
    int64_t missing = 0;
    struct error first = {0};
    for (size_t i = (size_t)comm_rank(request->comm); i < part->set.count;
         i += (size_t)comm_size(request->comm)) {
        char path[PATH_MAX];
        if (detection_set_path(&part->set, i, path, sizeof(path), err) != 0)
            return -1;
        /* Only the first one is named, and the number of all of this rank. */
        if (access(path, R_OK) != 0 && missing++ == 0)
            (void)error_set_errno(&first, EXIT_CODE_DATA, "%s", path);
    }
    if (missing <= allowed)
        return 0;
    return error_set(
        err, EXIT_CODE_DATA,
        "%.500s (%" PRId64
        " such files; ringtrain inspect coco finds all, --bad-samples skip continues without them)",
        first.text, missing);
}

/* Reads the annotations into PART's index and makes its set. One rank of a host reads the file
 * (host_index.h). */
static int read_set(struct detect_data *d, struct detect_part *part,
                    const struct task_request *request, struct detection_options how,
                    int64_t allowed, struct error *err) {
    cleanup_buf struct buf text = {0};
    bool aloud = comm_rank(request->comm) == 0;
    if (aloud)
        log_info("reading %s", part->json);
    if (host_index_load(&part->index, part->json, request->comm, err) != 0)
        return -1;
    if (part == &d->validation && check_scored(part, aloud, err) != 0)
        return -1;
    /* Labels are settled by the training set and hold for the validation set, which is read later.
     */
    if (part == &d->training &&
        detect_labels_choose(&d->id_labels, &part->index, request, err) != 0)
        return -1;
    how.id_labels = d->id_labels;
    if (detection_set_make(&part->set, &part->index, part->pictures, &how, err) != 0)
        return -1;
    if (part == &d->validation && check_files(part, request, allowed, err) != 0)
        return -1;
    buf_init(&text, TEXT_MAX);
    if (aloud && detection_set_describe(&part->set, &text, err) == 0)
        log_info("%s: %s", part->pictures, buf_text(&text));
    return 0;
}

/* Determines the least random short side and the step between sizes. Flags take precedence over the
 * preset. For a side that has no 25 parts of whole pixels the step is one pixel. */
static void settle_sides(struct detection_recipe *recipe, const struct preset *preset,
                         const struct options *o) {
    const int most = recipe->sizes.short_side;
    if (o->short_low > 0) {
        recipe->short_low = (int)o->short_low;
        recipe->short_step = (int)o->short_step;
    } else if (preset->many_sizes && most > SHORT_STEPS) {
        recipe->short_step = most < SHORT_PARTS ? 1 : most / SHORT_PARTS;
        recipe->short_low = most - SHORT_STEPS * recipe->short_step;
    }
}

/* Determines how PART's samples are made. Pictures that are scored are never mirrored, nor drawn at
 * other sizes. The sides of a preset must be checked after --short-side is known. */
static int settle(const struct task_data *data, struct detect_part *part,
                  const struct task_request *request, bool training, struct error *err) {
    const struct options *o = request->options;
    const struct detect_data *d = data->own;
    const struct preset *preset = &PRESETS[d->preset];
    part->samples = (struct detection_samples){
        .set = &part->set,
        .recipe = {.sizes = d->sizes,
                   .flip = training && o->flip,
                   .host_scale = preset->host_scale,
                   .pixels_max = DETECTION_PIXELS_DEFAULT,
                   .seed = (uint64_t)o->seed},
        .slots = (int)o->gt_slots,
    };
    if (!training)
        return 0;
    settle_sides(&part->samples.recipe, preset, o);
    if (detection_recipe_check(&part->samples.recipe, err) != 0)
        return -1;
    return preset->outlines ? detection_outline_measure(&part->set, &part->samples.polygons,
                                                        &part->samples.points, err)
                            : 0;
}

/* Collective. Opens the set that PATH, NAME and PREFIX name, the same on all ranks. Ranks agree on
 * the hash after reading, so that different files on two hosts are found before training. */
static int open_part(struct task_data *data, struct detect_part *part,
                     struct sample_health *samples, const struct task_request *request,
                     const char *path, bool training, struct error *err) {
    const struct options *o = request->options;
    const char *what = training ? "the training data" : "the validation data";
    struct detect_data *d = data->own;
    const struct preset *preset = &PRESETS[d->preset];
    const struct detection_options how = {.pick = training ? preset->pick : DETECTION_PICK_ALL,
                                          .last_pixel = preset->last_pixel};
    const struct wanted wanted = {.path = path,
                                  .name = training ? o->train_set : o->val_set,
                                  .training = training,
                                  .alone = training || request->trained != NULL};
    if (find_set(part, &wanted, err) != 0 ||
        read_set(d, part, request, how, data->bad_allowed, err) != 0 ||
        bad_samples_init(&samples->faults, part->set.count, err) != 0 ||
        ranks_agree(request->comm, what, part->set.hash, EXIT_CODE_DATA, err) != 0)
        return error_wrap(err, "%s", what);
    if (training)
        detect_batches_note_slots(part, request);
    if (settle(data, part, request, training, err) != 0)
        return -1;
    detect_batches_note_scaled(part, request);
    return 0;
}

/* Logs one line for each unusable name. */
static void warn_of_bad(const struct picture_index *given) {
    const char *line = buf_text(&given->bad);
    for (const char *end; (end = strchr(line, '\n')) != NULL; line = end + 1)
        log_warning("cannot be used: %.*s", (int)(end - line), line);
}

/* Opens pictures without labels instead of a set to score on. Categories come from the trained
 * model, so ids in the predictions are those of its training set. Files that cannot be used are
 * counted here and passed over. */
static int open_given(struct task_data *data, const struct task_request *request,
                      struct error *err) {
    struct detect_data *d = data->own;
    struct detect_part *part = &d->validation;
    const struct model_config *trained = request->trained;
    const struct picture_categories categories = {trained->class_names, trained->category_ids,
                                                  trained->classes};
    const struct detection_options how = {.pick = DETECTION_PICK_ALL,
                                          .paths = true,
                                          .id_labels = d->id_labels,
                                          .last_pixel = PRESETS[d->preset].last_pixel};
    if (picture_index_make(&d->given, request->pictures->paths, request->pictures->count,
                           &categories, err) != 0)
        return -1;
    warn_of_bad(&d->given);
    data->bad_given = (int64_t)d->given.bad_count;
    part->index = d->given.index;
    if (detection_set_make(&part->set, &part->index, part->index.path, &how, err) != 0 ||
        bad_samples_init(&data->validation.faults, part->set.count, err) != 0 ||
        settle(data, part, request, false, err) != 0)
        return -1;
    detect_batches_note_scaled(part, request);
    return detect_labels_name(data, &part->set, err);
}

/* With given weights all norms are frozen, and so are the first layers (torchvision's
 * trainable_backbone_layers = 3). Without given weights nothing is frozen, because random layers
 * have to learn. */
enum { FROZEN_STAGES = 2 };

/* Tells the model about its inputs: limits per picture and per batch, which fix the shapes of its
 * tensors. Both sets have the same limits (detect_batches.c). */
static void describe_network(struct task_data *data, const struct task_request *request) {
    const struct detect_data *d = data->own;
    const struct options *o = request->options;
    /* Weights come from --init; without a flag for the stages, they follow from that. */
    bool given = o->init != NULL;
    int stages = o->frozen_stages >= 0 ? (int)o->frozen_stages : given ? FROZEN_STAGES : 0;
    const struct detection_samples *t = &d->training.samples, *v = &d->validation.samples;
    size_t bytes = t->image_bytes > v->image_bytes ? t->image_bytes : v->image_bytes;
    const struct source *source =
        request->trained != NULL ? &data->validation.source : &data->training.source;
    data->objects = (struct model_objects){
        .preset = PRESETS[d->preset].name,
        .rules = &d->rules,
        .anchor_samples = (int)o->anchor_samples,
        .region_samples = (int)o->region_samples,
        .slots = (int)o->gt_slots,
        .image_bytes = (int64_t)bytes,
        .mask_bytes = source->batch * t->bits_of_picture,
        .polygons = t->polygons,
        .points = t->points,
        .frozen_norms = given,
        .frozen_stages = stages,
    };
}

/* Maximum over the pictures of COCO 2017. For networks that are inspected without data. */
enum { UNSEEN_SIDE = 640, UNSEEN_CHANNELS = 3 };

/* Masks get the default room of a picture; polygons and points get their largest numbers, where the
 * preset has outlines. */
void detect_objects_unseen(struct model_objects *ret, const struct options *o) {
    const struct preset *preset = &PRESETS[o->preset];
    *ret = (struct model_objects){
        .preset = preset->name,
        .anchor_samples = (int)o->anchor_samples,
        .region_samples = (int)o->region_samples,
        .slots = (int)o->gt_slots,
        .image_bytes = UNSEEN_SIDE * UNSEEN_SIDE * UNSEEN_CHANNELS,
        .mask_bytes = o->batch_size * DETECTION_BITS_DEFAULT,
        .polygons = preset->outlines ? DETECTION_POLYGONS_MAX : 0,
        .points = preset->outlines ? DETECTION_POINTS_MAX : 0,
        .frozen_norms = true,
        .frozen_stages = FROZEN_STAGES,
    };
}

/* Describes the model by the data; texts and numbers are borrowed. A preset with deviations of its
 * own has means of its own as well; a deviation of 0 stands for those of ImageNet. */
void detect_describe(const struct task_data *data, const struct task_request *request,
                     struct model_config *ret) {
    const struct detect_data *d = data->own;
    (void)request;
    ret->class_names = d->class_names;
    ret->classes = data->classes;
    ret->preset = (char *)(uintptr_t)PRESETS[d->preset].name;
    ret->category_ids = d->category_ids;
    ret->short_side = d->sizes.short_side;
    ret->long_side = d->sizes.long_side;
    detect_describe_rules(&d->rules, ret);
    const struct detect_preset *preset = detect_preset_find(ret->preset);
    for (int c = 0; c < 3; c++) {
        bool own = preset->std[0] > 0;
        ret->mean[c] = own ? (double)preset->mean[c] : MODEL_MEAN[c];
        ret->std[c] = own ? (double)preset->std[c] : MODEL_STD[c];
    }
}

/* The rule by which small masks are enlarged to the size of their box in the picture; it is that of
 * the preset, also for a model that is only scored. */
enum mask_paste_rule detect_paste(const struct detect_data *d) {
    return PRESETS[d->preset].paste;
}

/* True if a box of the preset ends at its last pixel, and not one after it. */
bool detect_last_pixel(const struct detect_data *d) {
    return PRESETS[d->preset].last_pixel;
}

/* Opens what the request needs, and compares the categories of training, evaluation and model with
 * each other. */
static int open_parts(struct task_data *ret, const struct task_request *request,
                      struct error *err) {
    const struct inputs *in = request->inputs;
    struct detect_data *d = ret->own;
    bool trains = request->trained == NULL;
    if (trains &&
        (open_part(ret, &d->training, &ret->training, request, in->training, true, err) != 0 ||
         detect_labels_name(ret, &d->training.set, err) != 0))
        return -1;
    /* Without a training the set is empty, and so is its hash. */
    ret->hash = d->training.set.hash;
    if (request->pictures != NULL)
        return open_given(ret, request, err);
    if (!in->scored)
        return 0;
    if (open_part(ret, &d->validation, &ret->validation, request, in->validation, false, err) != 0)
        return -1;
    /* Scores of what was trained on are allowed, as a first try on a small set needs them. */
    if (trains && strcmp(d->training.json, d->validation.json) == 0 &&
        comm_rank(request->comm) == 0)
        log_warning("%s: evaluations are made on what is trained on, so their scores say nothing "
                    "about other pictures; give --validation FILE.json, --val-set or --validation "
                    "none",
                    d->validation.json);
    if (trains)
        return detect_labels_agree(&d->training, &d->validation, err);
    return detect_labels_name(ret, &d->validation.set, err) != 0
               ? -1
               : detect_labels_fit(ret, request->trained, d->validation.json, err);
}

/* Uses the sizes of the model that is scored, else those of the options. */
static int settle_sizes(struct detect_data *d, const struct task_request *request,
                        struct error *err) {
    const struct options *o = request->options;
    const struct model_config *trained = request->trained;
    d->preset = o->preset;
    d->sizes.short_side = (int)o->short_side;
    d->sizes.long_side = (int)o->long_side;
    if (trained != NULL) {
        /* The name comes from a file, which another version of this program may have written. */
        const struct preset *preset = TABLE_FIND(PRESETS, name, trained->preset);
        if (preset == NULL)
            return error_set(err, EXIT_CODE_DATA, "%s/config.json: unknown preset '%.64s'",
                             request->inputs->model, trained->preset);
        d->preset = (int)(preset - PRESETS);
        d->sizes.short_side = trained->short_side;
        d->sizes.long_side = trained->long_side;
    }
    d->sizes.rule = PRESETS[d->preset].rule;
    d->id_labels = trained != NULL && detect_labels_are_ids(trained);
    return detect_sizes_check(&d->sizes, err);
}

/* Rejects impossible settings, and warns of likely mistakes. Called before the annotations are
 * read, which may take a minute. */
static int check_start(const struct detect_data *d, const struct task_request *request,
                       struct error *err) {
    const struct options *o = request->options;
    struct bucket_plan unused;
    if (strcmp(o->canvases, "auto") != 0 && bucket_plan_parse(&unused, o->canvases, err) != 0)
        return error_wrap(err, "--canvases");
    if (o->frozen_stages > 0 && o->init == NULL && request->trained == NULL)
        return error_set(
            err, EXIT_CODE_USAGE,
            "--frozen-stages %lld needs --init: it would freeze layers with random weights",
            (long long)o->frozen_stages);
    if (o->init != NULL && d->preset != OPTION_PRESET_TV && comm_rank(request->comm) == 0)
        log_warning(
            "--preset %s gives the network pixels of 0 to 255 in BGR order, and has strides in the "
            "first convolution of a block: only weights trained that way fit, torchvision's do not",
            PRESETS[d->preset].name);
    return 0;
}

/* On failure RET is left for detect_close, as it owns what was opened so far. */
int detect_open(struct task_data *ret, const struct task_request *request, struct error *err) {
    struct detect_data *d = calloc(1, sizeof(*d));
    if (d == NULL)
        return error_no_memory(err, "data");
    ret->own = d;
    /* The checks of flags alone come first, and the shapes of the network last: they depend on what
     * both sets hold. */
    if (settle_sizes(d, request, err) != 0 ||
        detect_settle_rules(&d->rules, PRESETS[d->preset].name, request, err) != 0 ||
        check_start(d, request, err) != 0 || open_parts(ret, request, err) != 0 ||
        detect_batches_make(ret, request, err) != 0)
        return -1;
    describe_network(ret, request);
    return 0;
}

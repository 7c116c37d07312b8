#include "task/detect_data.h"

#include "coco/coco_folder.h"
#include "coco/coco_load.h"
#include "common/buf.h"
#include "common/log.h"
#include "device/ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_MAX = 4096 };

/* What a preset says of data. */
struct preset {
    enum detect_size_rule rule;
    enum detection_pick pick;
    bool host_scale;
    enum mask_paste_rule paste;
};

static const struct preset PRESETS[] = {
    [OPTION_PRESET_TV] = {DETECT_SIZE_TV, DETECTION_PICK_TV, false, MASK_PASTE_TV},
    [OPTION_PRESET_D2] = {DETECT_SIZE_D2, DETECTION_PICK_USED, true, MASK_PASTE_D2},
    [OPTION_PRESET_MLPERF] = {DETECT_SIZE_MB, DETECTION_PICK_USED, false, MASK_PASTE_TV},
};

static void part_done(struct detect_part *part) {
    detection_groups_done(&part->groups);
    detection_set_done(&part->set);
    coco_index_done(&part->index);
}

void detect_close(struct task_data *data) {
    struct detect_data *d = data->own;
    for (size_t c = 0; d->class_names != NULL && c < data->classes; c++)
        free(d->class_names[c]);
    free(d->class_names);
    part_done(&d->validation);
    part_done(&d->training);
    free(d);
}

/* One set of the folder PATH, or of the JSON. */
static int find_set(struct detect_part *part, const char *path, const char *name,
                    const char *prefix, const char *flag, struct error *err) {
    cleanup_coco_folder struct coco_folder folder = {0};
    if (coco_folder_open(&folder, path, err) != 0)
        return -1;
    const struct coco_set *set = coco_folder_pick(&folder, path, name, prefix, flag, err);
    if (set == NULL)
        return -1;
    if (set->pictures[0] == '\0')
        return error_set(err, EXIT_CODE_DATA, "%s: no folder of the pictures of '%s' beside it",
                         set->json, set->name);
    memcpy(part->json, set->json, sizeof(part->json));
    memcpy(part->pictures, set->pictures, sizeof(part->pictures));
    return 0;
}

static int read_set(struct detect_part *part, const struct task_ask *ask, enum detection_pick pick,
                    struct error *err) {
    const struct detection_options how = {.pick = pick};
    cleanup_buf struct buf text = {0};
    bool aloud = comm_rank(ask->comm) == 0;
    if (aloud)
        log_info("reading %s", part->json);
    if (coco_load(&part->index, part->json, NULL, err) != 0 ||
        detection_set_make(&part->set, &part->index, part->pictures, &how, err) != 0)
        return -1;
    buf_init(&text, TEXT_MAX);
    if (aloud && detection_set_describe(&part->set, &text, err) == 0)
        log_info("%s: %s", part->pictures, buf_text(&text));
    return 0;
}

static int plan_canvases(struct detect_part *part, const struct task_ask *ask, size_t global_batch,
                         struct error *err) {
    const char *given = ask->options->canvases;
    const struct detect_sizes *sizes = &part->samples.recipe.sizes;
    if (strcmp(given, "auto") != 0)
        return canvas_plan_parse(&part->plan, given, err) != 0 ? error_wrap(err, "--canvases") : 0;
    return detection_set_plan(&part->set, sizes, global_batch, &part->plan, err);
}

/* How PART becomes batches: SAMPLES is filled. */
static int settle(struct detect_part *part, struct samples *samples, const struct task_ask *ask,
                  bool training, struct error *err) {
    const struct options *o = ask->options;
    const struct preset *preset = &PRESETS[o->preset];
    size_t global = (size_t)comm_size(ask->comm) * (size_t)o->batch_size * (size_t)o->accumulate;
    part->samples = (struct detection_samples){
        .set = &part->set,
        .recipe = {.sizes = {preset->rule, (int)o->short_side, (int)o->long_side},
                   .flip = training && o->flip,
                   .host_scale = preset->host_scale,
                   .pixels_max = DETECTION_PIXELS_DEFAULT,
                   .seed = (uint64_t)o->seed},
        .slots = (int)o->gt_slots,
        .bits_of_picture = DETECTION_BITS_DEFAULT,
    };
    if (detect_sizes_check(&part->samples.recipe.sizes, err) != 0 ||
        plan_canvases(part, ask, training ? global : 1, err) != 0 ||
        detection_groups_make(&part->groups, &part->set, &part->samples.recipe.sizes, &part->plan,
                              err) != 0 ||
        detection_source(&samples->source, &part->samples, (int)o->batch_size, err) != 0)
        return -1;
    samples->groups =
        (struct sampler_groups){.samples = part->groups.samples, .count = part->groups.count};
    samples->canvas_count = part->groups.count;
    for (int c = 0; c < part->groups.count; c++) {
        samples->groups.sizes[c] = part->groups.sizes[c];
        samples->canvases[c] =
            (struct canvas){part->plan.canvases[c].height, part->plan.canvases[c].width};
    }
    return 0;
}

/* Opens the set that PATH, NAME and PREFIX say, the same on all ranks. */
static int open_part(struct detect_part *part, struct samples *samples, const struct task_ask *ask,
                     const char *path, bool training, struct error *err) {
    const struct options *o = ask->options;
    const char *what = training ? "the training data" : "the validation data";
    enum detection_pick pick = training ? PRESETS[o->preset].pick : DETECTION_PICK_ALL;
    if (find_set(part, path, training ? o->train_set : o->val_set, training ? "train" : "val",
                 training ? "--train-set" : "--val-set", err) != 0 ||
        read_set(part, ask, pick, err) != 0 ||
        faults_init(&samples->faults, part->set.count, err) != 0 ||
        ranks_agree(ask->comm, what, part->set.hash, EXIT_CODE_DATA, err) != 0 ||
        settle(part, samples, ask, training, err) != 0)
        return error_wrap(err, "%s", what);
    return 0;
}

/* The names of labels 1, 2, ... */
static int name_classes(struct task_data *data, const struct detection_set *set,
                        struct error *err) {
    struct detect_data *d = data->own;
    size_t labels = (size_t)set->labels;
    d->class_names = calloc(labels + 1, sizeof(*d->class_names));
    if (d->class_names == NULL)
        return error_no_memory(err, "classes");
    data->class_names = d->class_names;
    data->classes = labels;
    for (size_t c = 0; c < labels; c++) {
        uint32_t category = detection_set_category(set, (int32_t)c + 1);
        const char *name = category == COCO_NUMBER_NONE
                               ? ""
                               : coco_index_name(set->index, set->index->categories[category].name);
        d->class_names[c] = strdup(name);
        if (d->class_names[c] == NULL)
            return error_no_memory(err, "classes");
    }
    return 0;
}

/* Both sets have the same categories under the same ids. */
static int agree(const struct detect_part *a, const struct detect_part *b, struct error *err) {
    if (a->index.category_count != b->index.category_count)
        return error_set(err, EXIT_CODE_DATA, "%s has %zu categories, %s %zu", a->json,
                         a->index.category_count, b->json, b->index.category_count);
    for (size_t c = 0; c < a->index.category_count; c++) {
        const struct coco_category *one = &a->index.categories[c], *two = &b->index.categories[c];
        if (one->id != two->id || strcmp(coco_index_name(&a->index, one->name),
                                         coco_index_name(&b->index, two->name)) != 0)
            return error_set(err, EXIT_CODE_DATA,
                             "category %lld is '%.64s' in %s, and category %lld '%.64s' in %s",
                             (long long)one->id, coco_index_name(&a->index, one->name), a->json,
                             (long long)two->id, coco_index_name(&b->index, two->name), b->json);
    }
    return 0;
}

int detect_open(struct task_data *ret, const struct task_ask *ask, struct error *err) {
    const struct inputs *in = ask->inputs;
    struct detect_data *d = calloc(1, sizeof(*d));
    if (d == NULL)
        return error_no_memory(err, "data");
    ret->own = d;
    d->paste = PRESETS[ask->options->preset].paste;
    bool trains = ask->trained == NULL;
    if (trains && (open_part(&d->training, &ret->training, ask, in->training, true, err) != 0 ||
                   name_classes(ret, &d->training.set, err) != 0))
        return -1;
    ret->hash = d->training.set.hash;
    if (!in->scored)
        return 0;
    if (open_part(&d->validation, &ret->validation, ask, in->validation, false, err) != 0)
        return -1;
    return trains ? agree(&d->training, &d->validation, err)
                  : name_classes(ret, &d->validation.set, err);
}

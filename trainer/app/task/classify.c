/* Image classification: a folder of class folders, or a synthetic set. */
#include "common/log/log.h"
#include "common/str.h"
#include "trainer/app/device/ranks.h"
#include "trainer/app/hosts/data_parts.h"
#include "trainer/app/hosts/training_cache.h"
#include "trainer/app/normalize/normalization.h"
#include "trainer/app/task/class_pictures.h"
#include "trainer/app/task/class_predictions.h"
#include "trainer/app/task/classes.h"
#include "trainer/app/task/score.h"
#include "trainer/app/task/task.h"
#include "trainer/data/coco/coco_folder.h"
#include "trainer/data/codec/picture.h"
#include "trainer/data/dataset/holdout.h"
#include "trainer/data/dataset/labelled.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The task opens two data sets, for training and for evaluation, and makes a source of batches of
 * each. open_data chooses: a training needs both, while a trained model is scored on one or
 * predicts for pictures without labels.
 *
 * The order of open_training matters. Flags are read first, since opening may scan for minutes.
 * Parts of hosts are joined before pictures are held out, because a held-out picture must be the
 * same on all ranks. Ranks compare hashes before anything is computed from the data, and the means
 * come from what is left to train on.
 *
 * Rows of the table TASK_CLASSIFY at the end are the only names that other files see. */

/* One of this many pictures of a synthetic set is for evaluation. The evaluation then has a tenth
 * as many pictures as the training, rounded up. */
enum { SYNTHETIC_VALIDATION = 10 };

/* Sides of pictures, in pixels. Pictures up to SMALL_SIDE that a network scales to LARGE_SIDE or
 * more are worth a warning. */
enum { SMALL_SIDE = 64, LARGE_SIDE = 128 };

struct classify {
    struct dataset training;
    struct dataset validation;
    struct shard_sequence order; /* of the training, with lanes */
    struct labelled train;
    struct labelled score;
    struct normalization normalization;
    const struct model_config *trained; /* borrowed; set if pictures without labels are predicted */
};

/* For labelled sets the default computes the means. Returns no score of the task's own for labelled
 * sets, which makes score.c take the means of the model's metrics. */
static int open_predictions(struct task_data *data, void **ret_score, struct error *err) {
    const struct classify *c = data->own;
    *ret_score = NULL;
    return c->trained != NULL ? class_predictions_open(c->trained, &c->validation, ret_score, err)
                              : 0;
}

/* Called after a failed opening, too: parts that were not opened are zeroed. */
static void close_data(struct task_data *data) {
    struct classify *c = data->own;
    shard_sequence_done(&c->order);
    dataset_done(&c->validation);
    dataset_done(&c->training);
    picture_cache_done(c->train.kept.cache);
    free(c);
}

/* Rank 0 alone may keep an index beside the shards, so that ranks do not write the same file. */
static int open_folder(struct dataset *set, const char *folder, const struct task_data *data,
                       const struct task_request *request, struct error *err) {
    const struct options *o = request->options;
    const struct shards_reading reading = {
        .bad_allowed = data->bad_allowed,
        .base = (enum shards_base)o->label_base,
        .unindexed = o->index == OPTION_INDEX_NONE,
        .keep_index = comm_rank(request->comm) == 0 && o->index == OPTION_INDEX_AUTO,
    };
    return sample_health_open_shared(set, folder, &reading, request->comm, err);
}

/* FOLDER NULL: a synthetic set, PART of its pictures. */
static int open_set(struct dataset *set, const char *folder, const struct task_data *data,
                    const struct task_request *request, int64_t part, struct error *err) {
    const struct options *o = request->options;
    if (folder != NULL)
        return open_folder(set, folder, data, request, err);
    int64_t count = (o->synthetic_images + part - 1) / part;
    return dataset_open_synthetic(set, (size_t)count, (size_t)o->synthetic_classes, err);
}

/* --order lanes Lanes read several shards side by side and shuffle within a window (data/order).
 * They need the sequence of samples in the shards, so a plain folder is refused. */
static int settle_order(struct task_data *data, const struct task_request *request,
                        struct error *err) {
    struct classify *c = data->own;
    const struct options *o = request->options;
    if (o->order != OPTION_ORDER_LANES)
        return 0;
    if (c->training.kind != DATASET_SHARDS)
        return error_set(
            err, EXIT_CODE_USAGE,
            "--order lanes: %s is not in shards; ringtrain prepare folder makes shards "
            "of a folder",
            c->training.root != NULL ? c->training.root : "synthetic");
    if (shard_sequence_make(&c->order, &c->training, err) != 0)
        return -1;
    data->training.lanes = (struct lanes){c->order.samples, c->order.first, c->order.shards,
                                          (int)o->lanes, (int)o->shuffle_window};
    c->train.order = &c->order;
    return 0;
}

/* --cache The cache holds decoded training pictures, which the ranks of a host share
 * (hosts/training_cache.h). */
static int settle_cache(struct task_data *data, const struct task_request *request,
                        struct error *err) {
    struct classify *c = data->own;
    const struct options *o = request->options;
    if (strcmp(o->cache, "none") == 0)
        return 0;
    return training_cache_open(&c->train.kept, o->cache, (int)o->cache_side, &c->training,
                               &data->training.part, request->comm, err);
}

/* What the flags say that needs no data, before it is opened, which may take long. Parses the flags
 * on colours, blur and sizes into the training's settings, and refuses combinations with a cache
 * that cannot work. */
static int read_flags(struct task_data *data, const struct task_request *request,
                      struct error *err) {
    struct labelled *train = &((struct classify *)data->own)->train;
    const struct options *o = request->options;
    const bool cache = strcmp(o->cache, "none") != 0;
    if (o->cache_side != 0 && !cache)
        return error_set(err, EXIT_CODE_USAGE,
                         "--cache-side: there is no cache; give --cache ram or --cache FILE");
    if (cache && request->inputs->synthetic)
        return error_set(err, EXIT_CODE_USAGE, "--cache: the synthetic set has no pictures");
    if (color_parse(o->color, &train->color, err) != 0 ||
        blur_parse(o->blur, &train->blur, err) != 0 ||
        picture_sizes_parse(&train->sizes, o->progressive, request->image_size, err) != 0)
        return -1;
    return normalization_check(o, request->inputs->synthetic, err);
}

/* Settles how training pictures are cut, coloured and ordered. The first canvas is the full size;
 * those of --progressive follow, each with a network of its own. */
static int settle_training(struct task_data *data, const struct task_request *request,
                           struct error *err) {
    struct classify *c = data->own;
    const struct options *o = request->options;
    struct augment *a = &c->train.augment;
    c->train.set = &c->training;
    c->train.seed = (uint64_t)o->seed;
    c->train.keyed = o->dropout > 0;
    augment_defaults_train(a, request->image_size);
    switch (o->augment) {
    case OPTION_AUGMENT_CROP:
        a->mode = AUGMENT_RANDOM_RESIZED_CROP;
        break;
    case OPTION_AUGMENT_PAD:
        a->mode = AUGMENT_PAD_CROP;
        break;
    case OPTION_AUGMENT_CENTER:
        augment_defaults_eval(a, request->image_size);
        break;
    default:
        break;
    }
    if (o->min_area > 0)
        a->area_min = o->min_area;
    /* Centred pictures are the same in each epoch, so they are not mirrored either. */
    a->flip = o->flip && o->augment != OPTION_AUGMENT_CENTER;
    if (settle_order(data, request, err) != 0 || settle_cache(data, request, err) != 0)
        return -1;
    data->training.canvases[0] = (struct canvas){request->image_size, request->image_size};
    data->training.canvas_count = 1 + c->train.sizes.count;
    for (int i = 0; i < c->train.sizes.count; i++)
        data->training.canvases[i + 1] =
            (struct canvas){c->train.sizes.side[i], c->train.sizes.side[i]};
    return labelled_source(&data->training.source, &c->train, (int)o->batch_size, err);
}

/* Returns how pictures are prepared for an evaluation. A trained model brings its own resize_side,
 * so that later evaluations cut pictures alike. */
static struct augment crop_of(const struct task_request *request) {
    return augment_center_crop(request->image_size, (int)request->options->resize,
                               request->trained != NULL ? request->trained->resize_side : 0);
}

/* Pictures that are scored are cut from the centre, the same way in each evaluation, and have one
 * canvas. */
static int settle_validation(struct task_data *data, const struct task_request *request,
                             struct error *err) {
    struct classify *c = data->own;
    c->score.set = &c->validation;
    c->score.augment = crop_of(request);
    data->validation.canvases[0] = (struct canvas){request->image_size, request->image_size};
    data->validation.canvas_count = 1;
    /* A batch is computed as a whole, however few pictures are in it. */
    int64_t batch = request->options->batch_size;
    if (request->pictures != NULL && (int64_t)c->validation.count < batch)
        batch = (int64_t)c->validation.count;
    return labelled_source(&data->validation.source, &c->score, (int)batch, err);
}

/* Sets up the counts of faults, and fails if ranks have different files. */
static int agree(const struct task_request *request, struct sample_health *samples,
                 const char *what, const struct dataset *set, struct error *err) {
    if (bad_samples_init(&samples->faults, set->count, err) != 0)
        return -1;
    return ranks_agree(request->comm, what, set->hash, EXIT_CODE_DATA, err);
}

/* With a single class there is nothing to learn. */
static int check_count(const struct dataset *set, struct error *err) {
    return set->classes > 1
               ? 0
               : error_set(
                     err, EXIT_CODE_DATA,
                     "%s has one class folder, %s; a classification network needs two or more",
                     set->root, set->class_names[0]);
}

/* Small pictures suit networks made for them: others enlarge the pictures, which takes much
 * longer. Only the first picture is looked at, as sets are mostly of one size; a wrong guess
 * costs a line. */
static void warn_of_small(const struct task_request *request, const struct dataset *set) {
    cleanup_picture_reader struct picture_reader reader = {0};
    char path[INPUT_PATH_MAX];
    int width = 0, height = 0;
    /* A synthetic set has no root, and what is not scaled up much costs nothing. */
    if (comm_rank(request->comm) != 0 || set->root == NULL || set->count == 0 ||
        request->image_size < LARGE_SIDE)
        return;
    dataset_sample_name(set, 0, path, sizeof(path));
    if (picture_reader_size(&reader, path, &width, &height, NULL) == 0 && width <= SMALL_SIDE &&
        height <= SMALL_SIDE)
        log_warning("the pictures are small (the first is %dx%d px) and are scaled to %d px for "
                    "%s; --model resnet20 is for pictures of 32 px, and many times faster",
                    width, height, request->image_size, request->model->name);
}

/* --val-split: of a training set that has nothing to evaluate on. The choice depends on the seed
 * and the set alone, so a resumed run and all ranks hold out the same pictures. The held-out ones
 * move from one set to the other. */
static int hold_out(struct classify *c, const struct task_request *request, struct error *err) {
    const struct options *o = request->options;
    size_t unheld = 0;
    if (holdout_split(&c->training, o->val_split, (uint64_t)o->seed, &c->validation, &unheld,
                      err) != 0)
        return error_wrap(err, "--val-split");
    if (comm_rank(request->comm) != 0)
        return 0;
    log_info("--val-split %g: %zu of %zu pictures are held out and evaluated on, the same for "
             "--seed %" PRId64 " in every run",
             o->val_split, c->validation.count, c->validation.count + c->training.count, o->seed);
    if (unheld > 0)
        log_warning("--val-split: %zu of the %zu classes have one picture, which is not held out",
                    unheld, c->training.classes);
    return 0;
}

/* Opens what is evaluated on during training. Its classes must be among those of the training, and
 * get their numbers. */
static int open_validation(struct task_data *data, const struct task_request *request,
                           struct error *err) {
    struct classify *c = data->own;
    const struct inputs *in = request->inputs;
    static const char what[] = "the validation data";
    const char *folder = in->synthetic ? NULL : in->validation;
    if (request->options->val_split == 0 &&
        open_set(&c->validation, folder, data, request, SYNTHETIC_VALIDATION, err) != 0)
        return error_wrap(err, "validation data");
    if (agree(request, &data->validation, what, &c->validation, err) != 0)
        return -1;
    const struct classes all = {c->training.class_names, c->training.classes, "the training data"};
    return classes_place(&c->validation, what, &all, comm_rank(request->comm) == 0, err);
}

/* --sharded: joins the parts of all hosts. --sharded auto joins parts only where the folder itself
 * declares them. Without a declaration all hosts are taken to have the same files. */
static int join_parts(struct task_data *data, const struct task_request *request,
                      struct error *err) {
    struct classify *c = data->own;
    const struct options *o = request->options;
    const bool declared =
        !request->inputs->synthetic && data_parts_declared(request->inputs->training);
    if (request->inputs->synthetic || comm_size(request->comm) == 1 ||
        o->sharded == OPTION_SHARDED_FALSE || (o->sharded == OPTION_SHARDED_AUTO && !declared))
        return 0;
    if (o->val_split > 0)
        return error_set(err, EXIT_CODE_USAGE,
                         "--val-split: the training data is divided among hosts; give evaluation "
                         "data that each host has as a whole, or --validation none");
    if (o->order == OPTION_ORDER_LANES)
        return error_set(err, EXIT_CODE_USAGE,
                         "--order lanes: the training data is divided among hosts, each of which "
                         "reads its own part already; leave --order out");
    return data_parts_join(&data->training.part, &c->training, request->comm, err);
}

/* Adds to ERR what to do if each host was meant to have its own part. Always returns -1, with the
 * error that ranks_agree has found. */
static int suggest_parts(const struct task_request *request, struct error *err) {
    struct error why = *err;
    if (why.code != EXIT_CODE_DATA || request->options->sharded == OPTION_SHARDED_TRUE)
        return -1;
    return error_set(err, why.code, "%.700s; --sharded true trains each host on what it has",
                     why.text);
}

/* DATA borrows names and means from its own struct classify, which lives until close_data. */
static int open_training(struct task_data *data, const struct task_request *request,
                         struct error *err) {
    struct classify *c = data->own;
    const struct inputs *in = request->inputs;
    if (read_flags(data, request, err) != 0)
        return -1;
    if (open_set(&c->training, in->synthetic ? NULL : in->training, data, request, 1, err) != 0)
        return error_wrap(err, "training data");
    warn_of_small(request, &c->training);
    if (join_parts(data, request, err) != 0)
        return -1;
    if (!in->synthetic && check_count(&c->training, err) != 0)
        return -1;
    if (request->options->val_split > 0 && hold_out(c, request, err) != 0)
        return -1;
    if (agree(request, &data->training, "the training data", &c->training, err) != 0)
        return suggest_parts(request, err);
    data->class_names = c->training.class_names;
    data->classes = c->training.classes;
    data->hash = c->training.hash;
    if (normalization_find(request->options, request->comm, &c->training, &data->training.part,
                           &c->normalization, err) != 0)
        return -1;
    data->mean = c->normalization.mean;
    data->std = c->normalization.std;
    if (in->scored && open_validation(data, request, err) != 0)
        return -1;
    return settle_training(data, request, err);
}

/* Logs how the folders were interpreted, and a warning if nothing is evaluated although the user
 * did not ask for that. */
static void warn_of_inputs(const struct task_request *request) {
    const struct inputs *in = request->inputs;
    if (comm_rank(request->comm) != 0)
        return;
    if (in->note[0] != '\0')
        log_warning("%s", in->note);
    if (!in->scored && request->trained == NULL && request->options->validation == NULL)
        log_warning(
            "no validation data: nothing is evaluated; put some pictures of each class into "
            "val/CLASS beside train/CLASS, give --validation DIR (none: without a word), or hold "
            "some out with --val-split 0.2");
}

/* Opens pictures without labels. Classes come from the model, as pictures without labels have
 * none. */
static int open_given(struct task_data *data, const struct task_request *request,
                      struct error *err) {
    struct classify *c = data->own;
    const struct picture_list *pictures = request->pictures;
    c->trained = request->trained;
    data->class_names = request->trained->class_names;
    data->classes = request->trained->classes;
    if (dataset_open_files(&c->validation, pictures->paths, pictures->count, err) != 0)
        return -1;
    return bad_samples_init(&data->validation.faults, c->validation.count, err);
}

/* The data may lack some classes of the model but have no others: answers are compared by the
 * model's numbers. */
static int open_trained(struct task_data *data, const struct task_request *request,
                        struct error *err) {
    struct classify *c = data->own;
    const struct model_config *config = request->trained;
    if (request->pictures != NULL)
        return open_given(data, request, err);
    if (request->inputs->synthetic)
        return error_set(err, EXIT_CODE_USAGE, "--data: evaluation needs a folder of pictures");
    if (open_folder(&c->validation, request->inputs->validation, data, request, err) != 0)
        return -1;
    struct classes model = {config->class_names, config->classes, "the model"};
    if (classes_place(&c->validation, request->inputs->validation, &model,
                      comm_rank(request->comm) == 0, err) != 0)
        return -1;
    data->class_names = c->validation.class_names;
    data->classes = c->validation.classes;
    return agree(request, &data->validation, "the data", &c->validation, err);
}

/* Adds to ERR that the folder looks like a COCO set, if it does. Always returns -1. A folder of
 * annotations is a likely mistake, since both kinds of networks take --data. */
static int suspect_objects(const struct task_request *request, struct error *err) {
    cleanup_coco_folder struct coco_folder folder = {0};
    const struct inputs *in = request->inputs;
    const char *data = request->options->data != NULL ? request->options->data
                       : request->trained != NULL     ? in->validation
                                                      : in->training;
    if (err == NULL || err->code != EXIT_CODE_DATA || in->synthetic ||
        coco_folder_open(&folder, data, NULL) != 0 || folder.sets[0].pictures[0] == '\0')
        return -1;
    char said[ERROR_TEXT_MAX];
    memcpy(said, err->text, sizeof(said));
    return error_set(err, EXIT_CODE_DATA,
                     "%s; %s looks like COCO annotations, which --model maskrcnn_resnet50_fpn "
                     "takes",
                     said, folder.sets[0].json);
}

/* On failure the caller closes what is open, with close_data. */
static int open_data(struct task_data *ret, const struct task_request *request, struct error *err) {
    struct classify *c = calloc(1, sizeof(*c));
    if (c == NULL)
        return error_no_memory(err, "data");
    ret->own = c;
    warn_of_inputs(request);
    if ((request->trained != NULL ? open_trained : open_training)(ret, request, err) != 0)
        return suspect_objects(request, err);
    return c->validation.count > 0 ? settle_validation(ret, request, err) : 0;
}

/* What the model has to keep for later: names of classes, sides, and the means by which its
 * pictures were normalized, or those of ImageNet.
 *
 * RET borrows everything; model_config has no const names, so the cast takes it away without any
 * write. */
static void describe(const struct task_data *data, const struct task_request *request,
                     struct model_config *ret) {
    ret->class_names = (char **)(uintptr_t)data->class_names;
    ret->classes = data->classes;
    ret->image_size = request->image_size;
    ret->resize_side = crop_of(request).resize_side;
    memcpy(ret->mean, data->mean != NULL ? data->mean : MODEL_MEAN, sizeof(ret->mean));
    memcpy(ret->std, data->std != NULL ? data->std : MODEL_STD, sizeof(ret->std));
}

/* One line on the terminal for each evaluation. Top-5 is left out where the evaluation does not
 * report it: with five classes or fewer each picture would count as right. */
static int print(struct buf *out, double epoch, const struct evaluation *e, struct error *err) {
    char top5[32] = "";
    if (evaluation_says(e, "top5"))
        (void)snprintf(top5, sizeof(top5), "top-5 %.2f %%, ", 100 * evaluation_figure(e, "top5"));
    return buf_printf(out, err,
                      "evaluation: epoch %.4g, top-1 %.2f %%, %sloss %.4f, %" PRId64 " image%s",
                      epoch, 100 * evaluation_figure(e, "top1"), top5, evaluation_figure(e, "loss"),
                      e->images, STR_PLURAL(e->images));
}

/* Figures, headings, factors and decimals of the table at the end of a run. A figure that no
 * evaluation has reported gets no column (eval_table.c). */
static const struct metric_column columns[] = {
    {"top1", "Top-1 %", 100, 2},
    {"top5", "Top-5 %", 100, 2},
    {"loss", "Loss", 1, 4},
    {NULL, NULL, 0, 0},
};

/* The share of the training batches' pictures that the network gets right. The network scores them
 * as they are augmented, and before the step, so that it usually lies below that of an
 * evaluation. */
static const struct metric_column row_columns[] = {{"top1", "Top-1 %", 100, 2}, {NULL, NULL, 0, 0}};

/* Pictures of the validation set that the network got wrong, as the tally has kept them. */
static int show_mistakes(const struct task_data *data, const struct class_tally *tally,
                         const struct task_show *show, struct error *err) {
    const struct classify *c = data->own;
    return class_pictures(&c->validation, data->class_names, tally, show, err);
}

/* The first pictures of a training batch, as the network gets them after cropping and colouring. */
static int show_batch(const struct task_data *data, const struct batch *batch,
                      const struct task_show *show, struct error *err) {
    return class_pictures_batch(batch, data->training.canvases[batch->canvas].width,
                                data->class_names, show, err);
}

const struct task TASK_CLASSIFY = {
    .open = open_data,
    .close = close_data,
    .describe = describe,
    .score_open = open_predictions,
    .score_batch = class_predictions_batch,
    .score_close = class_predictions_close,
    .mistakes_show = show_mistakes,
    .batch_show = show_batch,
    .predictions_check = class_predictions_check,
    .predictions_gather = class_predictions_gather,
    .predictions_write = class_predictions_write,
    .figure = evaluation_name,
    .best = {"top1", "loss"},
    .print = print,
    .columns = columns,
    .row_columns = row_columns,
};

/* Every flag of `ringtrain train`, `eval` and `predict`: one table (options.c), one struct. What a
 * flag means stands in its help text there. Numbers that are 0 where 0 makes no sense mean "choose
 * for me". */
#ifndef TRAINER_APP_OPTIONS_OPTIONS_H
#define TRAINER_APP_OPTIONS_OPTIONS_H

#include "common/buf.h"
#include "common/error.h"
#include "trainer/graph/fuse/fuse.h"
#include "trainer/models/model.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Commands that share the table, as bits. */
enum { COMMAND_TRAIN = 1, COMMAND_EVAL = 2, COMMAND_PLAN = 4, COMMAND_PREDICT = 8 };

/* In the order of the choices in the table. */
enum option_dtype { OPTION_F32, OPTION_BF16, OPTION_F16 };
enum option_backend {
    OPTION_BACKEND_AUTO,
    OPTION_BACKEND_REF,
    OPTION_BACKEND_CPU,
    OPTION_BACKEND_CUDA
};
enum { OPTION_FUSION_AUTO = FUSION_CONV + 1 }; /* behind enum fusion */
enum option_convs { OPTION_CONVS_AUTO, OPTION_CONVS_DIRECT, OPTION_CONVS_WINOGRAD };
enum option_comm { OPTION_COMM_AUTO, OPTION_COMM_MPI, OPTION_COMM_NCCL };
enum option_log { OPTION_LOG_AUTO, OPTION_LOG_BOTH, OPTION_LOG_TABLE, OPTION_LOG_METRICS };
enum option_publish { OPTION_PUBLISH_LAST, OPTION_PUBLISH_BEST };
enum option_preset { OPTION_PRESET_TV, OPTION_PRESET_D2, OPTION_PRESET_MLPERF };
enum option_format { OPTION_JPEG, OPTION_PNG };
enum option_augment {
    OPTION_AUGMENT_AUTO,
    OPTION_AUGMENT_CROP,
    OPTION_AUGMENT_PAD,
    OPTION_AUGMENT_CENTER
};

/* What it means where a run that goes on from a checkpoint has a setting otherwise. */
enum setting_kind {
    SETTING_MACHINE = 1, /* who computes: may always change */
    SETTING_WAY = 2,     /* how: may change on the way; a finished run was not made that way */
    SETTING_RECIPE = 4,  /* what is learnt: changes only where it was asked for */
    SETTING_ALL = SETTING_MACHINE | SETTING_WAY | SETTING_RECIPE,
};

/* Text is borrowed from the command line. */
struct options {
    const char *model;
    const char *recipe;
    const char *data;
    const char *validation;
    double val_split;
    const char *train_set;
    const char *val_set;
    int64_t synthetic_images;
    int64_t synthetic_classes;

    int64_t epochs;
    int64_t steps;
    int64_t batch_size;
    int64_t accumulate;
    int64_t image_size;
    int preset; /* enum option_preset */
    const char *canvases;
    int64_t gt_slots;
    int64_t anchor_samples;
    int64_t region_samples;
    int64_t short_side;
    int64_t long_side;
    int64_t short_low;
    int64_t short_step;
    int64_t resize;
    int augment;
    double min_area;
    bool flip;
    int dtype;
    bool zero_gamma;
    const char *bad_samples;
    const char *init;
    const char *init_prefix;
    int64_t frozen_stages;
    double norm_epsilon;
    int64_t seed;

    double lr;
    int64_t lr_batch;
    int schedule;           /* enum schedule_kind */
    const char *milestones; /* epochs; NULL: none given */
    double milestone_factor;
    double warmup_epochs;
    int64_t warmup_steps;
    double warmup_from;
    double momentum;
    bool nesterov;
    double weight_decay;
    bool decay_all;
    bool decay_biases;
    double bias_rate;
    double clip_norm;
    double label_smoothing;

    int backend;
    int fusion; /* enum fusion, or OPTION_FUSION_AUTO */
    int convs;  /* enum option_convs */
    int comm;
    bool check_operators;
    bool tune;
    const char *device; /* of a plan: a GPU that is described, NULL: one of this host's */
    int own_backward;   /* enum cuda_own */
    int launch_overlap, row_choice; /* the same */
    bool tf32;
    bool deterministic;
    const char *plan_cache;
    double loss_scale;
    int64_t loss_scale_growth;
    int64_t threads;
    int64_t data_threads;

    const char *model_dir;
    const char *checkpoint_dir;
    const char *watch;
    const char *watch_patience;
    const char *checkpoint_every;
    const char *tensorboard_dir;
    const char *out;
    int64_t pictures;
    double score_threshold;
    int64_t top;
    int format; /* enum option_format */
    const char *font;
    const char *resume;
    int64_t report_every;
    int64_t eval_every;
    int64_t verify_every;
    int log;
    const char *keep_best;
    const char *log_dir;
    int publish; /* enum option_publish */
};

/* The table of all flags. */
const struct flag *options_flags(size_t *ret_count);

/* Flags of COMMAND (one bit) in ARGV, over those of --recipe, over those of --preset, over those of
 * the network, over the defaults. A flag or a recipe for networks of another task than --model's is
 * an error. */
int options_parse(struct options *o, unsigned command, int argc, char *const *argv,
                  struct error *err);
/* Appends the options that change the bits of a training: "lr=0.1 momentum=0.9 ...". */
int options_record(struct buf *out, const struct options *o, struct error *err);
/* Appends all flags of COMMAND and their values as a JSON object of texts. */
int options_json(struct buf *out, unsigned command, const struct options *o, struct error *err);
/* The kind of an option, whose name has SIZE bytes; what a task records beside them
 * follows from ranks and data, and is SETTING_MACHINE. */
enum setting_kind options_kind(const char *name, size_t size);
/* The same error, for a command whose network is known later: ARGV has been parsed. */
int options_fit(unsigned command, const struct model *model, int argc, char *const *argv,
                struct error *err);
/* What MODEL brings along, for a command whose network is known later: laid below what ARGV, which
 * has been parsed to O, gives. */
int options_suit(struct options *o, unsigned command, const struct model *model, int argc,
                 char *const *argv, struct error *err);
/* The flags of COMMAND, then the networks and recipes; where ARGV, which may be wrong elsewhere,
 * has
 * --model or --recipe: those of its task alone, with the defaults that they bring. */
void options_print(FILE *out, unsigned command, int argc, char *const *argv);

#endif

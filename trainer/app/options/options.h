/* Flags of `ringtrain train`, `eval`, `predict`, `serve` and `inspect plan`: one table (options.c),
 * one struct.
 *
 * The help text in the table documents each flag. A number that is 0 although 0 makes no sense
 * means "choose automatically". */
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
enum {
    COMMAND_TRAIN = 1,
    COMMAND_EVAL = 2,
    COMMAND_PLAN = 4,
    COMMAND_PREDICT = 8,
    COMMAND_SERVE = 16,
};

/* In the order of the choices in the table. */
enum option_dtype { OPTION_F32, OPTION_BF16, OPTION_F16 };
enum option_backend {
    OPTION_BACKEND_AUTO,
    OPTION_BACKEND_REF,
    OPTION_BACKEND_CPU,
    OPTION_BACKEND_CUDA
};
enum { OPTION_FUSION_AUTO = FUSION_CONV + 1 }; /* follows the values of enum fusion */
enum option_convs { OPTION_CONVS_AUTO, OPTION_CONVS_DIRECT, OPTION_CONVS_WINOGRAD };
enum option_comm { OPTION_COMM_AUTO, OPTION_COMM_MPI, OPTION_COMM_NCCL, OPTION_COMM_TCP };
enum option_strategy {
    OPTION_ALLREDUCE,
    OPTION_SHARDED,
    OPTION_LOCAL_SGD,
    OPTION_PS_SYNC,
    OPTION_PS_ASYNC,
    OPTION_STRATEGIES
};
enum option_log { OPTION_LOG_AUTO, OPTION_LOG_BOTH, OPTION_LOG_TABLE, OPTION_LOG_METRICS };
enum option_publish { OPTION_PUBLISH_LAST, OPTION_PUBLISH_BEST };
enum option_preset { OPTION_PRESET_TV, OPTION_PRESET_D2, OPTION_PRESET_MLPERF };
enum option_format { OPTION_JPEG, OPTION_PNG };
enum option_index { OPTION_INDEX_AUTO, OPTION_INDEX_READ, OPTION_INDEX_NONE };
enum option_order { OPTION_ORDER_UNIFORM, OPTION_ORDER_LANES };
enum option_sharded { OPTION_SHARDED_AUTO, OPTION_SHARDED_TRUE, OPTION_SHARDED_FALSE };
enum option_augment {
    OPTION_AUGMENT_AUTO,
    OPTION_AUGMENT_CROP,
    OPTION_AUGMENT_PAD,
    OPTION_AUGMENT_CENTER
};

/* What a setting affects, and so whether a run that resumes from a checkpoint may change it. */
enum setting_kind {
    SETTING_MACHINE = 1, /* the machine that computes: may always change */
    SETTING_WAY = 2,     /* the method: may change during a run; a finished run is not extended
                          * that way */
    SETTING_RECIPE = 4,  /* what is learned: changes only if the user asked for it */
    SETTING_ALL = SETTING_MACHINE | SETTING_WAY | SETTING_RECIPE,
    SETTING_APART = 8, /* beside one of these in flag.recorded: not in the text of options_record */
};

/* Values of all flags. Text is borrowed from the command line. */
struct recipe_rate;

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
    const char *color;
    const char *blur;
    bool flip;
    int dtype;
    bool zero_gamma;
    const char *bad_samples;
    int label_base; /* enum shards_base */
    int index;      /* enum option_index */
    const char *cache;
    int64_t cache_side;
    int sharded; /* enum option_sharded */
    int order;   /* enum option_order */
    int64_t lanes;
    int64_t shuffle_window;
    const char *mean;
    const char *std;
    const char *init;
    const char *init_prefix;
    int64_t frozen_stages;
    double norm_epsilon;
    int64_t seed;

    /* Of the recipe, not flags: set where the command line leaves that to it (recipe.h). */
    const struct recipe_rate *lr_by_batch;     /* NULL: lr counts */
    const struct recipe_rate *warmup_by_batch; /* NULL: warmup_epochs and warmup_steps count */
    int64_t lr_images; /* a step that lr, which is not scaled, is meant for; 0: not known */

    double lr;
    int64_t lr_batch;
    int schedule; /* enum schedule_kind */
    double lr_end;
    const char *milestones; /* epochs; NULL: none given */
    double milestone_factor;
    double warmup_epochs;
    int64_t warmup_steps;
    double warmup_from;
    double warmup_lr;
    int optimizer; /* enum optimizer_kind */
    double trust;
    double beta2;
    double epsilon;
    double ema;
    double momentum;
    bool nesterov;
    double weight_decay;
    bool decay_all;
    bool decay_biases;
    double bias_rate;
    double clip_norm;
    double label_smoothing;
    double dropout;
    const char *progressive;

    int backend;
    int fusion; /* enum fusion, or OPTION_FUSION_AUTO */
    int convs;  /* enum option_convs */
    int comm;
    int reduce_dtype; /* enum option_dtype */
    int strategy;     /* enum option_strategy */
    int64_t sync_every;
    int64_t staleness;
    int64_t servers;
    int64_t server_hosts;
    bool check_operators;
    bool tune;
    const char *device;             /* for a plan: a simulated GPU; NULL: one of this host's */
    int own_backward;               /* enum cuda_own */
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
    const char *mtbf;
    int64_t keep;
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
    const char *timeline;
    int64_t histograms;
    int publish; /* enum option_publish */

    const char *listen;
    int64_t port; /* 0: the platform's, else 8080 */
    int64_t max_batch;
    double batch_delay; /* milliseconds */
    int64_t queue;      /* pictures; 0: the task's own */
    int64_t max_body;   /* MiB */
    int64_t connections;
    int64_t idle_seconds;
    int64_t receive_seconds;
    int64_t stop_seconds;
    bool access_log;
};

/* The network without --model. */
#define OPTIONS_MODEL "resnet50"

/* Returns the table of all flags. */
const struct flag *options_flags(size_t *ret_count);

/* Returns the name of PRESET, an enum option_preset. */
const char *options_preset_name(int preset);
/* Returns the name of OPTIMIZER, an enum optimizer_kind. */
const char *options_optimizer_name(int optimizer);
const char *options_strategy_name(enum option_strategy strategy);

/* Parses the flags of COMMAND (one bit) in ARGV. They override those of --recipe, which override
 * those of --preset, then those of --optimizer and of the network, then the defaults. A flag or
 * recipe for networks of a task other than --model's is an error. */
int options_parse(struct options *o, unsigned command, int argc, char *const *argv,
                  struct error *err);
/* Fills RET with the values that O would have without flags of its own: those of its recipe, its
 * network and its preset, else the defaults. */
int options_without_flags(struct options *ret, unsigned command, const struct options *o,
                          struct error *err);
/* Appends "--lr 0.2 --epochs 5": the flags by which O differs from these. --backend and --fusion,
 * which may have been settled since, are left out. */
int options_differences(struct buf *out, unsigned command, const struct options *o,
                        struct error *err);
/* Appends the options that change the bits of a training: "lr=0.1 momentum=0.9 ..."; OUT is empty.
 */
int options_record(struct buf *out, const struct options *o, struct error *err);
/* Appends in the same form the options that say what is learned, and how large a batch is. OUT is
 * empty. */
int options_learning(struct buf *out, const struct options *o, struct error *err);
/* Appends all flags of COMMAND and their values as a JSON object of texts. */
int options_json(struct buf *out, unsigned command, const struct options *o, struct error *err);
/* The same as a Markdown table, without those that have no value. */
int options_table(struct buf *out, unsigned command, const struct options *o, struct error *err);
/* The kind of the option with the name of SIZE bytes; what a task records beside them
 * follows from ranks and data, and is SETTING_MACHINE. */
enum setting_kind options_kind(const char *name, size_t size);
/* Fails as options_parse does for a flag of another task, for commands that read the network from
 * a file. ARGV has been parsed. */
int options_fit(unsigned command, const struct model *model, int argc, char *const *argv,
                struct error *err);
/* Applies MODEL's own settings, for commands that read the network from a file, below everything
 * that ARGV gives. ARGV has been parsed to O. */
int options_suit(struct options *o, unsigned command, const struct model *model, int argc,
                 char *const *argv, struct error *err);
/* Prints the networks, the flags of COMMAND in groups (help_group.h), and the recipes. If ARGV has
 * --model or --recipe, prints only those of its task, with the defaults that it sets. ARGV may have
 * errors elsewhere. Without CUDA flags for it are left out, which the text says. */
void options_print(FILE *out, unsigned command, int argc, char *const *argv, bool cuda);

#endif

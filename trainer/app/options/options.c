#include "trainer/app/options/options.h"

#include "trainer/app/options/flag.h"
#include "trainer/app/options/flag_print.h"
#include "trainer/data/codec/picture.h"
#include "trainer/data/order/lanes.h"

#include <stddef.h>

static const char *const dtypes[] = {"f32", "bf16", "f16", NULL};
static const char *const backends[] = {"auto", "ref", "cpu", "cuda", NULL};
static const char *const convs[] = {"auto", "direct", "winograd", NULL};
static const char *const owns[] = {"auto", "off", "on", NULL};
static const char *const comms[] = {"auto", "mpi", "nccl", "tcp", NULL};
static const char *const strategies[] = {"allreduce", "sharded",  "local-sgd",
                                         "ps-sync",   "ps-async", NULL};
static const char *const logs[] = {"auto", "both", "table", "metrics", NULL};
static const char *const publishes[] = {"last", "best", NULL};
static const char *const label_bases[] = {"auto", "0", "1", NULL};
static const char *const indexes[] = {"auto", "read", "none", NULL};
static const char *const orders[] = {"uniform", "lanes", NULL};
static const char *const shardeds[] = {"auto", "true", "false", NULL};
static const char *const augments[] = {"auto", "crop", "pad", "center", NULL};
static const char *const presets[] = {"tv", "d2", "mlperf", NULL};
static const char *const schedules[] = {"constant",   "step",          "poly2",     "cosine",
                                        "milestones", "linear-cosine", "one-cycle", NULL};
/* In the order of enum optimizer_kind. */
static const char *const optimizers[] = {"sgd", "lars", "larc", "adamw", "adagrad", NULL};
static const char *const formats[] = {"jpeg", "png", NULL};
static const char *const fusions[] = {"none", "norm", "all", "conv", "auto", NULL};

enum {
    T = COMMAND_TRAIN,
    E = COMMAND_EVAL,
    P = COMMAND_PLAN,
    R = COMMAND_PREDICT,
    S = COMMAND_SERVE,
    ALL = T | E | P | R | S,
};

enum { C = MODEL_CLASSIFY, D = MODEL_DETECT };

/* The column of commands also says of options that change the bits of a training what they change
 * (enum setting_kind). A checkpoint's state records those as text; APART: it has a member of its
 * own for it (run/run_state.c). */
enum {
    KIND_SHIFT = 8,
    MACHINE = SETTING_MACHINE << KIND_SHIFT,
    WAY = SETTING_WAY << KIND_SHIFT,
    RECIPE = SETTING_RECIPE << KIND_SHIFT,
    APART = SETTING_APART << KIND_SHIFT,
};
_Static_assert(ALL < 1 << KIND_SHIFT, "commands and kinds do not overlap");

#define ROW(name_, type_, field_, standard_, commands_, help_)                                     \
    .name = (name_), .type = (type_), .offset = offsetof(struct options, field_),                  \
    .standard = (standard_), .commands = (commands_)&ALL, .recorded = (commands_) >> KIND_SHIFT,   \
    .help = (help_)
#define TEXT(name, field, standard, commands, what, help)                                          \
    { ROW(name, FLAG_TEXT, field, standard, commands, help), .value = (what) }
#define TEXT_OF(tasks_, name, field, standard, commands, what, help)                               \
    { ROW(name, FLAG_TEXT, field, standard, commands, help), .value = (what), .tasks = (tasks_) }
#define INT_OF(tasks_, name, field, standard, low, high, commands, what, help)                     \
    {                                                                                              \
        ROW(name, FLAG_INT, field, standard, commands, help), .value = (what), .min = (low),       \
                                                              .max = (high), .tasks = (tasks_)     \
    }
#define INT(...) INT_OF(0, __VA_ARGS__)
#define REAL_OF(tasks_, name, field, standard, low, high, commands, what, help)                    \
    {                                                                                              \
        ROW(name, FLAG_REAL, field, standard, commands, help), .value = (what), .min = (low),      \
                                                               .max = (high), .tasks = (tasks_)    \
    }
#define REAL(...) REAL_OF(0, __VA_ARGS__)
#define BOOL_OF(tasks_, name, field, standard, commands, help)                                     \
    {                                                                                              \
        ROW(name, FLAG_BOOL, field, standard, commands, help), .value = "true|false",              \
                                                               .tasks = (tasks_)                   \
    }
#define BOOL(...) BOOL_OF(0, __VA_ARGS__)
#define CHOICE_OF(tasks_, name, field, names, standard, commands, help)                            \
    {                                                                                              \
        ROW(name, FLAG_CHOICE, field, standard, commands, help), .choices = (names), .value = "",  \
                                                                 .tasks = (tasks_)                 \
    }
#define CHOICE(...) CHOICE_OF(0, __VA_ARGS__)

#define DATA_SOURCES "DIR|SHARD|PREFIX*"
#define SHARDS                                                                                     \
    "shards (tar, TFRecord, RecordIO, CIFAR's and MNIST's binaries): one, a folder of them, or "   \
    "FOLDER/PREFIX*"

/* The order is that of records and reference pages (help_group.h). The blank lines keep it:
 * clang-format sorts includes that are adjacent. */
static const struct flag FLAGS[] = {
#include "trainer/app/options/options_data.def"

#include "trainer/app/options/options_network.def"

#include "trainer/app/options/options_learning.def"

#include "trainer/app/options/options_devices.def"

#include "trainer/app/options/options_results.def"
};

enum { FLAG_COUNT = sizeof(FLAGS) / sizeof(FLAGS[0]) };

const struct flag *options_flags(size_t *ret_count) {
    *ret_count = FLAG_COUNT;
    return FLAGS;
}

const char *options_preset_name(int preset) {
    return presets[preset];
}

const char *options_optimizer_name(int optimizer) {
    return optimizers[optimizer];
}

const char *options_strategy_name(enum option_strategy strategy) {
    return strategies[strategy];
}

int options_json(struct buf *out, unsigned command, const struct options *o, struct error *err) {
    return flags_json(out, FLAGS, FLAG_COUNT, command, o, err);
}

int options_table(struct buf *out, unsigned command, const struct options *o, struct error *err) {
    return flags_table(out, FLAGS, FLAG_COUNT, command, o, err);
}

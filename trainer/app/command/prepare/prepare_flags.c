#include "trainer/app/command/prepare/prepare_flags.h"

#include "common/system/cpus.h"
#include "trainer/app/options/flag.h"
#include "trainer/app/options/flag_print.h"
#include "trainer/app/task/sample_health.h"
#include "trainer/data/download/download.h"
#include "trainer/data/format/formats.h"
#include "trainer/data/prepare/shard_set_options.h"

#include <stddef.h>
#include <string.h>

enum { SIDE_MAX = 16384, WORDS_MAX = 256 };

#define ROW(name_, type_, field_, standard_, value_, kinds_, help_)                                \
    .name = (name_), .type = (type_), .offset = offsetof(struct prepare_flags, field_),            \
    .standard = (standard_), .commands = (kinds_), .value = (value_), .help = (help_)
#define INT(name, field, standard, low, high, kinds, help)                                         \
    { ROW(name, FLAG_INT, field, standard, "N", kinds, help), .min = (low), .max = (high) }

static const char *const LABEL_BASES[] = {"auto", "0", "1", NULL};

static const struct flag FLAGS[] = {
    {ROW("format", FLAG_TEXT, format, "tar", "NAME", PREPARE_SHARDS,
         "tar, tfrecord, recordio, or folder: folders of classes")},
    INT("shards", shards, "0", 0, SHARD_SET_SHARDS_MAX, PREPARE_SHARDS,
        "shards of the training part, and as many for each picture of the other (0: shards of 128 "
        "MiB)"),
    INT("resize", resize, "0", 0, SIDE_MAX, PREPARE_SHARDS,
        "scale larger pictures down to this short side (0: copy all as they are)"),
    INT("quality", quality, "90", 1, 100, PREPARE_SHARDS, "quality of scaled JPEGs"),
    {ROW("raw", FLAG_BOOL, raw, "false", "true|false", PREPARE_SHARDS,
         "store pixels (PNM), which need no decoding: about ten times the size of JPEGs")},
    INT("threads", threads, "0", 0, SHARD_SET_THREADS_MAX, PREPARE_SHARDS | PREPARE_COCO,
        "threads of a process (0: one for each CPU, shared among the ranks of a host)"),
    {ROW("bad-samples", FLAG_TEXT, bad_samples, "fail", "fail|skip|N", PREPARE_SHARDS,
         "a picture that cannot be read, or decoded to be scaled: end, leave it out, or leave out "
         "at most N")},
    {ROW("label-base", FLAG_CHOICE, label_base, "auto", NULL, PREPARE_FOLDER,
         "the first class's number in shards that are read; auto: 0, or 1 in TFRecord if no record "
         "has the class 0"),
     .choices = LABEL_BASES},
    {ROW("val-split", FLAG_REAL, val_split, "0.2", "SHARE", PREPARE_FLOWERS,
         "share of each class that is held out for evaluation (0: none)"),
     .max = 0.9},
    INT("seed", seed, "0", 0, 9e15, PREPARE_FLOWERS, "seed that decides which pictures these are"),
    {ROW("val-labels", FLAG_TEXT, val_labels, NULL, "FILE", PREPARE_IMAGENET,
         "classes of the validation pictures: a class a line in the order of the pictures, or "
         "PICTURE,CLASS lines")},
    {ROW("user", FLAG_TEXT, user, NULL, "NAME", PREPARE_ARCHIVES,
         "user at the addresses' server; the password comes from --password-file or the "
         "variable " DOWNLOAD_PASSWORD_VARIABLE)},
    {ROW("password-file", FLAG_TEXT, password_file, NULL, "FILE", PREPARE_ARCHIVES,
         "file with the password, or ImageNet's access key, in its first line")},
    {ROW("sha256", FLAG_TEXT, sha256, NULL, "HEX,...", PREPARE_ARCHIVES,
         "SHA-256 of each address's file, in their order (default: as known for published "
         "archives)")},
    {ROW("download-dir", FLAG_TEXT, download_dir, NULL, "DIR", PREPARE_ARCHIVES,
         "folder that fetched archives stay in (default: within TARGET, until the set is "
         "complete)")},
    {ROW("http", FLAG_BOOL, http, "false", "true|false", PREPARE_ARCHIVES,
         "permit addresses of http://: anybody on the way can change what they give")},
};

enum { FLAG_COUNT = sizeof(FLAGS) / sizeof(FLAGS[0]) };

/* Separates sources and target from the flags. */
static int take_words(const char *name, int argc, char *const *argv, char **flags_argv,
                      int *ret_flags, struct prepare_flags *f, struct error *err) {
    char *words[WORDS_MAX];
    int count = 0;
    if (argc > WORDS_MAX)
        return error_set(err, EXIT_CODE_USAGE, "more than %d words", WORDS_MAX);
    flags_split(argc, argv, flags_argv, ret_flags, words, &count);
    if (count < 2 || count > PREPARE_SOURCES_MAX + 1)
        return error_set(err, EXIT_CODE_USAGE,
                         "usage: ringtrain prepare %s SOURCE... TARGET [--FLAG VALUE]...: %d "
                         "given; expected at least one source and the folder to write to",
                         name, count);
    for (int i = 0; i < count - 1; i++)
        f->sources[f->source_count++] = words[i];
    f->target = words[count - 1];
    return 0;
}

int prepare_flags_parse(enum prepare_kind kind, const char *name, int argc, char *const *argv,
                        struct prepare_flags *ret, struct error *err) {
    char *flags_argv[WORDS_MAX];
    int flags = 0;
    *ret = (struct prepare_flags){.kind = kind};
    if (take_words(name, argc, argv, flags_argv, &flags, ret, err) != 0 ||
        flags_parse(FLAGS, FLAG_COUNT, kind, flags, flags_argv, ret, err) != 0)
        return -1;
    if (kind == PREPARE_COCO)
        return 0;
    if (strcmp(ret->format, "folder") != 0 && format_need(ret->format, err) == NULL)
        return error_wrap(err, "--format");
    ret->reading.base = (enum shards_base)ret->label_base;
    return sample_health_parse_allowed(ret->bad_samples, &ret->reading.bad_allowed, err);
}

int prepare_flags_threads(const struct prepare_flags *flags) {
    const int threads = flags->threads > 0 ? (int)flags->threads : cpus_usable("");
    return threads < SHARD_SET_THREADS_MAX ? threads : SHARD_SET_THREADS_MAX;
}

void prepare_flags_print(FILE *out, enum prepare_kind kind) {
    flags_print(out, FLAGS, FLAG_COUNT, kind, 0, NULL);
}

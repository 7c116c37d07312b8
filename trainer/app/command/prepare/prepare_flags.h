/* Flags of the commands that write data sets as shards or folders. */
#ifndef TRAINER_APP_COMMAND_PREPARE_PREPARE_FLAGS_H
#define TRAINER_APP_COMMAND_PREPARE_PREPARE_FLAGS_H

#include "common/error.h"
#include "trainer/data/dataset/shards.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum prepare_kind {
    PREPARE_FOLDER = 1,
    PREPARE_FLOWERS = 2,
    PREPARE_CIFAR = 4,
    PREPARE_IMAGENET = 8,
    PREPARE_COCO = 16,
    PREPARE_ARCHIVES = PREPARE_FLOWERS | PREPARE_CIFAR | PREPARE_IMAGENET | PREPARE_COCO,
    PREPARE_SHARDS = PREPARE_FOLDER | PREPARE_FLOWERS | PREPARE_CIFAR | PREPARE_IMAGENET,
};

enum { PREPARE_SOURCES_MAX = 64 };

/* A command line. */
struct prepare_flags {
    enum prepare_kind kind;
    const char *format;
    int64_t shards;
    int64_t resize;
    int64_t quality;
    bool raw;
    int64_t threads;
    const char *bad_samples;
    int label_base;                /* enum shards_base */
    struct shards_reading reading; /* as bad_samples and label_base say */
    double val_split;
    int64_t seed;
    const char *val_labels; /* NULL: not given */
    /* How addresses are fetched (trainer/data/download/download.h); NULL: not given. */
    const char *user;
    const char *password_file;
    const char *sha256;
    const char *download_dir;
    bool http;

    char *sources[PREPARE_SOURCES_MAX]; /* borrowed from the command line */
    int source_count;
    const char *target;
};

/* Parses SOURCE... TARGET and the flags of KIND, which NAME is called on the command line. */
int prepare_flags_parse(enum prepare_kind kind, const char *name, int argc, char *const *argv,
                        struct prepare_flags *ret, struct error *err);
/* The threads to use. */
int prepare_flags_threads(const struct prepare_flags *flags);
/* Prints the flags of KIND for --help. */
void prepare_flags_print(FILE *out, enum prepare_kind kind);

#endif

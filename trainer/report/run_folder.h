/* Folder of a run as a report reads it: run.jsonl, and pictures of the last evaluation that has
 * some. */
#ifndef TRAINER_REPORT_RUN_FOLDER_H
#define TRAINER_REPORT_RUN_FOLDER_H

#include "common/buf.h"
#include "common/error.h"
#include "trainer/report/run_history.h"

#include <stddef.h>
#include <stdint.h>

/* Runs of a page. */
enum { PAGE_RUNS_MAX = 16 };

enum { RUN_FOLDER_PICTURES_MAX = 12, RUN_FOLDER_NAME_SIZE = 128 };

struct run_picture {
    int64_t id;
    struct buf jpeg; /* owned */
};

struct run_folder {
    char name[RUN_FOLDER_NAME_SIZE]; /* the last parts of its path that tell it from others */
    struct run_history history;
    struct run_picture pictures[RUN_FOLDER_PICTURES_MAX];
    size_t picture_count;
    int64_t pictures_step;
};

/* Reads FOLDER/run.jsonl, and at most PICTURES pictures in PICTURES_FOLDER/pictures
 * (run/eval_artifacts.h), of at most BYTES together. Pictures that cannot be read are left out. */
int run_folder_read(struct run_folder *ret, const char *folder, const char *pictures_folder,
                    size_t pictures, size_t bytes, struct error *err);
void run_folder_done(struct run_folder *f);

#endif

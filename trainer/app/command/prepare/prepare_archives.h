/* Archives that a command makes a set of: files, or addresses of the web, which are fetched. */
#ifndef TRAINER_APP_COMMAND_PREPARE_PREPARE_ARCHIVES_H
#define TRAINER_APP_COMMAND_PREPARE_PREPARE_ARCHIVES_H

#include "common/error.h"
#include "trainer/app/command/prepare/prepare_flags.h"

#include <limits.h>

/* Zeroed, it holds none. */
struct prepare_archives {
    char (*paths)[PATH_MAX]; /* owned, [count]: of the fetched files */
    size_t count;
    char folder[PATH_MAX]; /* that they lie in; "": the user's own, which stays */
};

void prepare_archives_done(struct prepare_archives *archives);

/* Fetches the addresses among FLAGS' sources and puts their paths in their place. They go to
 * --download-dir, or else to a folder within the target. Makes the target in that case, and
 * refuses, with EXIT_CODE_CONFIG, one that holds something else. */
int prepare_archives_bring(struct prepare_archives *ret, enum prepare_kind kind,
                           struct prepare_flags *flags, struct error *err);

/* Removes what was fetched into the target: the set is complete. */
void prepare_archives_remove(const struct prepare_archives *archives);

#define cleanup_prepare_archives __attribute__((cleanup(prepare_archives_done)))

#endif

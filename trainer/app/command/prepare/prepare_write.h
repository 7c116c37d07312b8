/* Writer of a command's data sets, as shards or folders.
 *
 * The work is that of one process, or of all ranks of a job that share the target. */
#ifndef TRAINER_APP_COMMAND_PREPARE_PREPARE_WRITE_H
#define TRAINER_APP_COMMAND_PREPARE_PREPARE_WRITE_H

#include "common/error.h"
#include "trainer/app/command/prepare/prepare_flags.h"
#include "trainer/app/command/prepare/prepare_sets.h"

/* Writes all parts as FLAGS say, with a line of progress, and prints what was made. It is this
 * process's work alone, whatever other ranks there are. */
int prepare_write_alone(struct prepare_sets *sets, const struct prepare_flags *flags,
                        struct error *err);

/* The same together with the other ranks of the job, each of which opens its sets by OPEN. All end
 * with the same outcome. */
int prepare_write_together(const struct prepare_flags *flags,
                           int (*open)(struct prepare_sets *sets, const struct prepare_flags *flags,
                                       struct error *err),
                           struct error *err);

#endif

/* What a run leaves for later: its log and its numbers, as two files that grow.
 *
 *     FOLDER/run.log      the lines of the log, from the program's start on
 *     FOLDER/run.jsonl    one JSON object a line: "kind" is run (what was asked for), train, eval
 * or end; "time" is UTC
 *
 * A run that goes on, or another one in the same folder, appends; each begins with a line of kind
 * run. Nothing of a training hangs on it: a file that cannot be written is warned of once, and no
 * more is written. There is one in a process, and what is said before it is opened is kept for it.
 * For one thread. */
#ifndef TRAINER_TELEMETRY_RUN_LOG_H
#define TRAINER_TELEMETRY_RUN_LOG_H

#include "common/error.h"
#include "common/metric_line.h"

#include <stddef.h>

/* From here on lines of the log are kept for run_log_open, up to a ceiling. */
void run_log_begin(void);
/* Makes FOLDER where it is missing. EXIT_CODE_CONFIG where the files cannot be written. */
int run_log_open(const char *folder, struct error *err);
/* Forgets what is kept, and writes no more. */
void run_log_close(void);

/* A line of KIND with numbers; what is not finite becomes null. Does nothing while none is open. */
void run_log_add(const char *kind, const struct metric_field *fields, size_t count);
/* The same with MEMBERS, which are JSON behind a comma: "\"model\":\"resnet18\"". */
void run_log_add_json(const char *kind, const char *members);

#endif

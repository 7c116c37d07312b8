/* Log and metrics of a run as two growing files:
 *
 *     FOLDER/run.log      the lines of the log, from the program's start on
 *     FOLDER/run.jsonl    one JSON object a line, docs/reference/run-log.md: "kind" is run (the
 *                         settings), train, eval, end and others; "time" is UTC
 *
 * A resumed run, or another one in the same folder, appends; each begins with a line of kind run.
 * Each line is one write. A line that a killed run has left unfinished is ended before the next.
 * Training does not depend on it: a file that cannot be written is warned of once, and no more is
 * written. There is one in a process; log lines from before it is opened are kept for it. Not
 * thread-safe. */
#ifndef TRAINER_TELEMETRY_RUN_LOG_H
#define TRAINER_TELEMETRY_RUN_LOG_H

#include "common/error.h"
#include "common/text/metric_line.h"

#include <stdbool.h>
#include <stddef.h>

/* Version of the lines of run.jsonl, in each line of kind run. A member that is added does not
 * raise it. */
enum { RUN_LOG_VERSION = 1 };

/* Longest line of run.jsonl, in bytes. */
enum { RUN_LOG_LINE_MAX = 1024 * 1024 };

#define RUN_LOG_NUMBERS "run.jsonl"

/* Starts keeping lines of the log for run_log_open, up to a limit. */
void run_log_begin(void);
/* Creates FOLDER if it is missing. EXIT_CODE_CONFIG if the files cannot be written. */
int run_log_open(const char *folder, struct error *err);
bool run_log_is_open(void);
/* Drops the kept lines and closes the files. */
void run_log_close(void);

/* Writes a line of KIND with numbers; non-finite numbers become null. Does nothing while none is
 * open. */
void run_log_add(const char *kind, const struct metric_field *fields, size_t count);
/* The same with MEMBERS, those of a JSON object without its braces: "\"model\":\"resnet18\"". */
void run_log_add_json(const char *kind, const char *members);

#endif

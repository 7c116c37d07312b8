/* File of timelines in Chrome's trace format, which Perfetto and chrome://tracing open: a process
 * for each rank, with a row for its steps and one for its work with other ranks. */
#ifndef TRAINER_TELEMETRY_TRACE_FILE_H
#define TRAINER_TELEMETRY_TRACE_FILE_H

#include "common/error.h"
#include "common/file/output_path.h"
#include "trainer/telemetry/timeline.h"

#include <stddef.h>
#include <stdint.h>

enum { TRACE_HOST_SIZE = 64 };

/* Files that this program has written, which may be replaced. */
extern const struct output_path_kind TRACE_FILE_KIND;

struct trace_rank {
    char host[TRACE_HOST_SIZE];
    int64_t clock_error;               /* its spans lie at most so far from where they belong, ns */
    const struct timeline_span *spans; /* borrowed; on one clock with those of other ranks */
    size_t count;
};

/* Replaces PATH. Times in it begin with the earliest span. */
int trace_file_write(const char *path, const struct trace_rank *ranks, size_t count,
                     struct error *err);

#endif

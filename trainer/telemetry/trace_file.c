#include "trainer/telemetry/trace_file.h"

#include "common/buf.h"
#include "common/file/file.h"
#include "common/json/json_text.h"

#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define START "{\"displayTimeUnit\":\"ms\",\"traceEvents\":["

static const char *const STARTS[] = {START, NULL};
const struct output_path_kind TRACE_FILE_KIND = {"a timeline", STARTS};

enum { PIECE = 1 << 20, ROOM = PIECE + (1 << 16) };

/* Rows of a rank. */
enum { ROW_STEPS, ROW_RANKS };

static const struct {
    const char *name;
    int row;
    const char *argument; /* what a span's number is */
} KINDS[TIMELINE_KINDS] = {
    [TIMELINE_STEP] = {"step", ROW_STEPS, "step"},
    [TIMELINE_DATA] = {"wait for data", ROW_STEPS, "step"},
    [TIMELINE_FORWARD] = {"forward", ROW_STEPS, "step"},
    [TIMELINE_BACKWARD] = {"backward", ROW_STEPS, "step"},
    [TIMELINE_LAUNCH] = {"launch", ROW_STEPS, "step"},
    [TIMELINE_RANKS] = {"wait for ranks", ROW_STEPS, "step"},
    [TIMELINE_DEVICE] = {"wait for device", ROW_STEPS, "step"},
    [TIMELINE_OPTIMIZER] = {"optimizer", ROW_STEPS, "step"},
    [TIMELINE_EVALUATION] = {"evaluation", ROW_STEPS, "step"},
    [TIMELINE_CHECKPOINT] = {"checkpoint", ROW_STEPS, "step"},
    [TIMELINE_SUM] = {"all-reduce", ROW_RANKS, "bytes"},
    [TIMELINE_BROADCAST] = {"broadcast", ROW_RANKS, "bytes"},
    [TIMELINE_GATHER] = {"gather", ROW_RANKS, "bytes"},
    [TIMELINE_BARRIER] = {"barrier", ROW_RANKS, "bytes"},
};

struct trace_writer {
    int fd;
    struct buf text;
    int64_t origin; /* of all times */
    bool first;
};

static int flush(struct trace_writer *w, size_t least, struct error *err) {
    if (w->text.size < least)
        return 0;
    const int result = file_write_all(w->fd, buf_text(&w->text), w->text.size, err);
    buf_consume(&w->text, w->text.size);
    return result;
}

static int separate(struct trace_writer *w, struct error *err) {
    const bool first = w->first;
    w->first = false;
    return buf_add_text(&w->text, first ? "\n" : ",\n", err);
}

/* Names the process of number RANK and its rows, and says how exact its clock is. */
static int put_names(struct trace_writer *w, size_t rank, const struct trace_rank *r,
                     struct error *err) {
    char name[TRACE_HOST_SIZE + 32];
    static const char *const rows[] = {"steps", "communication"};
    (void)snprintf(name, sizeof(name), "rank %zu, %s", rank, r->host);
    if (separate(w, err) != 0 ||
        buf_printf(
            &w->text, err,
            "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%zu,\"args\":{\"name\":", rank) != 0 ||
        json_text_quote(&w->text, name, strlen(name), err) != 0 ||
        buf_printf(&w->text, err,
                   "}},\n{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":%zu,"
                   "\"args\":{\"sort_index\":%zu}},\n{\"ph\":\"M\",\"name\":\"process_labels\","
                   "\"pid\":%zu,\"args\":{\"labels\":\"clock within %.3f us\"}}",
                   rank, rank, rank, (double)r->clock_error / 1e3) != 0)
        return -1;
    for (int row = 0; row < 2; row++)
        if (buf_printf(&w->text, err,
                       ",\n{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%zu,\"tid\":%d,"
                       "\"args\":{\"name\":\"%s\"}}",
                       rank, row, rows[row]) != 0)
            return -1;
    return 0;
}

static int put_span(struct trace_writer *w, size_t rank, const struct timeline_span *span,
                    struct error *err) {
    if (span->kind < 0 || span->kind >= TIMELINE_KINDS || span->end < span->begin)
        return 0;
    const int64_t begin = span->begin - w->origin, length = span->end - span->begin;
    if (separate(w, err) != 0 ||
        buf_printf(&w->text, err,
                   "{\"ph\":\"X\",\"name\":\"%s\",\"pid\":%zu,\"tid\":%d,\"ts\":%" PRId64
                   ".%03d,\"dur\":%" PRId64 ".%03d,\"args\":{\"%s\":%" PRId64 "}}",
                   KINDS[span->kind].name, rank, KINDS[span->kind].row, begin / 1000,
                   (int)(begin % 1000), length / 1000, (int)(length % 1000),
                   KINDS[span->kind].argument, span->number) != 0)
        return -1;
    return flush(w, PIECE, err);
}

static int put_all(struct trace_writer *w, const struct trace_rank *ranks, size_t count,
                   struct error *err) {
    if (buf_add_text(&w->text, START, err) != 0)
        return -1;
    for (size_t r = 0; r < count; r++) {
        if (put_names(w, r, &ranks[r], err) != 0)
            return -1;
        for (size_t i = 0; i < ranks[r].count; i++)
            if (put_span(w, r, &ranks[r].spans[i], err) != 0)
                return -1;
    }
    return buf_add_text(&w->text, "\n]}\n", err) != 0 ? -1 : flush(w, 0, err);
}

int trace_file_write(const char *path, const struct trace_rank *ranks, size_t count,
                     struct error *err) {
    char temp[4096];
    struct trace_writer w = {.text = {.max = ROOM}, .origin = INT64_MAX, .first = true};
    for (size_t r = 0; r < count; r++)
        for (size_t i = 0; i < ranks[r].count; i++)
            if (ranks[r].spans[i].begin < w.origin)
                w.origin = ranks[r].spans[i].begin;
    w.fd = file_publish_open(path, temp, 0644, err);
    if (w.fd < 0)
        return -1;
    const int result = put_all(&w, ranks, count, err);
    buf_done(&w.text);
    if (result == 0)
        return file_publish_commit(w.fd, temp, path, err);
    file_publish_abort(w.fd, temp);
    return -1;
}

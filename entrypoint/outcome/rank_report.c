#include "entrypoint/outcome/rank_report.h"

#include "common/buf.h"
#include "common/json/json.h"
#include "common/signal_name.h"
#include "common/str.h"
#include "common/table.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

/* A report has two senders. The shim knows how its program ended; the supervisor adds what it has
 * seen itself: memory, steps, evidence. Both use the same frame, so that members of the second kind
 * may be missing when the first sends it.
 *
 * Lines come from programs, and may be any bytes. They are made valid UTF-8 before they are cut,
 * because replacing a bad byte makes a text longer. */

/* The words of the enums in rank_report.h, for both directions of the frame. */
static const char *const ends[] = {"exited", "signalled", "vanished"};
static const char *const causes[] = {"none", "stop", "teardown"};
static const char *const memories[] = {"unknown", "enough", "killed"};

/* --- lines ----------------------------------------------------------------------------------- */

/* Copies BYTES line by line, each made valid UTF-8, and leaves out empty lines. A carriage return
 * before the line's end goes, too. Fails only for lack of memory or of room in RET. */
static int clean(const char *bytes, size_t size, struct buf *ret) {
    for (const char *end = bytes + size; bytes < end;) {
        /* The last line may lack its end. */
        const char *line_end = memchr(bytes, '\n', (size_t)(end - bytes));
        size_t length = (size_t)((line_end != NULL ? line_end : end) - bytes);
        size_t shown = length > 0 && bytes[length - 1] == '\r' ? length - 1 : length;
        if (shown > 0 && ((ret->size > 0 && buf_add(ret, "\n", 1, NULL) != 0) ||
                          str_add_utf8(ret, bytes, shown, NULL) != 0))
            return -1;
        bytes += length + (line_end != NULL);
    }
    return 0;
}

/* The end matters most: first the bytes are cut at the front, and after the cleaning once more, at
 * a whole character. Without memory there are no lines, which is no reason to lose the report. */
void rank_report_set_lines(struct rank_report *r, const char *bytes, size_t size) {
    r->lines[0] = '\0';
    if (size > RANK_REPORT_LINES_SIZE) {
        bytes += size - RANK_REPORT_LINES_SIZE;
        size = RANK_REPORT_LINES_SIZE;
    }
    cleanup_buf struct buf text;
    /* A byte that is replaced becomes three. */
    buf_init(&text, (size_t)4 * RANK_REPORT_LINES_SIZE);
    if (clean(bytes, size, &text) != 0)
        return;
    /* One byte is left for the NUL. */
    size_t start = text.size < RANK_REPORT_LINES_SIZE ? 0 : text.size - RANK_REPORT_LINES_SIZE + 1;
    while (start < text.size && ((unsigned char)text.data[start] & 0xc0) == 0x80)
        start++;
    memcpy(r->lines, buf_text(&text) + start, text.size - start + 1);
}

/* SIZE is that of RET; the start is kept here, unlike in rank_report_set_lines(). */
void rank_report_clean(const char *bytes, char *ret, size_t size) {
    cleanup_buf struct buf text;
    size_t length = strnlen(bytes, size - 1);
    buf_init(&text, 4 * size);
    ret[0] = '\0';
    if (clean(bytes, length, &text) != 0)
        return;
    size_t fit = str_utf8_prefix(buf_text(&text), text.size, size - 1);
    memcpy(ret, buf_text(&text), fit);
    ret[fit] = '\0';
}

/* --- how it ended ---------------------------------------------------------------------------- */

/* A rank that was asked to end and exits with 0 is good in this sense, too. */
bool rank_report_is_good(const struct rank_report *r) {
    return r->end == RANK_EXITED && r->value == 0;
}

/* A rank that ends after it was asked to has not failed, whatever its code. */
bool rank_report_is_failure(const struct rank_report *r) {
    return r->cause == RANK_CAUSE_NONE && !rank_report_is_good(r);
}

/* What is known about memory if a rank failed. SIGKILL without knowledge of the memory leaves both
 * possible. Other ends get a hint only if the kernel is known to have killed something. */
static const char *memory_hint(const struct rank_report *r) {
    if (r->memory == RANK_MEMORY_KILLED)
        return "; out of memory: the kernel killed a process of this container for lack of it";
    bool killed = r->end == RANK_SIGNALLED && r->value == SIGKILL;
    if (!killed)
        return "";
    return r->memory == RANK_MEMORY_ENOUGH ? "; not for lack of memory" : "; out of memory?";
}

/* A name without SIG is one that this system does not know. 130 is SIGINT's code, which the verdict
 * turns into 1. */
void rank_report_describe(const struct rank_report *r, char *text, size_t size) {
    const char *name = r->end == RANK_SIGNALLED ? signal_name(r->value) : NULL;
    const char *memory = memory_hint(r);
    /* Mapped memory that cannot be provided is usually shared memory. */
    const char *hint = r->value == SIGBUS ? "; is /dev/shm full?" : "";
    if (r->end == RANK_VANISHED)
        snprintf(text, size, "vanished without a report%s",
                 memory[0] != '\0'                 ? memory
                 : r->memory == RANK_MEMORY_ENOUGH ? "; killed?"
                                                   : "; killed, or out of memory?");
    else if (r->end == RANK_SIGNALLED)
        snprintf(text, size, "killed by signal %d (%s%s)%s%s", r->value, name != NULL ? "SIG" : "",
                 name != NULL ? name : "unknown", hint, memory);
    else
        snprintf(text, size, "exited with %d%s%s", r->value,
                 r->value == 130 ? " (passed on as 1)" : "", memory);
}

/* A tool of MPI, such as a daemon. */
void rank_report_describe_signal(int number, enum rank_memory memory, char *text, size_t size) {
    const struct rank_report end = {.end = RANK_SIGNALLED, .value = number, .memory = memory};
    rank_report_describe(&end, text, size);
}

/* --- frames ---------------------------------------------------------------------------------- */

/* The highest bit of a step has no place in JSON's numbers. */
json_t *rank_report_json(const struct rank_report *r) {
    return json_pack("{s:i, s:i, s:s, s:i, s:s, s:s, s:I, s:I, s:I, s:s, s:s}", "rank",
                     (int)r->rank, "host", (int)r->host, "end", ends[r->end], "value", r->value,
                     "cause", causes[r->cause], "memory", memories[r->memory], "step",
                     (json_int_t)(r->step & INT64_MAX), "time", (json_int_t)r->time, "raised",
                     (json_int_t)r->raised, "evidence", r->evidence, "lines", r->lines);
}

/* INT64_MIN stands for a member that is missing, and is below any MIN. */
static int read_number(const json_t *object, const char *key, int64_t min, int64_t max,
                       int64_t *ret, struct error *err) {
    *ret = INT64_MIN;
    if (json_member_int(object, "report", key, ret, err) != 0)
        return -1;
    if (*ret < min || *ret > max)
        return error_set(err, EXIT_CODE_INTERNAL, "report: \"%s\" is missing or out of range", key);
    return 0;
}

/* *RET is the index in WORDS. */
static int read_word(const json_t *object, const char *key, const char *const *words, size_t count,
                     size_t *ret, struct error *err) {
    const char *text = "";
    if (json_member_string(object, "report", key, &text, err) != 0)
        return -1;
    *ret = table_index(words, count, text);
    if (*ret < count)
        return 0;
    return error_set(err, EXIT_CODE_INTERNAL, "report: \"%s\" is missing or unknown", key);
}

/* Cleaned again: the sender is another host. */
static int read_lines(const json_t *object, struct rank_report *ret, struct error *err) {
    const char *lines = "";
    const char *evidence = "";
    if (json_member_string(object, "report", "lines", &lines, err) != 0 ||
        json_member_string(object, "report", "evidence", &evidence, err) != 0)
        return -1;
    rank_report_clean(evidence, ret->evidence, sizeof(ret->evidence));
    rank_report_set_lines(ret, lines, strlen(lines));
    return 0;
}

/* Members that the shim may leave out are read only if they are there. A step below 0 counts as
 * none. */
int rank_report_parse(const json_t *object, unsigned ranks, unsigned hosts, struct rank_report *ret,
                      struct error *err) {
    int64_t rank = 0, host = 0, value = 0, time = 0, step = 0, raised = 0;
    size_t end = 0, cause = 0, memory = 0;
    *ret = (struct rank_report){0};
    if (read_number(object, "rank", 0, (int64_t)ranks - 1, &rank, err) != 0 ||
        read_number(object, "host", 0, (int64_t)hosts - 1, &host, err) != 0 ||
        read_number(object, "value", 0, 255, &value, err) != 0 ||
        read_number(object, "time", 0, RANK_REPORT_TIME_MAX, &time, err) != 0 ||
        (json_object_get(object, "raised") != NULL &&
         read_number(object, "raised", 0, RANK_REPORT_TIME_MAX, &raised, err) != 0) ||
        json_member_int(object, "report", "step", &step, err) != 0 ||
        read_word(object, "end", ends, 3, &end, err) != 0 ||
        read_word(object, "cause", causes, 3, &cause, err) != 0 ||
        (json_object_get(object, "memory") != NULL &&
         read_word(object, "memory", memories, 3, &memory, err) != 0) ||
        read_lines(object, ret, err) != 0)
        return -1;
    /* Exit codes and signals share the member `value`. */
    if (end == RANK_SIGNALLED && (value < 1 || value > RANK_REPORT_SIGNAL_MAX))
        return error_set(err, EXIT_CODE_INTERNAL, "report: %d is no signal", (int)value);
    ret->step = step > 0 ? (uint64_t)step : 0;
    ret->rank = (unsigned)rank;
    ret->host = (unsigned)host;
    ret->value = (int)value;
    ret->time = time;
    ret->raised = raised;
    ret->end = (enum rank_end)end;
    ret->cause = (enum rank_cause)cause;
    ret->memory = (enum rank_memory)memory;
    return 0;
}

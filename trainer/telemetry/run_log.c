#include "trainer/telemetry/run_log.h"

#include "common/buf.h"
#include "common/clock.h"
#include "common/file/file.h"
#include "common/json/json_text.h"
#include "common/log/log.h"
#include "common/str.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* There is one log in a process, as there is one listener of its log lines (common/log/log.h). A
 * training calls run_log_begin early (app/run/train.c), and lines are kept from then on. Once the
 * run is set up, run_log_open (app/run/record.c) writes them to the file. Later lines are written
 * as they come.
 *
 * Both files are opened to append, and each line is one write(). So lines of two processes in one
 * folder may alternate, but do not mix. */

enum {
    KEPT_MAX = 256 * 1024,     /* bytes of lines from before the file; what is beyond is lost */
    LINE_MAX_SIZE = 512 * 1024 /* a longer line of the log is left out */
};

static struct {
    struct buf kept;            /* lines of the log from before it is opened */
    struct log_listener before; /* called first, and put back at the end */
    bool listens;
    int log, numbers; /* descriptors; -1: closed */
} run = {.log = -1, .numbers = -1};

/* Safe when one or both are closed already. */
static void close_files(void) {
    if (run.log >= 0)
        (void)close(run.log);
    if (run.numbers >= 0)
        (void)close(run.numbers);
    run.log = run.numbers = -1;
}

/* Closes before the warning, which would be written there, too. */
static void give_up(const struct error *why) {
    close_files();
    log_warning("run.log and run.jsonl are not written any more: %s", why->text);
}

/* The log's listener. It must not report its own failures as it would report others: give_up closes
 * the files first, so the warning comes here once more and goes no further. */
static void hear(void *context, enum log_level level, const char *text) {
    static const char *const names[] = {"debug", "info", "warning", "error"};
    char stamp[CLOCK_STAMP_SIZE];
    cleanup_buf struct buf line = {0};
    struct error why = {0};
    (void)context;
    if (run.before.hear != NULL)
        run.before.hear(run.before.context, level, text);
    buf_init(&line, LINE_MAX_SIZE);
    clock_stamp(clock_wall(), stamp);
    if (buf_printf(&line, NULL, "%s %-7s ", stamp, names[level]) != 0 ||
        str_add_utf8(&line, text, strlen(text), NULL) != 0 || buf_add(&line, "\n", 1, NULL) != 0)
        return;
    if (run.log < 0)
        (void)buf_add(&run.kept, buf_text(&line), line.size, NULL); /* kept while it fits */
    else if (file_write_all(run.log, buf_text(&line), line.size, &why) != 0)
        give_up(&why);
}

/* Repeated calls change nothing. */
void run_log_begin(void) {
    if (run.listens)
        return;
    buf_init(&run.kept, KEPT_MAX);
    run.before = log_set_listener((struct log_listener){.hear = hear});
    run.listens = true;
}

/* O_NONBLOCK makes open() fail for a FIFO that nobody reads, where it would wait forever otherwise.
 */
static int open_file(const char *folder, const char *name, int *ret, struct error *err) {
    char path[PATH_MAX];
    int size = snprintf(path, sizeof(path), "%s/%s", folder, name);
    if (size < 0 || (size_t)size >= sizeof(path))
        return error_set(err, EXIT_CODE_CONFIG, "%.64s...: path too long", folder);
    *ret = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0644);
    return *ret >= 0 ? 0 : error_set_errno(err, EXIT_CODE_CONFIG, "%s", path);
}

/* Ends the last line of run.jsonl if its writer was killed within it. The file is open for writing
 * only, so it is opened once more to read its last byte. A FIFO or device has none. */
static int end_torn_line(const char *folder, struct error *err) {
    char path[PATH_MAX], last = '\n';
    struct stat st;
    if (fstat(run.numbers, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size == 0)
        return 0;
    (void)snprintf(path, sizeof(path), "%s/" RUN_LOG_NUMBERS, folder);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return error_set_errno(err, EXIT_CODE_CONFIG, "%s", path);
    const ssize_t got = pread(fd, &last, 1, st.st_size - 1);
    (void)close(fd);
    return got == 1 && last != '\n' ? file_write_all(run.numbers, "\n", 1, err) : 0;
}

/* On failure nothing is open, and lines are still kept: the program may continue without the files.
 */
int run_log_open(const char *folder, struct error *err) {
    if (file_make_dirs(folder, err) != 0 || open_file(folder, "run.log", &run.log, err) != 0 ||
        open_file(folder, RUN_LOG_NUMBERS, &run.numbers, err) != 0 ||
        end_torn_line(folder, err) != 0 ||
        file_write_all(run.log, buf_text(&run.kept), run.kept.size, err) != 0) {
        close_files();
        return -1;
    }
    buf_done(&run.kept);
    return 0;
}

bool run_log_is_open(void) {
    return run.numbers >= 0;
}

/* The listener from before gets the lines again; without a run_log_open the kept ones are lost. */
void run_log_close(void) {
    if (run.listens)
        (void)log_set_listener(run.before);
    run.listens = false;
    close_files();
    buf_done(&run.kept);
}

/* Nine digits bring every float back as it was; the values are doubles, but most were floats. */
static int add_number(struct buf *line, const struct metric_field *field, struct error *err) {
    if (buf_add(line, ",", 1, err) != 0 ||
        json_text_quote(line, field->name, strlen(field->name), err) != 0)
        return -1;
    return isfinite(field->value) ? buf_printf(line, err, ":%.9g", field->value)
                                  : buf_add_text(line, ":null", err);
}

/* Begins a line with its kind and the time in UTC. */
static int begin(struct buf *line, const char *kind, struct error *err) {
    char stamp[CLOCK_STAMP_SIZE];
    clock_stamp(clock_wall(), stamp);
    buf_init(line, RUN_LOG_LINE_MAX);
    return buf_printf(line, err, "{\"kind\":\"%s\",\"time\":\"%s\"", kind, stamp);
}

/* Ends the line and writes it at once. */
static int end(struct buf *line, struct error *err) {
    return buf_add_text(line, "}\n", err) != 0
               ? -1
               : file_write_all(run.numbers, buf_text(line), line->size, err);
}

/* A number that makes the line too long for RUN_LOG_LINE_MAX ends the log like a full disk. */
void run_log_add(const char *kind, const struct metric_field *fields, size_t count) {
    cleanup_buf struct buf line = {0};
    struct error why = {0};
    if (run.numbers < 0)
        return;
    int result = begin(&line, kind, &why);
    for (size_t i = 0; i < count && result == 0; i++)
        result = add_number(&line, &fields[i], &why);
    if (result != 0 || end(&line, &why) != 0)
        give_up(&why);
}

/* MEMBERS are not checked: the caller quotes its texts (common/json/json_text.h). */
void run_log_add_json(const char *kind, const char *members) {
    cleanup_buf struct buf line = {0};
    struct error why = {0};
    if (run.numbers < 0)
        return;
    if (begin(&line, kind, &why) != 0 || buf_printf(&line, &why, ",%s", members) != 0 ||
        end(&line, &why) != 0)
        give_up(&why);
}

#include "entrypoint/outcome/failure_file.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/file/file.h"
#include "common/str.h"
#include "common/text/redact.h"
#include "entrypoint/outcome/explain.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Two things are here: the text, with its limit of 1,024 characters, and the file. The file must
 * appear even on a full disk, and must not replace one that the program has written.
 *
 * The parts of the text compete for room. The first line comes first, then up to EVIDENCE_MOST
 * bytes of evidence. The hint follows if STORY_LEAST bytes are left for the end of the log, which
 * gets the rest.
 *
 * For the file, room is taken at the start (failure_file_reserve) and renamed at the end. Renaming
 * without replacing is atomic, so a program that writes its own file at the same moment keeps it. A
 * program may put links in the folder, and run as another user than this process: links are never
 * followed. */

/* Appends TEXT redacted and as valid UTF-8; newlines are kept. Redacted first: a secret must not
 * survive by an invalid byte in it. */
static int add_clean(struct buf *ret, const char *text, struct error *err) {
    cleanup_buf struct buf redacted;
    buf_init(&redacted, (size_t)64 * 1024);
    if (redact_text(&redacted, text, err) != 0)
        return -1;
    for (const char *line = buf_text(&redacted); *line != '\0';) {
        size_t size = strcspn(line, "\n");
        if (str_add_utf8(ret, line, size, err) != 0)
            return -1;
        line += size;
        if (*line == '\n' && buf_add(ret, line++, 1, err) != 0)
            return -1;
    }
    return 0;
}

/* The last MAX bytes of TEXT at most, from the start of a line if one begins there. Without a whole
 * line it begins with a whole character. */
static const char *last_lines(const char *text, size_t size, size_t max) {
    if (size <= max)
        return text;
    const char *start = text + (size - max);
    const char *line = strchr(start, '\n');
    if (line != NULL && line[1] != '\0')
        return line + 1;
    while (((unsigned char)*start & 0xc0) == 0x80)
        start++;
    return start;
}

/* Words that mark a line as an error. Parts of words: "xception" fits Exception and exception. Case
 * matters, or too many lines would count. */
static const char *const telling[] = {"Error", "ERROR", "error:", "xception", "FATAL", "atal:"};

/* LINE is not terminated. */
static bool tells(const char *line, size_t size) {
    for (size_t i = 0; i < sizeof(telling) / sizeof(telling[0]); i++)
        if (memmem(line, size, telling[i], strlen(telling[i])) != NULL)
            return true;
    return false;
}

/* The last line of SIZE bytes at TEXT that reports an error; NULL: none. */
static const char *last_telling(const char *text, size_t size, size_t *ret_size) {
    const char *found = NULL;
    for (const char *end = text + size; text < end;) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        size_t line = (size_t)((stop != NULL ? stop : end) - text);
        if (tells(text, line)) {
            found = text;
            *ret_size = line;
        }
        text += line + 1;
    }
    return found;
}

/* Adds the end of TEXT in at most MAX bytes. If no line in it reports an error, the last line that
 * does comes first, because a program may print much after its error. Bytes of the line itself, and
 * the least room for which it is worth having. */
enum { TELLING_MOST = 200, TELLING_ROOM = 400 };
static int add_log_tail(struct buf *ret, const struct buf *log_tail, size_t max,
                        struct error *err) {
    static const char gap[] = "\n...\n";
    size_t size = 0;
    size_t ignored = 0;
    const char *end = log_tail->data + log_tail->size;
    const char *shown = last_lines(log_tail->data, log_tail->size, max);
    /* Only what is not shown anyway is searched. */
    const char *line = last_telling(log_tail->data, (size_t)(shown - log_tail->data), &size);
    if (line == NULL || max < TELLING_ROOM ||
        last_telling(shown, (size_t)(end - shown), &ignored) != NULL)
        return buf_add(ret, shown, (size_t)(end - shown), err);
    size = str_utf8_prefix(line, size, TELLING_MOST);
    shown = last_lines(log_tail->data, log_tail->size, max - size - strlen(gap));
    return buf_add(ret, line, size, err) == 0 && buf_add_text(ret, gap, err) == 0
               ? buf_add(ret, shown, (size_t)(end - shown), err)
               : -1;
}

/* The end of the log is worth more than the hint, so this much of it is always included. */
enum { STORY_LEAST = 400, EVIDENCE_MOST = 360 };

/* Adds the evidence from its start, as its first lines matter most. Two bytes must be left at
 * least, for a byte and the line's end. */
static int add_evidence(struct buf *ret, const struct buf *evidence, size_t used,
                        struct error *err) {
    if (evidence->size == 0 || used + 2 >= FAILURE_FILE_MAX)
        return 0;
    size_t room = FAILURE_FILE_MAX - used - 1;
    size_t most = room < EVIDENCE_MOST ? room : EVIDENCE_MOST;
    size_t fit = str_utf8_prefix(evidence->data, evidence->size, most);
    return buf_add(ret, evidence->data, fit, err) == 0 ? buf_add(ret, "\n", 1, err) : -1;
}

/* Adds what the failure means and what to do, if that is known and fits. USED bytes are taken, and
 * LOG_TAIL are still to come. A hint that does not fit is left out as a whole. */
static int add_hint(struct buf *ret, const struct verdict *v, size_t used, size_t log_tail,
                    struct error *err) {
    char key[EXPLAIN_KEY_SIZE];
    cleanup_buf struct buf hint;
    const struct explain_row *row = explain_verdict(v);
    buf_init(&hint, FAILURE_FILE_MAX);
    if (row == NULL)
        return 0;
    explain_key(row, key);
    bool own =
        row->kind == EXPLAIN_CODE; /* the class in the first line already gives the meaning */
    if (buf_printf(&hint, err, "hint: %s%s%s (ringmaster explain %s)\n",
                   own ? "" : explain_means(row), own ? "" : ": ", row->act, key) != 0)
        return -1;
    size_t least = log_tail < STORY_LEAST ? log_tail : STORY_LEAST;
    if (used + hint.size + least + 1 > FAILURE_FILE_MAX)
        return 0;
    return buf_add(ret, hint.data, hint.size, err);
}

/* Appends to RET, which may hold something: BEFORE is what it held. Each part is cleaned on its
 * own. */
int failure_file_text(const struct verdict *v, struct buf *ret, struct error *err) {
    cleanup_buf struct buf head;
    cleanup_buf struct buf log_tail;
    cleanup_buf struct buf evidence;
    const size_t before = ret->size;
    buf_init(&head, (size_t)16 * 1024);
    buf_init(&log_tail, (size_t)64 * 1024);
    buf_init(&evidence, (size_t)64 * 1024);
    if (buf_printf(&head, err, "%s: ", v->class_name) != 0 || add_clean(&head, v->text, err) != 0 ||
        add_clean(&evidence, v->evidence, err) != 0 || add_clean(&log_tail, v->log_tail, err) != 0)
        return -1;
    size_t fit = str_utf8_prefix(buf_text(&head), head.size, FAILURE_FILE_MAX - 1);
    if (buf_add(ret, buf_text(&head), fit, err) != 0 || buf_add(ret, "\n", 1, err) != 0 ||
        add_evidence(ret, &evidence, fit + 1, err) != 0 ||
        add_hint(ret, v, ret->size - before, log_tail.size, err) != 0)
        return -1;
    size_t used = ret->size - before;
    if (log_tail.size == 0 || used + 1 >= FAILURE_FILE_MAX)
        return 0;
    if (add_log_tail(ret, &log_tail, FAILURE_FILE_MAX - used - 1, err) != 0)
        return -1;
    return buf_add(ret, "\n", 1, err);
}

/* --- the file -------------------------------------------------------------------------------- */

/* Names within BASE/output. The folder is opened once, so later changes of its path have no effect.
 */
static const char name[] = "failure";
static const char success[] = "success";
static const char reserve[] = ".failure-reserve";

static int output_path(const char *base_dir, char path[PATH_MAX], struct error *err) {
    int size = snprintf(path, PATH_MAX, "%s/output", base_dir);
    if (size < 0 || size >= PATH_MAX)
        return error_set(err, EXIT_CODE_CONFIG, "SAGEMAKER_BASE_DIR is too long");
    return 0;
}

/* Creates the folder if it is missing. Returns its descriptor, which the caller closes. */
static int open_output(const char *base_dir, struct error *err) {
    char path[PATH_MAX];
    if (output_path(base_dir, path, err) != 0 || file_make_dirs(path, err) != 0)
        return -1;
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return folder >= 0 ? folder : error_set_errno(err, EXIT_CODE_INTERNAL, "%s", path);
}

/* The time is looked at after the open, which is what a stalled disk delays. */
void failure_file_clear(const char *base_dir, int64_t deadline) {
    char path[PATH_MAX];
    if (output_path(base_dir, path, NULL) != 0)
        return;
    cleanup_fd int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder >= 0 && clock_now() < deadline) {
        (void)unlinkat(folder, name, 0);
        (void)unlinkat(folder, success, 0);
    }
}

/* Returns true if NAME exists and is not an empty file; a link or a folder counts, too. Neither
 * kind is to be replaced. */
static bool stands(int folder) {
    struct stat st;
    return fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           (!S_ISREG(st.st_mode) || st.st_size > 0);
}

/* Another process of the job may have written either one. */
bool failure_file_exists(const char *base_dir) {
    char path[PATH_MAX];
    if (output_path(base_dir, path, NULL) != 0)
        return false;
    cleanup_fd int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return folder >= 0 && (stands(folder) || faccessat(folder, success, F_OK, 0) == 0);
}

/* Without BASE_DIR nothing is lost: no platform reads the file then. */
int failure_file_reserve(const char *base_dir, struct error *err) {
    static const char room[FAILURE_FILE_ROOM];
    if (access(base_dir, F_OK) != 0)
        return 0;
    cleanup_fd int folder = open_output(base_dir, err);
    if (folder < 0)
        return -1;
    (void)unlinkat(folder, reserve, 0);
    cleanup_fd int fd = openat(folder, reserve, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0)
        return error_set_errno(err, EXIT_CODE_INTERNAL, "%s/output", base_dir);
    /* Real bytes and not a hole: the file reserves space. */
    if (file_write_all(fd, room, sizeof(room), err) == 0)
        return 0;
    (void)unlinkat(folder, reserve, 0);
    return error_wrap(err, "%s/output", base_dir);
}

/* Opens the reserve, or creates a new file if there is none. A link counts as neither. st_nlink: a
 * hard link to another file would be overwritten through this name. */
static int open_reserve(int folder, struct error *err) {
    struct stat st;
    int fd = openat(folder, reserve, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 1)
        return fd;
    if (fd >= 0)
        (void)close(fd);
    (void)unlinkat(folder, reserve, 0);
    fd = openat(folder, reserve, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    return fd >= 0 ? fd : error_set_errno(err, EXIT_CODE_INTERNAL, "a new file");
}

/* Success has no message, so that errors are ignored; the reserve goes in any case. */
void failure_file_none(const char *base_dir) {
    char path[PATH_MAX];
    if (output_path(base_dir, path, NULL) != 0)
        return;
    cleanup_fd int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    cleanup_fd int fd = folder >= 0 ? open_reserve(folder, NULL) : -1;
    if (fd >= 0 && (ftruncate(fd, 0) != 0 || renameat(folder, reserve, folder, success) != 0))
        (void)unlinkat(folder, reserve, 0);
}

/* Renames FROM to TO; fails if TO exists. EEXIST tells that the program was faster. */
static int rename_new(int folder, const char *from, const char *to) {
#ifdef __GLIBC__
    return renameat2(folder, from, folder, to, RENAME_NOREPLACE);
#else /* musl 1.2.5 has no function for it */
    return (int)syscall(SYS_renameat2, folder, from, folder, to, RENAME_NOREPLACE);
#endif
}

/* Publishes the text. EMPTY: an empty file of that name exists and may be replaced. The text
 * replaces the zeroes of the reserve, and the rest of it is cut off. */
static int publish(int folder, const struct buf *text, bool empty, bool *ret_kept,
                   struct error *err) {
    cleanup_fd int fd = open_reserve(folder, err);
    if (fd < 0 || file_write_all(fd, text->data, text->size, err) != 0)
        return -1;
    if (ftruncate(fd, (off_t)text->size) != 0 || fchmod(fd, 0644) != 0)
        return error_set_errno(err, EXIT_CODE_INTERNAL, "writing");
    if (!empty && rename_new(folder, reserve, name) == 0)
        return 0;
    *ret_kept = !empty && errno == EEXIST; /* the program wrote its own file first */
    if (*ret_kept)
        return unlinkat(folder, reserve, 0);
    if (renameat(folder, reserve, folder, name) != 0)
        return error_set_errno(err, EXIT_CODE_INTERNAL, "renaming");
    return 0;
}

/* An empty file of the name is no message and is replaced. Anything else is the program's and
 * stays. */
int failure_file_write(const char *base_dir, const struct verdict *v, bool *ret_kept,
                       struct error *err) {
    struct stat st;
    *ret_kept = false;
    if (v->code == EXIT_CODE_OK)
        return 0;
    if (access(base_dir, F_OK) != 0)
        return error_set_errno(err, EXIT_CODE_INTERNAL, "%s", base_dir);
    cleanup_buf struct buf text;
    buf_init(&text, (size_t)64 * 1024);
    if (failure_file_text(v, &text, err) != 0)
        return -1;
    cleanup_fd int folder = open_output(base_dir, err);
    if (folder < 0)
        return -1;
    bool there = fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
    if (stands(folder)) {
        *ret_kept = true;
        (void)unlinkat(folder, reserve, 0);
        return 0;
    }
    if (publish(folder, &text, there, ret_kept, err) != 0)
        return error_wrap(err, "%s/output/%s", base_dir, name);
    return 0;
}

#include "entrypoint/transfer/fetch/first_folder.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/file/file.h"
#include "common/grow.h"
#include "common/str.h"
#include "entrypoint/transfer/disk/safe_dir.h"
#include "entrypoint/transfer/http/percent.h"
#include "entrypoint/transfer/s3/etag.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Both ends of an address first:///PATH, apart from the transfer itself. On the first host
 * download_order.c calls first_folder_offer; on the others prefix.c fetches the list, reads it with
 * first_folder_parse, and compares and dates files with the functions in the middle.
 *
 * There is no server with ETags here, so a file's version is its size and the second of its last
 * change. That suffices to recognize files of an earlier start; what is sent is verified by SHA-256
 * in any case. The first host computes those digests while it offers the files: hosts that ask for
 * a file wait in catalog_take until its turn comes. */

enum {
    BLOCK = 4 * 1024 * 1024, /* bytes that are digested between two calls of TURN */
    LINE_MAX_SIZE = 1024,
    TIME_ETAG_MAX = 48 /* two numbers of 64 bits */
};

/* Makes the ETag under which a file is offered and asked for. Each host computes it from size and
 * time, so the list does not have it. */
static void etag_of(int64_t size, int64_t seconds, char ret[TIME_ETAG_MAX]) {
    (void)snprintf(ret, TIME_ETAG_MAX, "%" PRId64 "-%" PRId64, size, seconds);
}

/* --- the list --------------------------------------------------------------------------------- */

/* Paths are percent-encoded, as a name may hold a line end. The caller's FILES are sorted, and so
 * is the list. */
int first_folder_print(const struct scan *files, struct buf *out, struct error *err) {
    for (size_t i = 0; i < files->count; i++) {
        const struct scan_file *f = &files->items[i];
        if (buf_printf(out, err, "%" PRId64 " %" PRId64 " ", f->stamp.size,
                       (int64_t)f->stamp.modified.tv_sec) != 0 ||
            percent_add_path(out, f->path, err) != 0 || buf_add_text(out, "\n", err) != 0)
            return error_wrap(err, "a list of %zu files", files->count);
    }
    return 0;
}

/* Takes the number up to the blank at *AT, and the blank. Fails without a blank or a number of at
 * least LEAST; *AT is then not to be used. */
static int take_number(char **at, int64_t least, int64_t *ret) {
    char *blank = strchr(*at, ' ');
    if (blank == NULL)
        return -1;
    *blank = '\0';
    const int result = str_parse_int(*at, least, INT64_MAX, ret, NULL);
    *at = blank + 1;
    return result;
}

/* Adds the file of one line, which is changed in the process. The path is only decoded here:
 * whether it stays inside the folder is up to safe_dir.h, which every use of it goes through. The
 * list's own name is refused, as the list and such a file would be one. */
static int add_line(char *line, struct objects *l, struct error *err) {
    char etag[TIME_ETAG_MAX];
    struct object object = {0};
    char *at = line;
    if (take_number(&at, 0, &object.size) != 0 ||
        take_number(&at, INT64_MIN, &object.modified) != 0 || percent_decode(at, NULL) != 0 ||
        at[0] == '\0' || strcmp(at, FIRST_FOLDER_LIST) == 0)
        return error_set(err, EXIT_CODE_DATA, "not a size, a time and a path");
    etag_of(object.size, object.modified, etag);
    object.key = strdup(at);
    object.etag = strdup(etag);
    if (object.key != NULL && object.etag != NULL &&
        grow_array(&l->items, &l->capacity, l->count + 1, sizeof(*l->items), "a list of files",
                   err) == 0) {
        l->items[l->count++] = object;
        return 0;
    }
    free(object.key);
    free(object.etag);
    return error_no_memory(err, "a list of files");
}

int first_folder_parse(const char *text, size_t size, struct objects *ret, struct error *err) {
    const char *const end = text + size;
    *ret = (struct objects){0};
    while (text < end) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        char line[LINE_MAX_SIZE + 3 * 4096]; /* a path of PATH_MAX, each byte encoded as three */
        const size_t length = stop != NULL ? (size_t)(stop - text) : sizeof(line);
        int result = -1;
        if (ret->count == FIRST_FOLDER_FILES_MAX)
            (void)error_set(err, EXIT_CODE_DATA, "more than %d files", FIRST_FOLDER_FILES_MAX);
        else if (length >= sizeof(line) || memchr(text, '\0', length) != NULL)
            (void)error_set(err, EXIT_CODE_DATA, "too long, or cut off");
        else {
            memcpy(line, text, length);
            line[length] = '\0';
            result = add_line(line, ret, err);
        }
        if (result != 0)
            return error_wrap(err, "the first host's list of files, line %zu", ret->count + 1);
        text = stop + 1;
    }
    return 0;
}

/* --- files ------------------------------------------------------------------------------------ */

/* A file that became shorter than SIZE is an error (etag_digest); one that grew is digested up to
 * SIZE, which is also what other hosts are sent. */
int first_folder_digest(int fd, int64_t size, void (*turn)(void *context), void *context,
                        char ret[DIGEST_HEX_MAX], struct error *err) {
    struct digest sha = {0};
    struct digest *const one[] = {&sha};
    int result = digest_begin(&sha, DIGEST_OF_SHA256, err);
    for (int64_t at = 0; result == 0 && at < size; at += BLOCK) {
        result = etag_digest(fd, at, size - at < BLOCK ? size - at : BLOCK, one, 1, err);
        turn(context);
    }
    if (result == 0)
        result = digest_end(&sha, ret, err);
    digest_done(&sha);
    return result;
}

/* Compares whole seconds, since the list has no more. FD may be -1. */
static bool is_same(int fd, int64_t size, int64_t seconds) {
    struct stat st;
    return fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size == size &&
           st.st_mtim.tv_sec == seconds;
}

bool first_folder_has(int root, const char *path, const struct object *object,
                      void (*turn)(void *context), void *context, char ret[DIGEST_HEX_MAX]) {
    char name[SAFE_DIR_NAME_MAX + 1];
    cleanup_fd int folder = safe_dir_find(root, path, name);
    cleanup_fd int fd =
        folder >= 0 ? openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) : -1;
    return is_same(fd, object->size, object->modified) &&
           first_folder_digest(fd, object->size, turn, context, ret, NULL) == 0;
}

/* A failure is ignored: a later start then fetches the file again. The time of the last access
 * stays. */
void first_folder_date(int root, const char *path, int64_t seconds) {
    char name[SAFE_DIR_NAME_MAX + 1];
    const struct timespec times[] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = seconds}};
    cleanup_fd int folder = safe_dir_find(root, path, name);
    if (folder >= 0)
        (void)utimensat(folder, name, times, AT_SYMLINK_NOFOLLOW);
}

/* --- offering --------------------------------------------------------------------------------- */

struct offering {
    const struct first_folder_offer *o; /* borrowed */
    struct scan files;                  /* owned; in the order of the list */
    struct catalog_task *task;          /* of the catalog; NULL before it is begun */
    size_t done;                        /* files that are offered */
    int64_t next_mark;                  /* by clock_now() */
};

/* Called after each block that was read. Once a second it counts a step, by which waiting hosts see
 * that this one works, and tells the parent process. */
static void turn(void *context) {
    struct offering *g = context;
    char line[LINE_MAX_SIZE];
    const int64_t now = clock_now();
    if (now < g->next_mark)
        return;
    g->next_mark = now + CLOCK_SECOND;
    catalog_step(&g->o->passing->catalog);
    (void)snprintf(line, sizeof(line), "%s: %zu of %zu files are offered to the other hosts",
                   g->o->what, g->done, g->files.count);
    if (g->o->mark != NULL)
        g->o->mark(line);
}

/* Puts the list into the catalog, from memory. Nothing is written to the folder, so the list lives
 * in a memfd. It needs no name: the catalog serves it from the descriptor. */
static int offer_list(struct offering *g, struct error *err) {
    cleanup_buf struct buf text = {.max = FIRST_FOLDER_LIST_MAX};
    cleanup_fd int fd = memfd_create("list", MFD_CLOEXEC);
    struct catalog *catalog = &g->o->passing->catalog;
    struct catalog_facts facts = {.etag = "list"};
    if (first_folder_print(&g->files, &text, err) != 0)
        return -1;
    facts.size = (int64_t)text.size;
    if (fd < 0 || file_write_all(fd, text.data, text.size, err) != 0 ||
        first_folder_digest(fd, facts.size, turn, g, facts.sha256, err) != 0)
        return error_wrap(err, "the list of files");
    catalog_put_open(catalog, g->task, FIRST_FOLDER_LIST, &facts, take_fd(&fd));
    return 0;
}

/* Digests one file and offers it. The check before the digest makes sure that the list is still
 * right; a change during it shows at the receivers, as the SHA-256 of what they get differs. */
static int offer_file(struct offering *g, const struct scan_file *file, struct error *err) {
    struct catalog_facts facts = {.size = file->stamp.size};
    const int64_t seconds = file->stamp.modified.tv_sec;
    cleanup_fd int fd = scan_open(g->o->folder, file->path, err);
    if (fd < 0)
        return -1;
    if (!is_same(fd, facts.size, seconds))
        return error_set(err, EXIT_CODE_DATA, "\"%.256s\" changes while it is passed on",
                         file->path);
    etag_of(facts.size, seconds, facts.etag);
    if (first_folder_digest(fd, facts.size, turn, g, facts.sha256, err) != 0)
        return error_wrap(err, "\"%.256s\"", file->path);
    catalog_put(&g->o->passing->catalog, g->task, file->path, &facts, false);
    return 0;
}

/* Lists the folder into G. Files that cannot be passed on are an error, since the other hosts would
 * otherwise lack them unnoticed; links and devices only cause a warning. */
static int list(struct offering *g, struct error *err) {
    char line[LINE_MAX_SIZE];
    const char *folder = g->o->folder;
    if (scan_read_some(folder, FIRST_FOLDER_FILES_MAX, &g->files, err) != 0)
        return -1;
    if (g->files.missed > 0)
        return error_set(err, EXIT_CODE_DATA,
                         "%.512s: %zu entries cannot be passed on, as more than %d files or of "
                         "unreadable folders: %.256s",
                         folder, g->files.missed, FIRST_FOLDER_FILES_MAX,
                         g->files.first_missed.text);
    if (g->files.count == 0)
        return error_set(err, EXIT_CODE_DATA, "%.512s: there are no files", folder);
    if (g->files.odd > 0) {
        (void)snprintf(line, sizeof(line),
                       "warning: %s: %zu links or devices are not passed on, \"%s\" among them",
                       g->o->what, g->files.odd, g->files.first);
        g->o->say(line);
    }
    return 0;
}

/* Tells the catalog all paths before the first file is ready. A host that asks for one of them is
 * then answered "later", and one that asks for anything else "never". */
static int expect(struct offering *g, int root, struct error *err) {
    struct catalog *catalog = &g->o->passing->catalog;
    g->task = catalog_begin(catalog, g->o->task, root, err);
    if (g->task == NULL || catalog_expect(catalog, g->task, FIRST_FOLDER_LIST, err) != 0)
        return -1;
    for (size_t i = 0; i < g->files.count; i++)
        if (catalog_expect(catalog, g->task, g->files.items[i].path, err) != 0)
            return -1;
    catalog_listed(catalog, g->task);
    return 0;
}

/* The task is ended in any case: after a failure hosts that wait learn at once that no more will
 * come. */
int first_folder_offer(const struct first_folder_offer *o, struct error *err) {
    struct offering g = {.o = o};
    cleanup_fd int root = open(o->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int result = root < 0 ? error_set_errno(err, EXIT_CODE_DATA, "%s", o->folder) : list(&g, err);
    if (result == 0)
        result = expect(&g, root, err);
    if (result == 0)
        result = offer_list(&g, err);
    for (; result == 0 && g.done < g.files.count; g.done++) {
        result = offer_file(&g, &g.files.items[g.done], err);
        turn(&g);
        if (result == 0 && clock_now() > o->deadline)
            result =
                error_set(err, EXIT_CODE_NOT_READY, "no time is left to pass on %s", o->folder);
    }
    if (g.task != NULL)
        catalog_end(&o->passing->catalog, g.task);
    scan_done(&g.files);
    return result;
}

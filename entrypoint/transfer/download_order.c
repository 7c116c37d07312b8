#include "entrypoint/transfer/download_order.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/file/file.h"
#include "common/json/json.h"
#include "common/str.h"
#include "common/text/redact.h"
#include "entrypoint/transfer/disk/copy.h"
#include "entrypoint/transfer/disk/safe_dir.h"
#include "entrypoint/transfer/disk/unpack.h"
#include "entrypoint/transfer/fetch/first_folder.h"
#include "entrypoint/transfer/fetch/prefix.h"
#include "entrypoint/transfer/upload/multipart.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* One run of the program with an order that has neither uploads, status nor web: transfer.c parses
 * every order here and hands those over. The steps are: open S3 once for all tasks, start to share
 * with other hosts if the order says so, and carry the tasks out one after the other.
 *
 * A failure ends the run. A container that is started again carries out the same order on the same
 * disk, so each task can be repeated. Complete files are recognized and kept, and a link that is
 * right is left alone. An archive that was not unpacked to its end is recognized by its file.
 *
 * The order comes from the container's first process. It is checked all the same, since a wrong
 * index or an absurd time would otherwise show as an error far from its cause. */

/* Name of an archive inside its target folder until unpacking is complete, so that an interrupted
 * start is not taken for a complete one. */
static const char archive[] = ".ringmaster-unpacking";
/* Prefix of all incomplete files of this program. */
static const char unfinished[] = ".ringmaster-";
enum {
    LINE_MAX_SIZE = 1024, /* of the log; a longer line is cut */
    TASK_NAME_MAX = 256   /* kind, slash and 240 bytes of the task's own name */
};

void download_order_done(struct download_order *w) {
    json_decref(w->root);
    argv_done(&w->environment);
    *w = (struct download_order){0};
}

/* --- parsing the order ------------------------------------------------------------------------ */

/* Reads one task; its texts stay those of the order. An absent "shards" means one shard, which is
 * the whole. "from" may only be absent for a target. */
static int parse_task(const json_t *item, struct download_order_task *ret, struct error *err) {
    static const char where[] = "the order's task";
    *ret = (struct download_order_task){.shards = 1};
    if (json_member_string(item, where, "what", &ret->what, err) != 0 ||
        json_member_string(item, where, "from", &ret->from, err) != 0 ||
        json_member_string(item, where, "to", &ret->to, err) != 0 ||
        json_member_bool(item, where, "unpack", &ret->unpack, err) != 0 ||
        json_member_bool(item, where, "back", &ret->back, err) != 0 ||
        json_member_bool(item, where, "target", &ret->target, err) != 0 ||
        json_member_bool(item, where, "tidy", &ret->tidy, err) != 0 ||
        json_member_bool(item, where, "pass", &ret->pass, err) != 0 ||
        json_member_int(item, where, "shard", &ret->shard, err) != 0 ||
        json_member_int(item, where, "shards", &ret->shards, err) != 0)
        return -1;
    bool has_from = ret->from != NULL || ret->target;
    if (ret->what != NULL && has_from && ret->to != NULL && ret->shard >= 0 && ret->shards >= 1 &&
        ret->shard < ret->shards)
        return 0;
    return error_set(err, EXIT_CODE_INTERNAL, "%s lacks what, from or to, or has no such shard",
                     where);
}

/* Copies the variables. The process itself is started without them
 * (host/provision/transfer_process.c). Secrets among them are known to redact.h before any line is
 * printed. */
static int parse_environment(const json_t *list, struct download_order *w, struct error *err) {
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *variable = json_string_value(json_array_get(list, i));
        if (variable == NULL || strchr(variable, '=') == NULL)
            return error_set(err, EXIT_CODE_INTERNAL, "the order has no environment");
        if (argv_add(&w->environment, variable, err) != 0)
            return -1;
    }
    return w->environment.count > 0 ? redact_add_environment(w->environment.items, err) : 0;
}

/* Reads the members of the order. On failure the caller frees what has been read so far. */
static int parse(struct download_order *w, struct error *err) {
    static const char where[] = "the order";
    json_t *tasks = NULL;
    json_t *environment = NULL;
    json_t *uploads = NULL;
    json_t *sharing = NULL;
    json_t *status = NULL;
    json_t *web = NULL;
    if (json_member_array(w->root, where, "tasks", &tasks, err) != 0 ||
        json_member_array(w->root, where, "uploads", &uploads, err) != 0 ||
        json_member_array(w->root, where, "environment", &environment, err) != 0 ||
        json_member_object(w->root, where, "sharing", &sharing, err) != 0 ||
        json_member_object(w->root, where, "status", &status, err) != 0 ||
        json_member_object(w->root, where, "web", &web, err) != 0 ||
        json_member_int(w->root, where, "seconds", &w->seconds, err) != 0)
        return -1;
    if (json_array_size(tasks) > DOWNLOAD_ORDER_TASKS_MAX)
        return error_set(err, EXIT_CODE_INTERNAL, "%s has %zu tasks; expected at most %d", where,
                         json_array_size(tasks), DOWNLOAD_ORDER_TASKS_MAX);
    if (w->seconds < 1 || w->seconds > DOWNLOAD_ORDER_SECONDS_MAX)
        return error_set(err, EXIT_CODE_INTERNAL,
                         "%s gives its tasks %" PRId64 " s; expected 1 to %d", where, w->seconds,
                         DOWNLOAD_ORDER_SECONDS_MAX);
    w->uploads = uploads;
    w->sharing = sharing;
    w->status = status;
    w->web = web;
    for (; w->count < json_array_size(tasks); w->count++)
        if (parse_task(json_array_get(tasks, w->count), &w->tasks[w->count], err) != 0)
            return -1;
    return parse_environment(environment, w, err);
}

int download_order_parse(const char *text, size_t size, struct download_order *ret,
                         struct error *err) {
    json_t *root = NULL;
    *ret = (struct download_order){0};
    if (json_parse(text, size, "the order", &root, err) != 0)
        return -1;
    ret->root = root;
    if (parse(ret, err) == 0)
        return 0;
    download_order_done(ret);
    return -1;
}

/* --- carrying it out -------------------------------------------------------------------------- */

struct walk {
    struct s3 s3;            /* shared by all tasks, with its region and credentials */
    struct sharing *passing; /* NULL: no sharing with other hosts */
    int64_t deadline;        /* of the whole run, by clock_now() */
    void (*say)(const char *line);
    void (*mark)(const char *line);
};

/* Unique name of a task: a channel may have the same name as the code or the checkpoints. */
static void name_task(const struct download_order_task *t, char ret[TASK_NAME_MAX]) {
    const char *kind = t->unpack ? "archive" : t->back ? "back" : "channel";
    (void)snprintf(ret, TASK_NAME_MAX, "%s/%.240s", kind, t->what);
}

/* Fetches what FROM names into the directory ROOT, under NAME if it is a single file. Everything
 * that is restored ("back") may be missing at the source and is not to replace newer local files.
 */
static int fetch(struct walk *w, const struct download_order_task *t, const struct address *from,
                 int root, const char *name, struct error *err) {
    char task[TASK_NAME_MAX];
    name_task(t, task);
    const struct prefix_download_order order = {.s3 = &w->s3,
                                                .from = from,
                                                .root = root,
                                                .name = name,
                                                .what = t->what,
                                                .task = task,
                                                .may_be_none = t->back,
                                                .keep_newer = t->back,
                                                .shard = (size_t)t->shard,
                                                .shards = (size_t)t->shards,
                                                .deadline = w->deadline,
                                                .passing = t->pass ? w->passing : NULL,
                                                .say = w->say,
                                                .mark = w->mark};
    return prefix_download(&order, err);
}

/* Unpacks the archive FD into ROOT, and removes the archive file only then: its presence is the
 * sign of an incomplete folder. */
static int unpack_it(struct walk *w, const struct download_order_task *t, int fd, int root,
                     struct error *err) {
    char line[LINE_MAX_SIZE];
    size_t count = 0;
    if (fd < 0)
        return -1;
    if (unpack(fd, root, &count, err) != 0)
        return -1;
    (void)unlinkat(root, archive, 0);
    (void)snprintf(line, sizeof(line), "%s: %zu file%s unpacked into %s", t->what, count,
                   STR_PLURAL(count), t->to);
    w->say(line);
    return 0;
}

/* Returns true if the code is already there, from an image or a mount, and is used as it is. A
 * folder with files but without an archive file counts as complete. Names of this program's own
 * incomplete files do not count as content. */
static bool has_code(const struct walk *w, const struct download_order_task *t, int root) {
    char line[LINE_MAX_SIZE];
    struct stat st;
    if (safe_dir_is_empty(root, unfinished) ||
        fstatat(root, archive, &st, AT_SYMLINK_NOFOLLOW) == 0)
        return false;
    (void)snprintf(line, sizeof(line), "%s: %s is not empty, so what lies there is taken", t->what,
                   t->to);
    w->say(line);
    return true;
}

/* Offers an empty task, so that other hosts that ask for it need not wait for all the rest. */
static int offer_nothing(const struct walk *w, const struct download_order_task *t, int root,
                         struct error *err) {
    char task[TASK_NAME_MAX];
    if (w->passing == NULL || !t->pass)
        return 0;
    name_task(t, task);
    struct catalog_task *none = catalog_begin(&w->passing->catalog, task, root, err);
    if (none == NULL)
        return -1;
    catalog_end(&w->passing->catalog, none);
    return 0;
}

/* Opens the fetched archive, or one on this machine; an empty file stands for the latter until it
 * is unpacked. */
static int open_archive(const struct address *from, int root, struct error *err) {
    bool here = from->kind == ADDRESS_FILE;
    struct stat st;
    cleanup_fd int fd = here ? open(from->rest, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
                             : openat(root, archive, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 || fstat(fd, &st) != 0)
        return error_set_errno(err, EXIT_CODE_DATA, "%.512s", from->shown);
    if (!S_ISREG(st.st_mode))
        return error_set(err, EXIT_CODE_DATA, "%.512s is not a file", from->shown);
    cleanup_fd int begun =
        here ? openat(root, archive, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600) : -1;
    if (here && begun < 0)
        return error_set_errno(err, file_write_code(errno), "unpacking %.512s", from->shown);
    return take_fd(&fd);
}

/* Fetches and unpacks an archive of code, unless the folder has code already. The fetched archive
 * lies in that folder, so that it needs no other disk. */
static int bring_code(struct walk *w, const struct download_order_task *t,
                      const struct address *from, struct error *err) {
    cleanup_fd int root = safe_dir_open(t->to, err);
    if (root < 0)
        return -1;
    if (has_code(w, t, root))
        return offer_nothing(w, t, root, err);
    if (from->kind != ADDRESS_FILE && fetch(w, t, from, root, archive, err) != 0)
        return -1;
    cleanup_fd int fd = open_archive(from, root, err);
    return unpack_it(w, t, fd, root, err);
}

/* Makes the parent folder of PATH. A path without a parent, or one too long to be made here, is
 * left to symlink() to refuse. */
static int make_parent(const char *path, struct error *err) {
    char parent[4096];
    const char *slash = strrchr(path, '/');
    if (slash == NULL || slash == path || (size_t)(slash - path) >= sizeof(parent))
        return 0;
    (void)snprintf(parent, sizeof(parent), "%.*s", (int)(slash - path), path);
    return file_make_dirs(parent, err);
}

/* Links to a folder on this machine in place of copying it. An empty folder in its place is
 * removed. A link that is right stays, so that a second start changes nothing. Nothing that another
 * program has put there is replaced: rmdir() fails on a folder with files, and on a link to another
 * place. */
static int link_folder(const struct download_order_task *t, const struct address *from,
                       struct error *err) {
    struct stat st;
    char was[4096];
    if (stat(from->rest, &st) != 0)
        return error_set_errno(err, EXIT_CODE_DATA, "%s", from->shown);
    ssize_t size = readlink(t->to, was, sizeof(was) - 1);
    if (size > 0 && strncmp(was, from->rest, (size_t)size) == 0 && from->rest[size] == '\0')
        return 0;
    if (make_parent(t->to, err) != 0)
        return -1;
    if (rmdir(t->to) != 0 && errno != ENOENT)
        return error_set_errno(err, EXIT_CODE_CONFIG, "making %s a link to %s", t->to, from->rest);
    return symlink(from->rest, t->to) == 0
               ? 0
               : error_set_errno(err, EXIT_CODE_CONFIG, "%s as a link to %s", t->to, from->rest);
}

/* Fetches the objects, or the one file, of FROM into the folder of the task. */
static int bring_objects(struct walk *w, const struct download_order_task *t,
                         const struct address *from, struct error *err) {
    cleanup_fd int root = safe_dir_open(t->to, err);
    return root >= 0 ? fetch(w, t, from, root, NULL, err) : -1;
}

/* A folder of the first host: a link there, from which the others fetch it. A host alone is the
 * first one. Without "sharing" this host is alone and only links. Unpacking, restoring and
 * targets make no sense for a folder of another host. */
static int bring_first(struct walk *w, const struct download_order_task *t,
                       const struct address *from, struct error *err) {
    char task[TASK_NAME_MAX];
    name_task(t, task);
    const struct first_folder_offer offer = {.folder = from->rest,
                                             .what = t->what,
                                             .task = task,
                                             .deadline = w->deadline,
                                             .passing = w->passing,
                                             .say = w->say,
                                             .mark = w->mark};
    if (t->unpack || t->back || t->target)
        return error_set(err, EXIT_CODE_CONFIG, "%s: first:// is for channels of data alone",
                         from->shown);
    if (w->passing != NULL && !w->passing->first)
        return bring_objects(w, t, from, err);
    if (link_folder(t, from, err) != 0)
        return -1;
    return w->passing != NULL ? first_folder_offer(&offer, err) : 0;
}

/* --- targets ---------------------------------------------------------------------------------- */

/* Checks that a target can be uploaded to, so that a job does not find out at its end. Any failure
 * is a configuration error. It leaves no file at the target. */
static int try_target(struct walk *w, const struct address *to, struct error *err) {
    if (to->kind == ADDRESS_HTTP)
        return error_set(err, EXIT_CODE_CONFIG,
                         "%s: files can only be uploaded to s3:// or file://", to->shown);
    int result =
        to->kind == ADDRESS_FILE ? copy_probe(to->rest, err) : multipart_probe(&w->s3, to, err);
    if (result != 0)
        (void)error_recode(err, EXIT_CODE_CONFIG);
    return result;
}

/* Ends old uploads at the target. If this host has no permission to list them, the bucket's own
 * rules have to. */
static void tidy_target(struct walk *w, const struct download_order_task *t,
                        const struct address *to) {
    char line[LINE_MAX_SIZE];
    int count =
        to->kind == ADDRESS_S3 ? multipart_tidy(&w->s3, to, t->back ? t->to : NULL, NULL) : 0;
    if (count <= 0)
        return;
    (void)snprintf(line, sizeof(line), "%s: %d unfinished uploads of an earlier start aborted",
                   t->what, count);
    w->say(line);
}

/* --- one task --------------------------------------------------------------------------------- */

/* Chooses by the kind of address. The order of the tests matters: an archive may also lie at
 * file://, and a target there is probed, not linked. A local folder for restored files is made if
 * it is missing, because the first run of a job has nothing to restore. */
static int do_task(struct walk *w, const struct download_order_task *t, const struct address *at,
                   struct error *err) {
    if (at->kind == ADDRESS_FIRST)
        return bring_first(w, t, at, err);
    if (t->unpack)
        return bring_code(w, t, at, err);
    bool linked = at->kind == ADDRESS_FILE && !t->target;
    if (linked && t->back && file_make_dirs(at->rest, err) != 0)
        return -1;
    if (linked)
        return link_folder(t, at, err);
    if ((t->back || t->target) && try_target(w, at, err) != 0)
        return -1;
    if (t->tidy)
        tidy_target(w, t, at);
    return t->target ? 0 : bring_objects(w, t, at, err);
}

static int do_one(struct walk *w, const struct download_order_task *t, struct error *err) {
    struct address at;
    if (address_parse(t->target ? t->to : t->from, &at, err) != 0)
        return -1;
    int result = do_task(w, t, &at, err);
    address_done(&at);
    return result;
}

/* Carries the tasks out in the order's sequence and stops at the first failure, which gets the
 * task's name. S3 is closed in any case, which wipes the credentials. */
static int do_all(struct walk *walk, const struct download_order *w, struct error *err) {
    int result = s3_open(&walk->s3, &w->environment, err);
    for (size_t i = 0; result == 0 && i < w->count; i++) {
        result = do_one(walk, &w->tasks[i], err);
        if (result != 0)
            (void)error_wrap(err, "%s", w->tasks[i].what);
    }
    s3_close(&walk->s3);
    return result;
}

/* Carries the tasks out with sharing. After the last task catalog_end_all tells waiting hosts that
 * nothing more will come. On success the process then stays until the deadline or until it is
 * ended, because hosts below may still be fetching; a failed one leaves at once. */
static int pass_on(struct walk *walk, const struct download_order *w, struct error *err) {
    struct sharing passing;
    if (sharing_open(&passing, w->sharing, err) != 0)
        return -1;
    walk->passing = &passing;
    int result = do_all(walk, w, err);
    catalog_end_all(&passing.catalog);
    if (result == 0 && walk->mark != NULL) {
        walk->mark(DOWNLOAD_ORDER_ALL_HERE);
        sharing_linger(walk->deadline);
    }
    sharing_close(&passing);
    return result;
}

int download_order_run(const struct download_order *w, void (*say)(const char *line),
                       void (*mark)(const char *line), struct error *err) {
    struct walk walk = {
        .deadline = clock_now() + w->seconds * CLOCK_SECOND, .say = say, .mark = mark};
    return w->sharing != NULL ? pass_on(&walk, w, err) : do_all(&walk, w, err);
}

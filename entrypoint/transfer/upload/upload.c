#include "entrypoint/transfer/upload/upload.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/str.h"
#include "entrypoint/transfer/disk/copy.h"
#include "entrypoint/transfer/s3/etag.h"
#include "entrypoint/transfer/s3/s3_call.h"
#include "entrypoint/transfer/s3/s3_listing.h"
#include "entrypoint/transfer/upload/multipart.h"
#include "entrypoint/transfer/upload/part.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A round lists the folder, compares it with the list of the round before (u->known) and sends what
 * is new or changed, oldest first. At its end the new list takes the old one's place; a file counts
 * as there only if it was sent and had not changed by then. A failed file therefore comes again in
 * the next round without any list of failures.
 *
 * To S3, runs of small files share one pool; a large file has a pool of its own with its parts
 * (multipart.c). The order by age is kept between the two: small files up to the next large one,
 * then that. Within a run, files are sent in parallel and may end in any order.
 *
 * A file is sent from an open descriptor. Its stamp is taken when it is opened and compared after
 * the last byte: what was written meanwhile shows, and the file does not count as sent. */

enum { SAY_SECONDS = 10, LINE_MAX_SIZE = 1024, LAST_TRIES = 3, REMOVE_SECONDS = 60 };

void upload_done(struct upload *u) {
    scan_done(&u->known);
    address_done(&u->to);
}

/* One round. */
struct round {
    struct upload *upload;    /* borrowed */
    bool last;                /* no process writes any more */
    struct scan found;        /* what the folder has now */
    struct scan_file **queue; /* owned; files to send, oldest first */
    size_t count;             /* of the queue */
    size_t next;              /* index of the next one to send */
    size_t sent_files;        /* files that are there and unchanged */
    int64_t sent;             /* bytes, also of files that failed */
    int64_t total;            /* bytes of the queue */
    int64_t next_word;        /* when the log gets the next line */
    struct exchange_pool pool;
    struct error failure; /* the first failure; code 0: none */
};

/* The first failure counts; later ones are consequences of it as a rule. */
static void note_failure(struct round *r, const struct error *failure) {
    if (r->failure.code == 0)
        r->failure = *failure;
}

static void say_progress(struct round *r) {
    char line[LINE_MAX_SIZE];
    const double mib = 1048576;
    if (clock_now() < r->next_word)
        return;
    r->next_word = clock_now() + SAY_SECONDS * CLOCK_SECOND;
    (void)snprintf(line, sizeof(line), "%s: %.1f of %.1f MiB uploaded, %zu of %zu files",
                   r->upload->what, (double)r->sent / mib, (double)r->total / mib, r->sent_files,
                   r->count);
    r->upload->say(line);
}

static void tick(void *context) {
    say_progress(context);
}

/* --- one file --------------------------------------------------------------------------------- */

/* One file from its opening to its end. */
struct one {
    struct round *round;
    struct scan_file *file;        /* of the scan, which keeps the result */
    int fd;                        /* owned; -1: not open yet */
    struct scan_stamp stamp;       /* taken when it was opened */
    char key[ADDRESS_KEY_MAX + 1]; /* of the object */
    char name[ADDRESS_MAX];        /* for messages */
    struct part piece;             /* of a small file */
};

/* Compares the open file with its stamp from when it was opened. */
static bool still_same(const struct one *o) {
    struct stat st;
    struct scan_stamp now;
    if (fstat(o->fd, &st) != 0)
        return false;
    scan_stamp(&st, &now);
    return scan_same(&now, &o->stamp);
}

/* Also the callback of multipart.c, which asks before the parts are joined. */
static int check_same(void *context, struct error *err) {
    const struct one *o = context;
    return still_same(o) ? 0
                         : error_set(err, EXIT_CODE_DATA, "%s: it changed while it was being read",
                                     o->file->path);
}

static void tick_one(void *context) {
    const struct one *o = context;
    say_progress(o->round);
}

/* Returns true if S3 can store the name: valid UTF-8 without control characters, which would not
 * survive its listings. */
static bool is_name(const char *path) {
    cleanup_buf struct buf clean;
    size_t size = strlen(path);
    buf_init(&clean, 3 * size + 1);
    return str_add_utf8(&clean, path, size, NULL) == 0 && strchr(path, '\t') == NULL &&
           strcmp(buf_text(&clean), path) == 0;
}

static int key_of(const struct address *to, const char *path, char ret[ADDRESS_KEY_MAX + 1]) {
    int size = snprintf(ret, ADDRESS_KEY_MAX + 1, "%s%s", to->rest, path);
    return size > 0 && size <= ADDRESS_KEY_MAX ? 0 : -1;
}

/* Sets the name for messages and, for S3, the key. A name that S3 cannot store is an error of this
 * file alone; a folder takes any name. */
static int name_it(struct one *o, struct error *err) {
    const struct address *to = &o->round->upload->to;
    const char *path = o->file->path;
    (void)snprintf(o->name, sizeof(o->name), "%.4000s%.4000s", to->shown, path);
    if (to->kind != ADDRESS_S3)
        return 0;
    if (!is_name(path))
        return error_set(err, EXIT_CODE_DATA,
                         "a file's name is no UTF-8 or has control characters, which S3 does not "
                         "take: \"%.256s\"",
                         path);
    if (key_of(to, path, o->key) == 0)
        return 0;
    return error_set(err, EXIT_CODE_DATA, "%.256s...: a key of more than %d bytes", o->name,
                     ADDRESS_KEY_MAX);
}

/* Opens the file. Returns 1 if it has to wait for the next round. A file that vanished is simply
 * not sent, unless the job has ended. One that a program still has open for writing waits. */
static int open_it(struct one *o, struct error *err) {
    struct stat st;
    const struct round *r = o->round;
    o->fd = scan_open(r->upload->from, o->file->path, err);
    if (o->fd < 0)
        return !r->last && err->os_errno == ENOENT ? 1 : -1;
    if (fstat(o->fd, &st) != 0 || !S_ISREG(st.st_mode))
        return error_set(err, EXIT_CODE_DATA, "\"%.256s\" is no longer a file", o->file->path);
    scan_stamp(&st, &o->stamp);
    if (!r->last && !scan_at_rest(o->fd, &o->stamp, clock_wall()))
        return 1;
    return name_it(o, err);
}

/* Ends a file and notes whether it is there. A change during sending is no failure while the job
 * runs. O is freed. */
static void close_it(struct one *o, const struct error *failure) {
    struct round *r = o->round;
    struct error changed = {0};
    bool good = failure == NULL;
    if (good && check_same(o, &changed) != 0) {
        good = false;
        if (r->last) /* otherwise the next round sends it again */
            note_failure(r, &changed);
    }
    if (failure != NULL)
        note_failure(r, failure);
    o->file->stamp = o->stamp;
    o->file->there = good;
    r->sent_files += good;
    if (o->fd >= 0)
        (void)close(o->fd);
    free(o);
}

/* Starts one file. Returns NULL if it is not to be sent now. */
static struct one *begin_one(struct round *r, struct scan_file *file) {
    struct error err = {0};
    struct one *o = calloc(1, sizeof(*o));
    if (o == NULL) {
        (void)error_no_memory(&r->failure, "a file");
        return NULL;
    }
    o->round = r;
    o->file = file;
    o->fd = -1;
    int opened = open_it(o, &err);
    if (opened == 0)
        return o;
    if (opened < 0)
        note_failure(r, &err);
    if (o->fd >= 0)
        (void)close(o->fd);
    free(o);
    return NULL;
}

/* --- to S3 ------------------------------------------------------------------------------------ */

/* A failure stops the pool, and with it the round; what is left waits for the next one. */
static void piece_ended(void *context, const struct error *failure) {
    struct one *o = context;
    struct round *r = o->round;
    close_it(o, failure);
    if (failure != NULL)
        r->pool.stop = true;
}

/* Returns true if the file is sent in parts (etag.h). */
static bool is_large(const struct scan_file *file) {
    return etag_part_size(file->stamp.size) > 0;
}

/* Starts the next small file; stops before a large one. A file that cannot be sent now is skipped,
 * and the search continues. */
static bool more(void *context) {
    struct round *r = context;
    while (!r->pool.stop && r->next < r->count && !is_large(r->queue[r->next])) {
        struct one *o = begin_one(r, r->queue[r->next++]);
        if (o == NULL)
            continue;
        const struct part_order order = {.s3 = r->upload->s3,
                                         .bucket = r->upload->to.bucket,
                                         .key = o->key,
                                         .name = o->name,
                                         .fd = o->fd,
                                         .size = o->stamp.size,
                                         .sent = &r->sent,
                                         .ended = piece_ended,
                                         .context = o};
        part_start(&o->piece, &order, &r->pool);
        return true;
    }
    return false;
}

/* Sends the small files up to the next large one. The pool returns 1 when piece_ended has stopped
 * it; the failure is then the round's. */
static int send_small(struct round *r, struct error *err) {
    const struct exchange_pool_work work = {.certificates = r->upload->s3->certificates,
                                            .more = more,
                                            .tick = tick,
                                            .context = r,
                                            .give_up = r->upload->give_up,
                                            .deadline = r->upload->deadline};
    int result = exchange_pool_work(&r->pool, &work, err);
    return result == 1 ? error_set(err, EXIT_CODE_DATA, "%s", r->failure.text) : result;
}

static int send_large(struct one *o, struct error *err) {
    const struct upload *u = o->round->upload;
    const struct multipart_order order = {.s3 = u->s3,
                                          .bucket = u->to.bucket,
                                          .key = o->key,
                                          .name = o->name,
                                          .fd = o->fd,
                                          .size = o->stamp.size,
                                          .deadline = u->deadline,
                                          .give_up = u->give_up,
                                          .check = check_same,
                                          .tick = tick_one,
                                          .context = o,
                                          .sent = &o->round->sent};
    return multipart_send(&order, err);
}

/* --- one at a time ---------------------------------------------------------------------------- */

/* Sends a large file, or a file of a folder target. Returns -1 if sending failed, which ends the
 * round. */
static int send_alone(struct round *r, struct error *err) {
    struct one *o = begin_one(r, r->queue[r->next++]);
    const struct upload *u = r->upload;
    if (o == NULL)
        return 0;
    if (u->to.kind == ADDRESS_S3 && etag_part_size(o->stamp.size) == 0) {
        /* It has become smaller since the scan: the next round sends its new content. */
        const struct error changed = {.code = EXIT_CODE_DATA, .text = "a file became smaller"};
        close_it(o, &changed);
        return 0;
    }
    int result = u->to.kind == ADDRESS_S3
                     ? send_large(o, err)
                     : copy_file(o->fd, o->stamp.size, u->to.rest, o->file->path, err);
    if (result == 0 && u->to.kind != ADDRESS_S3)
        r->sent += o->stamp.size;
    close_it(o, result == 0 ? NULL : err);
    say_progress(r);
    return result;
}

static int send_all(struct round *r, struct error *err) {
    const struct upload *u = r->upload;
    while (r->next < r->count) {
        bool alone = u->to.kind != ADDRESS_S3 || is_large(r->queue[r->next]);
        if ((u->give_up != NULL && *u->give_up != 0) || clock_now() >= u->deadline)
            return error_set(err, EXIT_CODE_NOT_READY, "it did not finish in time");
        if ((alone ? send_alone(r, err) : send_small(r, err)) != 0)
            return -1;
    }
    return 0;
}

/* --- a round ---------------------------------------------------------------------------------- */

/* Oldest first: a file that names others is written after them, and so is sent after them. */
static int by_age(const void *a, const void *b) {
    const struct scan_file *one = *(struct scan_file *const *)a;
    const struct scan_file *other = *(struct scan_file *const *)b;
    const struct timespec *x = &one->stamp.modified;
    const struct timespec *y = &other->stamp.modified;
    if (x->tv_sec != y->tv_sec)
        return x->tv_sec < y->tv_sec ? -1 : 1;
    if (x->tv_nsec != y->tv_nsec)
        return x->tv_nsec < y->tv_nsec ? -1 : 1;
    return strcmp(one->path, other->path);
}

/* Lists the folder and fills the queue with what is not at the target. A file is at the target if
 * the last round has sent it and its stamp is the same, without being read. */
static int look(struct round *r, struct error *err) {
    struct upload *u = r->upload;
    if ((u->only != NULL ? scan_read_one(u->from, u->only, &r->found, err)
                         : scan_read(u->from, &r->found, err)) != 0)
        return -1;
    r->queue = calloc(r->found.count + 1, sizeof(struct scan_file *));
    if (r->queue == NULL)
        return error_no_memory(err, "a list of files");
    for (size_t i = 0; i < r->found.count; i++) {
        struct scan_file *file = &r->found.items[i];
        const struct scan_file *before = scan_find(&u->known, file->path);
        file->there = before != NULL && before->there && scan_same(&before->stamp, &file->stamp);
        if (file->there)
            continue;
        r->queue[r->count++] = file;
        r->total += file->stamp.size;
    }
    qsort(r->queue, r->count, sizeof(struct scan_file *), by_age);
    return 0;
}

static int remove_object(const struct upload *u, const char *path, struct error *err) {
    char key[ADDRESS_KEY_MAX + 1];
    const struct s3_call a = {.s3 = u->s3,
                              .method = "DELETE",
                              .bucket = u->to.bucket,
                              .key = key,
                              .seconds = REMOVE_SECONDS,
                              .give_up = u->give_up};
    cleanup_buf struct buf page;
    buf_init(&page, S3_CALL_ANSWER_MAX);
    (void)key_of(&u->to, path, key); /* key at which it was sent */
    return s3_call(&a, path, &page, NULL, err);
}

/* Removes objects of the last round after their files have gone from the folder. An object that
 * cannot be removed stays: too much at the target is better than too little. Called only after a
 * round without failure: a listing with gaps would make files look removed. */
static void remove_gone(struct round *r) {
    struct upload *u = r->upload;
    char line[LINE_MAX_SIZE];
    for (size_t i = 0; i < u->known.count; i++) {
        const struct scan_file *file = &u->known.items[i];
        struct error err = {0};
        if (!file->there || scan_find(&r->found, file->path) != NULL)
            continue;
        if (remove_object(u, file->path, &err) == 0)
            continue;
        (void)snprintf(line, sizeof(line), "%s: warning: a removed file stays at the target: %s",
                       u->what, err.text);
        u->say(line);
    }
}

static void report_round(const struct round *r) {
    char line[LINE_MAX_SIZE];
    const struct upload *u = r->upload;
    if (r->found.odd > 0 && r->last) {
        (void)snprintf(
            line, sizeof(line),
            "%s: warning: %zu links or other non-files are left out, the first is \"%s\"", u->what,
            r->found.odd, r->found.first);
        u->say(line);
    }
    if (r->sent_files == 0)
        return;
    (void)snprintf(line, sizeof(line), "%s: %zu file%s, %.1f MiB uploaded to %.512s", u->what,
                   r->sent_files, STR_PLURAL(r->sent_files), (double)r->sent / 1048576,
                   u->to.shown);
    u->say(line);
}

/* Reports files that were left out, after the rest was sent. As this is a failure, no file counts
 * as gone from the folder, and nothing is removed. */
static void note_missed(struct round *r) {
    const struct scan *l = &r->found;
    struct error why;
    if (l->missed > 1)
        (void)error_set(&why, EXIT_CODE_DATA, "%s: %s (and %zu more)", r->upload->from,
                        l->first_missed.text, l->missed - 1);
    else
        (void)error_set(&why, EXIT_CODE_DATA, "%s: %s", r->upload->from, l->first_missed.text);
    note_failure(r, &why);
}

/* One round up to its report. After a failure to send, the rest of it is still done, and the first
 * failure is returned. */
static int run(struct round *r, struct error *err) {
    struct error sent = {0};
    if (look(r, err) != 0)
        return -1;
    if (send_all(r, &sent) != 0)
        note_failure(r, &sent);
    if (r->found.missed > 0)
        note_missed(r);
    if (r->failure.code == 0 && r->upload->mirror && r->upload->to.kind == ADDRESS_S3)
        remove_gone(r);
    report_round(r);
    if (r->failure.code == 0)
        return 0;
    if (err != NULL)
        *err = r->failure;
    return -1;
}

/* Without a queue the listing has failed, and the list of the last round stays. Otherwise the new
 * one replaces it, with what was sent in part. */
static int once(struct upload *u, bool last, struct error *err) {
    struct round r = {.upload = u, .last = last};
    r.next_word = clock_now() + SAY_SECONDS * CLOCK_SECOND;
    int result = run(&r, err);
    free(r.queue);
    if (r.queue == NULL) {
        scan_done(&r.found);
        return result;
    }
    scan_done(&u->known);
    u->known = r.found;
    return result;
}

/* The last round is repeated, since no other follows: each sends only what the one before did not.
 */
int upload_round(struct upload *u, bool last, struct error *err) {
    int result = once(u, last, err);
    for (int i = 1; last && result != 0 && i < LAST_TRIES; i++) {
        if ((u->give_up != NULL && *u->give_up != 0) || clock_now() >= u->deadline)
            return result;
        result = once(u, last, err);
    }
    return result;
}

/* --- what the target has ---------------------------------------------------------------------- */

/* Reads the file and compares size and ETag, which is cheaper than to send it. */
static bool lies_there(const struct upload *u, const struct scan_file *file,
                       const struct object *object) {
    cleanup_fd int fd = scan_open(u->from, file->path, NULL);
    return fd >= 0 && object->size == file->stamp.size &&
           etag_fits(fd, object->size, object->etag != NULL ? object->etag : "", NULL);
}

/* Marks files that the target already has, from an earlier start or restored from it. For a folder
 * target nothing is known, and every file is copied once. */
int upload_meet(struct upload *u, struct error *err) {
    struct objects objects;
    size_t front = 0;
    const struct s3_listing listing = {.s3 = u->s3,
                                       .at = &u->to,
                                       .what = u->what,
                                       .may_be_none = true,
                                       .shards = 1,
                                       .deadline = u->deadline};
    scan_done(&u->known);
    if (scan_read(u->from, &u->known, err) != 0)
        return -1;
    if (u->known.count == 0 || u->to.kind != ADDRESS_S3)
        return 0;
    if (s3_listing_read(&listing, &objects, &front, err) != 0)
        return -1;
    for (size_t i = 0; i < objects.count; i++) {
        struct scan_file *file =
            (struct scan_file *)(uintptr_t)scan_find(&u->known, objects.items[i].key + front);
        if (file != NULL)
            file->there = lies_there(u, file, &objects.items[i]);
    }
    objects_done(&objects);
    return 0;
}

#include "trainer/data/prepare/unzip.h"

#include "common/cleanup.h"
#include "common/file/file.h"
#include "trainer/data/archive/member_path.h"
#include "trainer/data/archive/zip.h"
#include "trainer/data/prepare/shard_set_options.h"
#include "trainer/data/prepare/staging.h"
#include "trainer/data/prepare/target.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Directories of all archives are read first, and every path is checked. Only then is the target
 * touched. Threads take groups of files from a counter; a group is written to a staging folder,
 * synchronized once, and renamed to its places (staging.h).
 *
 * A file that is there with its size is taken as complete, since only complete files have their
 * names. Checksums are verified while a file is written (zip_extract.c), not again afterwards. */

/* GROUP: files that one synchronization of the disk is for. BLOCK: bytes by which a file's room on
 * the disk is rounded up. LIST_MAX: bytes of a group's list of paths. */
enum { GROUP = 256, BLOCK = 4096, LIST_MAX = 16 << 20 };

/* The work of all threads. The archives are only read, and shared without a lock. */
struct unzipping {
    const struct unzip_options *options;
    struct zip *zips;   /* [options->count] */
    size_t files;       /* in all of them */
    atomic_size_t next; /* first file of the next group, beyond the last one at the end */
    atomic_bool failed;
    pthread_mutex_t lock; /* for the rest */
    struct unzip_result result;
    struct error why;
};

/* Returns file NUMBER, counted over all archives, and its archive. */
static const struct zip_member *member_of(const struct unzipping *u, size_t number,
                                          const struct zip **ret_zip) {
    /* A NUMBER of a file is below the sum of all counts, so that the loop ends within the
     * archives. */
    const struct zip *zip = u->zips;
    while (number >= zip->count)
        number -= zip++->count;
    *ret_zip = zip;
    return &zip->members[number];
}

/* Sets PATH to where a member belongs, and *RET_THERE to whether it is there already. A link in its
 * place is not followed. */
static int place(const struct unzipping *u, const struct zip_member *m, char path[PATH_MAX],
                 bool *ret_there, struct error *err) {
    struct stat status;
    if (snprintf(path, PATH_MAX, "%s/%s", u->options->target, m->path) >= PATH_MAX)
        return error_set(err, EXIT_CODE_DATA, "%.200s: path too long", m->path);
    *ret_there =
        lstat(path, &status) == 0 && S_ISREG(status.st_mode) && (uint64_t)status.st_size == m->size;
    return 0;
}

/* Writes file NUMBER to the staging folder and adds it to LIST, unless it is there. Its number
 * makes the temporary name unique among all threads. Errors of close count: some file systems
 * report a full disk only there. */
static int write_file(const struct unzipping *u, size_t number, struct buf *list, bool *ret_kept,
                      struct error *err) {
    const struct zip *zip = NULL;
    const struct zip_member *m = member_of(u, number, &zip);
    char path[PATH_MAX];
    char temp[PATH_MAX];
    char own[32];
    if (place(u, m, path, ret_kept, err) != 0)
        return -1;
    if (*ret_kept)
        return 0;
    (void)snprintf(own, sizeof(own), "%zu", number);
    if (staging_add(u->options->target, own, path, list, temp, err) != 0)
        return -1;
    const int fd = open(temp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd < 0)
        return error_set_errno(err, file_write_code(errno), "%s", temp);
    int result = zip_extract(zip, m, fd, err);
    if (close(fd) != 0 && result == 0)
        result = error_set_errno(err, file_write_code(errno), "%s", temp);
    return result;
}

/* Writes the files from FIRST on, up to a group of them, and gives them their names. A failure of
 * another thread ends it before the next file, and its group gets no names. */
static int write_group(struct unzipping *u, size_t first, struct buf *list, struct error *err) {
    const size_t end = first + GROUP < u->files ? first + GROUP : u->files;
    int64_t kept = 0;
    for (size_t i = first; i < end; i++) {
        bool was_there = false;
        /* The thread that failed reports it. */
        if (atomic_load(&u->failed))
            return 0;
        if (write_file(u, i, list, &was_there, err) != 0)
            return -1;
        kept += was_there;
    }
    if (staging_publish(u->options->target, list, err) != 0)
        return -1;
    /* Counted by groups, as only now the files have their names. */
    (void)pthread_mutex_lock(&u->lock);
    u->result.files += (int64_t)(end - first);
    u->result.kept += kept;
    if (u->options->written != NULL)
        u->options->written(u->options->context, u->result.files, (int64_t)u->files);
    (void)pthread_mutex_unlock(&u->lock);
    return 0;
}

/* One thread. The first error of all is kept, and ends the others. */
static void *run(void *context) {
    struct unzipping *u = context;
    struct error why = {0};
    cleanup_buf struct buf list = {.max = LIST_MAX};
    int result = 0;
    while (result == 0 && !atomic_load(&u->failed)) {
        const size_t first = atomic_fetch_add(&u->next, GROUP);
        if (first >= u->files)
            break;
        result = write_group(u, first, &list, &why);
    }
    if (result != 0) {
        (void)pthread_mutex_lock(&u->lock);
        if (!atomic_exchange(&u->failed, true))
            u->why = why;
        (void)pthread_mutex_unlock(&u->lock);
    }
    return NULL;
}

/* Fewer threads than asked for are enough; without any the work is done here. */
static int run_threads(struct unzipping *u, struct error *err) {
    pthread_t threads[SHARD_SET_THREADS_MAX];
    int started = 0;
    while (started < u->options->threads && pthread_create(&threads[started], NULL, run, u) == 0)
        started++;
    if (started == 0)
        (void)run(u);
    for (int i = 0; i < started; i++)
        (void)pthread_join(threads[i], NULL);
    if (!atomic_load(&u->failed))
        return 0;
    *err = u->why;
    return -1;
}

/* --- before it ------------------------------------------------------------------------------- */

/* Opens the archives and checks all of their paths. A path that begins with a dot could be one of
 * the target's own files. */
static int open_all(struct unzipping *u, struct error *err) {
    for (size_t i = 0; i < u->options->count; i++) {
        if (zip_open(&u->zips[i], u->options->archives[i], err) != 0)
            return -1;
        for (size_t k = 0; k < u->zips[i].count; k++) {
            const struct zip_member *m = &u->zips[i].members[k];
            if (!member_path_is_safe(m->path) || m->path[0] == '.')
                return error_set(err, EXIT_CODE_DATA,
                                 "%s: a file named '%.200s'; expected a path below a folder",
                                 u->options->archives[i], m->path);
            u->result.bytes += (int64_t)m->size;
        }
        u->files += u->zips[i].count;
    }
    return u->files > 0
               ? 0
               : error_set(err, EXIT_CODE_DATA, "the %zu archives hold no files; expected pictures",
                           u->options->count);
}

/* Writes the plan for the target (target.h): what a later run must find again to continue. The sum
 * over sizes and checksums tells archives of the same name apart; their folders do not matter. */
static int describe(const struct unzipping *u, struct buf *out, struct error *err) {
    for (size_t i = 0; i < u->options->count; i++) {
        const char *slash = strrchr(u->options->archives[i], '/');
        uint64_t sum = 0;
        for (size_t k = 0; k < u->zips[i].count; k++)
            sum = sum * 31 + u->zips[i].members[k].crc + u->zips[i].members[k].size;
        if (buf_printf(out, err, "zip %s: %zu files, sum %016llx\n",
                       slash != NULL ? slash + 1 : u->options->archives[i], u->zips[i].count,
                       (unsigned long long)sum) != 0)
            return -1;
    }
    return 0;
}

/* Sets *RET to the bytes of the files that are not there yet, in whole blocks of the disk: many
 * small files need much more room than their bytes. */
static int bytes_needed(const struct unzipping *u, int64_t *ret, struct error *err) {
    *ret = 0;
    for (size_t i = 0; i < u->files; i++) {
        const struct zip *zip = NULL;
        const struct zip_member *m = member_of(u, i, &zip);
        char path[PATH_MAX];
        bool there = false;
        if (place(u, m, path, &there, err) != 0)
            return -1;
        *ret += there ? 0 : (int64_t)((m->size + BLOCK - 1) / BLOCK * BLOCK);
    }
    return 0;
}

/* Everything that can fail before a file is written. The lock of TARGET is held from target_open
 * on. */
static int prepare(struct unzipping *u, struct target *target, struct error *err) {
    cleanup_buf struct buf plan = {.max = 64 * 1024};
    int64_t needed = 0;
    if (open_all(u, err) != 0 || describe(u, &plan, err) != 0 ||
        target_open(target, u->options->target, buf_text(&plan), err) != 0 ||
        bytes_needed(u, &needed, err) != 0 ||
        target_check_room(u->options->target, needed, err) != 0)
        return -1;
    return target_commit(target, err) != 0 ? -1 : staging_begin(u->options->target, err);
}

/* Without an error all files have their names, and the staging folder is removed. The lock ends
 * with TARGET. */
static int unzip(struct unzipping *u, struct error *err) {
    cleanup_target struct target target = TARGET_CLOSED;
    struct error why = {0};
    if (prepare(u, &target, err) != 0)
        return -1;
    if (pthread_mutex_init(&u->lock, NULL) != 0)
        return error_set(err, EXIT_CODE_INTERNAL, "no lock");
    int result = run_threads(u, &why);
    (void)pthread_mutex_destroy(&u->lock);
    if (result == 0)
        staging_end(u->options->target);
    else if (err != NULL)
        *err = why;
    return result;
}

/* RET has what was done until a failure, too. */
int unzip_all(const struct unzip_options *options, struct unzip_result *ret, struct error *err) {
    struct unzipping u = {.options = options};
    *ret = (struct unzip_result){0};
    if (options->count == 0 || options->count > UNZIP_ARCHIVES_MAX)
        return error_set(err, EXIT_CODE_USAGE, "%zu archives; expected 1 to %d", options->count,
                         UNZIP_ARCHIVES_MAX);
    if ((u.zips = calloc(options->count, sizeof(*u.zips))) == NULL)
        return error_no_memory(err, "zip archives");
    for (size_t i = 0; i < options->count; i++)
        /* All are closed first, so that a failure in the middle can free every one. */
        u.zips[i] = (struct zip)ZIP_CLOSED;
    int result = unzip(&u, err);
    for (size_t i = 0; i < options->count; i++)
        zip_done(&u.zips[i]);
    free(u.zips);
    *ret = u.result;
    return result;
}

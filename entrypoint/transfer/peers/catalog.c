#include "entrypoint/transfer/peers/catalog.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/grow.h"
#include "entrypoint/transfer/disk/safe_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* One mutex protects everything, and one condition wakes every waiting thread at every change.
 * There are few threads (peer_server.h), and changes come with whole files, so finer locks would
 * gain nothing.
 *
 * A task goes through three states. While it is not listed, any path may still come. Once it is
 * listed, a path outside the list will never come. Once it is over, what is not here will never
 * come. Tasks are added and never removed before catalog_done, so the pointers that catalog_begin
 * returns stay valid.
 *
 * Entries hold no open file by default: a data set can have more files than a process may open. */

/* One file of a task. */
struct item {
    char *path;                 /* owned */
    struct catalog_facts facts; /* valid once it is here */
    int fd;                     /* -1: opened on the first request */
    bool here;                  /* complete and verified */
};

struct catalog_task {
    char *what;         /* owned */
    int root;           /* owned; a descriptor of the task's directory */
    struct item *items; /* owned; sorted by path once the list is complete */
    size_t count;
    size_t capacity;
    bool listed; /* no path is added any more */
    bool over;
};

/* Waits are timed by the monotonic clock, as clock_now() is: a change of the wall clock must not
 * end or prolong them. */
int catalog_open(struct catalog *s, struct error *err) {
    pthread_condattr_t attributes;
    *s = (struct catalog){0};
    if (pthread_condattr_init(&attributes) != 0)
        return error_no_memory(err, "the shared files");
    bool good = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0 &&
                pthread_cond_init(&s->changed, &attributes) == 0 &&
                pthread_mutex_init(&s->lock, NULL) == 0;
    (void)pthread_condattr_destroy(&attributes);
    return good ? 0 : error_no_memory(err, "the shared files");
}

/* Frees a task with all its descriptors. */
static void subprocess_done(struct catalog_task *t) {
    for (size_t i = 0; i < t->count; i++) {
        free(t->items[i].path);
        if (t->items[i].fd >= 0)
            (void)close(t->items[i].fd);
    }
    free(t->items);
    free(t->what);
    if (t->root >= 0)
        (void)close(t->root);
    free(t);
}

void catalog_done(struct catalog *s) {
    for (size_t i = 0; i < s->count; i++)
        subprocess_done(s->tasks[i]);
    (void)pthread_cond_destroy(&s->changed);
    (void)pthread_mutex_destroy(&s->lock);
    *s = (struct catalog){0};
}

static void lock(struct catalog *s) {
    (void)pthread_mutex_lock(&s->lock);
}

/* Unlocks after a change and wakes all waiting threads. */
static void unlock_changed(struct catalog *s) {
    (void)pthread_cond_broadcast(&s->changed);
    (void)pthread_mutex_unlock(&s->lock);
}

/* --- adding ----------------------------------------------------------------------------------- */

/* Copies WHAT and duplicates ROOT, so the caller may close its own. The task is filled in before it
 * is visible to other threads. */
struct catalog_task *catalog_begin(struct catalog *s, const char *what, int root,
                                   struct error *err) {
    struct catalog_task *t = s->count < CATALOG_TASKS_MAX ? calloc(1, sizeof(*t)) : NULL;
    if (t == NULL) {
        (void)error_no_memory(err, "the shared files");
        return NULL;
    }
    t->what = strdup(what);
    t->root = fcntl(root, F_DUPFD_CLOEXEC, 0);
    if (t->what == NULL || t->root < 0) {
        (void)error_set_errno(err, EXIT_CODE_INTERNAL, "the shared files");
        subprocess_done(t);
        return NULL;
    }
    lock(s);
    s->tasks[s->count++] = t;
    unlock_changed(s);
    return t;
}

/* Makes room for one more item. The caller reports the failure, outside the lock. */
static int grow(struct catalog_task *t) {
    return grow_array(&t->items, &t->capacity, t->count + 1, sizeof(*t->items), "", NULL);
}

int catalog_expect(struct catalog *s, struct catalog_task *t, const char *path, struct error *err) {
    int result = -1;
    lock(s);
    char *copy = grow(t) == 0 ? strdup(path) : NULL;
    if (copy != NULL) {
        t->items[t->count++] = (struct item){.path = copy, .fd = -1};
        result = 0;
    }
    (void)pthread_mutex_unlock(&s->lock);
    return result == 0 ? 0 : error_no_memory(err, "the shared files");
}

static int by_path(const void *a, const void *b) {
    const struct item *one = a;
    const struct item *other = b;
    return strcmp(one->path, other->path);
}

/* From here on paths are found by binary search; before, no thread searches them at all. */
void catalog_listed(struct catalog *s, struct catalog_task *t) {
    lock(s);
    if (t->count > 0)
        qsort(t->items, t->count, sizeof(*t->items), by_path);
    t->listed = true;
    unlock_changed(s);
}

/* Returns NULL if the path is unknown, or the list is not complete. The caller holds the lock. */
static struct item *find(const struct catalog_task *t, const char *path) {
    const struct item wanted = {.path = (char *)(uintptr_t)path};
    return t->listed && t->count > 0
               ? bsearch(&wanted, t->items, t->count, sizeof(*t->items), by_path)
               : NULL;
}

/* Opens a file below the task's directory by a path of its list; -1 if it is gone. */
static int open_item(const struct catalog_task *t, const char *path) {
    char name[SAFE_DIR_NAME_MAX + 1];
    cleanup_fd int folder = safe_dir_find(t->root, path, name);
    return folder >= 0 ? openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) : -1;
}

/* The caller holds the lock. Returns false if no task expects the file. FD, which may be -1, is
 * taken over only on success. */
static bool put(struct catalog_task *t, const char *path, const struct catalog_facts *facts,
                int fd) {
    struct item *item = find(t, path);
    if (item == NULL)
        return false;
    item->facts = *facts;
    item->fd = fd;
    item->here = true;
    return true;
}

/* A path that was not expected is ignored. KEEP opens the file now, since it will not be at its
 * path later: an archive is removed once it was unpacked. */
void catalog_put(struct catalog *s, struct catalog_task *t, const char *path,
                 const struct catalog_facts *facts, bool keep) {
    lock(s);
    const int fd = keep && find(t, path) != NULL ? open_item(t, path) : -1;
    (void)put(t, path, facts, fd);
    unlock_changed(s);
}

void catalog_put_open(struct catalog *s, struct catalog_task *t, const char *path,
                      const struct catalog_facts *facts, int fd) {
    lock(s);
    if (!put(t, path, facts, fd))
        (void)close(fd);
    unlock_changed(s);
}

void catalog_end(struct catalog *s, struct catalog_task *t) {
    lock(s);
    t->over = true;
    unlock_changed(s);
}

void catalog_end_all(struct catalog *s) {
    lock(s);
    s->over = true;
    unlock_changed(s);
}

/* Wakes no thread: waiting requests report the count when their own time is up. */
void catalog_step(struct catalog *s) {
    lock(s);
    s->steps++;
    (void)pthread_mutex_unlock(&s->lock);
}

/* --- requests --------------------------------------------------------------------------------- */

static struct catalog_task *find_task(const struct catalog *s, const char *what) {
    for (size_t i = 0; i < s->count; i++)
        if (strcmp(s->tasks[i]->what, what) == 0)
            return s->tasks[i];
    return NULL;
}

/* Looks a file up. One that has since disappeared from its folder is gone for good. The descriptor
 * is the caller's own: a duplicate shares its position with the kept one, so files have to be read
 * with pread(). */
static enum catalog_answer look(struct catalog *s, const char *what, const char *path,
                                struct catalog_file *ret) {
    const struct catalog_task *t = find_task(s, what);
    if (t == NULL)
        return s->over ? CATALOG_NEVER : CATALOG_LATER;
    const struct item *item = find(t, path);
    if (item == NULL)
        return t->listed || t->over ? CATALOG_NEVER : CATALOG_LATER;
    if (!item->here)
        return t->over ? CATALOG_NEVER : CATALOG_LATER;
    ret->facts = item->facts;
    ret->fd = item->fd >= 0 ? fcntl(item->fd, F_DUPFD_CLOEXEC, 0) : open_item(t, path);
    return ret->fd >= 0 ? CATALOG_HERE : CATALOG_NEVER;
}

/* pthread_cond_timedwait() may also wake for changes of other files; the loop looks again. After
 * the timeout the answer is CATALOG_LATER, with the count of steps for the client. */
enum catalog_answer catalog_take(struct catalog *s, const char *what, const char *path,
                                 int64_t until, struct catalog_file *ret) {
    const struct timespec end = {.tv_sec = until / CLOCK_SECOND, .tv_nsec = until % CLOCK_SECOND};
    enum catalog_answer answer = CATALOG_LATER;
    *ret = (struct catalog_file){.fd = -1};
    lock(s);
    while ((answer = look(s, what, path, ret)) == CATALOG_LATER)
        if (pthread_cond_timedwait(&s->changed, &s->lock, &end) != 0)
            break;
    ret->steps = s->steps;
    (void)pthread_mutex_unlock(&s->lock);
    return answer;
}

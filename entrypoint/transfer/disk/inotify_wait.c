#include "entrypoint/transfer/disk/inotify_wait.h"

#include "common/clock.h"
#include "common/file/file.h"

#include <dirent.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

/* Events that arrive within this time are handled together. */
static const int64_t settle = 200 * CLOCK_MILLISECOND;

enum {
    WANTED = IN_CLOSE_WRITE | IN_MOVED_TO | IN_DELETE | IN_MOVED_FROM | IN_CREATE | IN_ONLYDIR |
             IN_DONT_FOLLOW | IN_EXCL_UNLINK,
};

/* Watches FOLDER and its subfolders; an existing watch stays. If watching fails, the periodic scans
 * still find changes. */
static unsigned watch(int events, const char *folder, unsigned count) {
    char below[PATH_MAX];
    if (count >= INOTIFY_WAIT_FOLDERS_MAX || inotify_add_watch(events, folder, WANTED) < 0)
        return count;
    count++;
    DIR *listing = opendir(folder);
    if (listing == NULL)
        return count;
    for (const struct dirent *e = NULL; (e = readdir(listing)) != NULL;) {
        int size = snprintf(below, sizeof(below), "%s/%s", folder, e->d_name);
        if (e->d_name[0] != '.' && (e->d_type == DT_DIR || e->d_type == DT_UNKNOWN) && size > 0 &&
            (size_t)size < sizeof(below))
            count = watch(events, below, count);
    }
    (void)closedir(listing);
    return count;
}

int inotify_wait_open(struct inotify_wait *w, const char *folder, struct error *err) {
    *w = (struct inotify_wait){.events = -1, .folder = folder};
    if (folder == NULL)
        return 0;
    if (file_make_dirs(folder, err) != 0)
        return -1;
    w->events = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (w->events >= 0)
        (void)watch(w->events, folder, 0);
    return 0;
}

void inotify_wait_done(struct inotify_wait *w) {
    if (w->events >= 0)
        (void)close(w->events);
    w->events = -1;
}

/* Waits for events. Signals that set *LEAVE are unblocked only inside ppoll(), so that none is
 * missed. */
static int wait_for(struct inotify_wait *w, int64_t nanoseconds,
                    const volatile sig_atomic_t *leave) {
    sigset_t blocked;
    sigset_t before;
    struct timespec time = {.tv_sec = nanoseconds / CLOCK_SECOND,
                            .tv_nsec = nanoseconds % CLOCK_SECOND};
    struct pollfd p = {.fd = w->events, .events = POLLIN};
    (void)sigemptyset(&blocked);
    (void)sigaddset(&blocked, SIGUSR1);
    (void)sigaddset(&blocked, SIGUSR2);
    (void)sigprocmask(SIG_BLOCK, &blocked, &before);
    int ready = *leave == 0 ? ppoll(&p, 1, &time, &before) : -1;
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    return ready;
}

void inotify_wait_wait(struct inotify_wait *w, int64_t nanoseconds,
                       const volatile sig_atomic_t *leave) {
    char events[16 * 1024];
    if (wait_for(w, nanoseconds, leave) <= 0)
        return;
    struct inotify_wait nothing = {.events = -1};
    (void)wait_for(&nothing, settle, leave);
    while (read(w->events, events, sizeof(events)) > 0)
        ;
    (void)watch(w->events, w->folder, 0); /* to watch new folders */
}

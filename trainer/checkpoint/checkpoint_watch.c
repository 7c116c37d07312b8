#include "trainer/checkpoint/checkpoint_watch.h"

#include "common/clock.h"
#include "common/file/file.h"
#include "trainer/checkpoint/checkpoint.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

enum { EVENTS_SIZE = 16 * 1024 };

int checkpoint_watch_open(struct checkpoint_watch *w, const char *folder, struct error *err) {
    *w = (struct checkpoint_watch)CHECKPOINT_WATCH_CLOSED;
    w->look = CHECKPOINT_WATCH_SECONDS * CLOCK_SECOND;
    if (file_make_dirs(folder, err) != 0)
        return -1;
    w->owned = strdup(folder);
    if (w->owned == NULL)
        return error_no_memory(err, "watching a folder");
    w->events = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    /* Checkpoints are renamed into place; a program that copies a folder may write them in place.
     * If the kernel's inotify watches are used up, polling alone finds them. */
    if (w->events >= 0 &&
        inotify_add_watch(w->events, folder, IN_MOVED_TO | IN_CLOSE_WRITE | IN_ONLYDIR) < 0) {
        (void)close(w->events);
        w->events = -1;
    }
    return 0;
}

void checkpoint_watch_done(struct checkpoint_watch *w) {
    if (w->events >= 0)
        (void)close(w->events);
    free(w->owned);
    *w = (struct checkpoint_watch)CHECKPOINT_WATCH_CLOSED;
}

/* Discards the events: the folder is read anyway, so only their arrival matters. */
static void drain(const struct checkpoint_watch *w) {
    char events[EVENTS_SIZE];
    while (read(w->events, events, sizeof(events)) > 0)
        continue;
}

int checkpoint_watch_wait(struct checkpoint_watch *w, int stop, int64_t deadline,
                          struct error *err) {
    struct pollfd fds[] = {{.fd = w->events, .events = POLLIN}, {.fd = stop, .events = POLLIN}};
    int64_t look = clock_now() + w->look;
    int ready = poll(fds, 2, clock_left_ms(deadline < look ? deadline : look));
    if (ready < 0 && errno != EINTR)
        return error_set_errno(err, EXIT_CODE_INTERNAL, "%s: waiting for checkpoints", w->owned);
    if (ready > 0 && fds[0].revents != 0)
        drain(w);
    return 0;
}

/* Opens the checkpoint. One that its training has removed meanwhile is skipped. One that the system
 * refuses to read is an error: skipping it would leave it out for good. */
static int take(const struct checkpoint_watch *w, int64_t step, struct safetensors *file,
                bool *ret_found, struct buf *notes, struct error *err) {
    char path[CHECKPOINT_PATH_MAX];
    struct error damage = {0};
    if (checkpoint_path(w->owned, step, path, err) != 0)
        return -1;
    *ret_found = checkpoint_open(path, file, &damage) == 0;
    if (*ret_found || (damage.os_errno != 0 && checkpoint_is_gone(path)))
        return 0;
    if (damage.os_errno != 0) {
        if (err != NULL)
            *err = damage;
        return -1;
    }
    return buf_printf(notes, err, "%s\n", damage.text);
}

int checkpoint_watch_next(const struct checkpoint_watch *w, struct checkpoint_position *after,
                          struct safetensors *file, bool *ret_found, struct buf *notes,
                          struct error *err) {
    cleanup_checkpoint_list struct checkpoint_list list = {0};
    *ret_found = false;
    if (checkpoint_list_read(&list, w->owned, err) != 0 ||
        checkpoint_list_check(&list, w->owned, err) != 0)
        return -1;
    for (size_t i = list.count; i-- > 0 && !*ret_found;) {
        const struct checkpoint_item *item = &list.items[i];
        if (!item->readable || checkpoint_position_compare(&item->position, after) <= 0)
            continue;
        *after = item->position;
        if (take(w, item->position.step, file, ret_found, notes, err) != 0)
            return -1;
    }
    return 0;
}

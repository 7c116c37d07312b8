#include "entrypoint/sweep.h"

#include "common/clock.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What is killed may have forked just before: looked at again so often until all are gone. */
static const int64_t kill_again = 50 * CLOCK_MILLISECOND;

struct process {
    pid_t pid;
    pid_t parent;
    unsigned long long born; /* ticks since boot: with the pid it names a process for good */
    bool dead;
    bool ours;
};

struct processes {
    struct process *items;
    size_t count;
    size_t capacity;
};

static bool read_process(pid_t pid, struct process *ret) {
    char path[64];
    char text[1024];
    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return false;
    size_t size = fread(text, 1, sizeof(text) - 1, file);
    (void)fclose(file);
    text[size] = '\0';
    const char *at = strrchr(text, ')'); /* the name may hold anything, blanks and ')' too */
    if (at == NULL || at[1] != ' ')
        return false;
    char state = at[2];
    char *end = NULL;
    long parent = strtol(at + 3, &end, 10);
    unsigned long long born = 0;
    for (int field = 5; field <= 22; field++) /* numbered as in proc(5) */
        born = strtoull(end, &end, 10);
    *ret = (struct process){
        .pid = pid, .parent = (pid_t)parent, .born = born, .dead = state == 'Z' || state == 'X'};
    return true;
}

static void add_process(struct processes *all, const struct process *p) {
    if (all->count == all->capacity) {
        size_t capacity = all->capacity == 0 ? 64 : 2 * all->capacity;
        struct process *items = realloc(all->items, capacity * sizeof(*items));
        if (items == NULL)
            return; /* it is found in the next round, when others are gone */
        all->items = items;
        all->capacity = capacity;
    }
    all->items[all->count++] = *p;
}

static void list_all(struct processes *all) {
    DIR *proc = opendir("/proc");
    if (proc == NULL)
        return;
    for (struct dirent *entry = readdir(proc); entry != NULL; entry = readdir(proc)) {
        struct process p;
        if (isdigit((unsigned char)entry->d_name[0]) &&
            read_process((pid_t)strtol(entry->d_name, NULL, 10), &p))
            add_process(all, &p);
    }
    (void)closedir(proc);
}

static bool is_ours(const struct processes *all, pid_t parent) {
    if (parent == getpid())
        return true;
    for (size_t i = 0; i < all->count; i++)
        if (all->items[i].pid == parent)
            return all->items[i].ours;
    return false;
}

/* Marks children of marked ones until nothing changes: as many rounds as the tree is deep. */
static void mark_descendants(struct processes *all) {
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = 0; i < all->count; i++) {
            struct process *p = &all->items[i];
            if (!p->ours && is_ours(all, p->parent))
                p->ours = changed = true;
        }
    }
}

/* A pidfd holds on to the process that had the pid when it was opened; if that one was born when
 * the listed one was, the signal cannot hit a newcomer. */
static void signal_process(const struct process *p, int number) {
    int fd = (int)syscall(SYS_pidfd_open, p->pid, 0);
    if (fd < 0)
        return;
    struct process now;
    if (read_process(p->pid, &now) && now.born == p->born)
        (void)syscall(SYS_pidfd_send_signal, fd, number, NULL, 0);
    (void)close(fd);
}

size_t sweep_signal(int number) {
    struct processes all = {0};
    list_all(&all);
    mark_descendants(&all);
    size_t count = 0;
    for (size_t i = 0; i < all.count; i++) {
        if (!all.items[i].ours || all.items[i].dead)
            continue;
        signal_process(&all.items[i], number);
        count++;
    }
    free(all.items);
    return count;
}

static void finish(struct sweep *s, size_t left) {
    s->running = false;
    loop_cancel(s->loop, &s->timer);
    s->done(s->context, left);
}

static void advance(void *context) {
    struct sweep *s = context;
    if (!reaper_run(s->reaper)) {
        finish(s, 0);
        return;
    }
    int64_t now = clock_now();
    if (now < s->kill_at) {
        loop_at(s->loop, &s->timer, s->kill_at);
        return;
    }
    size_t left = sweep_signal(SIGKILL);
    if (now >= s->give_up_at)
        finish(s, left);
    else
        loop_after(s->loop, &s->timer, kill_again);
}

void sweep_start(struct sweep *s, struct loop *l, struct reaper *r, int64_t grace, int64_t give_up,
                 void (*done)(void *context, size_t left), void *context) {
    int64_t now = clock_now();
    if (s->running)
        loop_cancel(s->loop, &s->timer);
    *s = (struct sweep){.loop = l,
                        .reaper = r,
                        .done = done,
                        .context = context,
                        .timer = {.fire = advance, .context = s},
                        .kill_at = now + grace,
                        .give_up_at = now + grace + give_up,
                        .running = true};
    if (grace > 0) {
        (void)sweep_signal(SIGTERM);
        (void)sweep_signal(SIGCONT); /* a stopped process hears the first only when it goes on */
    }
    loop_at(l, &s->timer, now);
}

void sweep_reaped(struct sweep *s, bool children_left) {
    if (s->running && !children_left)
        finish(s, 0);
}

#include "entrypoint/os/process_tree.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/grow.h"
#include "entrypoint/os/process_stat.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* /proc is read whole, and each process traced upwards to this one. That finds processes which have
 * left their group or session, and orphans, as this process is their new parent. Groups and
 * sessions would miss both.
 *
 * A sweep runs on a timer: SIGTERM once, SIGKILL at `kill_at`, then SIGKILL again every kill_again
 * until nothing is left or `give_up_at` has come. It ends early when the reaper finds no child any
 * more, for every descendant becomes a child of this process when its parents are gone. */

/* A killed process may have forked just before, so passes are repeated until all are gone. */
static const int64_t kill_again = 50 * CLOCK_MILLISECOND;
/* A limit for one call only: the timer starts the next. */
enum { PASSES = 16 };

/* KIN_UNKNOWN is 0, so that a process that was just listed has it. */
enum kin { KIN_UNKNOWN, KIN_STRANGER, KIN_OURS };

struct process {
    struct process_stat stat;
    enum kin kin;
};

/* Sorted by pid once mark_descendants() has seen it. */
struct processes {
    struct process *items;
    size_t count;
    size_t capacity;
};

/* Appends a copy of P. */
static void add_process(struct processes *all, const struct process *p) {
    if (grow_array(&all->items, &all->capacity, all->count + 1, sizeof(*all->items), "", NULL) != 0)
        return; /* found in the next round, when others are gone */
    all->items[all->count++] = *p;
}

/* Processes that end meanwhile are left out. Without /proc nothing is found, and nothing signalled.
 */
static void list_all(struct processes *all) {
    DIR *proc = opendir("/proc");
    if (proc == NULL)
        return;
    for (struct dirent *entry = readdir(proc); entry != NULL; entry = readdir(proc)) {
        struct process p = {0};
        if (isdigit((unsigned char)entry->d_name[0]) &&
            process_stat_read((pid_t)strtol(entry->d_name, NULL, 10), &p.stat))
            add_process(all, &p);
    }
    (void)closedir(proc);
}

/* Compares pids without subtracting them, for qsort() and bsearch(). */
static int by_pid(const void *a, const void *b) {
    const struct process *one = a;
    const struct process *other = b;
    return (one->stat.pid > other->stat.pid) - (one->stat.pid < other->stat.pid);
}

/* ALL must be sorted. */
static struct process *find(const struct processes *all, pid_t pid) {
    const struct process key = {.stat = {.pid = pid}};
    if (all->count == 0)
        return NULL;
    return bsearch(&key, all->items, all->count, sizeof(key), by_pid);
}

/* Walks up from each process to one of known kinship, and records it for all on the way, so
 * that no process is visited twice. A list that was read while processes came and went may contain
 * a cycle, so a walk takes at most as many steps as there are processes. */
static void mark_descendants(struct processes *all) {
    const pid_t self = getpid();
    if (all->count > 0)
        qsort(all->items, all->count, sizeof(*all->items), by_pid);
    for (size_t i = 0; i < all->count; i++) {
        struct process *p = &all->items[i];
        size_t steps = 0;
        while (p != NULL && p->kin == KIN_UNKNOWN && p->stat.parent != self && steps++ < all->count)
            p = find(all, p->stat.parent);
        enum kin kin = KIN_STRANGER;
        if (p != NULL && (p->kin == KIN_OURS || (p->kin == KIN_UNKNOWN && p->stat.parent == self)))
            kin = KIN_OURS;
        for (p = &all->items[i]; p != NULL && p->kin == KIN_UNKNOWN && p->stat.pid != self;) {
            p->kin = kin;
            p = p->stat.parent != self ? find(all, p->stat.parent) : NULL;
        }
    }
}

/* Signals PID by its number where FD is -1, or where a container's filter refuses the call. */
static void send_signal(int fd, pid_t pid, int number) {
    if (fd < 0 || (syscall(SYS_pidfd_send_signal, fd, number, NULL, 0) != 0 && errno != ESRCH))
        (void)kill(pid, number);
}

/* A child's pid stays reserved until it is reaped here. Any other process is signalled through a
 * pidfd: if the start time of the process there matches the listed one, the signal cannot hit a
 * newcomer. Where a container's filter refuses pidfds, the look just before has to do. A stopped
 * process receives SIGTERM only when it continues. */
static void signal_process(const struct process *p, int number) {
    struct process_stat now;
    const bool is_child = p->stat.parent == getpid();
    cleanup_fd int fd = is_child ? -1 : (int)syscall(SYS_pidfd_open, p->stat.pid, 0);
    if (!is_child && (!process_stat_read(p->stat.pid, &now) || now.born != p->stat.born))
        return;
    send_signal(fd, p->stat.pid, number);
    /* After the signal, so that the process acts on it as soon as it continues. */
    if (number == SIGTERM)
        send_signal(fd, p->stat.pid, SIGCONT);
}

/* PIDs of 0 or below stand for no process. */
static bool is_spared(const pid_t spared[PROCESS_TREE_SPARED], pid_t pid) {
    for (size_t i = 0; i < PROCESS_TREE_SPARED; i++)
        if (spared[i] > 0 && spared[i] == pid)
            return true;
    return false;
}

/* Descendants that are signalled: those that none of these members names. */
struct choice {
    pid_t spared[PROCESS_TREE_SPARED]; /* 0: none; likewise below */
    pid_t kept;
    pid_t group;
};

static bool is_chosen(const struct choice *c, const struct process *p) {
    return p->kin == KIN_OURS && !p->stat.dead && !is_spared(c->spared, p->stat.pid) &&
           (c->kept <= 0 || p->stat.pid != c->kept) && (c->group <= 0 || p->stat.group != c->group);
}

/* Signals all chosen processes and lists them in RET. SIGNALLED is the sorted list of the pass
 * before; *RET_NEW is true if a process is not in it. RET is sorted, too, and the caller frees it.
 */
static size_t signal_once(int number, const struct choice *c, const struct processes *signalled,
                          struct processes *ret, bool *ret_new) {
    size_t count = 0;
    *ret_new = false;
    list_all(ret);
    mark_descendants(ret);
    for (size_t i = 0; i < ret->count; i++) {
        const struct process *p = &ret->items[i];
        if (!is_chosen(c, p))
            continue;
        const struct process *before = find(signalled, p->stat.pid);
        *ret_new |= before == NULL || before->stat.born != p->stat.born;
        signal_process(p, number);
        count++;
    }
    return count;
}

/* One pass, for signals that processes may handle: forking in between is theirs to mind. */
static size_t signal_all(int number, const struct choice *c) {
    const struct processes nobody = {0};
    struct processes all = {0};
    bool is_new = false;
    size_t count = signal_once(number, c, &nobody, &all, &is_new);
    free(all.items);
    return count;
}

/* Kills all. A process with a pending SIGKILL cannot fork any more and keeps its pid until it is
 * reaped, so even for endless forking each pass leaves fewer, until one finds no new process.
 * Returns how many were still there in the last pass. */
static size_t kill_all(const struct process_tree *s) {
    const struct choice choice = {.spared = {s->spared[0], s->spared[1]}, .kept = s->kept};
    struct processes signalled = {0};
    bool is_new = true;
    size_t count = 0;
    for (int i = 0; i < PASSES && is_new; i++) {
        struct processes all = {0};
        count = signal_once(SIGKILL, &choice, &signalled, &all, &is_new);
        free(signalled.items);
        signalled = all;
    }
    free(signalled.items);
    return count;
}

size_t process_tree_signal(int number, pid_t spared) {
    return signal_all(number, &(const struct choice){.spared = {spared}});
}

/* GROUP is left out because one kill() has reached all of it already. */
size_t process_tree_signal_outside(int number, pid_t group) {
    return signal_all(number, &(const struct choice){.group = group});
}

/* DONE may start the next sweep, so everything of this one is over by then. */
static void finish(struct process_tree *s, size_t left) {
    s->running = false;
    loop_cancel(s->loop, &s->timer);
    s->done(s->context, left);
}

/* Returns true if a descendant other than KEPT exists, zombies included. */
static bool has_others(pid_t kept) {
    struct processes all = {0};
    bool found = false;
    list_all(&all);
    mark_descendants(&all);
    for (size_t i = 0; i < all.count; i++)
        found |= all.items[i].kin == KIN_OURS && all.items[i].stat.pid != kept;
    free(all.items);
    return found;
}

/* Returns true when no children are left, or only the one that may stay. A kept child is one of
 * them, so then /proc has to be read. */
static bool is_done(const struct process_tree *s, bool children_left) {
    return !children_left || (s->kept > 0 && !has_others(s->kept));
}

/* The timer of a sweep. Children are reaped first: there may be nothing left to do. */
static void advance(void *context) {
    struct process_tree *s = context;
    if (is_done(s, reaper_run(s->reaper))) {
        finish(s, 0);
        return;
    }
    int64_t now = clock_now();
    if (now < s->kill_at) {
        loop_at(s->loop, &s->timer, s->kill_at);
        return;
    }
    size_t left = kill_all(s);
    if (now >= s->give_up_at)
        finish(s, left);
    else
        loop_after(s->loop, &s->timer, kill_again);
}

/* GRACE and GIVE_UP follow each other. Spared and kept processes were set before, and stay from
 * sweep to sweep. */
void process_tree_start(struct process_tree *s, struct loop *l, struct reaper *r, int64_t grace,
                        int64_t give_up, void (*done)(void *context, size_t left), void *context) {
    int64_t now = clock_now();
    if (s->running)
        loop_cancel(s->loop, &s->timer);
    *s = (struct process_tree){.loop = l,
                               .reaper = r,
                               .done = done,
                               .context = context,
                               .timer = {.fire = advance, .context = s},
                               .spared = {s->spared[0], s->spared[1]},
                               .kept = s->kept,
                               .kill_at = now + grace,
                               .give_up_at = now + grace + give_up,
                               .running = true};
    /* Without a grace SIGTERM would only be followed by SIGKILL at once. */
    if (grace > 0)
        (void)signal_all(SIGTERM, &(const struct choice){.kept = s->kept});
    loop_at(l, &s->timer, now);
}

void process_tree_spare(struct process_tree *s, pid_t one, pid_t other) {
    s->spared[0] = one;
    s->spared[1] = other;
}

void process_tree_keep(struct process_tree *s, pid_t child) {
    s->kept = child;
}

/* The usual end of a sweep, without waiting for its timer. */
void process_tree_reaped(struct process_tree *s, bool children_left) {
    if (s->running && is_done(s, children_left))
        finish(s, 0);
}

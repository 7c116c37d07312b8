#include "entrypoint/evidence/thread_states.h"

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/str.h"
#include "entrypoint/evidence/rank_processes.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

/* Three files of each thread say all that is needed: `stat` its state, `wchan` the kernel function
 * in which it sleeps, `syscall` the number of the call that it is in. They are in memory, so
 * reading them neither waits for a disk nor disturbs the program, and no tool has to be in the
 * image.
 *
 * Threads at the same place are counted together: a program has dozens of threads, most of which
 * wait in a pool. The line goes into events and reports; odd_wait.c compares those of all ranks. */

enum {
    THREADS_MAX = 1024, /* threads of a process; any others are left out */
    KINDS_MAX = 8,
    WORD_SIZE = 64,
    TEXT_MAX = 64 * 1024,
};

/* Place at which one or more threads wait. */
struct place {
    char state;
    char where[WORD_SIZE]; /* "0": none */
    char call[WORD_SIZE];  /* number of the system call, "running", or "" */
    unsigned count;
};

/* What cannot be read stays '?' or empty. `syscall` takes the right to trace the process, and
 * `wchan` is "0" for a running thread or without that right. The number of a call is the first word
 * of `syscall`; its arguments follow and are dropped. */
static void look_at_thread(pid_t pid, const char *thread, struct place *ret) {
    char path[96];
    char text[512];
    *ret = (struct place){.state = '?', .count = 1};
    (void)snprintf(path, sizeof(path), "/proc/%d/task/%.16s/stat", (int)pid, thread);
    (void)rank_processes_read(path, text, sizeof(text));
    const char *end = strrchr(text, ')'); /* the name may contain any byte */
    if (end != NULL && end[1] == ' ' && isalpha((unsigned char)end[2]))
        ret->state = end[2];
    (void)snprintf(path, sizeof(path), "/proc/%d/task/%.16s/wchan", (int)pid, thread);
    (void)rank_processes_read(path, ret->where, sizeof(ret->where));
    ret->where[strcspn(ret->where, " \n")] = '\0';
    (void)snprintf(path, sizeof(path), "/proc/%d/task/%.16s/syscall", (int)pid, thread);
    (void)rank_processes_read(path, ret->call, sizeof(ret->call));
    ret->call[strcspn(ret->call, " \n")] = '\0';
}

/* Adds one thread to its kind. Kinds beyond KINDS_MAX are dropped; the threads of known ones are
 * still counted. */
static void count_place(struct place places[KINDS_MAX], size_t *count, const struct place *p) {
    for (size_t i = 0; i < *count; i++)
        if (places[i].state == p->state && strcmp(places[i].where, p->where) == 0 &&
            strcmp(places[i].call, p->call) == 0) {
            places[i].count++;
            return;
        }
    if (*count < KINDS_MAX)
        places[(*count)++] = *p;
}

/* Returns the number of kinds, 0 for a process that is gone. Threads that end meanwhile are counted
 * with what was still there. */
static size_t look_at_threads(pid_t pid, struct place places[KINDS_MAX]) {
    char path[64];
    size_t count = 0;
    unsigned threads = 0;
    (void)snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    DIR *folder = opendir(path);
    if (folder == NULL)
        return 0;
    for (struct dirent *e = readdir(folder); e != NULL && threads < THREADS_MAX;
         e = readdir(folder)) {
        struct place p;
        if (!isdigit((unsigned char)e->d_name[0]))
            continue;
        look_at_thread(pid, e->d_name, &p);
        count_place(places, &count, &p);
        threads++;
    }
    (void)closedir(folder);
    return count;
}

/* Parts after the state are left out where they say nothing. The name is the program's own and may
 * hold any bytes, so it is made valid UTF-8. */
static void put_process(pid_t pid, struct buf *text) {
    char path[64];
    char name[WORD_SIZE];
    struct place places[KINDS_MAX];
    /* Read before the name: a process that ends meanwhile is left out. */
    size_t count = look_at_threads(pid, places);
    (void)snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
    size_t size = rank_processes_read(path, name, sizeof(name));
    if (count == 0)
        return;
    (void)buf_printf(text, NULL, "%spid %d ", text->size > 0 ? "; " : "", (int)pid);
    (void)str_add_utf8(text, name, size > 0 && name[size - 1] == '\n' ? size - 1 : size, NULL);
    for (size_t i = 0; i < count; i++) {
        const struct place *p = &places[i];
        bool somewhere = p->where[0] != '\0' && strcmp(p->where, "0") != 0;
        bool calls = isdigit((unsigned char)p->call[0]) != 0;
        (void)buf_printf(text, NULL, "%s %u %c%s%s%s%s%s", i > 0 ? "," : ":", p->count, p->state,
                         somewhere ? " " : "", somewhere ? p->where : "", calls ? " (" : "",
                         calls ? p->call : "", calls ? ")" : "");
    }
}

/* The processes are those of one rank, in the order of /proc. The text is cut at SIZE without
 * splitting a character. */
void thread_states(pid_t parent, char *ret, size_t size) {
    cleanup_buf struct buf text;
    pid_t pids[RANK_PROCESSES_MAX];
    size_t count = rank_processes(parent, pids);
    buf_init(&text, TEXT_MAX);
    for (size_t i = 0; i < count; i++)
        put_process(pids[i], &text);
    size_t fit = str_utf8_prefix(buf_text(&text), text.size, size - 1);
    memcpy(ret, buf_text(&text), fit);
    ret[fit] = '\0';
}

/* Names of calls in which programs wait; others go by number. The table is for people's reports
 * only: thread_states() prints numbers, which are easier to compare. */
static const struct call {
    long number;
    const char *name;
} calls[] = {
    {SYS_futex, "futex"},
    {SYS_nanosleep, "nanosleep"},
    {SYS_clock_nanosleep, "clock_nanosleep"},
    {SYS_ppoll, "ppoll"},
    {SYS_pselect6, "pselect"},
    {SYS_epoll_pwait, "epoll_pwait"},
    {SYS_read, "read"},
    {SYS_write, "write"},
    {SYS_recvfrom, "recvfrom"},
    {SYS_recvmsg, "recvmsg"},
    {SYS_accept, "accept"},
    {SYS_accept4, "accept"},
    {SYS_sendto, "sendto"},
    {SYS_sendmsg, "sendmsg"},
    {SYS_openat, "openat"},
    {SYS_flock, "flock"},
    {SYS_fcntl, "fcntl"},
    {SYS_getrandom, "getrandom"},
    {SYS_connect, "connect"},
    {SYS_wait4, "wait4"},
    {SYS_waitid, "waitid"},
    {SYS_rt_sigtimedwait, "sigtimedwait"},
    {SYS_rt_sigsuspend, "sigsuspend"},
    {SYS_ioctl, "ioctl"},
    {SYS_fsync, "fsync"},
#ifdef SYS_poll /* not on arm64 */
    {SYS_poll, "poll"},
    {SYS_select, "select"},
    {SYS_epoll_wait, "epoll_wait"},
    {SYS_pause, "pause"},
#endif
};

/* Numbers differ between processors, which SYS_ of the compiler's target takes into account. NULL:
 * a call that is not in the table, or no call at all ("running"). */
static const char *call_name(const char *number) {
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
        if (isdigit((unsigned char)number[0]) && strtol(number, NULL, 10) == calls[i].number)
            return calls[i].name;
    return NULL;
}

/* The main thread has the number of its process. "D" is a wait that not even SIGKILL ends, mostly
 * for a disk or a driver, so the words say so. */
void thread_states_main(pid_t parent, char *ret, size_t size) {
    pid_t pids[RANK_PROCESSES_MAX];
    char thread[16];
    struct place p;
    ret[0] = '\0';
    if (rank_processes(parent, pids) == 0)
        return;
    (void)snprintf(thread, sizeof(thread), "%d", (int)pids[0]);
    look_at_thread(pids[0], thread, &p);
    const char *name = call_name(p.call);
    const char *how = p.state == 'D' ? "waiting, not interruptibly," : "waiting";
    if (p.state == 'T')
        (void)snprintf(ret, size, "stopped by a signal");
    else if (p.state == 'R')
        (void)snprintf(ret, size, "running");
    else if (name != NULL)
        (void)snprintf(ret, size, "%s in %s", how, name);
    else if (isdigit((unsigned char)p.call[0]))
        (void)snprintf(ret, size, "%s in system call %.16s", how, p.call);
    else
        (void)snprintf(ret, size, "%s", how);
}

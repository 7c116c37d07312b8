#include "entrypoint/host/monitor/thread_states.h"

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/str.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    DEPTH_MAX = 4, /* a shell, a wrapper, the program, its workers */
    PROCESSES_MAX = 8,
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

/* Reads the first bytes of a file in /proc; returns their number. */
static size_t read_word(const char *path, char *ret, size_t size) {
    cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 ? read(fd, ret, size - 1) : -1;
    ret[got > 0 ? got : 0] = '\0';
    return got > 0 ? (size_t)got : 0;
}

static void look_at_thread(pid_t pid, const char *thread, struct place *ret) {
    char path[96];
    char text[512];
    *ret = (struct place){.state = '?', .count = 1};
    (void)snprintf(path, sizeof(path), "/proc/%d/task/%.16s/stat", (int)pid, thread);
    (void)read_word(path, text, sizeof(text));
    const char *end = strrchr(text, ')'); /* the name may contain any byte */
    if (end != NULL && end[1] == ' ' && isalpha((unsigned char)end[2]))
        ret->state = end[2];
    (void)snprintf(path, sizeof(path), "/proc/%d/task/%.16s/wchan", (int)pid, thread);
    (void)read_word(path, ret->where, sizeof(ret->where));
    ret->where[strcspn(ret->where, " \n")] = '\0';
    (void)snprintf(path, sizeof(path), "/proc/%d/task/%.16s/syscall", (int)pid, thread);
    (void)read_word(path, ret->call, sizeof(ret->call));
    ret->call[strcspn(ret->call, " \n")] = '\0';
}

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

static void tell_process(pid_t pid, struct buf *text) {
    char path[64];
    char name[WORD_SIZE];
    struct place places[KINDS_MAX];
    size_t count = look_at_threads(pid, places);
    (void)snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
    size_t size = read_word(path, name, sizeof(name));
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

static pid_t parent_of(pid_t pid) {
    char path[64];
    char text[512];
    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    (void)read_word(path, text, sizeof(text));
    const char *end = strrchr(text, ')');
    return end != NULL && strlen(end) > 4 ? (pid_t)strtol(end + 4, NULL, 10) : 0;
}

/* Returns true if PID is a descendant of PARENT, at most DEPTH_MAX levels down. */
static bool is_below(pid_t pid, pid_t parent) {
    for (unsigned step = 0; step < DEPTH_MAX && pid > 1; step++) {
        pid = parent_of(pid);
        if (pid == parent)
            return true;
    }
    return false;
}

void thread_states(pid_t parent, char *ret, size_t size) {
    cleanup_buf struct buf text;
    unsigned told = 0;
    buf_init(&text, TEXT_MAX);
    ret[0] = '\0';
    DIR *proc = opendir("/proc");
    if (proc == NULL)
        return;
    for (struct dirent *e = readdir(proc); e != NULL && told < PROCESSES_MAX; e = readdir(proc)) {
        pid_t pid = (pid_t)strtol(e->d_name, NULL, 10);
        if (!isdigit((unsigned char)e->d_name[0]) || !is_below(pid, parent))
            continue;
        tell_process(pid, &text);
        told++;
    }
    (void)closedir(proc);
    size_t fit = str_utf8_prefix(buf_text(&text), text.size, size - 1);
    memcpy(ret, buf_text(&text), fit);
    ret[fit] = '\0';
}

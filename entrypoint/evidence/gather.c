#include "entrypoint/evidence/gather.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/file/file.h"
#include "common/json/json.h"
#include "common/str.h"
#include "entrypoint/evidence/gather_task.h"
#include "entrypoint/evidence/rank_processes.h"
#include "entrypoint/evidence/stack_reading.h"
#include "entrypoint/evidence/thread_states.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The process is a child of the supervisor and does nothing but wait. Each row of the table
 * (gather_table.c) becomes one task for each rank, or one for the host, and each task is a child of
 * its own. A row that hangs in a driver or on a disk is killed at its deadline, and costs one
 * process.
 *
 * The loop in run_all() starts as many tasks as may run, polls their pipes until the nearest
 * deadline, and copies what comes into files. Where the ranks are is printed as soon as all their
 * rows are done: the supervisor needs it to name the late rank, and must not wait for a GPU's
 * driver.
 *
 * A job that ends sends SIGTERM. The loop then shortens all deadlines (shorten_deadlines), because
 * the supervisor kills this process half a second later, and what is already written stays. */

/* Tasks at one time: more would only wait for each other. */
enum { RUNNING_MAX = 8, DESCRIPTOR_MAX = 1 << 20 };

/* SIGTERM has come: the job ends, and its supervisor kills what is still there half a second later.
 */
static volatile sig_atomic_t is_asked_to_end;
/* What is left of that half second for rows of ranks, and for rows of the host: its drivers are the
 * more likely ones to hang. */
static const int64_t last_time = 2 * CLOCK_SECOND / 5;
static const int64_t last_time_of_host = CLOCK_SECOND / 10;

struct gathering {
    const struct gather_order *order;
    struct gather_task *tasks; /* owned */
    size_t count;
    int folder;
    size_t room;
    int64_t deadline;
    bool reported; /* where the ranks are */
    bool is_shortened;
};

/* Kills what still runs. Safe for a gathering of which only some parts were set up. */
static void gathering_done(struct gathering *g) {
    for (size_t i = 0; i < g->count; i++)
        gather_task_done(&g->tasks[i]);
    free(g->tasks);
    if (g->folder >= 0)
        (void)close(g->folder);
}

/* A quick order comes when ranks are about to be ended: only rows that need a moment take part. A
 * row without a function is about nothing on this host. */
static bool applies(const struct evidence_row *row, const struct gather_order *o) {
    if (row->gather == NULL || (o->quick && !row->quick))
        return false;
    return row->applies == NULL || row->applies(o);
}

/* The array has room for every row and every rank; rows that do not apply leave some of it unused.
 * The order is that of the table, so cheap rows of all ranks start before slow ones. */
static int list_tasks(struct gathering *g, struct error *err) {
    const struct gather_order *o = g->order;
    g->tasks = calloc(evidence_row_count() * (o->rank_count + 1), sizeof(*g->tasks));
    if (g->tasks == NULL)
        return error_no_memory(err, "evidence");
    for (size_t i = 0; i < evidence_row_count(); i++) {
        const struct evidence_row *row = &evidence_rows[i];
        size_t subjects = row->of == EVIDENCE_OF_RANK ? o->rank_count : 1;
        for (size_t r = 0; applies(row, o) && r < subjects; r++)
            gather_task_init(&g->tasks[g->count++], row, o,
                             row->of == EVIDENCE_OF_RANK ? &o->ranks[r] : NULL);
    }
    return 0;
}

/* Starts as many as may run. Returns how many run. */
static nfds_t start_some(struct gathering *g, struct pollfd *fds, struct gather_task **polled,
                         int64_t *ret_first) {
    nfds_t running = 0;
    *ret_first = g->deadline;
    for (size_t i = 0; i < g->count && running < RUNNING_MAX; i++) {
        struct gather_task *t = &g->tasks[i];
        if (!t->begun)
            (void)gather_task_start(t, g->deadline, NULL);
        if (t->out < 0)
            continue;
        if (t->subject.deadline < *ret_first)
            *ret_first = t->subject.deadline;
        polled[running] = t;
        fds[running++] = (struct pollfd){.fd = t->out, .events = POLLIN};
    }
    return running;
}

/* --- findings --------------------------------------------------------------------------------- */

/* The task of a row for one rank; NULL: the row does not apply. There are few enough to search. */
static const struct gather_task *find_task(const struct gathering *g, const char *row,
                                           unsigned rank) {
    for (size_t i = 0; i < g->count; i++)
        if (g->tasks[i].subject.rank == rank && strcmp(g->tasks[i].row->name, row) == 0)
            return &g->tasks[i];
    return NULL;
}

/* Takes OBJECT over. A line is complete before the next one begins, as the supervisor reads
 * lines. */
static int print(json_t *object, FILE *out, struct error *err) {
    cleanup_json json_t *owned = object;
    if (owned == NULL || json_dumpf(owned, out, JSON_COMPACT) != 0 || fputc('\n', out) == EOF)
        return error_no_memory(err, "what was gathered");
    return 0;
}

/* The place is where the stacks say that the main thread is, and otherwise what the kernel says.
 * The process ids let the supervisor match NCCL's answer, which knows ranks by their processes. */
static int print_rank(const struct gathering *g, const struct gather_rank *r, FILE *out,
                      struct error *err) {
    struct stack_reading reading = {0};
    pid_t pids[RANK_PROCESSES_MAX];
    json_t *list = json_array();
    const struct gather_task *stacks = find_task(g, "stacks", r->rank);
    size_t count = rank_processes(r->shim, pids);
    if (stacks != NULL)
        stack_reading_take(buf_text(&stacks->kept), stacks->kept.size, &reading);
    if (reading.place[0] == '\0')
        thread_states_main(r->shim, reading.place, sizeof(reading.place));
    for (size_t i = 0; i < count; i++)
        (void)json_array_append_new(list, json_integer(pids[i]));
    return print(json_pack("{s:I, s:o, s:o, s:o}", "rank", (json_int_t)r->rank, "collective",
                           json_string_any(reading.collective), "place",
                           json_string_any(reading.place), "pids", list),
                 out, err);
}

/* A task is done once its pipe is closed; one that was never begun is not. */
static bool ranks_are_read(const struct gathering *g) {
    for (size_t i = 0; i < g->count; i++)
        if (g->tasks[i].row->of == EVIDENCE_OF_RANK && (!g->tasks[i].begun || g->tasks[i].out >= 0))
            return false;
    return true;
}

/* Prints where the ranks are, once: what their host still gathers may take longer. */
static int print_ranks(struct gathering *g, FILE *out, struct error *err) {
    for (size_t i = 0; i < g->order->rank_count && !g->reported; i++)
        if (print_rank(g, &g->order->ranks[i], out, err) != 0)
            return -1;
    g->reported = true;
    return fflush(out) == 0 ? 0 : error_set_errno(err, EXIT_CODE_INTERNAL, "standard output");
}

/* What was late is named, so that a reader of the folder knows that a file is missing or cut. */
static int print_total(const struct gathering *g, int64_t begun, FILE *out, struct error *err) {
    json_int_t files = 0;
    json_int_t bytes = 0;
    json_t *late = json_array();
    for (size_t i = 0; i < g->count; i++) {
        const struct gather_task *t = &g->tasks[i];
        files += t->bytes > 0;
        bytes += (json_int_t)t->bytes;
        if (t->late || !t->begun)
            (void)json_array_append_new(late, json_string(t->row->name));
    }
    return print(json_pack("{s:I, s:I, s:I, s:o}", "files", files, "bytes", bytes, "milliseconds",
                           (json_int_t)((clock_now() - begun) / CLOCK_MILLISECOND), "late", late),
                 out, err);
}

/* --- all ------------------------------------------------------------------------------------- */

/* A task that has just been read may have ended; only one that still has a pipe can be late. */
static void read_some(struct gathering *g, const struct pollfd *fds, struct gather_task **polled,
                      nfds_t running) {
    const int64_t now = clock_now();
    for (nfds_t i = 0; i < running; i++) {
        if (fds[i].revents != 0)
            gather_task_read(polled[i], g->folder, &g->room);
        if (polled[i]->out >= 0 && now >= polled[i]->subject.deadline)
            gather_task_expire(polled[i], g->folder, &g->room);
    }
}

/* Deadlines are only ever brought forward here. */
static int64_t earlier(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* A driver of the host that hangs holds up nothing then. */
static void shorten_deadlines(struct gathering *g) {
    const int64_t now = clock_now();
    g->is_shortened = true;
    g->deadline = earlier(g->deadline, now + last_time);
    for (size_t i = 0; i < g->count; i++) {
        struct gather_task *t = &g->tasks[i];
        t->subject.deadline =
            earlier(t->subject.deadline,
                    now + (t->row->of == EVIDENCE_OF_RANK ? last_time : last_time_of_host));
    }
}

/* A signal between two looks interrupts the wait, in which alone it is let through: SIGTERM is
 * blocked elsewhere, so it cannot come between the check of the flag and the wait. After an error
 * no entry of FDS was filled in. */
static void wait_for_some(struct pollfd *fds, nfds_t running, int64_t deadline) {
    const int64_t ms = clock_left_ms(deadline);
    const struct timespec most = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * CLOCK_MILLISECOND};
    sigset_t none;
    (void)sigemptyset(&none);
    if (ppoll(fds, running, &most, &none) < 0)
        for (nfds_t i = 0; i < running; i++)
            fds[i].revents = 0;
}

/* START_SOME returns 0 once every task has ended. The ranks are printed at the end in any case,
 * since a deadline may come before all their rows are done. */
static int run_all(struct gathering *g, FILE *out, struct error *err) {
    struct pollfd fds[RUNNING_MAX];
    struct gather_task *polled[RUNNING_MAX];
    int64_t first = 0;
    for (nfds_t running; (running = start_some(g, fds, polled, &first)) > 0;) {
        if (ranks_are_read(g) && print_ranks(g, out, err) != 0)
            return -1;
        wait_for_some(fds, running, first);
        if (is_asked_to_end != 0 && !g->is_shortened)
            shorten_deadlines(g);
        read_some(g, fds, polled, running);
        if (clock_now() >= g->deadline)
            break;
    }
    return print_ranks(g, out, err);
}

/* A machine without the job's folder gets none, but what is printed stays the same. Without a
 * descriptor gather_task.c keeps the output in memory only. */
static int open_folder(struct gathering *g, struct error *err) {
    const struct gather_order *order = g->order;
    if (order->base[0] != '\0' && access(order->base, F_OK) != 0 && errno == ENOENT)
        return 0;
    if (file_make_dirs(order->folder, err) != 0)
        return -1;
    g->folder = open(order->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return g->folder >= 0 ? 0 : error_set_errno(err, EXIT_CODE_CONFIG, "%s", order->folder);
}

/* The size of all files together is bounded here, and that of each by its row. */
int gather_all(const struct gather_order *order, FILE *out, struct error *err) {
    const int64_t begun = clock_now();
    struct gathering g = {.order = order,
                          .folder = -1,
                          .room = GATHER_ORDER_BYTES,
                          .deadline = begun + order->milliseconds * CLOCK_MILLISECOND};
    int result = -1;
    if (open_folder(&g, err) == 0 && list_tasks(&g, err) == 0 && run_all(&g, out, err) == 0)
        result = print_total(&g, begun, out, err);
    gathering_done(&g);
    return result;
}

/* Only sets a flag: a handler may call next to nothing. */
static void end_soon(int number) {
    (void)number;
    is_asked_to_end = 1;
}

/* Programs that are ended get SIGTERM, and this one too: what it has so far is worth keeping. */
static void take_signals(void) {
    const struct sigaction action = {.sa_handler = end_soon};
    sigset_t set;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGTERM);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
}

/* Output goes to a copy of the descriptor: rows use the stream stdout for their own findings in
 * children, and nothing of it may be left in a shared buffer. Without a number, gather_order_read()
 * is given -1 and refuses it. */
int gather_run(const char *const *words, struct error *err) {
    static struct gather_order order;
    int64_t fd = -1;
    if (words[0] == NULL || str_parse_int(words[0], 3, DESCRIPTOR_MAX, &fd, NULL) != 0)
        fd = -1;
    if (gather_order_read((int)fd, &order, err) != 0)
        return -1;
    take_signals();
    cleanup_file FILE *out = fdopen(dup(STDOUT_FILENO), "w");
    if (out == NULL)
        return error_set_errno(err, EXIT_CODE_INTERNAL, "standard output");
    return gather_all(&order, out, err);
}

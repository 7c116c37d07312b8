#include "entrypoint/evidence/gather_table.h"

#include "common/clock.h"
#include "common/table.h"
#include "entrypoint/evidence/flight_recorder.h"
#include "entrypoint/evidence/host_state.h"
#include "entrypoint/evidence/rank_processes.h"
#include "entrypoint/evidence/rank_stacks.h"
#include "entrypoint/evidence/ras_answer.h"
#include "entrypoint/evidence/ras_client.h"
#include "entrypoint/evidence/thread_states.h"
#include "entrypoint/gpu/gpu_snapshot.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Each function below runs in a child that gather_task.c starts, with its standard output on a
 * pipe. It may block, allocate and print as it likes: the child is killed at the row's deadline,
 * and its output is cut at the row's size. Functions that start a tool keep some of their time for
 * themselves, so that what the tool found is still written after it was killed.
 *
 * Rows of ranks come first and the cheap ones before the others, because tasks start in this order.
 * Rows that are quick are also gathered of ranks that are about to be ended. The order is also that
 * of the table in docs/guides/hangs.md, which `ringmaster docs evidence` prints. */

enum { STATES_SIZE = 60 * 1024, KIB = 1024, MIB = 1024 * 1024 };

/* The text has all processes on one line, for events; a file is easier to read with one a line. */
static int gather_threads(const struct evidence_subject *s) {
    static char text[STATES_SIZE];
    thread_states(s->shim, text, sizeof(text));
    for (const char *at = text; *at != '\0';) {
        const char *end = strstr(at, "; pid ");
        int size = (int)(end != NULL ? (size_t)(end - at) : strlen(at));
        (void)printf("%.*s\n", size, at);
        at += size + (end != NULL ? 2 : 0);
    }
    return text[0] == '\0';
}

static int gather_stacks(const struct evidence_subject *s) {
    /* The rest is for what is written after a tool has been killed. */
    return rank_stacks_print(s->shim, s->deadline - CLOCK_SECOND / 2);
}

/* A signal without a handler would end the process, so only those that have one get it. The handler
 * writes to the rank's own output, which is its log. The file only says to which processes the
 * signal went. */
static int gather_by_signal(const struct evidence_subject *s) {
    pid_t pids[RANK_PROCESSES_MAX];
    size_t count = rank_processes(s->shim, pids);
    unsigned sent = 0;
    for (size_t i = 0; i < count; i++)
        if (rank_processes_catches(pids[i], s->order->signal) &&
            kill(pids[i], s->order->signal) == 0) {
            (void)printf("pid %d: sent signal %d\n", (int)pids[i], s->order->signal);
            sent++;
        }
    if (sent == 0)
        (void)printf("no process of rank %u has a handler for signal %d: none was sent\n", s->rank,
                     s->order->signal);
    return 0;
}

/* The lines come with the order: the supervisor has kept them, and no process has to be asked. 1:
 * the rank has printed nothing. */
static int gather_lines(const struct evidence_subject *s) {
    const struct gather_order *o = s->order;
    for (size_t i = 0; i < o->rank_count; i++)
        if (o->ranks[i].rank == s->rank && o->ranks[i].lines[0] != '\0')
            return printf("%s\n", o->ranks[i].lines) < 0;
    return 1;
}

/* "" is the root of /proc and /sys; tests give another one. */
static int gather_host(const struct evidence_subject *s) {
    (void)s;
    return host_state_print("");
}

static int gather_gpus(const struct evidence_subject *s) {
    /* The rest is for what is written after nvidia-smi has been killed. */
    return gpu_snapshot_print(environ, s->deadline - clock_now() - CLOCK_SECOND / 4, stdout);
}

/* One process of NCCL answers for the whole job. An answer that was cut short is still shown, with
 * a line that says so: it has the first communicators in any case. */
static int gather_ras(const struct evidence_subject *s) {
    struct error err = {0};
    cleanup_buf struct buf text;
    buf_init(&text, RAS_ANSWER_MAX);
    if (ras_client_ask(s->order->ras, true, s->deadline - CLOCK_SECOND / 2, &text, &err) != 0)
        (void)printf("(incomplete: %s)\n", err.text);
    (void)fwrite(buf_text(&text), 1, text.size, stdout);
    return 0;
}

/* PyTorch writes its trace when something is written to the FIFO (flight_recorder.c). */
static int gather_recorder(const struct evidence_subject *s) {
    return flight_recorder_print(s->order->recorder, s->order->fifo, s->rank,
                                 s->deadline - CLOCK_SECOND / 2);
}

/* Only programs for which the supervisor has set Flight Recorder up have a FIFO. */
static bool has_recorder(const struct gather_order *order) {
    return order->fifo[0] != '\0';
}

/* The address is in the order of one host only, so that RAS is asked once for each job. */
static bool has_ras(const struct gather_order *order) {
    return order->ras[0] != '\0';
}

/* Hosts without GPUs would only report that there is no driver. */
static bool has_gpus(const struct gather_order *order) {
    return order->gpus;
}

/* The user sets the number by RINGMASTER_EVIDENCE_SIGNAL; 0 is none. A number alone is no
 * permission: each process is asked for its handlers. */
static bool has_signal(const struct gather_order *order) {
    return order->signal > 0;
}

/* Columns: name, file, text of the page, subject, quick, milliseconds, bytes, function, condition.
 * The names of Flight Recorder's files are those that torchfrtrace looks for. */
const struct evidence_row evidence_rows[] = {
    {"threads", "HOST-rank-RANK-threads.txt",
     "state, kernel function and system call of every thread of every process", EVIDENCE_OF_RANK,
     true, 1000, 256 * KIB, gather_threads, NULL},
    {"lines", "HOST-rank-RANK-lines.txt", "the last lines that the rank has printed",
     EVIDENCE_OF_RANK, true, 1000, 4 * KIB, gather_lines, NULL},
    {"stacks", "HOST-rank-RANK-stacks.txt",
     "stacks of every process, by py-spy, eu-stack or gdb, the first that the image has; else what "
     "the kernel says",
     EVIDENCE_OF_RANK, false, 9000, 2 * MIB, gather_stacks, NULL},
    {"signal", "HOST-rank-RANK-signal.txt",
     "whether RINGMASTER_EVIDENCE_SIGNAL was sent, on which Python's faulthandler prints its "
     "stacks to the rank's log",
     EVIDENCE_OF_RANK, false, 1000, 64 * KIB, gather_by_signal, has_signal},
    {"recorder", "nccl_trace_rank_RANK",
     "PyTorch's Flight Recorder, for torchfrtrace: the last operations of NCCL's process groups",
     EVIDENCE_OF_RANK, false, 6000, 16 * MIB, gather_recorder, has_recorder},
    {"ras", "HOST-nccl-ras.txt", "what NCCL RAS says of all communicators, where the job uses NCCL",
     EVIDENCE_OF_JOB, false, 8000, 8 * MIB, gather_ras, has_ras},
    {"host", "HOST-state.txt", "memory, shared memory, load and pressure of the host",
     EVIDENCE_OF_HOST, true, 1000, 256 * KIB, gather_host, NULL},
    {"gpus", "HOST-gpus.txt",
     "each GPU by NVML, else nvidia-smi: utilization, memory and which processes use it, clocks "
     "and "
     "what limits them, errors, remapped rows, PCIe, NVLinks",
     EVIDENCE_OF_HOST, true, 5000, 256 * KIB, gather_gpus, has_gpus},
};

/* The table is declared without its size, so others ask here. */
size_t evidence_row_count(void) {
    return TABLE_COUNT(evidence_rows);
}

/* Names are compared whole; NULL: there is no such row. */
const struct evidence_row *evidence_row_find(const char *name) {
    return TABLE_FIND(evidence_rows, name, name);
}

/* HOST and RANK may stand anywhere in the pattern. A name that is too long is cut at the end. */
void evidence_row_file(const struct evidence_row *row, const char *host, unsigned rank,
                       char ret[EVIDENCE_FILE_SIZE]) {
    size_t used = 0;
    ret[0] = '\0';
    for (const char *at = row->file; *at != '\0' && used < EVIDENCE_FILE_SIZE - 1;) {
        char *to = ret + used;
        size_t room = EVIDENCE_FILE_SIZE - used;
        int size = 1;
        if (strncmp(at, "HOST", 4) == 0) {
            size = snprintf(to, room, "%s", host);
            at += 4;
        } else if (strncmp(at, "RANK", 4) == 0) {
            size = snprintf(to, room, "%u", rank);
            at += 4;
        } else {
            (void)snprintf(to, room, "%c", *at++);
        }
        used += (size_t)size < room ? (size_t)size : room - 1;
    }
}

/* Seconds and sizes are the ceilings of the rows; an order may have less time. */
int evidence_page(struct buf *ret, struct error *err) {
    static const char *const of[] = {"each rank", "each host", "the job"};
    if (buf_add_text(ret,
                     "| evidence | of | file | seconds, at most | size, at most |\n"
                     "| --- | --- | --- | --- | --- |\n",
                     err) != 0)
        return -1;
    for (size_t i = 0; i < evidence_row_count(); i++) {
        const struct evidence_row *row = &evidence_rows[i];
        if (buf_printf(ret, err, "| %s | %s | `%s` | %g | %zu KiB |\n", row->what, of[row->of],
                       row->file, (double)row->milliseconds / 1000, row->most / KIB) != 0)
            return -1;
    }
    return 0;
}

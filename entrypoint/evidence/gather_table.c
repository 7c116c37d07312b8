#include "entrypoint/evidence/gather_table.h"

#include "common/clock.h"
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

enum { STATES_SIZE = 60 * 1024, KIB = 1024, MIB = 1024 * 1024 };

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

/* The handler writes to the rank's own output, which is its log. */
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

static int gather_lines(const struct evidence_subject *s) {
    const struct gather_order *o = s->order;
    for (size_t i = 0; i < o->rank_count; i++)
        if (o->ranks[i].rank == s->rank && o->ranks[i].lines[0] != '\0')
            return printf("%s\n", o->ranks[i].lines) < 0;
    return 1;
}

static int gather_host(const struct evidence_subject *s) {
    (void)s;
    return host_state_print("");
}

static int gather_gpus(const struct evidence_subject *s) {
    /* The rest is for what is written after nvidia-smi has been killed. */
    return gpu_snapshot_print(environ, s->deadline - clock_now() - CLOCK_SECOND / 4, stdout);
}

/* One process a host answers for the whole job. */
static int gather_ras(const struct evidence_subject *s) {
    struct error err = {0};
    cleanup_buf struct buf text;
    buf_init(&text, RAS_ANSWER_MAX);
    if (ras_client_ask(s->order->ras, true, s->deadline - CLOCK_SECOND / 2, &text, &err) != 0)
        (void)printf("(incomplete: %s)\n", err.text);
    (void)fwrite(buf_text(&text), 1, text.size, stdout);
    return 0;
}

static int gather_recorder(const struct evidence_subject *s) {
    return flight_recorder_print(s->order->recorder, s->order->fifo, s->rank,
                                 s->deadline - CLOCK_SECOND / 2);
}

static bool has_recorder(const struct gather_order *order) {
    return order->fifo[0] != '\0';
}

static bool has_ras(const struct gather_order *order) {
    return order->ras[0] != '\0';
}

static bool has_gpus(const struct gather_order *order) {
    return order->gpus;
}

static bool has_signal(const struct gather_order *order) {
    return order->signal > 0;
}

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

size_t evidence_row_count(void) {
    return sizeof(evidence_rows) / sizeof(evidence_rows[0]);
}

const struct evidence_row *evidence_row_find(const char *name) {
    for (size_t i = 0; i < evidence_row_count(); i++)
        if (strcmp(evidence_rows[i].name, name) == 0)
            return &evidence_rows[i];
    return NULL;
}

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

#include "trainer/app/comm_check/command_check_comm.h"

#include "common/buf.h"
#include "common/text/wrap.h"
#include "trainer/app/comm_check/comm_check.h"
#include "trainer/app/comm_check/comm_check_report.h"
#include "trainer/app/device/ranks.h"
#include "trainer/app/options/flag.h"
#include "trainer/app/options/flag_print.h"
#ifdef RINGMASTER_HAVE_NCCL
#include "trainer/comm/nccl/comm_nccl.h"
#endif

#include <stdlib.h>

struct check_comm_flags {
    int comm; /* enum reducer_kind */
    bool json;
};

enum { CHECK_COMM = 1, REPORT_MAX = 16 << 20 };

static const char *const COMMS[] = {"mpi", "nccl", NULL};

static const struct flag FLAGS[] = {
    {.name = "comm",
     .type = FLAG_CHOICE,
     .offset = offsetof(struct check_comm_flags, comm),
     .standard = "mpi",
     .choices = COMMS,
     .commands = CHECK_COMM,
     .value = "LIBRARY",
     .help = "what sums: MPI in host memory, or NCCL from GPU to GPU, one a rank"},
    {.name = "json",
     .type = FLAG_BOOL,
     .offset = offsetof(struct check_comm_flags, json),
     .standard = "false",
     .commands = CHECK_COMM,
     .value = "BOOL",
     .help = "print the findings as JSON"},
};

enum { FLAG_COUNT = sizeof(FLAGS) / sizeof(FLAGS[0]) };

static const char *library_of(enum reducer_kind kind, const struct comm *comm) {
#ifdef RINGMASTER_HAVE_NCCL
    if (kind == REDUCER_NCCL)
        return comm_nccl_loaded();
#endif
    (void)kind;
    return ranks_library(comm);
}

/* Prints the findings on rank 0 and returns the exit code there; 0 on all others. */
static int report(const struct comm_check *c, bool json, struct error *err) {
    struct error verdict = {0};
    const char *type = getenv("SM_CURRENT_INSTANCE_TYPE");
    cleanup_buf struct buf text;
    buf_init(&text, REPORT_MAX);
    if (comm_rank(c->comm) != 0)
        return 0;
    int bad = comm_check_verdict(c, &verdict);
    const struct comm_check_report r = {
        .check = c,
        .library = library_of(c->kind, c->comm),
        .instance_type = type != NULL ? type : "",
        .code = bad != 0 ? (int)verdict.code : 0,
        .verdict = bad != 0 ? verdict.text : "",
    };
    if ((json ? comm_check_report_json : comm_check_report_text)(&r, &text, err) != 0)
        return -1;
    fputs(buf_text(&text), stdout);
    if (bad != 0)
        *err = verdict;
    return bad;
}

static int check(const struct check_comm_flags *f, struct step_limit *limit, struct error *err) {
    struct comm *comm = NULL;
    struct comm_check c = {0};
    step_limit_next(limit, COMM_CHECK_OPEN_SECONDS, "bringing all ranks together by MPI");
    if (ranks_open(OPTION_COMM_AUTO, &comm, err) != 0)
        return -1;
    int result = 0;
    if (comm_size(comm) < 2)
        result =
            error_set(err, EXIT_CODE_CONFIG,
                      "check-comm sums among several ranks, and this is the only one; start it "
                      "by `ringmaster check --%s` on all hosts",
                      COMMS[f->comm]);
    if (result == 0)
        result = comm_check_run(&c, (enum reducer_kind)f->comm, comm, limit, err);
    const int measured = result;
    if (measured == 0) {
        result = report(&c, f->json, err);
        step_limit_next(limit, COMM_CHECK_STEP_SECONDS, "leaving MPI together");
    }
    comm_check_done(&c);
    ranks_close(comm, measured, err);
    return result;
}

int command_check_comm(int argc, char *const *argv, struct error *err) {
    struct check_comm_flags f = {0};
    struct step_limit limit;
    if (flags_parse(FLAGS, FLAG_COUNT, CHECK_COMM, argc, argv, &f, err) != 0 ||
        step_limit_start(&limit, COMM_CHECK_SECONDS, err) != 0)
        return -1;
    int result = check(&f, &limit, err);
    step_limit_end(&limit);
    return result;
}

void command_check_comm_help(FILE *out, int argc, char *const *argv) {
    (void)argc, (void)argv;
    wrap_printf(
        out,
        "usage: ringtrain check-comm [--FLAG VALUE]...\n\nSums numbers among the ranks of a "
        "job within each host, between every pair of hosts and among all ranks, compares "
        "every sum, and prints times and bus bandwidths. It is started on all hosts by "
        "`ringmaster check --mpi` or `--nccl`. A wrong sum or a slow pair of hosts is exit "
        "code %d, a step without end %d.\n\n",
        EXIT_CODE_DEVICE, EXIT_CODE_STALLED);
    flags_print(out, FLAGS, FLAG_COUNT, CHECK_COMM, 0, NULL);
}

#include "trainer/app/scaling/command_scaling.h"

#include "common/file/file.h"
#include "common/scaling/scaling_page.h"
#include "common/str.h"
#include "common/text/wrap.h"
#include "trainer/app/device/cpus.h"
#include "trainer/app/device/ranks.h"
#include "trainer/app/options/flag.h"
#include "trainer/app/options/flag_print.h"
#include "trainer/app/scaling/scaling_run.h"
#include "trainer/app/slots/slot_comm.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A study runs one job at each size, smallest first, as processes of `ringtrain train` on the
 * first slots of the job (common/slots). Rank 0 decides and writes the report; the other ranks
 * serve their slots until it leaves.
 *
 * Each rank keeps its batch and its number of threads at all sizes: weak scaling. Threads are
 * therefore counted for all slots in use, although a small size would leave more cores to each.
 *
 * A size that fails is a row with its reason, and the larger ones are still tried. A stop ends
 * the measurements, and the report then has those that were finished. */

/* The table of flags below serves this command alone; the flags of the job are another table's. */
enum { SCALING = 1 };

struct scaling_flags {
    /* Texts of flags, parsed once the ranks are known; NULL where a flag without a default is not
     * given. */
    const char *ranks, *strategies, *project, *prices, *out;
    int64_t steps, images; /* of each size; of the whole training, 0: as the job's flags say */
    double limit;          /* seconds for a size */
    bool comm;             /* all-reduces are measured, too */
};

#define FIELD(name) offsetof(struct scaling_flags, name)

static const struct flag FLAGS[] = {
    {.name = "ranks",
     .type = FLAG_TEXT,
     .offset = FIELD(ranks),
     .commands = SCALING,
     .value = "N,N,...",
     .help = "numbers of ranks, ascending; default: 1, 2, 4 and so on up to all ranks of the job. "
             "Without a launcher so many processes are started on this machine"},
    {.name = "strategies",
     .type = FLAG_TEXT,
     .offset = FIELD(strategies),
     .commands = SCALING,
     .value = "NAME,NAME,...",
     .help = "ways to learn together that are compared at each size: allreduce, sharded, "
             "local-sgd; default: --strategy after the `--`"},
    {.name = "steps",
     .type = FLAG_INT,
     .offset = FIELD(steps),
     .standard = "60",
     .min = SCALING_JOB_ROWS,
     .max = 1e6,
     .commands = SCALING,
     .value = "N",
     .help = "steps of each size, rounded up to a multiple of six; the first sixth is warm-up"},
    {.name = "limit",
     .type = FLAG_REAL,
     .offset = FIELD(limit),
     .standard = "1800",
     .min = 1,
     .max = 1e6,
     .commands = SCALING,
     .value = "SECONDS",
     .help = "a size that is not done after so long has failed"},
    {.name = "images",
     .type = FLAG_INT,
     .offset = FIELD(images),
     .standard = "0",
     .min = 0,
     .max = 1e15,
     .commands = SCALING,
     .value = "N",
     .help = "images of the whole training (0: --epochs times those of the data)"},
    {.name = "project",
     .type = FLAG_TEXT,
     .offset = FIELD(project),
     .standard = "256,1024",
     .commands = SCALING,
     .value = "N,N,...|none",
     .help = "numbers of ranks that a model of the measurements is applied to"},
    {.name = "check-comm",
     .type = FLAG_BOOL,
     .offset = FIELD(comm),
     .standard = "true",
     .commands = SCALING,
     .value = "true|false",
     .help = "also measure all-reduces at each size, for that model"},
    {.name = "prices",
     .type = FLAG_TEXT,
     .offset = FIELD(prices),
     .commands = SCALING,
     .value = "FILE",
     .help = "prices of machines, as JSON: adds cost to each size"},
    {.name = "out",
     .type = FLAG_TEXT,
     .offset = FIELD(out),
     .standard = "scaling",
     .commands = SCALING,
     .value = "DIR",
     .help = "folder for " SCALING_TEXT_NAME ", " SCALING_CSV_NAME ", " SCALING_HTML_NAME
             " and the logs of all sizes"},
};

enum { FLAG_COUNT = sizeof(FLAGS) / sizeof(FLAGS[0]) };

struct scaling_request {
    struct scaling_flags flags;
    struct scaling_job job;
    struct price_table prices;     /* rank 0, with --prices */
    int sizes[SCALING_POINTS_MAX]; /* numbers of ranks, ascending */
    size_t count;                  /* of sizes, at least 1 */
    struct cpus cores;             /* of this rank; a study describes those of rank 0 */
    struct scaling_study studies[SCALING_STUDIES_MAX]; /* a chain */
};

/* Splits at the first "--": flags of the study before it, those of the job after it. The latter are
 * parsed here only to refuse wrong ones; they go to each size as they are. All rows of a
 * measurement have the same number of steps, so --steps is rounded up. */
static int parse(struct scaling_request *r, int argc, char *const *argv, struct error *err) {
    int own = 0;
    while (own < argc && strcmp(argv[own], "--") != 0)
        own++;
    if (flags_parse(FLAGS, FLAG_COUNT, SCALING, own, argv, &r->flags, err) != 0)
        return -1;
    if (own + 1 >= argc)
        return error_set(err, EXIT_CODE_USAGE,
                         "the job is missing: ringtrain scaling [--FLAG VALUE]... -- FLAGS, those "
                         "of ringtrain train");
    const int rows = SCALING_JOB_ROWS;
    r->job = (struct scaling_job){.flags = argv + own + 1,
                                  .count = argc - own - 1,
                                  .steps = (int)((r->flags.steps + rows - 1) / rows) * rows};
    return scaling_job_check(&r->job, err);
}

/* A rank under a launcher cannot start others, so the ranks of the job are the limit. A process
 * that is alone starts its ranks itself, and needs a number of them, as any number up to
 * SLOTS_MAX is possible. */
static int settle_sizes(struct scaling_request *r, int ranks, struct error *err) {
    const bool alone = ranks == 1;
    const char *text = r->flags.ranks;
    if (text == NULL && alone)
        return error_set(
            err, EXIT_CODE_USAGE,
            "--ranks is missing: this process is the only rank; give --ranks 1,2,4 for "
            "processes on this machine, or start it with ringmaster on all hosts");
    return scaling_sizes(text, alone ? SLOTS_MAX : ranks, r->sizes, &r->count, err);
}

/* Sets up a study for each strategy, in a chain. Totals and batches that are not given are NaN
 * until the first size that runs tells them. */
static int settle_studies(struct scaling_request *r, struct error *err) {
    struct scaling_names names = {0};
    if (r->flags.strategies != NULL &&
        scaling_job_strategies(&r->job, r->flags.strategies, &names, err) != 0)
        return -1;
    (void)scaling_names_chain(&names, r->studies);
    for (struct scaling_study *s = r->studies; s != NULL; s = s->next) {
        s->program = "ringtrain scaling";
        (void)snprintf(s->unit, sizeof(s->unit), "images/s");
        s->total = r->flags.images > 0 ? (double)r->flags.images : (double)NAN;
        s->batch = (double)NAN;
        /* For the head of the report; a long command line is cut there. */
        scaling_job_text(&r->job, s->job, sizeof(s->job));
        if (scaling_project(s, r->flags.project, err) != 0)
            return -1;
    }
    return 0;
}

/* What can be wrong is found before anything runs. All ranks have the same command line and check
 * it alike; files are looked at by rank 0 alone, as other hosts need not have them. */
static int settle(struct scaling_request *r, struct comm *comm, struct error *err) {
    if (settle_studies(r, err) != 0 || settle_sizes(r, comm_size(comm), err) != 0)
        return -1;
    if (comm_rank(comm) != 0)
        return 0;
    if (r->flags.prices != NULL) {
        if (price_table_read(&r->prices, r->flags.prices, err) != 0)
            return error_wrap(err, "--prices");
        /* One table for all strategies; it lives in R, as the studies do. */
        for (struct scaling_study *s = r->studies; s != NULL; s = s->next)
            s->prices = &r->prices;
    }
    return file_make_dirs(r->flags.out, err) != 0 ? error_wrap(err, "--out") : 0;
}

/* Fills in what is known of the machines. Cores are those that can be used: a quota of the control
 * group below the affinity mask counts. */
static void describe(struct scaling_request *r, const struct slots *slots) {
    const struct cpus *cores = &r->cores;
    const int hosts = slots_hosts(slots, 0, slots->count);
    for (struct scaling_study *s = r->studies; s != NULL; s = s->next) {
        s->cores =
            cores->quota > 0 && cores->quota < cores->affinity ? cores->quota : cores->affinity;
        s->threads = scaling_job_threads(&r->job);
        (void)snprintf(s->place, sizeof(s->place),
                       "%d host%s, %d thread%s a rank, %d steps of each size", hosts,
                       STR_PLURAL(hosts), s->threads, STR_PLURAL(s->threads), r->job.steps);
    }
}

/* Rank 0. Fails if a rank was asked to stop, or if no size could be measured; what there is has
 * been reported then. */
static int lead(struct scaling_request *r, struct slots *s, struct error *err) {
    struct scaling_run run = {.slots = s,
                              .job = &r->job,
                              .folder = r->flags.out,
                              .limit = r->flags.limit,
                              .comm = r->flags.comm,
                              .sharers = r->cores.sharers,
                              .study = r->studies};
    describe(r, s);
    const int result = scaling_run_all(&run, r->sizes, r->count, err);
    return scaling_report(r->studies, r->flags.out, result, err);
}

/* Collective. Slots are opened before threads are counted, since only then all know how many
 * ranks share the cores. */
static int run(struct scaling_request *r, struct comm *comm, struct error *err) {
    cleanup_slots struct slots s = {0};
    if (settle(r, comm, err) != 0)
        return -1;
    /* Sizes ascend, so the last one says how many processes this rank may have to start if it is
     * alone. */
    const int most = r->sizes[r->count - 1];
    const struct slot_group group = slot_comm_group(comm);
    if (slots_open(&s, &group, comm_size(comm) == 1 ? most : 1, err) != 0)
        return -1;
    r->job.threads = slot_threads(&s, comm, err);
    /* slot_threads returns -1 with ERR for a failure, and at least 1 otherwise. */
    if (r->job.threads < 1 || slot_cores(&s, comm, &r->cores, err) != 0)
        return -1;
    if (comm_rank(comm) > 0)
        return slots_serve(&s, err);
    const int result = lead(r, &s, err);
    /* The other ranks leave in any case: the report is what failed, or was stopped. */
    return slots_leave(&s, result == 0 ? err : NULL) != 0 ? -1 : result;
}

/* The request lies on the heap, because the chain of studies has room for all points of each. */
int command_scaling(int argc, char *const *argv, struct error *err) {
    struct scaling_request *r = calloc(1, sizeof(*r));
    struct comm *comm = NULL;
    if (r == NULL)
        return error_no_memory(err, "a study");
    int result = parse(r, argc, argv, err);
    if (result == 0)
        result = ranks_open(OPTION_COMM_AUTO, &comm, err);
    if (result == 0) {
        result = run(r, comm, err);
        ranks_close(comm, result, err);
    }
    free(r);
    return result;
}

/* Prints the flags of the study alone; those of the job are in the help of `ringtrain train`. */
void command_scaling_help(FILE *out, int argc, char *const *argv) {
    (void)argc, (void)argv;
    wrap_printf(
        out,
        "usage: ringtrain scaling [--FLAG VALUE]... -- FLAGS\n\nTrains with FLAGS, those of "
        "ringtrain train, at several numbers of ranks, one after another, for a few steps each, "
        "and writes a report: images a second, efficiency, exposed communication, start-up, the "
        "time of the whole training, and with --prices its cost, also for numbers of ranks that a "
        "model projects to. Started with ringmaster on all hosts it uses their ranks. A size that "
        "fails is a row that says so.\n\n");
    flags_print(out, FLAGS, FLAG_COUNT, SCALING, 0, NULL);
}

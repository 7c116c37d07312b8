#include "trainer/app/trials/command_trials.h"

#include "common/file/file.h"
#include "common/text/wrap.h"
#include "common/trials/trials_lead.h"
#include "common/trials/trials_page.h"
#include "trainer/app/device/ranks.h"
#include "trainer/app/options/flag.h"
#include "trainer/app/options/flag_print.h"
#include "trainer/app/slots/slot_comm.h"
#include "trainer/app/trials/trials_job.h"
#include "trainer/report/run_figures.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

/* Rank 0 alone reads the plan, keeps the results and decides what runs where (common/trials).
 * All other ranks serve their slots: they start a process when rank 0 orders it, and report how
 * it ended.
 *
 * A trial is a process of its own, with the command line of `ringtrain train`. A crash, a NaN or
 * a hang thus ends that process and nothing else.
 *
 * The order on rank 0 matters. The plan is checked as a whole before anything runs. The folder
 * is locked before its results are read, because another run could be writing them. */

/* Flags are marked with the commands that know them; this table serves one command. */
enum { TRIALS = 1 };

struct trials_flags {
    const char *out; /* made if it is not there */
    int64_t slots;   /* without a launcher only */
    bool then_train;
};

#define FIELD(name) offsetof(struct trials_flags, name)

static const struct flag FLAGS[] = {
    {.name = "out",
     .type = FLAG_TEXT,
     .offset = FIELD(out),
     .standard = "trials",
     .commands = TRIALS,
     .value = "DIR",
     .help = "folder for the results, and the logs and models of all trials; trials that have a "
             "result there are not run again"},
    {.name = "slots",
     .type = FLAG_INT,
     .offset = FIELD(slots),
     .standard = "1",
     .min = 1,
     .max = 256,
     .commands = TRIALS,
     .value = "N",
     .help = "trials at the same time on this machine, without a launcher; with one its ranks "
             "decide"},
    {.name = "then-train",
     .type = FLAG_BOOL,
     .offset = FIELD(then_train),
     .standard = "false",
     .commands = TRIALS,
     .value = "true|false",
     .help = "afterwards train the best configuration on all ranks"},
};

enum { FLAG_COUNT = sizeof(FLAGS) / sizeof(FLAGS[0]) };

struct trials_command {
    struct trials_flags flags;
    const char *file;          /* of the plan */
    struct trials_plan plan;   /* read on rank 0; on others the metric alone is set */
    struct trials_state state; /* rank 0 */
};

/* One allocation has room for the flags and the words, each as many as there are arguments. */
static int parse(struct trials_command *r, int argc, char *const *argv, struct error *err) {
    int flag_count = 0, word_count = 0;
    char **own = calloc(2 * (size_t)argc + 1, sizeof(*own));
    if (own == NULL)
        return error_no_memory(err, "arguments");
    char **words = own + argc;
    flags_split(argc, argv, own, &flag_count, words, &word_count);
    int result = flags_parse(FLAGS, FLAG_COUNT, TRIALS, flag_count, own, &r->flags, err);
    if (result == 0 && word_count != 1)
        result =
            error_set(err, EXIT_CODE_USAGE,
                      "usage: ringtrain trials FILE [--FLAG VALUE]...; FILE is a plan in JSON");
    r->file = word_count > 0 ? words[0] : NULL;
    free(own);
    return result;
}

/* What can be wrong is found before the first trial: all configurations are parsed as `ringtrain
 * train` would parse them. */
static int read_plan(struct trials_command *r, struct error *err) {
    if (trials_plan_read(&r->plan, r->file, err) != 0)
        return -1;
    if (trials_job_check(&r->plan, err) != 0)
        return error_wrap(err, "%s", r->file);
    return file_make_dirs(r->flags.out, err) != 0 ? error_wrap(err, "--out") : 0;
}

/* Functions of struct trials_program. CONTEXT is the number of compute threads of a rank. */
static int trial_argv(void *context, const struct trials_plan *plan, const struct trials_number *n,
                      const char *folder, struct argv *ret, struct error *err) {
    const int *threads = context;
    return trials_job_argv(plan, n, folder, *threads, ret, err);
}

/* The training of the best configuration gets no folder: it writes where its own flags say, as
 * it would with the recipe. */
static int best_argv(void *context, const struct trials_plan *plan, size_t config,
                     const char *folder, struct argv *ret, struct error *err) {
    (void)context, (void)folder;
    return trials_job_train(plan, config, ret, err);
}

/* Runs on the first rank of a slice once its process has ended with CODE. CONTEXT is the plan's
 * metric. NaN stands for a figure that is unknown; without a metric the trial has failed. */
static void read_figures(void *context, const char *folder, int code,
                         double figures[SLOTS_FIGURES]) {
    struct run_figures f;
    figures[TRIALS_METRIC] = figures[TRIALS_RATE] = (double)NAN;
    if (code != 0 || run_figures_read(&f, folder, 1, context, NULL) != 0)
        return;
    figures[TRIALS_METRIC] = f.metric;
    figures[TRIALS_RATE] = f.rate;
}

/* Rank 0. Returns once all trials have a result. If a rank is asked to stop it returns earlier,
 * with EXIT_CODE_STOPPED; the next run with the same folder then continues with the trials that are
 * missing. */
static int lead(struct trials_command *r, struct slots *s, int threads, struct error *err) {
    const struct trials_program program = {.name = "ringtrain trials",
                                           .use = "ringtrain train --recipe",
                                           .context = &threads,
                                           .trial = trial_argv,
                                           .best = best_argv};
    const struct trials_request request = {.program = &program,
                                           .state = &r->state,
                                           .file = r->file,
                                           .folder = r->flags.out,
                                           .then_best = r->flags.then_train};
    return trials_lead(&request, s, err);
}

/* Collective. Under a launcher each rank is a slot. Without one, this process starts the ranks
 * of --slots trials itself. A rank other than the first returns when rank 0 leaves. */
static int run_slots(struct trials_command *r, struct comm *comm, struct error *err) {
    cleanup_slots struct slots s = {0};
    const bool first = comm_rank(comm) == 0;
    const int own = comm_size(comm) > 1 ? 1 : (int)r->flags.slots * r->plan.ranks;
    const struct slot_group group = slot_comm_group(comm);
    if (slots_open(&s, &group, own, err) != 0)
        return -1;
    const int threads = slot_threads(&s, comm, err);
    if (threads < 1)
        return -1;
    s.read = read_figures;
    s.context = r->plan.metric;
    if (!first)
        return slots_serve(&s, err);
    const int result = lead(r, &s, threads, err);
    /* The other ranks are released in any case. An error of the trials is kept as it is. */
    return slots_leave(&s, result == 0 ? err : NULL) != 0 ? -1 : result;
}

/* All ranks know the metric, which the first rank of a slice looks for. */
static int share_metric(struct trials_command *r, struct comm *comm, struct error *err) {
    return comm_broadcast(comm, r->plan.metric, sizeof(r->plan.metric), 0, err);
}

/* The first collective call is share_metric. A rank 0 that fails before it does not reach it:
 * ranks_close then ends the other ranks, which wait there. */
static int run(struct trials_command *r, struct comm *comm, struct error *err) {
    struct folder_lock lock = {0};
    if (comm_rank(comm) > 0)
        return share_metric(r, comm, err) != 0 ? -1 : run_slots(r, comm, err);
    if (read_plan(r, err) != 0 || trials_lock(&lock, r->flags.out, "ringtrain trials", err) != 0)
        return -1;
    int result = trials_state_open(&r->state, &r->plan, err);
    if (result == 0)
        result = trials_state_read(&r->state, r->flags.out, err);
    if (result == 0)
        result = share_metric(r, comm, err);
    if (result == 0)
        result = run_slots(r, comm, err);
    folder_lock_done(&lock);
    return result;
}

/* The request is large, as a plan is, and lies on the heap for this reason. The state is freed
 * before the plan, which it borrows. */
int command_trials(int argc, char *const *argv, struct error *err) {
    struct trials_command *r = calloc(1, sizeof(*r));
    struct comm *comm = NULL;
    if (r == NULL)
        return error_no_memory(err, "trials");
    int result = parse(r, argc, argv, err);
    if (result == 0)
        result = ranks_open(OPTION_COMM_AUTO, &comm, err);
    if (result == 0) {
        result = run(r, comm, err);
        ranks_close(comm, result, err);
    }
    trials_state_done(&r->state);
    trials_plan_done(&r->plan);
    free(r);
    return result;
}

void command_trials_help(FILE *out, int argc, char *const *argv) {
    (void)argc, (void)argv;
    wrap_printf(
        out,
        "usage: ringtrain trials FILE [--FLAG VALUE]...\n\nTrains the configurations of the plan "
        "FILE, a grid or random draws, with successive halving if it says so, each in a process of "
        "its own, and ranks them by a metric. Started with ringmaster on all hosts, each of its "
        "ranks takes a trial, or so many together as the plan says. A trial that crashes, hangs or "
        "becomes NaN costs only itself. The best configuration is a recipe: ringtrain train "
        "--recipe DIR/" TRIALS_RECIPE_NAME ".\n\n");
    flags_print(out, FLAGS, FLAG_COUNT, TRIALS, 0, NULL);
}

#include "trainer/app/scaling/scaling_run.h"

#include "common/argv.h"
#include "common/clock.h"
#include "common/file/file.h"
#include "common/log/log.h"
#include "common/scaling/comm_reading.h"
#include "common/scaling/scaling_variants.h"
#include "common/slots/slot_run.h"
#include "trainer/report/run_figures.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

/* A check of connections ends by itself before that (comm_findings.h). */
static const double CHECK_LIMIT = 120;

static int run_job(struct scaling_run *r, int size, const char *folder, const struct argv *argv,
                   double limit, char failure[SCALING_TEXT_SIZE], struct error *err) {
    const struct slot_task task = {size, folder, argv, limit, NULL};
    return slot_run(r->slots, &task, failure, err);
}

static void take_figures(struct scaling_run *r, struct scaling_study *study,
                         struct scaling_point *p, const char *folder, double began) {
    struct run_figures f;
    struct error why = {0};
    if (run_figures_read(&f, folder, r->job->steps / SCALING_JOB_ROWS, NULL, &why) != 0) {
        (void)snprintf(p->failure, sizeof(p->failure), "%.200s", why.text);
        return;
    }
    if (!(f.rate > 0)) {
        (void)snprintf(p->failure, sizeof(p->failure), "it told no throughput");
        return;
    }
    p->rate = f.rate;
    p->exposed = p->ranks > 1 ? f.exposed : (double)NAN;
    p->start_seconds = f.first_step - began;
    study->batch = f.global_batch / f.ranks;
    if (!isfinite(study->total))
        study->total = f.epochs * f.images;
    study->comm.buckets = f.sums;
    study->comm.bytes = f.sum_bytes;
    r->on_gpu = f.on_gpu;
}

/* An earlier report's would be read as this one's. */
static void forget(const char *folder) {
    char path[PATH_MAX];
    static const char *const names[] = {"run.jsonl", "run.log", "rank-0.log"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (snprintf(path, sizeof(path), "%s/%s", folder, names[i]) < (int)sizeof(path))
            (void)unlink(path);
}

static int measure(void *context, struct scaling_study *study, struct scaling_point *p,
                   const char *folder, struct error *err) {
    struct scaling_run *r = context;
    cleanup_argv struct argv argv = {0};
    forget(folder);
    const double began = (double)clock_wall() / (double)CLOCK_SECOND;
    if (scaling_job_argv(r->job, study->variant, folder, &argv, err) != 0 ||
        run_job(r, p->ranks, folder, &argv, r->limit, p->failure, err) != 0)
        return -1;
    if (p->failure[0] == '\0')
        take_figures(r, study, p, folder, began);
    return 0;
}

/* The all-reduces of this size; without them the model has fewer. */
static int measure_comm(struct scaling_run *r, int ranks, const char *above, struct error *err) {
    cleanup_argv struct argv argv = {0};
    char folder[PATH_MAX], path[PATH_MAX], program[PATH_MAX], failure[SCALING_TEXT_SIZE];
    struct error why = {0};
    if (snprintf(folder, sizeof(folder), "%s/check-comm", above) >= (int)sizeof(folder) ||
        snprintf(path, sizeof(path), "%.4000s/rank-0.log", folder) >= (int)sizeof(path))
        return error_set(err, EXIT_CODE_CONFIG, "%.64s...: path too long", above);
    forget(folder);
    if (file_self(program, sizeof(program), err) != 0 || argv_add(&argv, program, err) != 0 ||
        argv_add(&argv, "check-comm", err) != 0 || argv_add(&argv, "--json=true", err) != 0 ||
        argv_add(&argv, r->on_gpu ? "--comm=nccl" : "--comm=mpi", err) != 0 ||
        run_job(r, ranks, folder, &argv, CHECK_LIMIT, failure, err) != 0)
        return -1;
    const int count = failure[0] != '\0'
                          ? -1
                          : comm_reading_read(path, r->reduces + r->reduce_count,
                                              SCALING_REDUCES_MAX - r->reduce_count, &why);
    if (count >= 0)
        r->reduce_count += (size_t)count;
    else
        log_warning("the all-reduces of %d ranks are not measured: %s", ranks,
                    failure[0] != '\0' ? failure : why.text);
    return 0;
}

/* Hosts that are containers on one machine may share its cores. */
static int on_one(const struct scaling_run *r, int size) {
    const int host = slots_on_one_host(r->slots, 0, size);
    const int shared = r->sharers < size ? r->sharers : size;
    return shared > host ? shared : host;
}

/* All strategies of a size, and its all-reduces. */
static int run_size(struct scaling_run *r, int size, struct error *err) {
    struct scaling_size z = {.ranks = size,
                             .hosts = slots_hosts(r->slots, 0, size),
                             .on_one = on_one(r, size),
                             .folder = r->folder,
                             .measure = measure,
                             .context = r};
    if (scaling_size_measure(&z, r->study, err) != 0)
        return -1;
    return r->comm && size > 1 && z.any ? measure_comm(r, size, z.last, err) : 0;
}

int scaling_run_all(struct scaling_run *r, const int *sizes, size_t count, struct error *err) {
    for (size_t i = 0; i < count; i++)
        if (run_size(r, sizes[i], err) != 0)
            return -1;
    for (struct scaling_study *study = r->study; r->reduce_count > 0 && study != NULL;
         study = study->next)
        (void)scaling_comm_fit(&study->comm, r->reduces, r->reduce_count);
    return 0;
}

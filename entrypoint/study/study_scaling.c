#include "entrypoint/study/study_scaling.h"

#include "common/cleanup.h"
#include "common/file/file.h"
#include "common/scaling/scaling_page.h"
#include "common/scaling/scaling_variants.h"
#include "common/slots/slot_run.h"
#include "common/str.h"
#include "common/system/cpus.h"
#include "entrypoint/study/study_values.h"
#include "entrypoint/study/study_variant.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Rank 0 leads: it measures every size and every variant one after another, on slots from 0 on, and
 * writes the report. The other ranks only serve rounds. A size that fails keeps its reason in its
 * row, and the study continues with the next one.
 *
 * A program's throughput is read from what it prints (study_values.c). The slot of its first rank
 * reads it, since the log is on that rank's host, and the figure travels in its report. */

/* The index of the throughput among the figures of a report; the others stay unused. */
enum { RATE };

struct study {
    const struct study_words *words;
    struct slots *slots;
    struct price_table prices;
    int sizes[SCALING_POINTS_MAX];
    size_t count;
    struct scaling_study studies[SCALING_STUDIES_MAX]; /* one a variant */
};

/* The command line as people read it, cut at SIZE. Its words are not quoted, so it is no text for a
 * shell. */
static void describe_job(const struct study_words *w, char *ret, size_t size) {
    size_t used = 0;
    for (size_t i = 0; w->program[i] != NULL && used < size; i++)
        used += (size_t)snprintf(ret + used, size - used, "%s%s", i > 0 ? " " : "", w->program[i]);
    for (size_t i = 0; i < w->names.count && used < size; i++)
        used += (size_t)snprintf(ret + used, size - used, "; %s", w->variants[i]);
}

/* A metric with another name than the default is its own unit, unless --unit names one. The batch
 * is not known of a foreign program, so the model counts samples and not steps. */
static void describe(const struct study_words *w, struct scaling_study *study) {
    const char *unit = w->unit != NULL                               ? w->unit
                       : strcmp(w->metric, "images_per_second") == 0 ? "images/s"
                                                                     : w->metric;
    study->program = "ringmaster scaling";
    study->total = w->samples > 0 ? w->samples : (double)NAN;
    study->batch = (double)NAN;
    (void)snprintf(study->unit, sizeof(study->unit), "%s", unit);
    describe_job(w, study->job, sizeof(study->job));
}

/* Without --project two sizes beyond most jobs are projected. Prices are shared by all variants. */
static int settle_studies(struct study *s, struct error *err) {
    const struct study_words *w = s->words;
    const char *project = w->project != NULL ? w->project : "256,1024";
    (void)scaling_names_chain(&w->names, s->studies);
    for (struct scaling_study *study = s->studies; study != NULL; study = study->next) {
        describe(w, study);
        study->prices = w->prices != NULL ? &s->prices : NULL;
        if (scaling_project(study, project, err) != 0)
            return -1;
    }
    return 0;
}

/* What can be wrong is found before anything runs: sizes, projections, prices and the folder. */
static int settle(struct study *s, int ranks, struct error *err) {
    if (settle_studies(s, err) != 0 ||
        scaling_sizes(s->words->ranks, ranks, s->sizes, &s->count, err) != 0)
        return -1;
    if (s->words->prices != NULL && price_table_read(&s->prices, s->words->prices, err) != 0)
        return error_wrap(err, "--prices");
    return file_make_dirs(s->words->out, err) != 0 ? error_wrap(err, "--out") : 0;
}

/* CONTEXT is the metric. A program that failed has no figure, even if it has printed some
 * before. */
static void read_figures(void *context, const char *folder, int code,
                         double figures[SLOTS_FIGURES]) {
    figures[RATE] = code == 0 ? study_values_median(folder, context) : (double)NAN;
}

/* More words and variables of the variant go to the program, in addition to its own. With
 * --per-rank the program prints what one rank does, which is multiplied here. */
static int measure(void *context, struct scaling_study *study, struct scaling_point *p,
                   const char *folder, struct error *err) {
    struct study *s = context;
    cleanup_argv struct argv argv = {0}, environment = {0}, more = {0};
    const struct study_words *w = s->words;
    const size_t variant = (size_t)(study - s->studies);
    if ((w->names.count > 0 &&
         study_variant_words(w->variants[variant], &environment, &more, err) != 0) ||
        study_words_program(w, (const char *const *)more.items, folder, &argv, err) != 0)
        return -1;
    const struct slot_task task = {p->ranks, folder, &argv, w->limit,
                                   (const char *const *)environment.items};
    if (slot_run(s->slots, &task, p->failure, err) != 0)
        return -1;
    const double rate = s->slots->reports[0].figures[RATE];
    p->rate = w->per_rank ? rate * p->ranks : rate;
    if (p->failure[0] == '\0' && !(isfinite(p->rate) && p->rate > 0))
        (void)snprintf(p->failure, sizeof(p->failure), "it printed no %.64s above 0", w->metric);
    return 0;
}

/* Sizes ascend, as the model needs them. All variants of a size run before the next size, so an
 * early end leaves whole rows. All logs are below the folder of the report. An error here is one of
 * this process or of the job; a size that fails is none. */
static int measure_all(struct study *s, struct error *err) {
    for (size_t i = 0; i < s->count; i++) {
        const int ranks = s->sizes[i];
        struct scaling_size z = {.ranks = ranks,
                                 .hosts = slots_hosts(s->slots, 0, ranks),
                                 .on_one = slots_on_one_host(s->slots, 0, ranks),
                                 .folder = s->words->out,
                                 .measure = measure,
                                 .context = s};
        if (scaling_size_measure(&z, s->studies, err) != 0)
            return -1;
    }
    return 0;
}

/* Of this host; the others are taken to be like it. Ranks have as many threads as ringmaster says,
 * or the user, by OMP_NUM_THREADS; what is no number counts as 1. */
static void find_cores(struct scaling_study *study) {
    int64_t threads = 1;
    const char *text = getenv("OMP_NUM_THREADS");
    study->cores = cpus_usable("");
    if (text != NULL && str_parse_int(text, 1, SCALING_RANKS_MAX, &threads, NULL) != 0)
        threads = 1;
    study->threads = (int)threads;
}

/* The report is written even if the measurements ended early: with RESULT below 0 it tells what was
 * measured until then. */
static int lead(struct study *s, struct error *err) {
    const struct slots *slots = s->slots;
    const int hosts = slots_hosts(slots, 0, slots->count);
    if (settle(s, slots->count, err) != 0)
        return -1;
    for (struct scaling_study *study = s->studies; study != NULL; study = study->next) {
        find_cores(study);
        (void)snprintf(study->place, sizeof(study->place), "%d host%s, %d rank%s", hosts,
                       STR_PLURAL(hosts), slots->count, STR_PLURAL(slots->count));
    }
    const int result = measure_all(s, err);
    return scaling_report(s->studies, s->words->out, result, err);
}

/* The study is allocated, as its arrays are too large for a stack. An error of the leader is kept
 * while the ranks leave. The other ranks return when the leader has left. */
int study_scaling(const struct study_words *w, const struct slot_group *group, struct error *err) {
    cleanup_slots struct slots slots = {0};
    cleanup_free struct study *s = calloc(1, sizeof(*s));
    char metric[256];
    if (s == NULL)
        return error_no_memory(err, "a study");
    (void)snprintf(metric, sizeof(metric), "%s", w->metric);
    s->words = w;
    s->slots = &slots;
    if (slots_open(&slots, group, 1, err) != 0)
        return -1;
    slots.read = read_figures;
    slots.context = metric;
    slots.foreign = true;
    if (group->rank > 0)
        return slots_serve(&slots, err);
    const int result = lead(s, err);
    return slots_leave(&slots, result == 0 ? err : NULL) != 0 ? -1 : result;
}

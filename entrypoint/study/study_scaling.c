#include "entrypoint/study/study_scaling.h"

#include "common/cleanup.h"
#include "common/file/file.h"
#include "common/log/log.h"
#include "common/scaling/scaling_page.h"
#include "common/slots/slot_run.h"
#include "common/str.h"
#include "common/system/cpus.h"
#include "entrypoint/study/study_values.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RATE };

struct study {
    const struct study_words *words;
    struct price_table prices;
    int sizes[SCALING_POINTS_MAX];
    size_t count;
    struct scaling_study scaling;
};

static void describe(struct study *s) {
    const struct study_words *w = s->words;
    struct scaling_study *study = &s->scaling;
    size_t used = 0;
    *study = (struct scaling_study){.program = "ringmaster scaling",
                                    .total = w->samples > 0 ? w->samples : (double)NAN,
                                    .batch = (double)NAN};
    const char *unit = w->unit != NULL                               ? w->unit
                       : strcmp(w->metric, "images_per_second") == 0 ? "images/s"
                                                                     : w->metric;
    (void)snprintf(study->unit, sizeof(study->unit), "%s", unit);
    for (size_t i = 0; w->program[i] != NULL && used < sizeof(study->job); i++)
        used += (size_t)snprintf(study->job + used, sizeof(study->job) - used, "%s%s",
                                 i > 0 ? " " : "", w->program[i]);
}

/* What can be wrong is found before anything runs. */
static int settle(struct study *s, int ranks, struct error *err) {
    describe(s);
    const char *project = s->words->project != NULL ? s->words->project : "256,1024";
    if (scaling_sizes(s->words->ranks, ranks, s->sizes, &s->count, err) != 0 ||
        scaling_project(&s->scaling, project, err) != 0)
        return -1;
    if (s->words->prices != NULL) {
        if (price_table_read(&s->prices, s->words->prices, err) != 0)
            return error_wrap(err, "--prices");
        s->scaling.prices = &s->prices;
    }
    return file_make_dirs(s->words->out, err) != 0 ? error_wrap(err, "--out") : 0;
}

/* CONTEXT is the metric. */
static void read_figures(void *context, const char *folder, int code,
                         double figures[SLOTS_FIGURES]) {
    figures[RATE] = code == 0 ? study_values_median(folder, context) : (double)NAN;
}

static int measure(struct study *s, struct slots *slots, struct scaling_point *p,
                   struct error *err) {
    char folder[PATH_MAX];
    cleanup_argv struct argv argv = {0};
    const struct study_words *w = s->words;
    if (snprintf(folder, sizeof(folder), "%s/ranks-%d", w->out, p->ranks) >= (int)sizeof(folder))
        return error_set(err, EXIT_CODE_CONFIG, "%.64s...: path too long", w->out);
    const struct slot_task task = {p->ranks, folder, &argv, w->limit};
    if (study_words_program(w, folder, &argv, err) != 0 ||
        slot_run(slots, &task, p->failure, err) != 0)
        return -1;
    const double rate = slots->reports[0].figures[RATE];
    p->rate = w->per_rank ? rate * p->ranks : rate;
    if (p->failure[0] == '\0' && !(isfinite(p->rate) && p->rate > 0))
        (void)snprintf(p->failure, sizeof(p->failure), "it printed no %.64s above 0", w->metric);
    if (p->failure[0] != '\0')
        log_warning("%d rank%s: failed: %s", p->ranks, STR_PLURAL(p->ranks), p->failure);
    else
        log_info("%d rank%s on %d host%s: %.6g %s", p->ranks, STR_PLURAL(p->ranks), p->hosts,
                 STR_PLURAL(p->hosts), p->rate, s->scaling.unit);
    return 0;
}

static int measure_all(struct study *s, struct slots *slots, struct error *err) {
    for (size_t i = 0; i < s->count; i++) {
        struct scaling_point *p =
            scaling_add(&s->scaling, s->sizes[i], slots_hosts(slots, 0, s->sizes[i]));
        if (p == NULL)
            return error_set(err, EXIT_CODE_INTERNAL, "a size more than there is room for");
        p->exposed = p->start_seconds = (double)NAN;
        p->on_one = slots_on_one_host(slots, 0, s->sizes[i]);
        if (measure(s, slots, p, err) != 0) {
            s->scaling.count--;
            return -1;
        }
    }
    return 0;
}

/* Of this host; the others are taken to be like it. Ranks have as many threads as ringmaster says,
 * or the user. */
static void find_cores(struct scaling_study *study) {
    int64_t threads = 1;
    const char *text = getenv("OMP_NUM_THREADS");
    study->cores = cpus_usable("");
    if (text != NULL && str_parse_int(text, 1, SCALING_RANKS_MAX, &threads, NULL) != 0)
        threads = 1;
    study->threads = (int)threads;
}

static int lead(struct study *s, struct slots *slots, struct error *err) {
    const int hosts = slots_hosts(slots, 0, slots->count);
    if (settle(s, slots->count, err) != 0)
        return -1;
    find_cores(&s->scaling);
    (void)snprintf(s->scaling.place, sizeof(s->scaling.place), "%d host%s, %d rank%s", hosts,
                   STR_PLURAL(hosts), slots->count, STR_PLURAL(slots->count));
    const int result = measure_all(s, slots, err);
    return scaling_report(&s->scaling, s->words->out, result, err);
}

int study_scaling(const struct study_words *w, const struct slot_group *group, struct error *err) {
    cleanup_slots struct slots slots = {0};
    cleanup_free struct study *s = calloc(1, sizeof(*s));
    char metric[256];
    if (s == NULL)
        return error_no_memory(err, "a study");
    (void)snprintf(metric, sizeof(metric), "%s", w->metric);
    s->words = w;
    if (slots_open(&slots, group, 1, err) != 0)
        return -1;
    slots.read = read_figures;
    slots.context = metric;
    slots.foreign = true;
    if (group->rank > 0)
        return slots_serve(&slots, err);
    const int result = lead(s, &slots, err);
    return slots_leave(&slots, result == 0 ? err : NULL) != 0 ? -1 : result;
}

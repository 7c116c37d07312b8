#include "trainer/app/task/class_tally.h"

#include "common/cleanup.h"
#include "trainer/data/dataset/labelled.h"
#include "trainer/math/rank.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Counts by class, batch by batch on each rank, then summed over all ranks by class_tally_sum.
 * Counts are doubles because all-reduces sum floating-point numbers; they are exact up to 2^53.
 *
 * The answer of the network is its best class by rank_of (math/rank.h), which orders equal logits
 * by their place, so that the first of them is the answer.
 *
 * The worst mistakes are those that the network is most sure of. Each rank keeps its own list of
 * the same fixed size, and the lists of all ranks are merged by the rule that made them, so the
 * result does not depend on the number of ranks. */

/* PAIRS is dropped for more classes than CLASS_TALLY_PAIRS_OF, because the counts take a square of
 * memory. The extra elements keep calloc from returning NULL for no classes. */
int class_tally_open(struct class_tally *tally, size_t classes, bool pairs, struct error *err) {
    pairs = pairs && classes <= CLASS_TALLY_PAIRS_OF;
    *tally = (struct class_tally){.classes = classes,
                                  .sums = calloc(2 * classes + 1, sizeof(*tally->sums))};
    if (pairs)
        tally->pairs = calloc(classes * classes + 1, sizeof(*tally->pairs));
    return tally->sums != NULL && (tally->pairs != NULL || !pairs)
               ? 0
               : error_no_memory(err, "accuracy by class");
}

/* Safe on a zeroed tally. */
void class_tally_done(struct class_tally *tally) {
    free(tally->sums);
    free(tally->pairs);
    score_logits_done(&tally->logits);
    *tally = (struct class_tally){0};
}

/* The index goes into the rank, so that equal logits are ordered too. */
static size_t best_of(const float *logits, size_t classes) {
    size_t best = 0;
    for (size_t c = 1; c < classes; c++)
        if (rank_of(logits[c], (int)c) > rank_of(logits[best], (int)best))
            best = c;
    return best;
}

/* The softmax of CLASS. Dividing by the exponential of the class itself keeps the sum from
 * overflowing for the best class: no term is then larger than 1. */
static double probability_of(const float *logits, size_t classes, size_t class) {
    double sum = 0;
    for (size_t c = 0; c < classes; c++)
        sum += exp((double)logits[c] - (double)logits[class]);
    return 1 / sum;
}

/* Keeps M among the most confident mistakes; of equal ones the earlier sample comes first. The list
 * stays sorted: M takes the first place that it beats, and what was there moves on. A probability
 * of 0 is an empty place and beats nothing. */
static void keep_mistake(struct class_tally *t, struct class_mistake m) {
    for (size_t i = 0; i < CLASS_TALLY_MISTAKES; i++) {
        struct class_mistake *kept = &t->mistakes[i];
        if (m.probability < kept->probability ||
            (m.probability == kept->probability && (m.probability == 0 || m.sample > kept->sample)))
            continue;
        const struct class_mistake moved = *kept;
        *kept = m;
        m = moved;
    }
}

/* If the best logit is NaN, the picture has no answer: it lowers the accuracy of its class and is
 * no confusion. */
static void count(struct class_tally *t, const float *logits, size_t label, int64_t sample) {
    const size_t answer = best_of(logits, t->classes);
    t->sums[label]++;
    /* The picture is in sums[label] already. */
    if (isnan(logits[answer]))
        return;
    t->sums[t->classes + label] += answer == label;
    if (t->pairs != NULL)
        t->pairs[label * t->classes + answer]++;
    if (answer != label)
        keep_mistake(t, (struct class_mistake){probability_of(logits, t->classes, answer), sample,
                                               (int32_t)label, (int32_t)answer});
}

/* Places with a weight of 0 fill the batch and are not counted. A label that the network lacks is
 * left out, as there is no class to count it for. */
int class_tally_add(struct class_tally *tally, const struct batch *batch,
                    const struct task_outputs *outputs, struct error *err) {
    const float *weight = batch->fields[LABELLED_WEIGHT];
    const int32_t *label = batch->fields[LABELLED_LABEL];
    if (score_logits_read(&tally->logits, outputs, batch, tally->classes, err) != 0)
        return -1;
    for (int i = 0; i < batch->count; i++) {
        const float *logits = tally->logits.values + (size_t)i * tally->classes;
        if (weight[i] > 0 && (size_t)label[i] < tally->classes)
            count(tally, logits, (size_t)label[i], batch->samples[i]);
    }
    return 0;
}

/* The list is emptied first, because the gathered ones include this rank's own. A mistake is plain
 * data, so its bytes are sent as they are. */
static int gather_mistakes(struct class_tally *t, struct comm *comm, struct error *err) {
    const size_t ranks = (size_t)comm_size(comm), bytes = sizeof(t->mistakes);
    cleanup_free struct class_mistake *all = calloc(ranks, bytes);
    if (all == NULL)
        return error_no_memory(err, "mistakes");
    if (comm_gather(comm, t->mistakes, bytes, all, err) != 0)
        return -1;
    memset(t->mistakes, 0, bytes);
    for (size_t i = 0; i < ranks * CLASS_TALLY_MISTAKES; i++)
        keep_mistake(t, all[i]);
    return 0;
}

/* After it all ranks have the same tally. It must be called once only, as the sums are in place. */
int class_tally_sum(struct class_tally *tally, struct comm *comm, struct error *err) {
    const size_t classes = tally->classes;
    if (comm_sum(comm, tally->sums, 2 * classes, COMM_F64, err) != 0 ||
        (tally->pairs != NULL &&
         comm_sum(comm, tally->pairs, classes * classes, COMM_F64, err) != 0))
        return -1;
    return gather_mistakes(tally, comm, err);
}

/* A class that has pictures, and the share of them that is answered right. */
struct row {
    size_t class;
    double share;
};

/* Equal shares are ordered by number, because qsort is not stable. */
static int worst_first(const void *a, const void *b) {
    const struct row *x = a, *y = b;
    if (x->share != y->share)
        return x->share < y->share ? -1 : 1;
    return x->class < y->class ? -1 : 1;
}

/* Classes without pictures have no accuracy and no row. */
static int print_classes(const struct class_tally *tally, char *const *names, struct buf *out,
                         struct error *err) {
    cleanup_free struct row *rows = calloc(tally->classes + 1, sizeof(*rows));
    size_t count = 0;
    if (rows == NULL)
        return error_no_memory(err, "accuracy by class");
    for (size_t c = 0; c < tally->classes; c++)
        if (tally->sums[c] > 0)
            rows[count++] = (struct row){c, tally->sums[tally->classes + c] / tally->sums[c]};
    qsort(rows, count, sizeof(*rows), worst_first);
    size_t shown = count < CLASS_TALLY_SHOWN ? count : CLASS_TALLY_SHOWN;
    if (buf_printf(out, err, "top-1 by class, the worst first%s:\n",
                   shown < count ? " (20 of them)" : "") != 0)
        return -1;
    for (size_t i = 0; i < shown; i++)
        if (buf_printf(out, err, "  %6.2f %%  of %6.0f  %s\n", 100 * rows[i].share,
                       tally->sums[rows[i].class], names[rows[i].class]) != 0)
            return -1;
    return 0;
}

/* A confusion: CLASS was taken for ANSWER, COUNT times. */
struct pair {
    double count;
    size_t class, answer;
};

/* Finds the most frequent confusions, among equals the first. Returns their number. One pass with
 * insertion into a short sorted list; sorting all pairs would need a second square of memory. */
static size_t find_pairs(const struct class_tally *t, struct pair best[CLASS_TALLY_PAIRS]) {
    size_t found = 0;
    for (size_t i = 0; t->pairs != NULL && i < t->classes * t->classes; i++) {
        struct pair p = {t->pairs[i], i / t->classes, i % t->classes};
        if (!(p.count > 0) || p.class == p.answer)
            continue;
        for (size_t k = 0; k < found; k++)
            if (p.count > best[k].count) {
                const struct pair moved = best[k];
                best[k] = p;
                p = moved;
            }
        if (found < CLASS_TALLY_PAIRS)
            best[found++] = p;
    }
    return found;
}

static int print_pairs(const struct class_tally *t, char *const *names, struct buf *out,
                       struct error *err) {
    struct pair best[CLASS_TALLY_PAIRS];
    /* Without counts of pairs none is found, and no heading is printed. */
    const size_t found = find_pairs(t, best);
    if (found > 0 && buf_add_text(out, "most frequent confusions:\n", err) != 0)
        return -1;
    for (size_t i = 0; i < found; i++)
        if (buf_printf(out, err, "  %6.0f  %s taken for %s\n", best[i].count, names[best[i].class],
                       names[best[i].answer]) != 0)
            return -1;
    return 0;
}

/* The names of files let a person look at them, and repair a label. */
static int print_mistakes(const struct class_tally *t, char *const *names,
                          const struct source *source, struct buf *out, struct error *err) {
    for (size_t i = 0; i < CLASS_TALLY_MISTAKES && t->mistakes[i].probability > 0; i++) {
        const struct class_mistake *m = &t->mistakes[i];
        char name[PATH_MAX];
        source->table->sample_name(source, (size_t)m->sample, name, sizeof(name));
        if ((i == 0 && buf_add_text(out, "worst mistakes:\n", err) != 0) ||
            buf_printf(out, err, "  %6.2f %%  %s  %s taken for %s\n", 100 * m->probability, name,
                       names[m->label], names[m->answer]) != 0)
            return -1;
    }
    return 0;
}

/* The parts come in order of how many pictures they sum up: classes, pairs, single pictures. */
int class_tally_print(const struct class_tally *tally, char *const *names,
                      const struct source *source, struct buf *out, struct error *err) {
    return print_classes(tally, names, out, err) != 0 || print_pairs(tally, names, out, err) != 0 ||
                   print_mistakes(tally, names, source, out, err) != 0
               ? -1
               : 0;
}

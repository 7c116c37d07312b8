#include "trainer/app/normalize/normalization.h"

#include "common/log/log.h"
#include "common/str.h"
#include "common/system/cpus.h"
#include "trainer/data/codec/pixel_statistics.h"
#include "trainer/data/dataset/fetch.h"
#include "trainer/data/order/sampler.h"
#include "trainer/models/model.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* --mean data looks at up to NORMALIZATION_PICTURES pictures, which the ranks and then the
 * threads of each rank divide among themselves. Which pictures these are follows from a fixed
 * permutation of the set, not from --seed, so that two trainings of the same data are normalized
 * alike.
 *
 * A picture that cannot be used is passed over. Only a set without any usable picture is an
 * error, which gives the reason of one of them. */

/* FULL is the largest value of a pixel. A text of TEXT_MAX characters or more is no list. */
enum { THREADS_MAX = 16, TEXT_MAX = 128, FULL = 255 };

/* The three values have one scale, so a single one above 1 makes all of them values of 0 to 255.
 * A text that is too long is parsed as an empty one, and so is refused. */
int normalization_parse(const char *option, const char *text, double ret[3], struct error *err) {
    char copy[TEXT_MAX] = "";
    char *rest = copy;
    double most = 0;
    int count = 0;
    if (strlen(text) < sizeof(copy))
        memcpy(copy, text, strlen(text) + 1);
    for (char *word; count < 3 && (word = strsep(&rest, ",")) != NULL; count++) {
        if (str_parse_double(word, 0, FULL, &ret[count], NULL) != 0)
            break;
        most = ret[count] > most ? ret[count] : most;
    }
    if (count < 3 || rest != NULL)
        return error_set(err, EXIT_CODE_USAGE,
                         "%s: '%.64s'; expected imagenet, data, or three numbers from 0 to 1 or "
                         "from 0 to 255, such as 0.485,0.456,0.406",
                         option, text);
    for (int c = 0; c < 3 && most > 1; c++)
        ret[c] /= FULL;
    return 0;
}

/* The pictures that one rank looks at, divided among threads. */
struct looking {
    const struct dataset *set;
    struct dataset_part part; /* all of the set, if it is not divided */
    size_t count;             /* pictures of all ranks that have the part */
    atomic_size_t next;       /* place in the permutation that the next free thread takes */
    pthread_mutex_t lock;     /* for the rest */
    struct pixel_statistics all;
    struct error why; /* of the first picture that could not be used */
};

/* A thread. It takes every place that is congruent to this rank modulo the ranks of the part.
 * Statistics are kept per thread and merged once at the end; their sums are exact, so the order
 * of merging does not matter.
 *
 * A fetcher that cannot be set up leaves the thread without pictures; others may still take
 * them. */
static void *look(void *context) {
    struct looking *l = context;
    struct fetcher fetcher;
    struct error why = {0};
    struct pixel_statistics own = {0};
    if (fetcher_init(&fetcher, &why) == 0)
        for (size_t i; (i = atomic_fetch_add(&l->next, (size_t)l->part.ranks)) < l->count;) {
            const size_t sample = l->part.first + sampler_permute(0, 0, l->part.count, i);
            if (dataset_read(l->set, sample, &fetcher.encoded, &why) == 0 &&
                fetch_whole(&fetcher, (const uint8_t *)fetcher.encoded.data, fetcher.encoded.size,
                            &why) == 0)
                pixel_statistics_add(&own, &fetcher.picture);
        }
    fetcher_done(&fetcher);
    (void)pthread_mutex_lock(&l->lock);
    pixel_statistics_merge(&l->all, &own);
    if (l->why.code == 0)
        l->why = why;
    (void)pthread_mutex_unlock(&l->lock);
    return NULL;
}

/* Continues with as many threads as could be started, in the worst case with this one alone. */
static int look_at_all(struct looking *l, int threads, struct error *err) {
    pthread_t started[THREADS_MAX];
    int count = 0;
    if (pthread_mutex_init(&l->lock, NULL) != 0)
        return error_set(err, EXIT_CODE_INTERNAL, "no lock");
    while (count < threads && pthread_create(&started[count], NULL, look, l) == 0)
        count++;
    if (count == 0)
        (void)look(l);
    for (int i = 0; i < count; i++)
        (void)pthread_join(started[i], NULL);
    (void)pthread_mutex_destroy(&l->lock);
    return 0;
}

/* Deviations below this would blow noise up. */
static const double deviation_least = 1e-3;

/* Collective. The statistics are summed over all ranks as doubles, so each rank gets the same
 * bits. With a divided set, each part contributes about its share of the pictures. */
static int of_data(const struct options *o, struct comm *comm, const struct dataset *set,
                   const struct dataset_part *part, struct normalization *ret, struct error *err) {
    const int64_t wanted = o->data_threads;
    const int threads = wanted > 0 ? (int)wanted : cpus_affinity();
    const struct dataset_part all = {
        .parts = 1, .count = set->count, .ranks = comm_size(comm), .rank = comm_rank(comm)};
    struct looking l = {.set = set, .part = part->parts > 0 ? *part : all};
    double values[PIXEL_STATISTICS_VALUES];
    const size_t wanted_pictures = NORMALIZATION_PICTURES / (size_t)l.part.parts + 1;
    l.count = l.part.count < wanted_pictures ? l.part.count : wanted_pictures;
    if (part->parts == 0 && l.count > NORMALIZATION_PICTURES)
        l.count = NORMALIZATION_PICTURES;
    atomic_init(&l.next, (size_t)l.part.rank);
    if (comm_rank(comm) == 0)
        log_info("--mean data: looking at %zu of %zu pictures%s", l.count, l.part.count,
                 part->parts > 0 ? " of each part" : "");
    if (look_at_all(&l, threads < THREADS_MAX ? threads : THREADS_MAX, err) != 0)
        return -1;
    memcpy(values, &l.all, sizeof(values));
    if (comm_sum(comm, values, PIXEL_STATISTICS_VALUES, COMM_F64, err) != 0)
        return -1;
    memcpy(&l.all, values, sizeof(values));
    if (!(l.all.pictures > 0))
        return error_set(err, EXIT_CODE_DATA, "--mean data: no picture can be used: %.400s",
                         l.why.text);
    pixel_statistics_result(&l.all, ret->mean, ret->std);
    for (int c = 0; c < 3; c++)
        ret->std[c] = fmax(ret->std[c], deviation_least);
    return 0;
}

static bool is_word(const char *text) {
    return strcmp(text, "imagenet") == 0 || strcmp(text, "data") == 0;
}

/* The values in numbers, of which both or none are given. */
static int of_numbers(const struct options *o, struct normalization *ret, struct error *err) {
    if (is_word(o->mean) || strcmp(o->std, "auto") == 0)
        return error_set(err, EXIT_CODE_USAGE,
                         "--mean %.64s with --std %.64s; expected numbers for both, or --mean "
                         "imagenet or data alone",
                         o->mean, o->std);
    if (normalization_parse("--mean", o->mean, ret->mean, err) != 0 ||
        normalization_parse("--std", o->std, ret->std, err) != 0)
        return -1;
    for (int c = 0; c < 3; c++)
        if (!(ret->std[c] >= deviation_least))
            return error_set(err, EXIT_CODE_USAGE, "--std: %g; expected at least %g", ret->std[c],
                             deviation_least);
    return 0;
}

/* --mean with a word, which --std goes with. */
static bool in_words(const struct options *o) {
    return is_word(o->mean) && strcmp(o->std, "auto") == 0;
}

/* Needs neither data nor ranks, so that a wrong flag is refused before either is waited for. */
int normalization_check(const struct options *o, bool synthetic, struct error *err) {
    struct normalization unused;
    if (!in_words(o))
        return of_numbers(o, &unused, err);
    if (synthetic && strcmp(o->mean, "data") == 0)
        return error_set(err, EXIT_CODE_USAGE, "--mean data: the synthetic set has no pictures");
    return 0;
}

int normalization_find(const struct options *o, struct comm *comm, const struct dataset *set,
                       const struct dataset_part *part, struct normalization *ret,
                       struct error *err) {
    const bool words = in_words(o);
    memcpy(ret->mean, MODEL_MEAN, sizeof(ret->mean));
    memcpy(ret->std, MODEL_STD, sizeof(ret->std));
    if (words && strcmp(o->mean, "imagenet") == 0)
        return 0;
    if ((words ? of_data(o, comm, set, part, ret, err) : of_numbers(o, ret, err)) != 0)
        return -1;
    if (comm_rank(comm) == 0)
        log_info("pictures are normalized by --mean %.4f,%.4f,%.4f --std %.4f,%.4f,%.4f",
                 ret->mean[0], ret->mean[1], ret->mean[2], ret->std[0], ret->std[1], ret->std[2]);
    return 0;
}

/* Images a second of the input pipeline on one core, and of the loader on several:
 *
 *     bench_decode SET THREADS        class folders or shards, read into memory first
 *     bench_decode --make FOLDER      writes sample pictures of 500 x 500 pixels
 *     bench_decode --crops SET        one figure: random crops, resampled, a core
 *     bench_decode --loader SET N [WORD]...   one figure: the loader's, on N threads
 *
 * WORD is lanes (--order lanes, for shards), ram (--cache ram, once it is filled) or epoch (one
 * pass and no more, for files that the page cache lacks).
 *
 * Each row repeats the set until SECONDS have passed; the figure is processor time of the one
 * thread, so that neighbours on the machine do not count, and wall time for the loader. */
#include "common/clock.h"
#include "trainer/data/codec/whole.h"
#include "trainer/data/dataset/fetch.h"
#include "trainer/data/dataset/labelled.h"
#include "trainer/data/dataset/loader.h"
#include "trainer/data/dataset/shard_sequence.h"
#include "trainer/data/shapes/prepare.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SECONDS = 3, SIDE = 224 };

struct picture {
    uint8_t *bytes;
    size_t size;
};

static double thread_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int fail(const struct error *err) {
    fprintf(stderr, "bench_decode: %s\n", err->text);
    return err->code;
}

static int load(const struct dataset *set, struct picture *pictures, struct error *err) {
    for (size_t i = 0; i < set->count; i++) {
        struct buf bytes = {0};
        if (dataset_read(set, i, &bytes, err) != 0) {
            buf_done(&bytes);
            return -1;
        }
        pictures[i] = (struct picture){(uint8_t *)bytes.data, bytes.size};
    }
    return 0;
}

/* All of a picture, no resampling. */
static int decode_whole(struct fetcher *f, const struct picture *p, struct error *err) {
    struct rect at;
    if (jpeg_open(&f->decoder, p->bytes, p->size, err) != 0)
        return -1;
    const struct rect all = {0, 0, f->decoder.width, f->decoder.height};
    return jpeg_decode(&f->decoder, &all, 1, &f->picture, &at, err);
}

/* The crop that training needs, no resampling. */
static int decode_crop(struct fetcher *f, const struct picture *p, const struct augment *augment,
                       uint32_t epoch, uint64_t sample, struct error *err) {
    struct rect at;
    struct augment_plan plan;
    if (jpeg_open(&f->decoder, p->bytes, p->size, err) != 0)
        return -1;
    augment_draw(augment, f->decoder.width, f->decoder.height, 1, epoch, sample, &plan);
    return jpeg_decode(&f->decoder, &plan.source, 1, &f->picture, &at, err);
}

enum row { ROW_WHOLE, ROW_CROP, ROW_TRAIN, ROW_EVAL };

/* Sets *RET to images a second of processor time. */
static int rate_of(enum row row, const struct picture *pictures, size_t count, double *ret,
                   struct error *err) {
    static uint8_t pixels[SIDE * SIDE * IMAGE_CHANNELS];
    cleanup_fetcher struct fetcher f;
    struct augment train, eval;
    augment_defaults_train(&train, SIDE);
    augment_defaults_eval(&eval, SIDE);
    if (fetcher_init(&f, err) != 0)
        return -1;
    double begin = thread_seconds();
    size_t done = 0;
    for (uint32_t epoch = 0; thread_seconds() - begin < SECONDS; epoch++)
        for (size_t i = 0; i < count; i++, done++) {
            const struct picture *p = &pictures[i];
            int rc = row == ROW_WHOLE ? decode_whole(&f, p, err)
                     : row == ROW_CROP
                         ? decode_crop(&f, p, &train, epoch, i, err)
                         : fetch_picture(&f, p->bytes, p->size, row == ROW_TRAIN ? &train : &eval,
                                         1, epoch, i, pixels, err);
            if (rc != 0)
                return -1;
        }
    *ret = (double)done / (thread_seconds() - begin);
    return 0;
}

static int run_row(const char *title, enum row row, const struct picture *pictures, size_t count,
                   struct error *err) {
    double rate = 0;
    if (rate_of(row, pictures, count, &rate, err) != 0)
        return -1;
    printf("%-44s %8.0f images/s a core\n", title, rate);
    return 0;
}

/* The same crops through a cache in memory: the epoch that fills it, and those after it. */
static int run_cache(const struct dataset *set, struct error *err) {
    static uint8_t pixels[SIDE * SIDE * IMAGE_CHANNELS];
    const struct picture_cache_plan plan = {
        .key = 1, .samples = set->count, .capacity = (uint64_t)1 << 34};
    struct fetch_cache kept = {.on = true, .cache = picture_cache_in_memory(&plan, err)};
    cleanup_fetcher struct fetcher f = {0};
    struct augment train;
    double seconds[2] = {0};
    size_t done[2] = {0};
    augment_defaults_train(&train, SIDE);
    int result = kept.cache != NULL ? fetcher_init(&f, err) : -1;
    for (uint32_t epoch = 0; result == 0 && seconds[1] < SECONDS; epoch++) {
        const double begin = thread_seconds();
        for (size_t i = 0; i < set->count && result == 0; i++)
            result = fetch_sample_kept(&f, set, i, &kept, &train, 1, epoch, pixels, err);
        seconds[epoch > 0] += thread_seconds() - begin;
        done[epoch > 0] += set->count;
    }
    picture_cache_done(kept.cache);
    if (result != 0)
        return -1;
    printf("%-44s %8.0f images/s a core\n", "--cache ram, first epoch",
           (double)done[0] / seconds[0]);
    printf("%-44s %8.0f images/s a core\n", "--cache ram, later epochs",
           (double)done[1] / seconds[1]);
    return 0;
}

struct loader_words {
    bool lanes, ram, epoch;
};

enum { BATCH = 32, LANES = 8, WINDOW = 64 };

/* Takes the next batch; IMAGES counts its pictures. */
static int take_batch(struct loader *loader, int64_t *images, struct error *err) {
    const struct batch *batch;
    if (loader_next(loader, INT64_MAX, &batch, err) != LOADER_BATCH)
        return -1;
    *images += batch->count;
    loader_release(loader, batch);
    return 0;
}

/* Sets *RET to images a second of wall time. */
static int run_source(const struct loader_options *options, const struct loader_words *words,
                      double *ret, struct error *err) {
    const int64_t pass = (int64_t)(options->sampler.count / BATCH * BATCH);
    cleanup_loader struct loader *loader = NULL;
    int64_t begin = clock_now();
    int64_t images = 0;
    if (loader_start(options, &loader, err) != 0)
        return -1;
    /* An epoch drops the rest that fills no batch, so a cache is full after some of them. */
    for (int64_t filling = 0; words->ram && filling < 4 * pass;)
        if (take_batch(loader, &filling, err) != 0)
            return -1;
    if (words->ram)
        begin = clock_now();
    while (words->epoch ? images < pass : clock_now() - begin < SECONDS * CLOCK_SECOND)
        if (take_batch(loader, &images, err) != 0)
            return -1;
    *ret = (double)images * CLOCK_SECOND / (double)(clock_now() - begin);
    return 0;
}

static int loader_rate(const struct dataset *set, int threads, const struct loader_words *words,
                       double *ret, struct error *err) {
    const struct picture_cache_plan plan = {
        .key = 1, .samples = set->count, .capacity = (uint64_t)1 << 34};
    struct labelled recipe = {.set = set, .seed = 1};
    struct shard_sequence order = {0};
    struct source source;
    augment_defaults_train(&recipe.augment, SIDE);
    if (words->lanes && shard_sequence_make(&order, set, err) != 0)
        return -1;
    recipe.order = words->lanes ? &order : NULL;
    recipe.kept.on = words->ram;
    int result = 0;
    if (words->ram && (recipe.kept.cache = picture_cache_in_memory(&plan, err)) == NULL)
        result = -1;
    if (result == 0)
        result = labelled_source(&source, &recipe, BATCH, err);
    const struct loader_options options = {
        .source = &source,
        .sampler = {.count = set->count,
                    .ranks = 1,
                    .batch = BATCH,
                    .accumulate = 1,
                    .seed = 1,
                    .shuffle = true,
                    .lanes = {order.samples, order.first, order.shards, words->lanes ? LANES : 0,
                              words->lanes ? WINDOW : 0}},
        .epochs = UINT32_MAX,
        .threads = threads,
        .depth = 4};
    if (result == 0)
        result = run_source(&options, words, ret, err);
    picture_cache_done(recipe.kept.cache);
    shard_sequence_done(&order);
    return result;
}

static int run_loader(const struct dataset *set, int threads, struct error *err) {
    char title[64];
    double rate = 0;
    if (loader_rate(set, threads, &(struct loader_words){.ram = false}, &rate, err) != 0)
        return -1;
    snprintf(title, sizeof(title), "loader, %d threads, files from the page cache", threads);
    printf("%-44s %8.0f images/s\n", title, rate);
    return 0;
}

/* Prints one figure, for scripts that compare. THREADS 0: crops; else the loader. */
static int run_one(const char *folder, int threads, const struct loader_words *words,
                   struct error *err) {
    cleanup_dataset struct dataset set = {0};
    double rate = 0;
    if (dataset_open(&set, folder, 0, err) != 0)
        return -1;
    struct picture *pictures = calloc(set.count, sizeof(*pictures));
    if (pictures == NULL)
        return error_no_memory(err, "pictures");
    int rc = threads > 0                      ? loader_rate(&set, threads, words, &rate, err)
             : load(&set, pictures, err) == 0 ? rate_of(ROW_TRAIN, pictures, set.count, &rate, err)
                                              : -1;
    if (rc == 0)
        printf("%.1f\n", rate);
    for (size_t i = 0; i < set.count; i++)
        free(pictures[i].bytes);
    free(pictures);
    return rc;
}

static int run(const char *folder, int threads, struct error *err) {
    cleanup_dataset struct dataset set = {0};
    if (dataset_open(&set, folder, 0, err) != 0)
        return -1;
    struct picture *pictures = calloc(set.count, sizeof(*pictures));
    if (pictures == NULL)
        return error_no_memory(err, "pictures");
    int rc = load(&set, pictures, err);
    if (rc == 0) {
        printf("%zu pictures of %.0f KB\n", set.count,
               (double)set.bytes / (double)set.count / 1000);
    }
    const bool jpeg = rc == 0 && whole_format_of(pictures[0].bytes, pictures[0].size) == NULL;
    if (rc == 0 && jpeg)
        rc = run_row("whole picture decoded", ROW_WHOLE, pictures, set.count, err);
    if (rc == 0 && jpeg)
        rc = run_row("random crop decoded", ROW_CROP, pictures, set.count, err);
    if (rc == 0)
        rc = run_row("random crop decoded and resampled to 224", ROW_TRAIN, pictures, set.count,
                     err);
    if (rc == 0)
        rc =
            run_row("centre crop decoded and resampled to 224", ROW_EVAL, pictures, set.count, err);
    for (size_t i = 0; i < set.count; i++)
        free(pictures[i].bytes);
    free(pictures);
    if (rc == 0)
        rc = run_cache(&set, err);
    return rc == 0 ? run_loader(&set, threads, err) : -1;
}

/* Returns false if one is none of them. */
static bool take_words(int count, char **texts, struct loader_words *ret) {
    for (int i = 0; i < count; i++) {
        bool *word = strcmp(texts[i], "lanes") == 0   ? &ret->lanes
                     : strcmp(texts[i], "ram") == 0   ? &ret->ram
                     : strcmp(texts[i], "epoch") == 0 ? &ret->epoch
                                                      : NULL;
        if (word == NULL)
            return false;
        *word = true;
    }
    return true;
}

int main(int argc, char **argv) {
    struct error err = {0};
    struct loader_words words = {0};
    if (argc == 3 && strcmp(argv[1], "--make") == 0) {
        struct prepare_options options;
        prepare_defaults(&options);
        options.folder = argv[2];
        options.side = 500;
        options.train = 160;
        options.validation = 8;
        return prepare_shapes(&options, &err) == 0 ? 0 : fail(&err);
    }
    if (argc == 3 && strcmp(argv[1], "--crops") == 0)
        return run_one(argv[2], 0, &words, &err) == 0 ? 0 : fail(&err);
    if (argc >= 4 && strcmp(argv[1], "--loader") == 0 && atoi(argv[3]) > 0 &&
        take_words(argc - 4, argv + 4, &words))
        return run_one(argv[2], atoi(argv[3]), &words, &err) == 0 ? 0 : fail(&err);
    if (argc != 3 || atoi(argv[2]) < 1) {
        fprintf(stderr,
                "usage: bench_decode SET THREADS | --make FOLDER | --crops SET | --loader SET "
                "THREADS [lanes] [ram] [epoch]\n");
        return EXIT_CODE_USAGE;
    }
    return run(argv[1], atoi(argv[2]), &err) == 0 ? 0 : fail(&err);
}

#include "common/file/file.h"
#include "common/log/log.h"
#include "tests/support/unit.h"
#include "trainer/app/task/sample_health.h"
#include "trainer/comm/comm.h"
#include "trainer/comm/comm_driver.h"
#include "trainer/data/dataset/labelled.h"
#include "trainer/data/format/formats.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct error err;
static char heard[8192]; /* what was logged */

static void hear(void *context, const char *line, size_t size) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    (void)context;
    (void)pthread_mutex_lock(&lock);
    size_t used = strlen(heard);
    snprintf(heard + used, sizeof(heard) - used, "%.*s", (int)size, line);
    (void)pthread_mutex_unlock(&lock);
}

static void put(const char *name) {
    char path[1000];
    snprintf(path, sizeof(path), "%s/set/%s", unit_temp_dir(), name);
    *strrchr(path, '/') = '\0';
    CU_ASSERT_EQUAL_FATAL(file_make_dirs(path, NULL), 0);
    path[strlen(path)] = '/';
    CU_ASSERT_EQUAL_FATAL(file_publish(path, "x", 1, 0644, NULL), 0);
}

static void a_limit_is_a_word_or_a_number(void) {
    int64_t allowed = -1;
    CU_ASSERT(sample_health_parse_allowed("fail", &allowed, &err) == 0 && allowed == 0);
    CU_ASSERT(sample_health_parse_allowed("skip", &allowed, &err) == 0 && allowed == INT64_MAX);
    CU_ASSERT(sample_health_parse_allowed("17", &allowed, &err) == 0 && allowed == 17);
    CU_ASSERT(sample_health_parse_allowed("0", &allowed, &err) == 0 && allowed == 0);
    static const char *const wrong[] = {"-1", "", "some", "1.5", "99999999999"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        CU_ASSERT_EQUAL(sample_health_parse_allowed(wrong[i], &allowed, &err), -1);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_USAGE);
        ASSERT_CONTAINS(err.text, "--bad-samples");
    }
}

static void what_is_left_out_is_reported_when_a_set_is_opened(void) {
    const struct shards_reading reading = {0};
    char folder[600];
    snprintf(folder, sizeof(folder), "%s/set", unit_temp_dir());
    put("a/1.jpg");
    put("a/2.jpg");
    put("a/3.webp");
    put("b/4.png");
    put("loose.jpg");
    cleanup_dataset struct dataset set = {0};
    CU_ASSERT_EQUAL_FATAL(sample_health_open(&set, folder, &reading, false, &err), 0);
    CU_ASSERT_STRING_EQUAL(heard, "");
    dataset_done(&set);
    CU_ASSERT_EQUAL_FATAL(sample_health_open(&set, folder, &reading, true, &err), 0);
    ASSERT_CONTAINS(heard, "warn");
    ASSERT_CONTAINS(heard, "set: 3 pictures; 2 left out:");
    ASSERT_CONTAINS(heard, "1 .webp (a/3.webp)");
    ASSERT_CONTAINS(heard, "1 beside the class folders (loose.jpg)");
}

static void a_scan_of_shards_is_logged_before_it_begins(void) {
    struct shards_reading reading = {.keep_index = true};
    cleanup_buf struct buf out = {.max = 1 << 20};
    struct shard_record record = {
        .class_name = "a", .name = "1.jpg", .label = 0, .picture = (const uint8_t *)"x", .size = 1};
    char path[600];
    snprintf(path, sizeof(path), "%s/train.tar", unit_temp_dir());
    CU_ASSERT_EQUAL_FATAL(FORMAT_TAR.write(&out, &record, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(file_put(path, out.data, out.size, 0644, NULL), 0);
    cleanup_dataset struct dataset set = {0};
    for (int i = 0; i < 4; i++) {
        static const char *const expected[] = {
            "no index: scanning 1 shard, 0.000 GB; the next start reads the index that",
            NULL, /* there it is */
            "the index is not read: scanning 1 shard",
            "the index cannot be used: scanning 1 shard, 0.000 GB; with --index auto"};
        reading.unindexed = i == 2;
        reading.keep_index = i < 2;
        if (i == 3) { /* a second sample: another shard */
            record.name = "2.jpg";
            CU_ASSERT_EQUAL_FATAL(FORMAT_TAR.write(&out, &record, NULL), 0);
            CU_ASSERT_EQUAL_FATAL(file_put(path, out.data, out.size, 0644, NULL), 0);
        }
        heard[0] = '\0';
        CU_ASSERT_EQUAL_FATAL(sample_health_open(&set, path, &reading, true, &err), 0);
        if (expected[i] == NULL)
            CU_ASSERT_PTR_NULL(strstr(heard, "scanning"));
        if (expected[i] != NULL)
            ASSERT_CONTAINS(heard, expected[i]);
        dataset_done(&set);
    }
}

static void each_file_is_named_once_and_counted_at_the_end(void) {
    char folder[600];
    snprintf(folder, sizeof(folder), "%s/set", unit_temp_dir());
    cleanup_comm struct comm *alone = NULL;
    cleanup_dataset struct dataset set = {0};
    struct labelled recipe = {.set = &set};
    struct sample_health samples = {0};
    struct sample_counts found;
    CU_ASSERT_EQUAL_FATAL(comm_self_open(&alone, &err), 0);
    CU_ASSERT_EQUAL_FATAL(dataset_open_folder(&set, folder, &err), 0);
    augment_defaults_eval(&recipe.augment, 32);
    CU_ASSERT_EQUAL_FATAL(labelled_source(&samples.source, &recipe, 1, &err), 0);
    CU_ASSERT_EQUAL_FATAL(bad_samples_init(&samples.faults, set.count, &err), 0);
    heard[0] = '\0';
    (void)bad_samples_note(&samples.faults, 2, BAD_SAMPLE_BAD, "truncated");
    (void)bad_samples_note(&samples.faults, 0, BAD_SAMPLE_DAMAGED, "odd bytes");
    CU_ASSERT_EQUAL(sample_health_share(alone, &samples, 1, &found, &err), 0);
    CU_ASSERT(found.bad == 1 && found.damaged == 1 && found.dropped == 0);
    ASSERT_CONTAINS(heard, "damaged, decoded as far as possible: ");
    ASSERT_CONTAINS(heard, "set/a/1.jpg: odd bytes\n");
    ASSERT_CONTAINS(heard, "skipped: ");
    ASSERT_CONTAINS(heard, "set/b/4.png: truncated\n");
    heard[0] = '\0';
    CU_ASSERT_EQUAL(sample_health_share(alone, &samples, 1, &found, &err), 0);
    CU_ASSERT_STRING_EQUAL(heard, "");
    sample_health_sum_up(&samples, 1);
    ASSERT_CONTAINS(heard, "of 3 files 1 skipped: ");
    ASSERT_CONTAINS(heard, "of 3 files 1 damaged, decoded as far as possible: ");
    (void)error_set(&err, EXIT_CODE_DATA, "set/b/4.png: truncated");
    CU_ASSERT_EQUAL(sample_health_refuse(&samples, 0, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    ASSERT_CONTAINS(err.text, "set/b/4.png: truncated (1 such files so far; ringtrain inspect");
    (void)bad_samples_note(&samples.faults, 1, BAD_SAMPLE_BAD, "empty");
    CU_ASSERT_EQUAL(sample_health_share(alone, &samples, 1, &found, &err), -1);
    CU_ASSERT_EQUAL(found.bad, 2);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    ASSERT_CONTAINS(err.text, "2 files cannot be used; --bad-samples 1");
    CU_ASSERT_EQUAL(sample_health_share(alone, &samples, 0, &found, &err),
                    0); /* the loader reports this */
    bad_samples_done(&samples.faults);
}

static int64_t masks;

static struct source_dropped three(const struct batch *batch) {
    (void)batch;
    return (struct source_dropped){.objects = 3 - masks, .masks = masks};
}

/* Between two rounds the count is this rank's, in a round it becomes that of all ranks. */
static void objects_without_room_are_counted_from_round_to_round(void) {
    cleanup_comm struct comm *alone = NULL;
    struct sample_health samples = {0};
    struct sample_counts found;
    const struct source_table silent = {0}, telling = {.dropped = three};
    CU_ASSERT_EQUAL_FATAL(comm_self_open(&alone, &err), 0);
    CU_ASSERT_EQUAL_FATAL(bad_samples_init(&samples.faults, 1, &err), 0);
    samples.source.table = &silent;
    sample_health_count(&samples, NULL);
    CU_ASSERT_EQUAL(samples.dropped, 0);
    samples.source.table = &telling;
    sample_health_count(&samples, NULL);
    sample_health_count(&samples, NULL);
    CU_ASSERT_EQUAL(samples.dropped, 6);
    CU_ASSERT_EQUAL(sample_health_share(alone, &samples, 0, &found, &err), 0);
    CU_ASSERT_EQUAL(found.dropped, 6);
    CU_ASSERT_EQUAL(samples.dropped, 0);
    sample_health_count(&samples, NULL);
    CU_ASSERT_EQUAL(sample_health_share(alone, &samples, 0, &found, &err), 0);
    CU_ASSERT_EQUAL(found.dropped, 3);
    bad_samples_done(&samples.faults);
}

/* They are reported the first time and, in total, at the end; objects alone are not reported. */
static void masks_without_room_are_reported(void) {
    const struct source_table telling = {.dropped = three};
    struct sample_health samples = {.source = {.table = &telling, .name = "here"}};
    CU_ASSERT_EQUAL_FATAL(bad_samples_init(&samples.faults, 1, &err), 0);
    heard[0] = '\0';
    sample_health_count(&samples, NULL);
    CU_ASSERT_STRING_EQUAL(heard, "");
    masks = 2;
    sample_health_count(&samples, NULL);
    ASSERT_CONTAINS(heard, "here: 2 masks, the smallest of a batch, did not fit into it");
    heard[0] = '\0';
    sample_health_count(&samples, NULL);
    CU_ASSERT_STRING_EQUAL(heard, "");
    CU_ASSERT_EQUAL(samples.dropped, 9);
    sample_health_sum_up(&samples, 0);
    ASSERT_CONTAINS(heard, "here: in all 4 masks");
    masks = 0;
    bad_samples_done(&samples.faults);
}

static void name_it(const struct source *source, size_t sample, char *ret, size_t size) {
    (void)source;
    (void)snprintf(ret, size, "<%zu>", sample);
}

static void the_sum_names_eight_files(void) {
    const struct source_table table = {.sample_name = name_it};
    struct sample_health samples = {.source = {.table = &table, .name = "here", .count = 20}};
    CU_ASSERT_EQUAL_FATAL(bad_samples_init(&samples.faults, 20, &err), 0);
    heard[0] = '\0';
    sample_health_sum_up(&samples, 0);
    CU_ASSERT_STRING_EQUAL(heard, "");
    for (int64_t i = 1; i <= 8; i++)
        (void)bad_samples_note(&samples.faults, 9 - i, BAD_SAMPLE_BAD, "");
    sample_health_sum_up(&samples, 0);
    ASSERT_CONTAINS(heard, "here: of 20 files 8 cannot be used: "
                           "<1>, <2>, <3>, <4>, <5>, <6>, <7>, <8>\n");
    heard[0] = '\0';
    (void)bad_samples_note(&samples.faults, 0, BAD_SAMPLE_BAD, "");
    sample_health_sum_up(&samples, 1);
    ASSERT_CONTAINS(heard, "here: of 20 files 9 skipped: "
                           "<0>, <1>, <2>, <3>, <4>, <5>, <6>, <7>, ...\n");
    bad_samples_done(&samples.faults);
}

/* Two ranks, each a thread, that meet in every call. */
enum { RANKS = 2 };
static pthread_barrier_t meeting;
static const void *offered[RANKS];

static int meet_gather(struct comm *c, const void *bytes, size_t size, void *all,
                       struct error *ret) {
    (void)ret;
    offered[c->rank] = bytes;
    (void)pthread_barrier_wait(&meeting);
    for (int r = 0; r < RANKS; r++)
        memcpy((char *)all + (size_t)r * size, offered[r], size);
    (void)pthread_barrier_wait(&meeting);
    return 0;
}

static int meet_sum(struct comm *c, void *values, size_t count, enum comm_type type,
                    uint64_t *ret_ticket, struct error *ret) {
    double *all = calloc(RANKS * count, sizeof(*all));
    int result = all != NULL && type == COMM_F64
                     ? meet_gather(c, values, count * sizeof(*all), all, ret)
                     : -1;
    for (size_t i = 0; result == 0 && i < count; i++)
        ((double *)values)[i] = all[i] + all[count + i];
    free(all);
    *ret_ticket = 0;
    return result;
}

static int meet_wait(struct comm *c, uint64_t ticket, struct error *ret) {
    (void)c, (void)ticket, (void)ret;
    return 0;
}

struct sharing {
    struct comm comm;
    struct sample_health samples;
    int64_t allowed;
    int result;
    struct sample_counts found;
    struct error err;
};

static void *share(void *argument) {
    struct sharing *s = argument;
    s->result = sample_health_share(&s->comm, &s->samples, s->allowed, &s->found, &s->err);
    return NULL;
}

static void share_both(struct sharing ranks[RANKS], int64_t allowed) {
    pthread_t threads[RANKS];
    for (int r = 0; r < RANKS; r++) {
        ranks[r].allowed = allowed;
        CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[r], NULL, share, &ranks[r]), 0);
    }
    for (int r = 0; r < RANKS; r++)
        (void)pthread_join(threads[r], NULL);
}

/* This also holds for a rank that finds more files than fit in one message; a file that both ranks
 * find counts once. */
static void what_any_rank_finds_all_ranks_count(void) {
    static const struct comm_driver driver = {
        .sum_start = meet_sum, .wait = meet_wait, .gather = meet_gather};
    const struct source_table table = {.sample_name = name_it};
    static struct sharing ranks[RANKS];
    CU_ASSERT_EQUAL_FATAL(pthread_barrier_init(&meeting, NULL, RANKS), 0);
    for (int r = 0; r < RANKS; r++) {
        ranks[r].comm = (struct comm){.driver = &driver, .rank = r, .size = RANKS};
        ranks[r].samples.source = (struct source){.table = &table, .name = "here", .count = 300};
        ranks[r].samples.dropped = 5 + r;
        CU_ASSERT_EQUAL_FATAL(bad_samples_init(&ranks[r].samples.faults, 300, &err), 0);
    }
    for (int64_t i = 0; i < 150; i++)
        (void)bad_samples_note(&ranks[0].samples.faults, 2 * i, BAD_SAMPLE_BAD, "");
    for (int64_t i = 0; i < 3; i++)
        (void)bad_samples_note(&ranks[1].samples.faults, i, BAD_SAMPLE_BAD, "");
    (void)bad_samples_note(&ranks[1].samples.faults, 299, BAD_SAMPLE_DAMAGED, "");
    for (int64_t allowed = 151; allowed >= 150; allowed--) {
        share_both(ranks, allowed);
        for (int r = 0; r < RANKS; r++) {
            CU_ASSERT_EQUAL(ranks[r].found.bad, 151);
            CU_ASSERT_EQUAL(ranks[r].found.damaged, 1);
            CU_ASSERT_EQUAL(ranks[r].found.dropped, allowed == 151 ? 11 : 0);
            CU_ASSERT_EQUAL(ranks[r].result, allowed == 151 ? 0 : -1);
        }
    }
    ASSERT_CONTAINS(ranks[1].err.text, "here: 151 files cannot be used; --bad-samples 150");
    for (int r = 0; r < RANKS; r++)
        bad_samples_done(&ranks[r].samples.faults);
    (void)pthread_barrier_destroy(&meeting);
}

int main(void) {
    static const struct unit_case cases[] = {
        UNIT(a_limit_is_a_word_or_a_number),
        UNIT(what_is_left_out_is_reported_when_a_set_is_opened),
        UNIT(a_scan_of_shards_is_logged_before_it_begins),
        UNIT(each_file_is_named_once_and_counted_at_the_end),
        UNIT(objects_without_room_are_counted_from_round_to_round),
        UNIT(masks_without_room_are_reported),
        UNIT(the_sum_names_eight_files),
        UNIT(what_any_rank_finds_all_ranks_count),
    };
    (void)log_set_sink((struct log_sink){.put = hear});
    return unit_main("app.samples", cases, sizeof(cases) / sizeof(cases[0]));
}

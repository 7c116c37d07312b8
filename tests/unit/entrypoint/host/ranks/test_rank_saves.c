#include "entrypoint/host/ranks/rank_saves.h"

#include "common/clock.h"
#include "common/system/progress.h"
#include "entrypoint/host/ranks/rank_slot.h"
#include "tests/support/unit.h"

#include <unistd.h>

static struct rank_slot slots[2];
static struct rank_set ranks;

static void begin(void) {
    for (int i = 0; i < 2; i++) {
        struct error err;
        int fd = progress_create(&err);
        CU_ASSERT_FATAL(fd >= 0);
        slots[i] = (struct rank_slot){.next = i == 0 ? &slots[1] : NULL};
        CU_ASSERT_EQUAL_FATAL(progress_adopt(&slots[i].progress, fd, &err), 0);
        (void)close(fd);
    }
    ranks = (struct rank_set){.slots = slots};
}

static void end(void) {
    for (int i = 0; i < 2; i++)
        progress_done(&slots[i].progress);
}

static void the_newest_checkpoint_and_the_longest_pause_count(void) {
    int64_t pause = -1;
    const int64_t now = clock_boot();
    begin();
    CU_ASSERT_EQUAL(rank_saves_last(&ranks, &pause), 0);
    CU_ASSERT_EQUAL(pause, 0);
    progress_saved(&slots[0].progress, (uint64_t)now - 500, 30);
    progress_saved(&slots[1].progress, (uint64_t)now - 900, 20);
    progress_saved(&slots[1].progress, (uint64_t)now - 700, 25);
    CU_ASSERT_EQUAL(rank_saves_last(&ranks, &pause), now - 500);
    CU_ASSERT_EQUAL(pause, 45);
    end();
}

static void no_checkpoint_is_of_the_future(void) {
    int64_t pause = -1;
    begin();
    progress_saved(&slots[0].progress, (uint64_t)clock_boot() + 60 * CLOCK_SECOND, 1);
    progress_saved(&slots[1].progress, UINT64_MAX, UINT64_MAX);
    CU_ASSERT_EQUAL(rank_saves_last(&ranks, &pause), 0);
    CU_ASSERT_EQUAL(pause, INT64_MAX);
    ranks = (struct rank_set){0};
    CU_ASSERT_EQUAL(rank_saves_last(&ranks, &pause), 0);
    end();
}

static void an_answer_tells_of_a_checkpoint_if_there_was_one(void) {
    json_t *message = json_object();
    begin();
    ranks.attempt = 3;
    rank_saves_put(&ranks, message);
    CU_ASSERT_EQUAL(json_object_size(message), 0);
    progress_saved(&slots[0].progress, (uint64_t)clock_boot() - 500, 30);
    rank_saves_put(&ranks, message);
    const json_t *saved = json_object_get(message, "saved");
    CU_ASSERT(json_integer_value(json_array_get(saved, 0)) >= 500);
    CU_ASSERT_EQUAL(json_integer_value(json_array_get(saved, 1)), 30);
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(message, "attempt")), 3);
    json_decref(message);
    end();
}

UNIT_SUITE("ranks.rank_saves", UNIT(the_newest_checkpoint_and_the_longest_pause_count),
           UNIT(no_checkpoint_is_of_the_future),
           UNIT(an_answer_tells_of_a_checkpoint_if_there_was_one))

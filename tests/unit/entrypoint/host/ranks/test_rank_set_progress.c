#include "entrypoint/host/ranks/rank_set.h"
#include "entrypoint/host/ranks/rank_slot.h"
#include "tests/support/unit.h"

#include <unistd.h>

static struct rank_set set;
static struct rank_slot slots[2];

static void begin(void) {
    set = (struct rank_set){.slots = slots};
    for (unsigned i = 0; i < 2; i++) {
        slots[i] = (struct rank_slot){.rank = i, .next = i == 0 ? &slots[1] : NULL};
        int fd = progress_create(NULL);
        CU_ASSERT_FATAL(fd >= 0);
        CU_ASSERT_EQUAL(progress_adopt(&slots[i].progress, fd, NULL), 0);
        (void)close(fd);
    }
}

static void end(void) {
    for (unsigned i = 0; i < 2; i++)
        progress_done(&slots[i].progress);
}

static void the_rank_that_is_furthest_counts(void) {
    begin();
    CU_ASSERT_EQUAL(rank_set_progress(&set).marks, 0);
    CU_ASSERT_EQUAL(rank_set_step(&set), 0);
    progress_mark(&slots[0].progress, 5, 60);
    progress_mark(&slots[1].progress, 8, 60);
    progress_total(&slots[1].progress, 9);
    CU_ASSERT_EQUAL(rank_set_progress(&set).step, 8);
    CU_ASSERT_EQUAL(rank_set_progress(&set).total, 9);
    CU_ASSERT_EQUAL(rank_set_step(&set), 8);
    slots[1].reported = true; /* it has ended */
    CU_ASSERT_EQUAL(rank_set_progress(&set).step, 5);
    CU_ASSERT_EQUAL(rank_set_progress_last(&set).step, 8);
    slots[0].reported = true;
    CU_ASSERT_EQUAL(rank_set_progress(&set).marks, 0);
    CU_ASSERT_EQUAL(rank_set_progress_last(&set).step, 8);
    end();
}

static void a_pace_is_of_ranks_that_run(void) {
    begin();
    CU_ASSERT_PTR_NULL(rank_set_pace(&set));
    progress_work(&slots[1].progress, 7000, 2000);
    progress_mark(&slots[1].progress, 3, 60);
    json_t *pace = rank_set_pace(&set);
    CU_ASSERT_EQUAL(json_array_size(pace), 1);
    const json_t *one = json_array_get(pace, 0);
    static const json_int_t expected[] = {1, 3, 7, 2};
    for (size_t i = 0; i < 4; i++)
        CU_ASSERT_EQUAL(json_integer_value(json_array_get(one, i)), expected[i]);
    json_decref(pace);
    slots[1].reported = true;
    CU_ASSERT_PTR_NULL(rank_set_pace(&set));
    end();
}

UNIT_SUITE("host.rank_set_progress", UNIT(the_rank_that_is_furthest_counts),
           UNIT(a_pace_is_of_ranks_that_run))

#include "common/clock.h"
#include "tests/support/held_clock.h"
#include "tests/support/unit.h"
#include "trainer/app/serve/batch_sizes.h"

enum { MOST = 64 };

/* A network that needs so many milliseconds for a batch of each size, and as many more for the
 * first one. */
struct slow_network {
    int64_t milliseconds[MOST + 1];
    int runs[MOST + 1];
    bool dropped[MOST + 1];
    int broken; /* size of which no batch can be computed */
};

static int compute(const struct servable *servable, struct served_picture *const *pictures,
                   int count, int size, struct error *err) {
    struct slow_network *n = servable->own;
    CU_ASSERT(pictures == NULL && count == 0);
    if (size == n->broken)
        return error_set(err, EXIT_CODE_DEVICE, "broken");
    held_clock_pass((n->runs[size]++ == 0 ? 2 : 1) * n->milliseconds[size] * CLOCK_MILLISECOND);
    return 0;
}

static void drop(const struct servable *servable, int size) {
    struct slow_network *n = servable->own;
    CU_ASSERT_FALSE(n->dropped[size]);
    n->dropped[size] = true;
}

static const struct servable_table TABLE = {.compute = compute, .drop = drop};

static int choose(struct slow_network *n, struct picture_queue *queue, struct error *err) {
    const struct servable servable = {&TABLE, n};
    picture_queue_sizes(queue, MOST);
    held_clock_begin();
    const int result = batch_sizes_choose(&servable, queue, err);
    held_clock_end();
    return result;
}

static void sizes_are_kept_while_they_are_faster(void) {
    struct slow_network n = {.milliseconds = {[1] = 10, [4] = 20, [16] = 60, [64] = 240}};
    struct picture_queue queue = {0};
    CU_ASSERT_EQUAL(choose(&n, &queue, NULL), 0);
    CU_ASSERT(queue.size_count == 3 && queue.sizes[2] == 16);
    CU_ASSERT(n.dropped[64] && !n.dropped[16] && !n.dropped[4] && !n.dropped[1]);
}

static void first_slower_size_ends_the_search(void) {
    struct slow_network n = {.milliseconds = {[1] = 10, [4] = 40, [16] = 1, [64] = 1}};
    struct picture_queue queue = {0};
    CU_ASSERT_EQUAL(choose(&n, &queue, NULL), 0);
    CU_ASSERT(queue.size_count == 1 && queue.sizes[0] == 1);
    CU_ASSERT(n.dropped[4] && n.dropped[16] && n.dropped[64]);
    CU_ASSERT(n.runs[4] > 1 && n.runs[16] == 0 && n.runs[64] == 0);
}

static void slow_networks_run_twice(void) {
    struct slow_network n = {.milliseconds = {[1] = 2000, [4] = 4000, [16] = 64000, [64] = 1}};
    struct picture_queue queue = {0};
    CU_ASSERT_EQUAL(choose(&n, &queue, NULL), 0);
    CU_ASSERT_EQUAL(queue.size_count, 2);
    CU_ASSERT(n.runs[1] == 2 && n.runs[4] == 2 && n.runs[16] == 2);
}

static void queue_that_pads_keeps_its_sizes(void) {
    struct slow_network n = {0};
    struct picture_queue queue = {.pads = true};
    CU_ASSERT_EQUAL(choose(&n, &queue, NULL), 0);
    CU_ASSERT(queue.size_count == 4 && n.runs[1] == 0);
}

static void network_that_cannot_compute_is_an_error(void) {
    struct slow_network n = {.milliseconds = {[1] = 10}, .broken = 4};
    struct picture_queue queue = {0};
    struct error err = {0};
    CU_ASSERT_EQUAL(choose(&n, &queue, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DEVICE);
    CU_ASSERT_STRING_EQUAL(err.text, "a batch of 4 blank pictures: broken");
}

UNIT_SUITE("serve.batch_sizes", UNIT(sizes_are_kept_while_they_are_faster),
           UNIT(first_slower_size_ends_the_search), UNIT(slow_networks_run_twice),
           UNIT(queue_that_pads_keeps_its_sizes), UNIT(network_that_cannot_compute_is_an_error))

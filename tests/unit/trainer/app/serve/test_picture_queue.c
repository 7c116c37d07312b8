#include "tests/support/unit.h"
#include "trainer/app/serve/picture_queue.h"

enum { COUNT = 100 };

/* A queue of at most 64 pictures with batches of 1, 4 and 16 and a delay of 2. */
struct fixture {
    struct picture_queue queue;
    struct queued_picture pictures[COUNT];
    struct queued_picture *batch[PICTURE_QUEUE_BATCH_MAX];
    int next;
};

static struct fixture make(void) {
    struct fixture f = {.queue = {.limit = 64, .delay = 2}};
    picture_queue_sizes(&f.queue, 16);
    return f;
}

static bool add(struct fixture *f, int count, int group, int64_t now) {
    struct queued_picture *list[COUNT];
    for (int i = 0; i < count; i++) {
        list[i] = &f->pictures[f->next + i];
        list[i]->group = group;
    }
    f->next += count;
    return picture_queue_add(&f->queue, list, (size_t)count, now);
}

static void sizes_are_powers_of_four_and_the_largest(void) {
    struct picture_queue q = {0};
    picture_queue_sizes(&q, 1);
    CU_ASSERT(q.size_count == 1 && q.sizes[0] == 1);
    picture_queue_sizes(&q, 16);
    CU_ASSERT(q.size_count == 3 && q.sizes[1] == 4 && q.sizes[2] == 16);
    picture_queue_sizes(&q, 64);
    CU_ASSERT(q.size_count == 4 && q.sizes[2] == 16 && q.sizes[3] == 64);
    picture_queue_sizes(&q, 6);
    CU_ASSERT(q.size_count == 3 && q.sizes[1] == 4 && q.sizes[2] == 6);
}

static void picture_waits_for_the_delay_while_others_may_arrive(void) {
    struct fixture f = make();
    int64_t wake;
    CU_ASSERT(picture_queue_take(&f.queue, 9, true, f.batch, &wake) == 0 && wake == INT64_MAX);
    CU_ASSERT(add(&f, 1, 0, 10));
    CU_ASSERT(picture_queue_take(&f.queue, 11, true, f.batch, &wake) == 0 && wake == 12);
    CU_ASSERT(picture_queue_take(&f.queue, 12, true, f.batch, &wake) == 1);
    CU_ASSERT_PTR_EQUAL(f.batch[0], &f.pictures[0]);
    CU_ASSERT_EQUAL(f.queue.count, 0);
    CU_ASSERT(add(&f, 1, 0, 20));
    CU_ASSERT_EQUAL(picture_queue_take(&f.queue, 20, false, f.batch, &wake), 1);
}

static void full_batch_does_not_wait(void) {
    struct fixture f = make();
    int64_t wake;
    CU_ASSERT(add(&f, 15, 0, 10));
    CU_ASSERT_EQUAL(picture_queue_take(&f.queue, 10, true, f.batch, &wake), 0);
    CU_ASSERT(add(&f, 3, 0, 10));
    CU_ASSERT_EQUAL(picture_queue_take(&f.queue, 10, true, f.batch, &wake), 16);
    for (int i = 0; i < 16; i++)
        CU_ASSERT_PTR_EQUAL(f.batch[i], &f.pictures[i]);
    CU_ASSERT_EQUAL(f.queue.count, 2);
}

static void batches_are_full_unless_padding_is_cheaper(void) {
    struct fixture f = make();
    int64_t wake;
    CU_ASSERT(add(&f, 7, 0, 10));
    CU_ASSERT_EQUAL(picture_queue_take(&f.queue, 12, true, f.batch, &wake), 4);
    CU_ASSERT_EQUAL(picture_queue_size_of(&f.queue, 4), 4);
    CU_ASSERT_EQUAL(picture_queue_take(&f.queue, 12, true, f.batch, &wake), 1);
    f.queue.pads = true;
    CU_ASSERT(add(&f, 3, 0, 10));
    CU_ASSERT_EQUAL(picture_queue_take(&f.queue, 12, true, f.batch, &wake), 5);
    CU_ASSERT_EQUAL(picture_queue_size_of(&f.queue, 5), 16);
    CU_ASSERT_EQUAL(f.queue.count, 0);
}

static void batch_holds_one_group_and_the_others_keep_their_order(void) {
    struct fixture f = make();
    int64_t wake;
    CU_ASSERT(add(&f, 1, 0, 10) && add(&f, 1, 1, 10) && add(&f, 3, 0, 10) && add(&f, 2, 1, 11));
    CU_ASSERT_EQUAL(picture_queue_take(&f.queue, 12, true, f.batch, &wake), 4);
    const int expected[] = {0, 2, 3, 4};
    for (int i = 0; i < 4; i++)
        CU_ASSERT_PTR_EQUAL(f.batch[i], &f.pictures[expected[i]]);
    CU_ASSERT(f.queue.first == &f.pictures[1] && f.queue.last == &f.pictures[6]);
    CU_ASSERT(add(&f, 1, 1, 12));
    CU_ASSERT_EQUAL(picture_queue_take(&f.queue, 12, true, f.batch, &wake), 4);
    CU_ASSERT_PTR_EQUAL(f.batch[3], &f.pictures[7]);
    CU_ASSERT_PTR_NULL(f.queue.last);
}

static void request_is_queued_whole_or_not_at_all(void) {
    struct fixture f = make();
    int64_t wake;
    CU_ASSERT(add(&f, 60, 0, 10));
    CU_ASSERT_FALSE(add(&f, 5, 0, 10));
    CU_ASSERT_EQUAL(f.queue.count, 60);
    CU_ASSERT(add(&f, 4, 0, 10));
    CU_ASSERT_FALSE(add(&f, 1, 0, 10));
    CU_ASSERT_EQUAL(picture_queue_take(&f.queue, 10, true, f.batch, &wake), 16);
    CU_ASSERT(add(&f, 1, 0, 10));
    int left = 0;
    for (const struct queued_picture *p = picture_queue_clear(&f.queue); p != NULL; p = p->next)
        left++;
    CU_ASSERT_EQUAL(left, 49);
    CU_ASSERT(f.queue.count == 0 && f.queue.first == NULL);
}

UNIT_SUITE("serve.picture_queue", UNIT(sizes_are_powers_of_four_and_the_largest),
           UNIT(picture_waits_for_the_delay_while_others_may_arrive),
           UNIT(full_batch_does_not_wait), UNIT(batches_are_full_unless_padding_is_cheaper),
           UNIT(batch_holds_one_group_and_the_others_keep_their_order),
           UNIT(request_is_queued_whole_or_not_at_all))

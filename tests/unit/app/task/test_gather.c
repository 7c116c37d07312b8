#include "task/gather.h"

#include "comm/comm_driver.h"
#include "support/unit.h"

#include <string.h>

/* Two ranks in turn: what this one sends is its own block, and the other's is made up: OTHER bytes,
 * each its number times 7. */
struct pair {
    struct comm base;
    int64_t other;
    int64_t sent; /* bytes of the other that have been given out */
};

static char other_byte(int64_t i) {
    return (char)(i * 7);
}

static int pair_gather(struct comm *c, const void *bytes, size_t size, void *all,
                       struct error *err) {
    (void)err;
    struct pair *pair = (struct pair *)c;
    char *into = (char *)all + (c->rank == 0 ? size : 0);
    memcpy((char *)all + (c->rank == 0 ? 0 : size), bytes, size);
    if (pair->sent < 0) { /* the sizes come first */
        memcpy(into, &pair->other, sizeof(pair->other));
        pair->sent = 0;
        return 0;
    }
    for (size_t i = 0; i < size; i++, pair->sent++)
        into[i] = pair->sent < pair->other ? other_byte(pair->sent) : 'x';
    return 0;
}

static const struct comm_driver DRIVER = {.name = "pair", .gather = pair_gather};

/* OWN bytes here, OTHER there. */
static void check(int rank, size_t own, int64_t other) {
    struct pair pair = {
        .base = {.driver = &DRIVER, .size = 2, .rank = rank}, .other = other, .sent = -1};
    cleanup_buf struct buf mine, all;
    int64_t sizes[2] = {0};
    buf_init(&mine, own + 1);
    buf_init(&all, SIZE_MAX / 2);
    CU_ASSERT_EQUAL_FATAL(buf_reserve(&mine, own, NULL), 0);
    for (size_t i = 0; i < own; i++)
        mine.data[mine.size++] = (char)(i * 3 + 1);
    CU_ASSERT_EQUAL_FATAL(buf_add_text(&all, "before", NULL), 0);
    CU_ASSERT_EQUAL(gather_bytes(&pair.base, &mine, &all, sizes, NULL), 0);
    CU_ASSERT_EQUAL(sizes[rank], own);
    CU_ASSERT_EQUAL(sizes[1 - rank], other);
    CU_ASSERT_EQUAL_FATAL(all.size, 6 + own + (size_t)other);
    CU_ASSERT_EQUAL(memcmp(all.data, "before", 6), 0);
    const char *ours = all.data + 6 + (rank == 0 ? 0 : (size_t)other);
    const char *theirs = all.data + 6 + (rank == 0 ? own : 0);
    CU_ASSERT(own == 0 || memcmp(ours, mine.data, own) == 0);
    size_t wrong = 0;
    for (int64_t i = 0; i < other; i++)
        wrong += theirs[i] != other_byte(i);
    CU_ASSERT_EQUAL(wrong, 0);
}

static void blocks_of_other_sizes_come_in_rank_order(void) {
    for (int rank = 0; rank < 2; rank++) {
        check(rank, 5, 3);
        check(rank, 3, 5);
        check(rank, 0, 9);
        check(rank, 9, 0);
        check(rank, 0, 0);
    }
}

static void what_is_longer_than_a_round_takes_several(void) {
    check(0, GATHER_ROUND, GATHER_ROUND);
    check(0, GATHER_ROUND + 1, 17);
    check(1, 17, 2 * (int64_t)GATHER_ROUND + 5);
}

UNIT_MAIN("app.gather", UNIT(blocks_of_other_sizes_come_in_rank_order),
          UNIT(what_is_longer_than_a_round_takes_several))

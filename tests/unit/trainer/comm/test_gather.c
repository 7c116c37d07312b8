#include "tests/support/unit.h"
#include "trainer/comm/gather.h"

#include "trainer/comm/comm.h"
#include "trainer/comm/comm_driver.h"

#include <stdlib.h>
#include <string.h>

/* A communicator with all its ranks in this process: every other rank has a block of its own, cut
 * up as the rounds require. */
enum { RANKS = 4 };
struct fake {
    struct comm comm;
    const char *blocks[RANKS];
    uint64_t sizes[RANKS];
    uint64_t at;
    int calls;
    int fail_at; /* the call that fails; 0: none */
};

static int fake_gather(struct comm *c, const void *bytes, size_t size, void *all,
                       struct error *err) {
    struct fake *f = (struct fake *)c;
    if (++f->calls == f->fail_at)
        return error_set(err, EXIT_CODE_STALLED, "the others are silent");
    if (f->calls == 1) {
        CU_ASSERT_EQUAL_FATAL(size, sizeof(uint64_t));
        memcpy(all, f->sizes, sizeof(f->sizes));
        return 0;
    }
    for (int rank = 0; rank < RANKS; rank++) {
        uint64_t left = f->at < f->sizes[rank] ? f->sizes[rank] - f->at : 0;
        size_t part = (size_t)(left < size ? left : size);
        char *to = (char *)all + (size_t)rank * size;
        memset(to, '?', size);
        memcpy(to, f->blocks[rank] + (left > 0 ? f->at : 0), part);
        if (rank == c->rank)
            CU_ASSERT_EQUAL(memcmp(to, bytes, part), 0);
    }
    f->at += size;
    return 0;
}

static const struct comm_driver DRIVER = {.gather = fake_gather};

static struct fake fake_of(int rank) {
    return (struct fake){.comm = {.driver = &DRIVER, .rank = rank, .size = RANKS},
                         .blocks = {"one", "", "threee", "4"},
                         .sizes = {3, 0, 6, 1}};
}

static void blocks_come_in_the_order_of_ranks(void) {
    for (int rank = 0; rank < RANKS; rank++) {
        struct fake f = fake_of(rank);
        cleanup_gathered struct gathered g = {0};
        CU_ASSERT_EQUAL_FATAL(
            comm_gather_blocks(&f.comm, f.blocks[rank], (size_t)f.sizes[rank], 2, 10, &g, NULL), 0);
        CU_ASSERT_EQUAL(f.calls, 2);
        static const uint64_t offsets[RANKS + 1] = {0, 3, 3, 9, 10};
        CU_ASSERT_EQUAL(memcmp(g.offsets, offsets, sizeof(offsets)), 0);
        CU_ASSERT_STRING_EQUAL(buf_text(&g.bytes), rank == 2 ? "onethreee4" : "");
    }
}

static void large_blocks_come_in_rounds(void) {
    const size_t piece = GATHER_ROUND_BYTES / RANKS + 1;
    struct fake f = fake_of(0);
    cleanup_gathered struct gathered g = {0};
    f.sizes[2] = 2 * piece + 5;
    char *large = malloc(f.sizes[2]);
    for (size_t i = 0; i < f.sizes[2]; i++)
        large[i] = (char)(i * 7 + i / 251);
    f.blocks[2] = large;
    CU_ASSERT_EQUAL_FATAL(comm_gather_blocks(&f.comm, "one", 3, 0, UINT64_C(1) << 30, &g, NULL), 0);
    CU_ASSERT_EQUAL(f.calls, 1 + 3);
    CU_ASSERT_EQUAL_FATAL(g.bytes.size, 3 + f.sizes[2] + 1);
    CU_ASSERT_EQUAL(memcmp(g.bytes.data, "one", 3), 0);
    CU_ASSERT_EQUAL(memcmp(g.bytes.data + 3, large, f.sizes[2]), 0);
    CU_ASSERT_EQUAL(g.bytes.data[3 + f.sizes[2]], '4');
    free(large);
}

static void nothing_from_everybody_is_nothing(void) {
    struct fake f = fake_of(0);
    cleanup_gathered struct gathered g = {0};
    memset(f.sizes, 0, sizeof(f.sizes));
    CU_ASSERT_EQUAL(comm_gather_blocks(&f.comm, NULL, 0, 0, 10, &g, NULL), 0);
    CU_ASSERT_EQUAL(f.calls, 1);
    CU_ASSERT(g.bytes.size == 0 && g.offsets[RANKS] == 0);
}

static void too_much_is_refused_by_all(void) {
    for (int rank = 0; rank < RANKS; rank++) {
        struct fake f = fake_of(rank);
        cleanup_gathered struct gathered g = {0};
        struct error err = {0};
        CU_ASSERT_EQUAL(
            comm_gather_blocks(&f.comm, f.blocks[rank], (size_t)f.sizes[rank], 0, 9, &g, &err), -1);
        ASSERT_CONTAINS(err.text, "rank 3 sends 1 bytes; over all ranks 9 are allowed");
        CU_ASSERT_EQUAL(f.calls, 1);
    }
}

static void silent_hosts_are_reported(void) {
    for (int call = 1; call <= 2; call++) {
        struct fake f = fake_of(0);
        cleanup_gathered struct gathered g = {0};
        struct error err = {0};
        f.fail_at = call;
        CU_ASSERT_EQUAL(comm_gather_blocks(&f.comm, "one", 3, 0, 10, &g, &err), -1);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_STALLED);
        CU_ASSERT_PTR_NULL(g.offsets);
    }
}

static void one_rank_has_its_own(void) {
    cleanup_comm struct comm *c = NULL;
    cleanup_gathered struct gathered g = {0};
    CU_ASSERT_EQUAL_FATAL(comm_self_open(&c, NULL), 0);
    CU_ASSERT_EQUAL(comm_gather_blocks(c, "alone", 5, 0, 5, &g, NULL), 0);
    CU_ASSERT_STRING_EQUAL(buf_text(&g.bytes), "alone");
}

UNIT_SUITE("comm.gather", UNIT(blocks_come_in_the_order_of_ranks),
           UNIT(large_blocks_come_in_rounds), UNIT(nothing_from_everybody_is_nothing),
           UNIT(too_much_is_refused_by_all), UNIT(silent_hosts_are_reported),
           UNIT(one_rank_has_its_own))

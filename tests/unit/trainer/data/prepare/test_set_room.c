#include "trainer/data/prepare/set_room.h"

#include "tests/support/shards.h"
#include "trainer/data/codec/pnm.h"

#include <stdlib.h>

enum { SIDE = 40, RAW = 3 * SIDE * SIDE + 13 /* "P6\n40 40\n255\n" */ };

/* A folder of COUNT pictures of SIDE pixels, of which the first BAD cannot be decoded. */
static void make_set(struct dataset *set, const char *name, int count, int bad) {
    static uint8_t pixels[3 * SIDE * SIDE];
    const struct image image = {.pixels = pixels, .width = SIDE, .height = SIDE};
    char path[1200];
    (void)snprintf(path, sizeof(path), "%s/a", shards_path(name));
    CU_ASSERT_EQUAL_FATAL(file_make_dirs(path, NULL), 0);
    for (int i = 0; i < count; i++) {
        cleanup_buf struct buf bytes = {.max = 1 << 16};
        CU_ASSERT_EQUAL_FATAL(pnm_encode(&image, &bytes, NULL), 0);
        (void)snprintf(path, sizeof(path), "%s/a/%03d.ppm", shards_path(name), i);
        shards_put(path, bytes.data, i < bad ? 100 : bytes.size);
    }
    CU_ASSERT_EQUAL_FATAL(dataset_open(set, shards_path(name), 0, NULL), 0);
}

static int64_t room_of(const struct dataset *set, int resize, bool raw) {
    const struct shard_set_options o = {.resize = resize, .raw = raw, .quality = 90};
    int64_t bytes = -1;
    CU_ASSERT_EQUAL(set_room(&o, set, &bytes, NULL), 0);
    return bytes - (int64_t)set->count * SET_ROOM_RECORD;
}

static void of_few_pictures_the_size_is_known(void) {
    cleanup_dataset struct dataset set = {0};
    make_set(&set, "few", 10, 0);
    CU_ASSERT_EQUAL(room_of(&set, 0, false), set.bytes);
    CU_ASSERT_EQUAL(room_of(&set, 0, true), 10 * RAW);
    CU_ASSERT_EQUAL(room_of(&set, SIDE / 2, true), 10 * (3 * SIDE * SIDE / 4 + 13));
    const int64_t scaled = room_of(&set, SIDE / 2, false); /* JPEGs */
    CU_ASSERT(scaled > 10 * 100 && scaled < 10 * 3 * SIDE * SIDE / 4);
}

static void of_many_some_are_looked_at(void) {
    cleanup_dataset struct dataset set = {0};
    make_set(&set, "many", 300, 0);
    CU_ASSERT_EQUAL(room_of(&set, 0, true), 300LL * RAW * (100 + SET_ROOM_MARGIN) / 100);
}

static void what_cannot_be_decoded_counts_as_the_others(void) {
    cleanup_dataset struct dataset set = {0}, bad = {0};
    make_set(&set, "some", 10, 4);
    CU_ASSERT_EQUAL(room_of(&set, 0, true), 10 * RAW);
    make_set(&bad, "all", 3, 3);
    CU_ASSERT_EQUAL(room_of(&bad, 0, true), 0);
}

UNIT_SUITE("data.prepare.set_room", UNIT(of_few_pictures_the_size_is_known),
           UNIT(of_many_some_are_looked_at), UNIT(what_cannot_be_decoded_counts_as_the_others))

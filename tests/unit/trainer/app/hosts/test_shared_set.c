#include "trainer/app/hosts/shared_set.h"

#include "common/cleanup.h"
#include "tests/unit/trainer/app/hosts/sets.h"
#include "trainer/data/dataset/holdout.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

static const char *const NAMES[] = {"pictures", "shards"};
enum { SEALS = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL, SETS = 2 };

static void a_set_is_the_same_in_shared_memory(void) {
    make_sets();
    for (int i = 0; i < SETS; i++) {
        cleanup_dataset struct dataset plain = {0}, first = {0}, other = {0};
        cleanup_fd int fd = -1;
        CU_ASSERT_EQUAL_FATAL(dataset_open(&plain, shards_path(NAMES[i]), 0, NULL), 0);
        CU_ASSERT_EQUAL_FATAL(dataset_open(&first, shards_path(NAMES[i]), 0, NULL), 0);
        CU_ASSERT_EQUAL_FATAL(shared_set_make(&first, &fd, NULL), 0);
        CU_ASSERT_EQUAL_FATAL(shared_set_map(&other, fd, NULL), 0);
        CU_ASSERT_EQUAL(plain.count, PICTURE_COUNT);
        check_same(&plain, &first);
        check_same(&plain, &other);
        const struct dataset *const shared[] = {&first, &other};
        for (int s = 0; s < 2; s++)
            CU_ASSERT(lies_in_memory(shared[s], shared[s]->labels) &&
                      lies_in_memory(shared[s], shared[s]->name_at) &&
                      lies_in_memory(shared[s], shared[s]->names) &&
                      (i == 0 || lies_in_memory(shared[s], shared[s]->places)));
        CU_ASSERT(i == 0 || (first.note != NULL && other.note == NULL));
    }
}

static void many_classes_are_kept(void) {
    enum { CLASSES = 300 };
    char name[64];
    cleanup_dataset struct dataset first = {0}, other = {0};
    cleanup_fd int fd = -1;
    for (int c = 0; c < CLASSES; c++) {
        (void)snprintf(name, sizeof(name), "many/a class with a long name %d", c);
        CU_ASSERT_EQUAL_FATAL(file_make_dirs(shards_path(name), NULL), 0);
        (void)snprintf(name, sizeof(name), "many/a class with a long name %d/a.jpg", c);
        shards_put(shards_path(name), "x", 1);
    }
    CU_ASSERT_EQUAL_FATAL(dataset_open(&first, shards_path("many"), 0, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(shared_set_make(&first, &fd, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(shared_set_map(&other, fd, NULL), 0);
    CU_ASSERT_EQUAL(other.classes, CLASSES);
    check_same(&first, &other);
}

static void a_change_is_seen_by_its_process_alone(void) {
    static char x[] = "x", ant[] = "ant", bee[] = "bee";
    static char *const names[] = {x, ant, bee};
    static const int32_t map[] = {2, 1};
    for (int i = 0; i < SETS; i++) {
        cleanup_dataset struct dataset plain = {0}, held = {0}, first = {0};
        cleanup_dataset struct dataset split = {0}, placed = {0}, part = {0};
        cleanup_fd int fd = -1;
        CU_ASSERT_EQUAL_FATAL(dataset_open(&plain, shards_path(NAMES[i]), 0, NULL), 0);
        CU_ASSERT_EQUAL_FATAL(dataset_open(&first, shards_path(NAMES[i]), 0, NULL), 0);
        CU_ASSERT_EQUAL_FATAL(shared_set_make(&first, &fd, NULL), 0);
        CU_ASSERT_EQUAL_FATAL(shared_set_map(&split, fd, NULL), 0);
        CU_ASSERT_EQUAL_FATAL(shared_set_map(&placed, fd, NULL), 0);
        CU_ASSERT_EQUAL_FATAL(shared_set_map(&part, fd, NULL), 0);
        CU_ASSERT_EQUAL(holdout_split(&split, 0.5, 7, &held, NULL, NULL), 0);
        CU_ASSERT_EQUAL(split.count + held.count, PICTURE_COUNT);
        CU_ASSERT_EQUAL(dataset_place_classes(&placed, names, 3, map, NULL), 0);
        CU_ASSERT(placed.labels[0] == 2 && placed.labels[PICTURE_COUNT - 1] == 1);
        CU_ASSERT_EQUAL(dataset_embed(&part, 3, 10, NULL), 0);
        CU_ASSERT_EQUAL(part.count, 10);
        CU_ASSERT_STRING_EQUAL(part.names + part.name_at[3], plain.names + plain.name_at[0]);
        check_same(&plain, &first);
    }
}

static int memory_of(const void *bytes, size_t size, unsigned seals) {
    int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    CU_ASSERT_FATAL(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
    CU_ASSERT_EQUAL_FATAL(fcntl(fd, F_ADD_SEALS, (int)seals), 0);
    return fd;
}

/* Each byte of the head, of the labels, offsets and places, changed: a set that can be used, or an
 * error that has a text. */
static void memory_with_wrong_bytes_is_refused(void) {
    cleanup_dataset struct dataset first = {0};
    cleanup_fd int fd = -1;
    static char bytes[4096];
    struct error err = {0};
    size_t refused = 0;
    CU_ASSERT_EQUAL_FATAL(dataset_open(&first, shards_path("shards"), 0, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(shared_set_make(&first, &fd, NULL), 0);
    const ssize_t size = pread(fd, bytes, sizeof(bytes), 0);
    CU_ASSERT_FATAL(size > 0 && size < (ssize_t)sizeof(bytes));
    for (ssize_t at = 0; at < size; at++) {
        cleanup_dataset struct dataset set = {0};
        bytes[at] ^= (char)0x81;
        cleanup_fd int changed = memory_of(bytes, (size_t)size, SEALS);
        bytes[at] ^= (char)0x81;
        err = (struct error){0};
        if (shared_set_map(&set, changed, &err) == 0) {
            char name[1024];
            for (size_t i = 0; i < set.count; i++)
                dataset_sample_name(&set, i, name, sizeof(name));
            continue;
        }
        refused++;
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
        ASSERT_CONTAINS(err.text, "a data set in memory: ");
    }
    CU_ASSERT(refused > 100);
    for (ssize_t kept = 0; kept < size; kept += 8) {
        cleanup_dataset struct dataset set = {0};
        cleanup_fd int cut = memory_of(bytes, (size_t)kept, SEALS);
        CU_ASSERT_EQUAL(shared_set_map(&set, cut, &err), -1);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    }
    static const unsigned too_few[] = {0, F_SEAL_WRITE, F_SEAL_SHRINK | F_SEAL_GROW};
    for (size_t i = 0; i < sizeof(too_few) / sizeof(too_few[0]); i++) {
        cleanup_dataset struct dataset set = {0};
        cleanup_fd int open_to_change = memory_of(bytes, (size_t)size, too_few[i]);
        CU_ASSERT_EQUAL(shared_set_map(&set, open_to_change, &err), -1);
        ASSERT_CONTAINS(err.text, "not sealed");
    }
}

UNIT_SUITE("app.shared_set", UNIT(a_set_is_the_same_in_shared_memory), UNIT(many_classes_are_kept),
           UNIT(a_change_is_seen_by_its_process_alone), UNIT(memory_with_wrong_bytes_is_refused))

#include "common/system/progress.h"
#include "tests/support/unit.h"
#include "trainer/app/device/ranks.h"
#include "trainer/comm/comm.h"
#include "trainer/comm/comm_driver.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Gathers from four ranks, only one of which exists: the values of the others are copies of rank
 * 0's, except that of rank 2. */
static int gather_four(struct comm *c, const void *bytes, size_t size, void *all,
                       struct error *err) {
    (void)err;
    for (int i = 0; i < c->size; i++)
        memcpy((char *)all + (size_t)i * size, bytes, size);
    uint64_t other = 999;
    memcpy((char *)all + 2 * size, &other, sizeof(other));
    return 0;
}

static void alone_without_a_launcher(void) {
    CU_ASSERT_EQUAL(unsetenv("OMPI_COMM_WORLD_SIZE"), 0);
    cleanup_comm struct comm *c = NULL;
    CU_ASSERT_EQUAL_FATAL(ranks_open(OPTION_COMM_AUTO, &c, NULL), 0);
    CU_ASSERT_EQUAL(comm_size(c), 1);
    CU_ASSERT_EQUAL(ranks_agree(c, "everything", 1, EXIT_CODE_DATA, NULL), 0);
}

static void a_launchers_nonsense_is_a_configuration_error(void) {
    CU_ASSERT_EQUAL(setenv("OMPI_COMM_WORLD_SIZE", "many", 1), 0);
    CU_ASSERT_EQUAL(setenv("PMIX_RANK", "0", 1), 0);
    struct comm *c = NULL;
    struct error err = {0};
    CU_ASSERT_EQUAL(ranks_open(OPTION_COMM_AUTO, &c, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
    ASSERT_CONTAINS(err.text, "OMPI_COMM_WORLD_SIZE");
    CU_ASSERT_EQUAL(unsetenv("PMIX_RANK"), 0);
    CU_ASSERT_EQUAL(unsetenv("OMPI_COMM_WORLD_SIZE"), 0);
}

static void who_differs_is_named(void) {
    static const struct comm_driver driver = {.gather = gather_four};
    struct comm four = {.driver = &driver, .size = 4};
    struct error err = {0};
    CU_ASSERT_EQUAL(ranks_agree(&four, "the data", 7, EXIT_CODE_DATA, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    ASSERT_CONTAINS(err.text, "the data differs between hosts");
    ASSERT_CONTAINS(err.text, "(rank 2)");
    CU_ASSERT_PTR_NULL(strstr(err.text, "(rank 1)"));
}

/* mpirun gives each rank a terminal that no user looks at: programs read the output there. */
static void the_terminal_of_a_rank_is_nobodys(void) {
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    CU_ASSERT_FATAL(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
    int terminal = open(ptsname(master), O_RDWR | O_NOCTTY);
    CU_ASSERT_FATAL(terminal >= 0);
    cleanup_comm struct comm *alone = NULL;
    CU_ASSERT_EQUAL_FATAL(comm_self_open(&alone, NULL), 0);
    CU_ASSERT(ranks_terminal(terminal) && ranks_alone(alone));
    static const char *const launchers[] = {"OMPI_COMM_WORLD_SIZE", PROGRESS_VARIABLE};
    for (int i = 0; i < 2; i++) {
        CU_ASSERT_EQUAL(setenv(launchers[i], "1", 1), 0);
        CU_ASSERT_FALSE(ranks_terminal(terminal));
        CU_ASSERT_FALSE(ranks_alone(alone));
        CU_ASSERT_EQUAL(unsetenv(launchers[i]), 0);
    }
    (void)close(terminal);
    (void)close(master);
    int none = open("/dev/null", O_WRONLY);
    CU_ASSERT_FALSE(ranks_terminal(none));
    (void)close(none);
}

UNIT_SUITE("app.ranks", UNIT(the_terminal_of_a_rank_is_nobodys), UNIT(alone_without_a_launcher),
           UNIT(a_launchers_nonsense_is_a_configuration_error), UNIT(who_differs_is_named))

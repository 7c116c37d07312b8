#include "entrypoint/mpi/mpi_error_text.h"

#include "tests/support/unit.h"

#include <string.h>

static bool add(struct mpi_error_text *c, const char *line) {
    return mpi_error_text_add(c, line, strlen(line));
}

/* The lines are as Open MPI 4.1.4 prints them. */
static void a_broken_rule_is_reported_with_its_call(void) {
    struct mpi_error_text c = {0};
    CU_ASSERT(add(&c, "[vm:13780] *** An error occurred in MPI_Recv"));
    CU_ASSERT_FALSE(add(&c, "[vm:13780] *** reported by process [1496383489,1]"));
    CU_ASSERT_FALSE(add(&c, "[vm:13780] *** on communicator MPI_COMM_WORLD"));
    CU_ASSERT(add(&c, "[vm:13780] *** MPI_ERR_TRUNCATE: message truncated"));
    CU_ASSERT_FALSE(add(&c, "[vm:13780] *** MPI_ERRORS_ARE_FATAL (processes in this communicator "
                            "will now abort,"));
    const char *told = "An error occurred in MPI_Recv; MPI_ERR_TRUNCATE: message truncated";
    CU_ASSERT_STRING_EQUAL(c.text, told);
    CU_ASSERT(add(&c, "[vm:1] *** MPI_ERR_COMM: invalid communicator"));
    CU_ASSERT_STRING_EQUAL(c.text, told);
}

static void an_abort_names_its_rank(void) {
    struct mpi_error_text c = {0};
    CU_ASSERT_FALSE(add(&c, "----------------------------------------------------------"));
    CU_ASSERT(add(&c, "MPI_ABORT was invoked on rank 1 in communicator MPI_COMM_WORLD"));
    CU_ASSERT_FALSE(add(&c, "with errorcode 42."));
    CU_ASSERT_FALSE(add(&c, "NOTE: invoking MPI_ABORT causes Open MPI to kill all MPI processes."));
    CU_ASSERT(add(&c, "[vm:1] *** MPI_ERR_COMM: invalid communicator"));
    CU_ASSERT_STRING_EQUAL(c.text,
                           "MPI_ABORT was invoked on rank 1 in communicator MPI_COMM_WORLD");
}

static void other_words_are_none(void) {
    struct mpi_error_text c = {0};
    CU_ASSERT_FALSE(add(&c, ""));
    CU_ASSERT_FALSE(add(&c, "*** "));
    CU_ASSERT_FALSE(add(&c, "mpirun noticed that process rank 1 exited on signal 11"));
    CU_ASSERT_FALSE(mpi_error_text_add(&c, "MPI_ERR_TRUNCATE", 7));
    CU_ASSERT_STRING_EQUAL(c.text, "");
}

static void long_ones_are_cut(void) {
    struct mpi_error_text c = {0};
    char line[1000] = "MPI_ERR_";
    memset(line + 8, 'x', sizeof(line) - 8);
    CU_ASSERT(mpi_error_text_add(&c, line, sizeof(line)));
    CU_ASSERT_EQUAL(strlen(c.text), MPI_ERROR_TEXT_SIZE - 1);
}

UNIT_SUITE("mpi.mpi_error_text", UNIT(a_broken_rule_is_reported_with_its_call),
           UNIT(an_abort_names_its_rank), UNIT(other_words_are_none), UNIT(long_ones_are_cut))

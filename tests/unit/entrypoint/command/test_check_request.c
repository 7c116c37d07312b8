#include "entrypoint/command/check_request.h"
#include "tests/support/unit.h"

#include <string.h>

static int read_words(struct check_request *ret, struct error *err, const char *a, const char *b) {
    static const char *words[3];
    words[0] = a;
    words[1] = b;
    words[2] = NULL;
    return check_request_read(words, ret, err);
}

static void options_come_in_any_order(void) {
    struct check_request r;
    CU_ASSERT_EQUAL(read_words(&r, NULL, NULL, NULL), 0);
    CU_ASSERT(r.comm == NULL && !r.json && r.words[0] == NULL);
    CU_ASSERT_EQUAL(read_words(&r, NULL, "--json", "--nccl"), 0);
    CU_ASSERT(r.json);
    CU_ASSERT_STRING_EQUAL(r.comm, "nccl");
    CU_ASSERT_EQUAL(read_words(&r, NULL, "--mpi", "--json"), 0);
    CU_ASSERT(r.json);
    CU_ASSERT_STRING_EQUAL(r.comm, "mpi");
}

static void the_table_takes_the_words_of_the_job(void) {
    struct check_request r;
    CU_ASSERT_EQUAL(read_words(&r, NULL, "--json", "--epochs"), 0);
    CU_ASSERT_STRING_EQUAL(r.words[0], "--epochs");
    CU_ASSERT_EQUAL(read_words(&r, NULL, "--", "true"), 0);
    CU_ASSERT_STRING_EQUAL(r.words[1], "true");
    CU_ASSERT_EQUAL(read_words(&r, NULL, "train", "--"), 0);
    CU_ASSERT_STRING_EQUAL(r.words[0], "--");
    CU_ASSERT_EQUAL(read_words(&r, NULL, "--json", "train"), 0);
    CU_ASSERT(r.json && r.words[0] == NULL);
}

static void other_words_are_refused(void) {
    struct check_request r;
    struct error err = {0};
    CU_ASSERT_EQUAL(read_words(&r, &err, "--mpi", "--nccl"), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_USAGE);
    ASSERT_CONTAINS(err.text, "two checks");
    CU_ASSERT_EQUAL(read_words(&r, &err, "--mpi", "train"), -1);
    ASSERT_CONTAINS(err.text, "unexpected train: check --mpi runs a program of its own");
    CU_ASSERT_EQUAL(read_words(&r, &err, "--mpj", NULL), -1);
    ASSERT_CONTAINS(err.text, "did you mean --mpi?");
}

static void its_job_is_a_program_of_ringtrain(void) {
    cleanup_argv struct argv words = {0};
    const struct check_request r = {.comm = "nccl", .json = true};
    CU_ASSERT_EQUAL_FATAL(check_request_program(&r, &words, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(words.count, 7);
    CU_ASSERT_STRING_EQUAL(words.items[0], "--");
    CU_ASSERT(strstr(words.items[1], "ringtrain") != NULL);
    CU_ASSERT_STRING_EQUAL(words.items[2], "check-comm");
    CU_ASSERT_STRING_EQUAL(words.items[4], "nccl");
    CU_ASSERT_STRING_EQUAL(words.items[6], "true");
}

static void its_job_keeps_out_of_data_and_restarts(void) {
    struct job j = {.settings = {.restarts = 3, .failover = true, .output = "s3://bucket/out"},
                    .sources = {.count = 1}};
    check_request_adapt(&j);
    CU_ASSERT(j.bare_output && j.settings.restarts == 0 && !j.settings.failover);
    CU_ASSERT(j.settings.output == NULL && !download_sources_any(&j.sources));
}

UNIT_SUITE("command.check_request", UNIT(options_come_in_any_order),
           UNIT(the_table_takes_the_words_of_the_job), UNIT(other_words_are_refused),
           UNIT(its_job_is_a_program_of_ringtrain), UNIT(its_job_keeps_out_of_data_and_restarts))

#include "entrypoint/job/sagemaker/mpi_options.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

static int read_one(const char *name, const char *value, struct mpi_options *ret,
                    struct error *err) {
    char text[256];
    struct hyperparameters h = {0};
    snprintf(text, sizeof(text), "{\"%s\":%s}", name, value);
    CU_ASSERT_EQUAL_FATAL(hyperparameters_parse(text, strlen(text), "h", &h, NULL), 0);
    int result = mpi_options_read(&h, ret, err);
    hyperparameters_done(&h); /* options are not read after this */
    return result;
}

static void mpi_is_a_switch_that_means_what_it_says(void) {
    static const struct {
        const char *value;
        int result;
        enum wish wish;
    } cases[] = {
        {"true", 0, WISH_YES},
        {"\"true\"", 0, WISH_YES},
        {"\"True\"", 0, WISH_YES},
        {"1", 0, WISH_YES},
        {"\"1\"", 0, WISH_YES},
        {"false", 0, WISH_NO},
        {"\"false\"", 0, WISH_NO},
        {"\"False\"", 0, WISH_NO},
        {"0", 0, WISH_NO},
        {"\"\"", 0, WISH_NO},
        {"null", 0, WISH_UNSAID},
        {"\"null\"", 0, WISH_UNSAID},
        {"\"\\\"true\\\"\"", 0, WISH_YES},
        {"\"yes\"", -1, WISH_UNSAID},
        {"2", -1, WISH_UNSAID},
        {"[]", -1, WISH_UNSAID},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct mpi_options w;
        struct error err = {0};
        CU_ASSERT_EQUAL(read_one("sagemaker_mpi_enabled", cases[i].value, &w, &err),
                        cases[i].result);
        CU_ASSERT_EQUAL(w.mpi, cases[i].wish);
        if (cases[i].result != 0) {
            ASSERT_CONTAINS(err.text, "sagemaker_mpi_enabled");
            CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
        }
        mpi_options_done(&w);
    }
}

static void counts_are_numbers(void) {
    static const struct {
        const char *value;
        int result;
        unsigned count;
    } cases[] = {
        {"\"4\"", 0, 4},       {"8", 0, 8},         {"null", 0, 0},     {"\"2.0\"", 0, 2},
        {"2.0", 0, 2},         {"\"256\"", 0, 256}, {"\"2.5\"", -1, 0}, {"\"2.1\"", -1, 0},
        {"\".0\"", -1, 0},     {"\"0\"", -1, 0},    {"\"two\"", -1, 0}, {"\"-1\"", -1, 0},
        {"\"300000\"", -1, 0},
    };
    static const char *const names[] = {"sagemaker_mpi_num_of_processes_per_host",
                                        "sagemaker_mpi_num_processes"};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        for (size_t which = 0; which < 2; which++) {
            struct mpi_options w;
            struct error err = {0};
            CU_ASSERT_EQUAL(read_one(names[which], cases[i].value, &w, &err), cases[i].result);
            CU_ASSERT_EQUAL(which == 0 ? w.slots : w.ranks, cases[i].count);
            if (cases[i].result != 0)
                ASSERT_CONTAINS(err.text, names[which]);
            mpi_options_done(&w);
        }
    struct mpi_options w;
    CU_ASSERT_EQUAL(read_one(names[0], "257", &w, NULL), -1);
    CU_ASSERT_EQUAL(read_one(names[1], "257", &w, NULL), 0);
}

static void groups_are_a_list_of_names(void) {
    static const char name[] = "sagemaker_distribution_instance_groups";
    static const char *const bad[] = {"\"g\"", "7", "[1]", "[\"g\",null]", "{\"g\":1}", "\"[g]\""};
    static const char *const none[] = {"[]", "\"[]\"", "null"};
    struct mpi_options w;
    struct error err = {0};
    CU_ASSERT_EQUAL(read_one(name, "\"[\\\"g\\\", \\\"h\\\"]\"", &w, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(json_array_size(w.groups), 2);
    CU_ASSERT_STRING_EQUAL(json_string_value(json_array_get(w.groups, 1)), "h");
    mpi_options_done(&w);
    for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
        CU_ASSERT_EQUAL(read_one(name, none[i], &w, NULL), 0);
        CU_ASSERT_PTR_NULL(w.groups);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        CU_ASSERT_EQUAL(read_one(name, bad[i], &w, &err), -1);
        ASSERT_CONTAINS(err.text, name);
        mpi_options_done(&w);
    }
}

static void nothing_said_is_nothing_wished(void) {
    struct hyperparameters h = {0};
    struct mpi_options w;
    CU_ASSERT_EQUAL(mpi_options_read(&h, &w, NULL), 0);
    CU_ASSERT(w.mpi == WISH_UNSAID && w.slots == 0 && w.ranks == 0 && w.groups == NULL);
    CU_ASSERT_STRING_EQUAL(w.options, "");
}

UNIT_SUITE("job.mpi_options", UNIT(mpi_is_a_switch_that_means_what_it_says),
           UNIT(counts_are_numbers), UNIT(groups_are_a_list_of_names),
           UNIT(nothing_said_is_nothing_wished))

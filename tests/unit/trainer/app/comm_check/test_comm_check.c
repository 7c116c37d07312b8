#include "tests/support/unit.h"
#include "trainer/app/comm_check/comm_check.h"
#include "trainer/app/comm_check/comm_check_report.h"
#include "trainer/comm/comm_driver.h"

#include "common/json/json.h"

#include <string.h>

/* Findings of two hosts with two ranks each. */
struct findings {
    struct comm comm;
    struct comm_check_host hosts[2];
    struct pair_result pairs[1];
    struct comm_check check;
};

static const struct measurement GOOD = {.bytes = 1 << 20, .ranks = 2, .times = 5, .seconds = 0.001};

static void found(struct findings *f) {
    *f = (struct findings){.comm = {.size = 4},
                           .hosts = {{.name = "algo-1", .ranks = 2, .within = GOOD},
                                     {.name = "algo-2", .ranks = 2, .within = GOOD}},
                           .pairs = {{.b = 1,
                                      .latency = {.bytes = 8, .ranks = 4, .seconds = 5e-5},
                                      .transfer = GOOD,
                                      .tested = true,
                                      .share = 1}}};
    f->check = (struct comm_check){.comm = &f->comm,
                                   .hosts = f->hosts,
                                   .host_count = 2,
                                   .sizes = {GOOD},
                                   .size_count = 1,
                                   .pairs = f->pairs,
                                   .pair_count = 1,
                                   .bad_host = -1};
}

static void good_findings_are_no_error(void) {
    struct findings f;
    found(&f);
    CU_ASSERT_EQUAL(comm_check_verdict(&f.check, NULL), 0);
}

static void the_verdict_names_host_and_pair(void) {
    struct findings f;
    struct error err = {0};
    found(&f);
    f.hosts[1].within.wrong = 3;
    CU_ASSERT_EQUAL(comm_check_verdict(&f.check, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DEVICE);
    ASSERT_CONTAINS(err.text, "3 of the sums within algo-2 are wrong");

    found(&f);
    f.pairs[0].state = PAIR_SLOW;
    f.pairs[0].share = 0.02;
    CU_ASSERT_EQUAL(comm_check_verdict(&f.check, &err), -1);
    ASSERT_CONTAINS(err.text, "algo-1 and algo-2 are slow together: 1.05 GB/s, 2 % of what");

    f.pairs[0].state = PAIR_WRONG;
    f.pairs[0].transfer.wrong = 7;
    f.check.bad_host = 1;
    CU_ASSERT_EQUAL(comm_check_verdict(&f.check, &err), -1);
    ASSERT_CONTAINS(err.text, "all pairs of algo-2 are bad");
    ASSERT_CONTAINS(err.text, "algo-1 and algo-2: 7 of the sums between them are wrong");

    found(&f);
    f.check.sizes[0].wrong = 1;
    CU_ASSERT_EQUAL(comm_check_verdict(&f.check, &err), -1);
    ASSERT_CONTAINS(err.text, "1 of the sums among all ranks are wrong");
}

static void text_has_published_figures_beside_measured_ones(void) {
    struct findings f;
    cleanup_buf struct buf text;
    buf_init(&text, 1 << 20);
    found(&f);
    f.check.kind = REDUCER_NCCL;
    const struct comm_check_report r = {
        .check = &f.check, .library = "NCCL 2", .instance_type = "ml.p5.48xlarge", .verdict = ""};
    CU_ASSERT_EQUAL_FATAL(comm_check_report_text(&r, &text, NULL), 0);
    ASSERT_CONTAINS(buf_text(&text), "all-reduce of f32 by NCCL 2: 2 hosts, 4 ranks");
    ASSERT_CONTAINS(buf_text(&text), "within algo-2, 2 ranks     1 MiB      1000.0 us");
    ASSERT_CONTAINS(buf_text(&text), "published for 2 x p5.48xlarge: 123.2 us, 15.9 GB/s");
    ASSERT_CONTAINS(buf_text(&text), "all sums are right, and no pair is slow\n");
}

static void json_reads_back(void) {
    struct findings f;
    cleanup_buf struct buf text;
    cleanup_json json_t *value = NULL;
    const char *state = NULL;
    buf_init(&text, 1 << 20);
    found(&f);
    f.check.pairs_left_out = 2;
    const struct comm_check_report r = {.check = &f.check,
                                        .library = "Open MPI",
                                        .instance_type = "",
                                        .code = 72,
                                        .verdict = "bad"};
    CU_ASSERT_EQUAL_FATAL(comm_check_report_json(&r, &text, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(json_parse(text.data, text.size, "report", &value, NULL), 0);
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(value, "code")), 72);
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(value, "pairs_not_tested")), 2);
    CU_ASSERT(json_is_null(json_object_get(value, "bad_host")));
    const json_t *pair = json_array_get(json_object_get(value, "pairs"), 0);
    CU_ASSERT_EQUAL(json_member_string(pair, "report", "state", &state, NULL), 0);
    CU_ASSERT_STRING_EQUAL(state, "ok");
}

/* A single rank is a host of its own, without pairs. */
static void one_rank_runs_through_all_steps(void) {
    cleanup_comm struct comm *comm = NULL;
    struct step_limit limit;
    struct comm_check check;
    CU_ASSERT_EQUAL_FATAL(comm_self_open(&comm, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(step_limit_start(&limit, 60, NULL), 0);
    CU_ASSERT_EQUAL(comm_check_run(&check, REDUCER_MPI, comm, &limit, NULL), 0);
    CU_ASSERT_EQUAL(check.host_count, 1);
    CU_ASSERT_EQUAL(check.pair_count, 0);
    CU_ASSERT(check.size_count >= 4);
    CU_ASSERT_EQUAL(check.sizes[0].wrong, 0);
    comm_check_done(&check);
    step_limit_end(&limit);
}

UNIT_SUITE("app.comm_check.comm_check", UNIT(good_findings_are_no_error),
           UNIT(the_verdict_names_host_and_pair),
           UNIT(text_has_published_figures_beside_measured_ones), UNIT(json_reads_back),
           UNIT(one_rank_runs_through_all_steps))

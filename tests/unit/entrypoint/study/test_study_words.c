#include "entrypoint/study/study_words.h"

#include "tests/support/unit.h"

#include <string.h>

static void words_of_trials_are_read(void) {
    static const char *const words[] = {"plan.json", "--out=d", "--once-per-host", "--then-best",
                                        "--",        "sh",      "--out",           NULL};
    struct study_words w;
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(study_words_read(STUDY_TRIALS, words, &w, &err), 0);
    CU_ASSERT_STRING_EQUAL(w.file, "plan.json");
    CU_ASSERT_STRING_EQUAL(w.out, "d");
    CU_ASSERT_TRUE(w.once_per_host);
    CU_ASSERT_TRUE(w.then_best);
    CU_ASSERT_STRING_EQUAL(w.program[0], "sh");
    CU_ASSERT_STRING_EQUAL(w.program[1], "--out");
    CU_ASSERT_PTR_NULL(w.program[2]);
}

static void words_of_scaling_are_read(void) {
    static const char *const words[] = {
        "--ranks", "1,2",       "--metric", "rate",     "--per-rank", "--limit", "60", "--unit",
        "it/s",    "--samples", "1e6",      "--prices", "p",          "--",      "a",  NULL};
    static const char *const least[] = {"--", "a", NULL};
    struct study_words w;
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(study_words_read(STUDY_SCALING, words, &w, &err), 0);
    CU_ASSERT_STRING_EQUAL(w.ranks, "1,2");
    CU_ASSERT_STRING_EQUAL(w.metric, "rate");
    CU_ASSERT_TRUE(w.per_rank);
    CU_ASSERT_STRING_EQUAL(w.unit, "it/s");
    CU_ASSERT_STRING_EQUAL(w.prices, "p");
    CU_ASSERT_DOUBLE_EQUAL(w.limit, 60, 0);
    CU_ASSERT_DOUBLE_EQUAL(w.samples, 1e6, 0);
    CU_ASSERT_EQUAL_FATAL(study_words_read(STUDY_SCALING, least, &w, &err), 0);
    CU_ASSERT_STRING_EQUAL(w.metric, "images_per_second");
    CU_ASSERT_STRING_EQUAL(w.out, "scaling");
    CU_ASSERT_DOUBLE_EQUAL(w.limit, 1800, 0);
    CU_ASSERT_PTR_NULL(w.ranks);
}

static void wrong_words_are_refused(void) {
    static const struct {
        enum study_kind kind;
        const char *words[6];
        const char *said;
    } cases[] = {
        {STUDY_TRIALS, {"plan.json", NULL}, "the program is missing"},
        {STUDY_TRIALS, {"plan.json", "--", NULL}, "the program is missing"},
        {STUDY_TRIALS, {"--", "sh", NULL}, "FILE, the plan as JSON, is missing"},
        {STUDY_TRIALS, {"a", "b", "--", "sh", NULL}, "unexpected b"},
        {STUDY_TRIALS, {"a", "--outt", "b", "--", "sh", NULL}, "did you mean --out?"},
        {STUDY_TRIALS, {"a", "--out", "--", "sh", NULL}, "--out lacks its value"},
        {STUDY_TRIALS, {"a", "--then-best=1", "--", "sh", NULL}, "takes no value"},
        {STUDY_TRIALS, {"a", "--ranks", "1", "--", "sh", NULL}, "unknown option --ranks"},
        {STUDY_SCALING, {"plan", "--", "sh", NULL}, "unexpected plan"},
        {STUDY_SCALING, {"--limit", "soon", "--", "sh", NULL}, "--limit"},
        {STUDY_SCALING, {"--metric=", "--", "sh", NULL}, "--metric is empty"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct study_words w;
        struct error err = {0};
        CU_ASSERT_EQUAL(study_words_read(cases[i].kind, cases[i].words, &w, &err), -1);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_USAGE);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, cases[i].said));
        if (strstr(err.text, cases[i].said) == NULL)
            printf("case %zu: %s\n", i, err.text);
    }
}

static void the_job_runs_ringmaster_with_the_same_words(void) {
    static const char *const words[] = {"plan.json", "--once-per-host", "--", "sh", "{dir}", NULL};
    struct error err = {0};
    cleanup_argv struct argv job = {0};
    CU_ASSERT_EQUAL_FATAL(study_words_job(STUDY_TRIALS, words, &job, &err), 0);
    CU_ASSERT_EQUAL_FATAL(job.count, 10);
    CU_ASSERT_STRING_EQUAL(job.items[0], "--once-per-host");
    CU_ASSERT_STRING_EQUAL(job.items[1], "--");
    CU_ASSERT_EQUAL(job.items[2][0], '/');
    CU_ASSERT_STRING_EQUAL(job.items[3], "study");
    CU_ASSERT_STRING_EQUAL(job.items[4], "trials");
    CU_ASSERT_STRING_EQUAL(job.items[9], "{dir}");
    CU_ASSERT_EQUAL(study_kind_of("trials"), STUDY_TRIALS);
    CU_ASSERT_EQUAL(study_kind_of("scaling"), STUDY_SCALING);
    CU_ASSERT_EQUAL(study_kind_of("train"), -1);
}

static void the_folder_is_put_into_the_program(void) {
    static const char *const words[] = {"--", "p", "{dir}", "a={dir}/x:{dir}", "{di}", NULL};
    struct study_words w;
    struct error err = {0};
    cleanup_argv struct argv a = {0};
    CU_ASSERT_EQUAL_FATAL(study_words_read(STUDY_SCALING, words, &w, &err), 0);
    CU_ASSERT_EQUAL_FATAL(study_words_program(&w, NULL, "out/1", &a, &err), 0);
    CU_ASSERT_EQUAL_FATAL(a.count, 4);
    CU_ASSERT_STRING_EQUAL(a.items[0], "p");
    CU_ASSERT_STRING_EQUAL(a.items[1], "out/1");
    CU_ASSERT_STRING_EQUAL(a.items[2], "a=out/1/x:out/1");
    CU_ASSERT_STRING_EQUAL(a.items[3], "{di}");
}

UNIT_SUITE("study.study_words", UNIT(words_of_trials_are_read), UNIT(words_of_scaling_are_read),
           UNIT(wrong_words_are_refused), UNIT(the_job_runs_ringmaster_with_the_same_words),
           UNIT(the_folder_is_put_into_the_program))

#include "tests/unit/common/trials/plan.h"

static void a_plan_has_what_its_file_has(void) {
    struct trials_plan p;
    plan_of(&p,
            "{\"flags\": {\"model\": \"resnet20\", \"nesterov\": true, \"lr\": 0.1, "
            "\"epochs\": 4}, \"grid\": {\"momentum\": [0.9, 0.95], \"optimizer\": [\"sgd\", "
            "\"adamw\", \"lars\"]}, \"metric\": \"top1\", \"goal\": \"min\", \"seeds\": [3, 1], "
            "\"ranks\": 2, \"limit\": 60, \"stall\": 5.5}");
    CU_ASSERT_EQUAL(p.count, 6);
    CU_ASSERT_EQUAL(p.flag_count, 4);
    CU_ASSERT_STRING_EQUAL(p.flags[1].value, "true");
    CU_ASSERT_STRING_EQUAL(p.flags[2].value, "0.1");
    CU_ASSERT_STRING_EQUAL(p.flags[3].value, "4");
    CU_ASSERT_TRUE(p.smallest);
    CU_ASSERT_EQUAL(p.seed_count, 2);
    CU_ASSERT_EQUAL(p.seeds[0], 3);
    CU_ASSERT_EQUAL(p.ranks, 2);
    CU_ASSERT_DOUBLE_EQUAL(p.stall, 5.5, 0);
    CU_ASSERT_EQUAL(p.rung_count, 1);
    trials_plan_done(&p);
}

static void bad_plans_are_refused(void) {
#define SPACE "\"grid\": {\"lr\": [1]}, \"metric\": \"top1\""
    static const struct {
        const char *text, *said;
    } cases[] = {
        {"[]", "an object is expected"},
        {"{\"metric\": \"top1\"}", "either \"grid\" or \"random\""},
        {"{\"grid\": {\"lr\": [1]}, \"random\": {}, \"metric\": \"a\"}", "either \"grid\""},
        {"{\"grid\": {\"lr\": [1]}}", "\"metric\""},
        {"{\"grid\": {}, \"metric\": \"a\"}", "1 to 16 flags"},
        {"{\"grid\": {\"lr\": []}, \"metric\": \"a\"}", "1 to 64 values"},
        {"{\"grid\": {\"lr\": 3}, \"metric\": \"a\"}", "1 to 64 values"},
        {"{\"grid\": {\"lr\": {\"log\": [1, 2]}}, \"metric\": \"a\"}", "1 to 64 values"},
        {"{\"grid\": {\"l r\": [1]}, \"metric\": \"a\"}", "a name of letters"},
        {"{\"grid\": {\"lr\": [[1]]}, \"metric\": \"a\"}", "a text, a number"},
        {"{\"grid\": {\"lr\": [\"a\\nb\"]}, \"metric\": \"a\"}", "a text, a number"},
        {"{\"random\": {\"space\": {\"lr\": [1]}}, \"metric\": \"a\"}", "\"count\""},
        {"{\"random\": {\"count\": 2, \"space\": {\"lr\": {\"log\": [0, 1]}}}, \"metric\": \"a\"}",
         "above 0"},
        {"{\"random\": {\"count\": 2, \"space\": {\"lr\": {\"normal\": [0, 1]}}}, \"metric\": "
         "\"a\"}",
         "\"uniform\""},
        {"{\"random\": {\"count\": 2, \"space\": {\"lr\": {\"uniform\": [2, 1]}}}, \"metric\": "
         "\"a\"}",
         "ascending"},
        {"{" SPACE ", \"color\": 1}", "\"color\": unknown member"},
        {"{" SPACE ", \"goal\": \"high\"}", "\"max\" or \"min\""},
        {"{" SPACE ", \"seeds\": []}", "1 to 32"},
        {"{" SPACE ", \"seeds\": [1, 1]}", "twice"},
        {"{" SPACE ", \"seeds\": [1], \"flags\": {\"seed\": 2}}", "sets it, too"},
        {"{" SPACE ", \"flags\": {\"lr\": 2}}", "twice"},
        {"{" SPACE ", \"ranks\": 0}", "from 1 to"},
        {"{" SPACE ", \"limit\": \"1h\"}", "a number from 1"},
        {"{" SPACE ", \"halving\": {\"rungs\": [1]}}", "2 to 16"},
        {"{" SPACE ", \"halving\": {\"rungs\": [2, 1]}}", "ascending whole numbers"},
        {"{" SPACE ", \"halving\": {\"rungs\": [1, 2], \"factor\": 1}}", "from 2 to"},
        {"{" SPACE ", \"halving\": {\"rungs\": [1, 2], \"flag\": \"lr\"}}", "twice"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct trials_plan p;
        struct error err = {0};
        CU_ASSERT_EQUAL(plan_parse(&p, cases[i].text, &err), -1);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, cases[i].said));
        if (strstr(err.text, cases[i].said) == NULL)
            printf("%s\n%s\n", cases[i].text, err.text);
        trials_plan_done(&p);
    }
}

static void a_grid_has_a_ceiling(void) {
    struct trials_plan p;
    struct error err = {0};
    static const char sixty_four[] = "[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,"
                                     "24,25,26,27,28,29,30,31,32,33,34,35,36,37,38,39,40,41,42,43,"
                                     "44,45,46,47,48,49,50,51,52,53,54,55,56,57,58,59,60,61,62,63,"
                                     "64]";
    char text[2048];
    (void)snprintf(text, sizeof(text),
                   "{\"metric\": \"a\", \"grid\": {\"a\": %s, \"b\": %s, \"c\": [1, 2]}}",
                   sixty_four, sixty_four);
    CU_ASSERT_EQUAL(plan_parse(&p, text, &err), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "more than 4096"));
}

static void a_missing_file_is_named(void) {
    struct trials_plan p;
    struct error err = {0};
    CU_ASSERT_EQUAL(trials_plan_read(&p, "/nonexistent/plan.json", &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "/nonexistent/plan.json"));
}

UNIT_SUITE("common.trials.trials_plan", UNIT(a_plan_has_what_its_file_has),
           UNIT(bad_plans_are_refused), UNIT(a_grid_has_a_ceiling), UNIT(a_missing_file_is_named))

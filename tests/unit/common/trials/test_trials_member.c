#include "common/trials/trials_member.h"

#include "common/json/json.h"
#include "tests/support/unit.h"

#include <string.h>

static void values_are_texts_of_flags(void) {
    static const struct {
        const char *json, *text;
    } cases[] = {{"\"sgd\"", "sgd"}, {"0.1", "0.1"},   {"1e-4", "0.0001"},
                 {"3", "3"},         {"true", "true"}, {"false", "false"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct error err = {0};
        char text[TRIALS_VALUE_SIZE];
        cleanup_json json_t *value = json_loads(cases[i].json, JSON_DECODE_ANY, NULL);
        CU_ASSERT_EQUAL(trials_member_value(value, text, "a", "plan", &err), 0);
        CU_ASSERT_STRING_EQUAL(text, cases[i].text);
    }
}

static void names_are_those_of_flags(void) {
    struct error err = {0};
    char name[TRIALS_NAME_SIZE];
    CU_ASSERT_EQUAL(trials_member_name("batch_size-2", name, "plan", &err), 0);
    CU_ASSERT_EQUAL(trials_member_name("-x", name, "plan", &err), -1);
    CU_ASSERT_EQUAL(trials_member_name("", name, "plan", &err), -1);
    CU_ASSERT_EQUAL(trials_member_name(NULL, name, "plan", &err), -1);
    CU_ASSERT_EQUAL(trials_member_name("a=b", name, "plan", &err), -1);
    CU_ASSERT_EQUAL(trials_member_name("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", name,
                                       "plan", &err),
                    -1);
}

UNIT_SUITE("common.trials.trials_member", UNIT(values_are_texts_of_flags),
           UNIT(names_are_those_of_flags))

#include "common/json/json.h"
#include "tests/unit/entrypoint/outcome/verdict_case.h"

static void a_verdict_survives_its_frame(void) {
    all_ended_well();
    end_rank(2, RANK_EXITED, 42, RANK_CAUSE_NONE, MS(500));
    struct verdict v = judged(), back;
    snprintf(v.text, sizeof(v.text), "bad \x83 byte");
    cleanup_json json_t *object = verdict_json(&v);
    CU_ASSERT_EQUAL(verdict_parse(object, &back, NULL), 0);
    CU_ASSERT(back.code == 42 && back.host == 1 && back.rank == 2);
    CU_ASSERT_STRING_EQUAL(back.class_name, "program");
    CU_ASSERT_STRING_EQUAL(back.text, "bad \xef\xbf\xbd byte");
    CU_ASSERT_STRING_EQUAL(back.log_tail, "last words of 2");
    json_object_set_new(object, "host", json_integer(CLUSTER_HOSTS_MAX - 1));
    CU_ASSERT_EQUAL(verdict_parse(object, &back, NULL), 0);
    json_object_set_new(object, "host", json_integer(CLUSTER_HOSTS_MAX));
    CU_ASSERT_EQUAL(verdict_parse(object, &back, NULL), -1);
    json_object_set_new(object, "host", json_integer(-2));
    CU_ASSERT_EQUAL(verdict_parse(object, &back, NULL), -1);
    json_object_set_new(object, "host", json_integer(-1));
    CU_ASSERT_EQUAL(verdict_parse(object, &back, NULL), 0);
    json_object_set_new(object, "code", json_integer(256));
    CU_ASSERT_EQUAL(verdict_parse(object, &back, NULL), -1);
    json_object_del(object, "code");
    CU_ASSERT_EQUAL(verdict_parse(object, &back, NULL), -1);
}

UNIT_SUITE("outcome.verdict_frame", UNIT(a_verdict_survives_its_frame))

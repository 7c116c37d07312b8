#include "common/json/json.h"
#include "entrypoint/host/ranks/rank_sinks.h"
#include "entrypoint/wire/frame.h"
#include "tests/support/unit.h"

#include <string.h>

static json_t *told;

static void tell(void *context, json_t *message) {
    CU_ASSERT_PTR_EQUAL(context, &told);
    json_decref(told);
    told = message;
}

static const struct rank_sinks sinks = {.send = tell, .context = &told};

static void a_message_has_its_type_and_its_members(void) {
    json_t *members = json_pack("{s:i, s:s}", "rank", 3, "states", "sleep");
    rank_sinks_send(&sinks, MESSAGE_QUIET, members);
    CU_ASSERT_STRING_EQUAL(frame_type(told), "quiet");
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(told, "rank")), 3);
    CU_ASSERT_EQUAL(json_object_size(members), 2); /* it is the caller's, as it was */
    CU_ASSERT_EQUAL(members->refcount, 1);
    json_decref(members);
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(told, "states")), "sleep");
}

static void it_may_have_none(void) {
    cleanup_json json_t *bare = frame_new("busy");
    rank_sinks_send(&sinks, MESSAGE_BUSY, NULL);
    CU_ASSERT(json_equal(told, bare));
    json_decref(told);
    told = NULL;
}

UNIT_SUITE("host.rank_sinks", UNIT(a_message_has_its_type_and_its_members), UNIT(it_may_have_none))

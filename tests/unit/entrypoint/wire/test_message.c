#include "entrypoint/wire/message.h"

#include "common/cleanup.h"
#include "common/json/json.h"
#include "entrypoint/wire/frame.h"
#include "tests/support/paper.h"
#include "tests/support/unit.h"

#include <string.h>
#include <strings.h>

static void every_kind_has_a_type_of_its_own(void) {
    for (unsigned kind = MESSAGE_UNKNOWN + 1; kind < MESSAGE_COUNT; kind++) {
        cleanup_json json_t *message = message_new((enum message)kind);
        CU_ASSERT_STRING_EQUAL(frame_type(message), message_type((enum message)kind));
        CU_ASSERT_EQUAL(frame_version(message), FRAME_VERSION);
        CU_ASSERT_EQUAL(message_kind(message), kind); /* not the kind of an earlier row */
        CU_ASSERT_NOT_EQUAL(message_type((enum message)kind)[0], '\0');
    }
}

/* The name in code, in small letters. */
static void a_type_is_the_name_of_its_kind(void) {
#define MESSAGE(kind, type, way, members, text) {#kind, type},
    static const char *const rows[][2] = {
#include "entrypoint/wire/messages.def"
    };
#undef MESSAGE
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        CU_ASSERT_EQUAL(strcasecmp(rows[i][0], rows[i][1]), 0);
        CU_ASSERT_EQUAL(strpbrk(rows[i][1], "ABCDEFGHIJKLMNOPQRSTUVWXYZ"), NULL);
    }
}

static void another_type_is_unknown(void) {
    static const char *const types[] = {"", "JOIN", "join ", "joi", "nothing"};
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        cleanup_json json_t *message = frame_new(types[i]);
        CU_ASSERT_EQUAL(message_kind(message), MESSAGE_UNKNOWN);
    }
    cleanup_json json_t *none = json_object();
    CU_ASSERT_EQUAL(message_kind(none), MESSAGE_UNKNOWN);
    CU_ASSERT_STRING_EQUAL(message_type(MESSAGE_UNKNOWN), "");
}

static void members_come_along(void) {
    cleanup_json json_t *message = message_with(MESSAGE_SIGNAL, json_pack("{s:i}", "number", 10));
    CU_ASSERT_EQUAL(message_kind(message), MESSAGE_SIGNAL);
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(message, "number")), 10);
    CU_ASSERT_PTR_NULL(message_with(MESSAGE_SIGNAL, NULL));
    cleanup_json json_t *older = message_new_for(1, MESSAGE_REFUSE);
    CU_ASSERT_EQUAL(frame_version(older), 1);
    CU_ASSERT_EQUAL(message_kind(older), MESSAGE_REFUSE);
}

/* A peer of another build must understand these two types, too; changing any other one needs a new
 * protocol version. */
static void words_on_the_wire_stay_as_they_are(void) {
    CU_ASSERT_STRING_EQUAL(message_type(MESSAGE_JOIN), "join");
    CU_ASSERT_STRING_EQUAL(message_type(MESSAGE_REFUSE), "refuse");
}

static void the_page_lists_them(void) {
    assert_paper_has("docs/reference/protocol.md", "messages", message_page);
}

UNIT_SUITE("wire.message", UNIT(every_kind_has_a_type_of_its_own),
           UNIT(a_type_is_the_name_of_its_kind), UNIT(another_type_is_unknown),
           UNIT(members_come_along), UNIT(words_on_the_wire_stay_as_they_are),
           UNIT(the_page_lists_them))

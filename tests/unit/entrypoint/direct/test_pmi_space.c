#include "entrypoint/direct/pmi_space.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

enum { MANY = 300 };

static void what_was_put_is_found(void) {
    struct pmi_space s = {0};
    CU_ASSERT_PTR_NULL(pmi_space_get(&s, "a"));
    CU_ASSERT_EQUAL(pmi_space_put(&s, "b", "2 of two", NULL), 0);
    CU_ASSERT_EQUAL(pmi_space_put(&s, "a", "1", NULL), 0);
    CU_ASSERT_EQUAL(pmi_space_put(&s, "c", "", NULL), 0);
    CU_ASSERT_STRING_EQUAL(pmi_space_get(&s, "a"), "1");
    CU_ASSERT_STRING_EQUAL(pmi_space_get(&s, "b"), "2 of two");
    CU_ASSERT_STRING_EQUAL(pmi_space_get(&s, "c"), "");
    CU_ASSERT_PTR_NULL(pmi_space_get(&s, "d"));
    CU_ASSERT_EQUAL(pmi_space_put(&s, "a", "another", NULL), 0);
    CU_ASSERT_STRING_EQUAL(pmi_space_get(&s, "a"), "another");
    CU_ASSERT_EQUAL(s.count, 3);
    CU_ASSERT_EQUAL(s.bytes, strlen("aanother") + strlen("b2 of two") + strlen("c"));
    pmi_space_done(&s);
}

static void what_clients_were_not_promised_is_refused(void) {
    struct pmi_space s = {0};
    char key[PMI_KEY_MAX + 2];
    char value[PMI_VALUE_MAX + 2];
    memset(key, 'k', sizeof(key));
    memset(value, 'v', sizeof(value));
    key[PMI_KEY_MAX + 1] = value[PMI_VALUE_MAX + 1] = '\0';
    CU_ASSERT_EQUAL(pmi_space_put(&s, key, "v", NULL), -1);
    CU_ASSERT_EQUAL(pmi_space_put(&s, "k", value, NULL), -1);
    CU_ASSERT_EQUAL(pmi_space_put(&s, "", "v", NULL), -1);
    CU_ASSERT_EQUAL(pmi_space_put(&s, "two words", "v", NULL), -1);
    CU_ASSERT_EQUAL(pmi_space_put(&s, "k", "line\nend", NULL), -1);
    CU_ASSERT_EQUAL(pmi_space_put(&s, "k", "\xff", NULL), -1);
    CU_ASSERT_EQUAL(s.count, 0);
    key[PMI_KEY_MAX] = value[PMI_VALUE_MAX] = '\0';
    CU_ASSERT_EQUAL(pmi_space_put(&s, key, value, NULL), 0);
    s.bytes = PMI_SPACE_BYTES_MAX - 1;
    struct error err = {0};
    CU_ASSERT_EQUAL(pmi_space_put(&s, "k", "v", &err), -1);
    ASSERT_CONTAINS(err.text, "4194304 bytes");
    pmi_space_done(&s);
}

/* Pairs put in any order arrive in frames, none of which is too large. */
static void a_space_arrives_whole(void) {
    struct pmi_space from = {0}, to = {0};
    char key[32];
    char value[PMI_VALUE_MAX + 1];
    size_t next = 0, frames = 0;
    memset(value, '"', PMI_VALUE_MAX); /* twice as long in JSON */
    value[PMI_VALUE_MAX] = '\0';
    for (int i = 0; i < MANY; i++) {
        (void)snprintf(key, sizeof(key), "key-%d", i * 7 % MANY);
        CU_ASSERT_EQUAL(pmi_space_put(&from, key, value, NULL), 0);
    }
    for (json_t *pairs; (pairs = pmi_space_json(&from, &next)) != NULL; frames++) {
        CU_ASSERT(json_dumpb(pairs, NULL, 0, JSON_COMPACT) < 60 * 1024);
        CU_ASSERT_EQUAL(pmi_space_take(&to, pairs, NULL), 0);
        json_decref(pairs);
    }
    CU_ASSERT(frames > 1);
    CU_ASSERT_EQUAL(to.count, MANY);
    CU_ASSERT_EQUAL(to.bytes, from.bytes);
    CU_ASSERT_STRING_EQUAL(pmi_space_get(&to, "key-299"), value);
    pmi_space_done(&from);
    pmi_space_done(&to);
}

static void other_json_is_refused(void) {
    static const char *const bad[] = {"[[\"a\"]]", "[[1, 2]]", "[7]", "[[\"a\", \"b\\n\"]]"};
    struct pmi_space s = {0};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        json_t *pairs = json_loads(bad[i], 0, NULL);
        CU_ASSERT_PTR_NOT_NULL_FATAL(pairs);
        CU_ASSERT_EQUAL(pmi_space_take(&s, pairs, NULL), -1);
        json_decref(pairs);
    }
    CU_ASSERT_EQUAL(pmi_space_take(&s, NULL, NULL), 0);
    CU_ASSERT_EQUAL(s.count, 0);
    pmi_space_done(&s);
}

UNIT_SUITE("direct.pmi_space", UNIT(what_was_put_is_found),
           UNIT(what_clients_were_not_promised_is_refused), UNIT(a_space_arrives_whole),
           UNIT(other_json_is_refused))

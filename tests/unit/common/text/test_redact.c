#include "common/text/redact.h"
#include "tests/support/unit.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

static void registered_values_are_blotted_out(void) {
    cleanup_buf struct buf out;
    buf_init(&out, 1000);
    /* The longest value is redacted whole, whichever was added first. */
    static const char *const values[] = {"hunter22", "hunter22-long", "hunter22"};
    for (int first = 0; first < 2; first++) {
        buf_consume(&out, SIZE_MAX);
        redact_add(values[first], NULL);
        redact_add(values[first + 1], NULL);
        CU_ASSERT_EQUAL(redact_text(&out, "a hunter22 b hunter22-long hunter2", NULL), 0);
        CU_ASSERT_STRING_EQUAL(buf_text(&out), "a *** b *** hunter2");
        redact_done();
    }
}

static void short_values_are_left_alone(void) {
    cleanup_buf struct buf out;
    buf_init(&out, 100);
    char value[REDACT_SHORTEST + 1] = "";
    memset(value, 'k', REDACT_SHORTEST - 1);
    redact_add(value, NULL);
    redact_text(&out, value, NULL);
    CU_ASSERT_STRING_EQUAL(buf_text(&out), value);
    value[REDACT_SHORTEST - 1] = 'k';
    redact_add(value, NULL);
    buf_consume(&out, SIZE_MAX);
    redact_text(&out, value, NULL);
    CU_ASSERT_STRING_EQUAL(buf_text(&out), "***");
    redact_done();
}

static void names_tell_secrets_by_their_words(void) {
    CU_ASSERT(redact_is_secret_name("AWS_SECRET_ACCESS_KEY"));
    CU_ASSERT(redact_is_secret_name("db-password"));
    CU_ASSERT(redact_is_secret_name("GITHUB_TOKEN"));
    static const char *const words[] = {"key",    "token",      "secret",     "password",
                                        "passwd", "credential", "credentials"};
    static const char *const places[] = {"file", "path", "dir"};
    char name[64];
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        snprintf(name, sizeof(name), "MY_%s_2", words[i]);
        CU_ASSERT(redact_is_secret_name(name));
        for (size_t j = 0; j < sizeof(places) / sizeof(places[0]); j++) {
            snprintf(name, sizeof(name), "%s_%s", words[i], places[j]);
            CU_ASSERT(!redact_is_secret_name(name));
        }
    }
    CU_ASSERT(!redact_is_secret_name("MONKEY_COUNT"));
    CU_ASSERT(!redact_is_secret_name("PATH"));
    CU_ASSERT(!redact_is_secret_name("RINGMASTER_KEY_FILE"));
    CU_ASSERT(redact_is_secret_name("FILE_KEY"));
}

static void secret_variables_of_an_environment_are_found(void) {
    char secret[] = "API_KEY=0123456789";
    char plain[] = "HOME=/root/folder";
    char odd[] = "novalue";
    char *environment[] = {plain, odd, secret, NULL};
    CU_ASSERT_EQUAL(redact_add_environment(environment, NULL), 0);
    cleanup_buf struct buf out;
    buf_init(&out, 100);
    redact_text(&out, "0123456789 /root/folder", NULL);
    CU_ASSERT_STRING_EQUAL(buf_text(&out), "*** /root/folder");
    redact_done();
}

static void the_registry_has_a_ceiling(void) {
    char value[32];
    for (int i = 0; i < REDACT_MAX; i++) {
        snprintf(value, sizeof(value), "secret-%d", i);
        CU_ASSERT_EQUAL_FATAL(redact_add(value, NULL), 0);
    }
    CU_ASSERT_EQUAL(redact_add("secret-0", NULL), 0);
    struct error err = {0};
    CU_ASSERT_EQUAL(redact_add("one more", &err), -1);
    redact_done();
}

UNIT_SUITE("common.redact", UNIT(registered_values_are_blotted_out),
           UNIT(short_values_are_left_alone), UNIT(names_tell_secrets_by_their_words),
           UNIT(secret_variables_of_an_environment_are_found), UNIT(the_registry_has_a_ceiling))

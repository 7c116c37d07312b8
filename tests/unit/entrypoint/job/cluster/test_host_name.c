#include "entrypoint/job/cluster/host_name.h"
#include "tests/support/unit.h"

#include <string.h>

static int parse(const char *text, struct host_name *ret, struct error *err) {
    return host_name_parse(text, strlen(text), ret, err);
}

static void names_and_addresses_are_taken_as_they_are(void) {
    static const char *const good[] = {
        "algo-1",  "algo-1-plf6b", "a",     "A1",  "10.0.0.3",         "1a",    "node1.example.com",
        "x.y-z.q", "3com.net",     "0a.1b", "a_b", "trainer_1.my_net", "_dmarc"};
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        struct host_name name;
        CU_ASSERT_EQUAL(parse(good[i], &name, NULL), 0);
        CU_ASSERT_STRING_EQUAL(name.text, good[i]);
    }
}

static void ipv6_addresses_have_one_form(void) {
    static const char *const forms[] = {"fd00::1", "[fd00::1]", "FD00:0::1",
                                        "[fd00:0:0:0:0:0:0:1]"};
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        struct host_name name;
        CU_ASSERT_EQUAL(parse(forms[i], &name, NULL), 0);
        CU_ASSERT_STRING_EQUAL(name.text, "fd00::1");
    }
}

static void a_name_ends_where_its_port_begins(void) {
    static const struct {
        const char *text;
        size_t extent;
    } rows[] = {
        {"algo-1", 6},      {"algo-1:4", 6},    {"algo-1:", 6},  {"fd00::1", 7}, {"[fd00::1]", 9},
        {"[fd00::1]:4", 9}, {"[fd00::1]4", 10}, {"[fd00::1", 8}, {"a:b:c", 5},   {"", 0},
        {":", 0},           {"[1-3]:4", 5}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        CU_ASSERT_EQUAL(host_name_extent(rows[i].text, strlen(rows[i].text)), rows[i].extent);
}

static void hostile_names_are_refused_and_shown(void) {
    static const char *const bad[] = {"-oProxyCommand=x",
                                      "a b",
                                      "a,b",
                                      "a:1",
                                      "a.",
                                      ".a",
                                      "a..b",
                                      "-",
                                      "a-",
                                      "a/b",
                                      "..",
                                      "a\nb",
                                      "a;b",
                                      "$(id)",
                                      "`id`",
                                      "a\"b",
                                      "algo-1\\",
                                      "\xc3\xa9",
                                      "a*",
                                      "[fe80::1]",
                                      "fe80::1",
                                      "256.1.1.1",
                                      "1.2.3",
                                      "1",
                                      "a.1",
                                      "1.2.3.4.5",
                                      "01.2.3.4",
                                      "a.-b",
                                      "a.b-"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct host_name name = {"unchanged"};
        struct error err = {0};
        CU_ASSERT_EQUAL(parse(bad[i], &name, &err), -1);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
        ASSERT_CONTAINS(err.text, bad[i]);
        CU_ASSERT_STRING_EQUAL(name.text, "unchanged");
    }
}

static void lengths_are_bounded(void) {
    char text[301];
    struct host_name name;
    struct error err = {0};
    CU_ASSERT_EQUAL(parse("", &name, &err), -1);
    ASSERT_CONTAINS(err.text, "empty");
    memset(text, 'a', sizeof(text));
    CU_ASSERT_EQUAL(host_name_parse(text, 63, &name, NULL), 0);
    CU_ASSERT_EQUAL(host_name_parse(text, 64, &name, NULL), -1);
    for (size_t i = 50; i < sizeof(text); i += 51)
        text[i] = '.';
    CU_ASSERT_EQUAL(host_name_parse(text, 253, &name, NULL), 0);
    CU_ASSERT_EQUAL(host_name_parse(text, 254, &name, &err), -1);
    ASSERT_CONTAINS(err.text, "254 bytes");
    CU_ASSERT_EQUAL(host_name_parse(text, 300, &name, NULL), -1);
}

static void a_nul_inside_is_refused(void) {
    struct host_name name;
    CU_ASSERT_EQUAL(host_name_parse("algo\0-1", 7, &name, NULL), -1);
}

static void order_is_natural_and_equality_ignores_case(void) {
    struct host_name a, b;
    CU_ASSERT_EQUAL(parse("algo-2-plf6b", &a, NULL), 0);
    CU_ASSERT_EQUAL(parse("algo-10-plf6b", &b, NULL), 0);
    CU_ASSERT(host_name_compare(&a, &b) < 0);
    CU_ASSERT(host_name_compare(&b, &a) > 0);
    CU_ASSERT_EQUAL(parse("ALGO-2-plf6b", &b, NULL), 0);
    CU_ASSERT(host_name_equal(&a, &b));
}

UNIT_SUITE("job.host_name", UNIT(ipv6_addresses_have_one_form),
           UNIT(a_name_ends_where_its_port_begins), UNIT(names_and_addresses_are_taken_as_they_are),
           UNIT(hostile_names_are_refused_and_shown), UNIT(lengths_are_bounded),
           UNIT(a_nul_inside_is_refused), UNIT(order_is_natural_and_equality_ignores_case))

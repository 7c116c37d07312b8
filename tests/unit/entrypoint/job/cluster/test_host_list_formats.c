#include "common/buf.h"
#include "common/file/file.h"
#include "entrypoint/job/cluster/host_list_formats.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

static void words_may_stand_apart_in_any_way(void) {
    struct platform_description d = {0};
    CU_ASSERT_EQUAL(host_list_format_words(" a,b;c\n d:22\te\r\n", "X", &d, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(d.count, 5);
    CU_ASSERT_STRING_EQUAL(d.hosts[3].name.text, "d");
    CU_ASSERT_STRING_EQUAL(d.hosts[4].name.text, "e");
    CU_ASSERT_EQUAL(d.hosts[3].slots, 0);
    platform_description_done(&d);
    CU_ASSERT_EQUAL(host_list_format_words(" ,\n", "X", &d, NULL), 0);
    CU_ASSERT_EQUAL(d.count, 0);
}

static void errors_name_the_variable(void) {
    struct platform_description d = {0};
    struct error err = {0};
    static const char *const tasks[] = {"worker", NULL};
    CU_ASSERT_EQUAL(host_list_format_words("a b/c", "WORDS", &d, &err), -1);
    ASSERT_CONTAINS(err.text, "WORDS: ");
    CU_ASSERT_EQUAL(host_list_format_hostlist("a[", "HOSTLIST", &d, &err), -1);
    ASSERT_CONTAINS(err.text, "HOSTLIST: ");
    CU_ASSERT_EQUAL(host_list_format_file("/nonexistent", "FILE", &d, &err), -1);
    ASSERT_CONTAINS(err.text, "FILE: ");
    CU_ASSERT_EQUAL(host_list_format_spec("{\"cluster\":[]}", "SPEC", tasks, &d, &err), -1);
    ASSERT_CONTAINS(err.text, "SPEC");
    CU_ASSERT_EQUAL(
        host_list_format_spec("{\"cluster\":{\"worker\":[\"a b\"]}}", "SPEC", tasks, &d, &err), -1);
    ASSERT_CONTAINS(err.text, "SPEC: \"worker\"");
    platform_description_done(&d);
}

static void a_file_counts_slots_to_their_ceiling(void) {
    char path[4200];
    cleanup_buf struct buf text;
    struct platform_description d = {0};
    buf_init(&text, 65536);
    snprintf(path, sizeof(path), "%s/nodes", unit_temp_dir());
    for (int i = 0; i <= CLUSTER_SLOTS_MAX; i++)
        CU_ASSERT_EQUAL(buf_add_text(&text, "wide\n", NULL), 0);
    CU_ASSERT_EQUAL(buf_add_text(&text, "# lean\nlean", NULL), 0);
    CU_ASSERT_EQUAL(file_publish(path, text.data, text.size, 0644, NULL), 0);
    CU_ASSERT_EQUAL(host_list_format_file(path, "FILE", &d, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(d.count, 2);
    CU_ASSERT_EQUAL(d.hosts[0].slots, CLUSTER_SLOTS_MAX);
    CU_ASSERT_EQUAL(d.hosts[1].slots, 1);
    platform_description_done(&d);
}

static void assert_line(const char *line, unsigned slots) {
    struct platform_description d = {0};
    struct error err = {0};
    int done = host_list_format_lines(line, &d, &err);
    if (done != 0 || d.count != 1 || d.hosts[0].slots != slots)
        printf("\n\"%s\": %zu hosts, %s\n", line, d.count, err.text);
    CU_ASSERT_EQUAL_FATAL(done, 0);
    CU_ASSERT_EQUAL_FATAL(d.count, 1);
    CU_ASSERT_EQUAL(d.hosts[0].slots, slots);
    platform_description_done(&d);
}

static void a_line_says_how_many_slots(void) {
    assert_line("n1", 1);
    assert_line("n1 slots=4", 4);
    assert_line("  n1\tslots=4 max_slots=8 \r\n", 4);
    assert_line("n1 max-slots=8", 1);
    assert_line("\xef\xbb\xbfn1 slots=4\r\n", 4); /* a byte order mark */
    assert_line("n1:4", 4);
    assert_line("n1 # slots=4", 1);
    assert_line("n1 slots=4# four", 4);
    assert_line("n1#x", 1);
    assert_line("n1 slots=2\nn1:3\nn1\n# n2\n\n", 6);
    assert_line("n1 slots=200\nn1 slots=200", CLUSTER_SLOTS_MAX);
    assert_line("n1 slots=256", 256);
    assert_line("fd00::1 slots=2", 2);
    assert_line("[fd00::1]:2", 2);
}

static void what_a_line_does_not_mean_is_named(void) {
    static const char *const rows[][2] = {
        {"n1 4", "\"4\" after a host's name"},
        {"n1 slots=2 cpu=4", "\"n1\": \"cpu=4\""},
        {"n1 slots=", "\"slots=\""},
        {"n1 slots=0", "got \"0\""},
        {"n1 slots=257", "got \"257\""},
        {"n1 slots=-1", "got \"-1\""},
        {"n1 slots=4x", "got \"4x\""},
        {"n1 slots=11111111111111111111111111", "got \"1111"},
        {"n1 max_slots=x", "got \"x\""},
        {"n1:", "got \"\""},
        {"n1:x", "got \"x\""},
        {"n1:2:3", "n1:2:3"},
        {"n;1 slots=2", "n;1"},
        {"n1\n-x slots=2", "-x"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct platform_description d = {0};
        struct error err = {0};
        CU_ASSERT_EQUAL(host_list_format_lines(rows[i][0], &d, &err), -1);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
        if (strstr(err.text, rows[i][1]) == NULL)
            printf("\n\"%s\": %s\n", rows[i][0], err.text);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, rows[i][1]));
        platform_description_done(&d);
    }
}

/* Later tasks come after earlier ones, in whatever order the text has them. */
static void a_specification_says_who_this_is(void) {
    static const char text[] =
        "{\"task\":{\"type\":\"worker\",\"index\":\"1\"},\"cluster\":"
        "{\"worker\":[\"w0:1\",\"w1:1\"],\"chief\":[\"c:1\"],\"ps\":[\"p\"]}}";
    static const char *const tasks[] = {"chief", "worker", NULL};
    struct platform_description d = {0};
    CU_ASSERT_EQUAL(host_list_format_spec(text, "SPEC", tasks, &d, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(d.count, 3);
    CU_ASSERT_STRING_EQUAL(d.hosts[0].name.text, "c");
    CU_ASSERT_STRING_EQUAL(d.self.text, "w1");
    platform_description_done(&d);
}

/* If one host trains, the others of the list get a message that they do not. */
static void a_lone_trainer_is_known_and_others_take_no_part(void) {
#define TASKS                                                                                      \
    "{\"cluster\":{\"chief\":[\"c:1\"],\"evaluator\":[\"e:1\"],\"ps\":[\"p:1\"]},\"task\":"
    static const struct {
        const char *text, *error;
    } cases[] = {
        {TASKS "{\"type\":\"chief\",\"index\":0}}", NULL},
        {TASKS "{\"type\":\"evaluator\",\"index\":0}}", "\"evaluator\" takes no part"},
        {TASKS "{\"type\":\"ps\",\"index\":0}}", "\"ps\" takes no part"},
        {TASKS "{\"type\":\"chief\",\"index\":1}}",
         "\"index\" is 1; expected less than 1, the hosts of \"chief\""},
        {TASKS "{\"type\":\"chief\"}}", "\"index\" is missing or invalid"},
        {TASKS "{}}", "\"task\" has no \"type\""},
    };
    static const char *const tasks[] = {"chief", "worker", NULL};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct platform_description d = {0};
        struct error err = {0};
        int read = host_list_format_spec(cases[i].text, "SPEC", tasks, &d, &err);
        CU_ASSERT_EQUAL(read, cases[i].error == NULL ? 0 : -1);
        if (cases[i].error == NULL)
            CU_ASSERT_STRING_EQUAL(d.self.text, "c")
        else
            ASSERT_CONTAINS(err.text, cases[i].error);
        platform_description_done(&d);
    }
}

UNIT_SUITE("job.host_list_formats", UNIT(words_may_stand_apart_in_any_way),
           UNIT(errors_name_the_variable), UNIT(a_file_counts_slots_to_their_ceiling),
           UNIT(a_line_says_how_many_slots), UNIT(what_a_line_does_not_mean_is_named),
           UNIT(a_specification_says_who_this_is),
           UNIT(a_lone_trainer_is_known_and_others_take_no_part))

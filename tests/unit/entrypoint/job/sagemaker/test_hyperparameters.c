#include "common/buf.h"
#include "common/file/file.h"
#include "entrypoint/job/sagemaker/hyperparameters.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define cleanup_hyperparameters __attribute__((cleanup(hyperparameters_done)))

static int parse(const char *text, struct hyperparameters *ret, struct error *err) {
    return hyperparameters_parse(text, strlen(text), "h.json", ret, err);
}

/* The flags for TEXT, joined with '|'. */
static const char *flags_with(const char *text, bool nulls) {
    static char joined[1024];
    cleanup_hyperparameters struct hyperparameters h = {0};
    cleanup_argv struct argv words = {0};
    joined[0] = '\0';
    CU_ASSERT_EQUAL(parse(text, &h, NULL), 0);
    CU_ASSERT_EQUAL(hyperparameters_add_flags(&h, nulls, &words, NULL), 0);
    for (size_t i = 0; i < words.count; i++) {
        strncat(joined, i > 0 ? "|" : "", sizeof(joined) - strlen(joined) - 1);
        strncat(joined, words.items[i], sizeof(joined) - strlen(joined) - 1);
    }
    return joined;
}

static const char *flags(const char *text) {
    return flags_with(text, false);
}

/* Python's None arrives as `null` in the service's JSON, and as "null" from both SDKs. */
static void null_is_an_empty_text_or_no_flag(void) {
    static const char *const spellings[] = {"{\"a\":\"1\",\"none\":null}",
                                            "{\"a\":\"1\",\"none\":\"null\"}"};
    for (size_t i = 0; i < 2; i++) {
        cleanup_hyperparameters struct hyperparameters h = {0};
        CU_ASSERT_STRING_EQUAL(flags_with(spellings[i], true), "-a|1|--none|");
        CU_ASSERT_STRING_EQUAL(flags_with(spellings[i], false), "-a|1");
        CU_ASSERT_EQUAL(parse(spellings[i], &h, NULL), 0);
        CU_ASSERT_PTR_NULL(hyperparameters_get(&h, "none"));
    }
    CU_ASSERT_STRING_EQUAL(flags_with("{\"none\":\"None\"}", false), "--none|None");
}

static void all_three_spellings_are_understood(void) {
    static const char expected[] = "-f|1e-05|-i|7|-l|[1, 2, 'x']|-s|abc|-t|True|-u|\xc3\xa9";
    CU_ASSERT_STRING_EQUAL(flags("{\"s\": \"abc\", \"i\": \"7\", \"f\": \"1e-05\", \"t\": \"true\","
                                 "\"l\": \"[1, 2, \\\"x\\\"]\", \"u\": \"\\u00e9\"}"),
                           expected);
    CU_ASSERT_STRING_EQUAL(flags("{\"s\": \"\\\"abc\\\"\", \"i\": \"7\", \"f\": \"1e-05\", \"t\": "
                                 "\"true\", \"n\": \"null\", \"l\": \"[1, 2, \\\"x\\\"]\", \"u\": "
                                 "\"\\\"\\\\u00e9\\\"\"}"),
                           expected);
    CU_ASSERT_STRING_EQUAL(flags("{\"s\": \"abc\", \"t\": \"True\", \"l\": \"[1, 2, 'x']\"}"),
                           "-l|[1, 2, 'x']|-s|abc|-t|True");
}

static void values_that_are_not_strings_are_spelled_as_in_python(void) {
    CU_ASSERT_STRING_EQUAL(flags("{\"truthy\":true,\"falsy\":false,\"i\":7,\"l\":[1, 2],"
                                 "\"ob\":{\"b\":1,\"a\":[true,null]},\"n\":null}"),
                           "--falsy|False|-i|7|-l|[1, 2]|--ob|a=[True, None],b=1|--truthy|True");
    CU_ASSERT_STRING_EQUAL(flags("{\"aa\":0.1,\"bb\":1e-5,\"cc\":0.30000000000000004,\"dd\":2.0}"),
                           "--aa|0.1|--bb|1e-5|--cc|0.30000000000000004|--dd|2.0");
}

/* The toolkit parses a number and prints it as Python does: 1e-05, 100000.0, 1.1, nan, inf, 5. Here
 * flag and variable keep the text that was sent: every language can read it, and no digit is lost.
 * Texts that look like numbers stay the same, too. */
static void numbers_stay_as_they_were_sent(void) {
    static const char *const values[] = {"1e-5",
                                         "1E5",
                                         "4.0",
                                         "1.10",
                                         "7",
                                         "-0",
                                         "NaN",
                                         "Infinity",
                                         "1e400",
                                         " 5 ",
                                         "007",
                                         "1_000",
                                         "0.1000000000000000055511151231257827"};
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        char text[128];
        char flag[128];
        cleanup_hyperparameters struct hyperparameters h = {0};
        snprintf(text, sizeof(text), "{\"n\":\"%s\"}", values[i]);
        snprintf(flag, sizeof(flag), "-n|%s", values[i]);
        CU_ASSERT_STRING_EQUAL(flags(text), flag);
        CU_ASSERT_EQUAL(parse(text, &h, NULL), 0);
        CU_ASSERT_STRING_EQUAL(hyperparameters_get(&h, "n"), values[i]);
    }
    /* In a list, numbers are spelled as in Python. */
    CU_ASSERT_STRING_EQUAL(flags("{\"n\":\"[1e-5, 1E5]\"}"), "-n|[1e-05, 100000.0]");
}

/* Python's integers are unbounded; unsigned seeds and IDs of 64 bits go beyond int64_t. */
static void integers_of_any_size_keep_their_digits(void) {
    static const char *const integers[] = {
        "9223372036854775807",   "-9223372036854775808",          "9223372036854775808",
        "-9223372036854775809",  "18446744073709551615",          "99999999999999999999",
        "-18446744073709551615", "100000000000000000000000000001"};
    for (size_t i = 0; i < sizeof(integers) / sizeof(integers[0]); i++) {
        char text[256], expected[256];
        const char *n = integers[i];
        cleanup_hyperparameters struct hyperparameters h = {0};
        snprintf(text, sizeof(text),
                 "{\"k\":%s,\"l\":[%s,0.1],\"o\":\"{\\\"a\\\": %s}\",\"s\":\"%s\"}", n, n, n, n);
        snprintf(expected, sizeof(expected), "-k|%s|-l|[%s, 0.1]|-o|a=%s|-s|%s", n, n, n, n);
        CU_ASSERT_STRING_EQUAL(flags(text), expected);
        CU_ASSERT_EQUAL_FATAL(parse(text, &h, NULL), 0);
        CU_ASSERT_STRING_EQUAL(hyperparameters_get(&h, "k"), n);
        snprintf(expected, sizeof(expected), "[%s,0.1]", n);
        CU_ASSERT_STRING_EQUAL(hyperparameters_get(&h, "l"), expected);
        snprintf(expected, sizeof(expected), "{\"a\":%s}", n);
        CU_ASSERT_STRING_EQUAL(hyperparameters_get(&h, "o"), expected);
    }
    /* Digits in strings are text, and a number that exceeds a double is still an error. */
    CU_ASSERT_STRING_EQUAL(
        flags("{\"k\":99999999999999999999,\"t\":\"a 99999999999999999999 \\\" b\"}"),
        "-k|99999999999999999999|-t|a 99999999999999999999 \" b");
    struct hyperparameters h = {0};
    struct error err = {0};
    CU_ASSERT_EQUAL(parse("{\"k\":1e999}", &h, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
}

/* SM_HP_* hold JSON, whereas the flags hold Python's spelling. */
static void texts_stay_json(void) {
    static const char *const expected[][2] = {
        {"b", "true"}, {"f", "1e-5"}, {"l", "[1,\"\\u00E9\"]"}, {"o", "{\"a\":[],\"b\":1}"}};
    cleanup_hyperparameters struct hyperparameters h = {0};
    CU_ASSERT_EQUAL(parse("{\"b\":\"true\",\"f\":1e-5,\"l\":\"[1, \\\"\\u00e9\\\"]\","
                          "\"o\":{\"b\":1,\"a\":[]}}",
                          &h, NULL),
                    0);
    for (size_t i = 0; i < 4; i++)
        CU_ASSERT_STRING_EQUAL(hyperparameters_get(&h, expected[i][0]), expected[i][1]);
}

/* A list takes more bytes in Python's spelling than in JSON, and the ceiling applies to JSON. */
static void the_longest_list_that_may_be_is_a_flag(void) {
    enum { NUMBERS = (HYPERPARAMETER_VALUE_MAX - 1) / 2, PYTHON = 3 * NUMBERS };
    static char text[HYPERPARAMETER_VALUE_MAX + 64] = "{\"list\":[";
    static char expected[PYTHON + 1];
    cleanup_hyperparameters struct hyperparameters h = {0};
    cleanup_argv struct argv words = {0};
    const size_t start = strlen(text);
    for (size_t i = 0; i < NUMBERS; i++) {
        memcpy(text + start + 2 * i, "7,", 2);
        memcpy(expected + 3 * i, i == 0 ? "[7," : " 7,", 3);
    }
    memcpy(text + start + (size_t)2 * NUMBERS - 1, "]}", 3);
    expected[PYTHON - 1] = ']';
    CU_ASSERT_EQUAL_FATAL(parse(text, &h, NULL), 0);
    CU_ASSERT_EQUAL(hyperparameters_add_flags(&h, true, &words, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(words.count, 2);
    CU_ASSERT_STRING_EQUAL(words.items[1], expected);
}

/* The toolkit does the same. */
static void one_letter_takes_one_dash_and_no_letter_none(void) {
    CU_ASSERT_STRING_EQUAL(flags("{\"U\":\"1\",\"b\":\"2\",\"T\":\"\",\"\":\"42\",\"bb\":\"3\"}"),
                           "|42|-T||-U|1|-b|2|--bb|3");
}

static void flags_come_in_byte_order_of_their_names(void) {
    CU_ASSERT_STRING_EQUAL(
        flags("{\"da-sh\":\"1\",\"un_der\":\"2\",\"un-sh\":\"3\",\"da_der\":\"2\",\"B\":\"\"}"),
        "-B||--da-sh|1|--da_der|2|--un-sh|3|--un_der|2");
}

static void hostile_values_arrive_as_they_are(void) {
    static const char *const values[] = {"a b; $HOME \"q\"",
                                         "$(id)",
                                         "`id`",
                                         "--",
                                         "-x",
                                         "'",
                                         "\"",
                                         "\"open",
                                         "*",
                                         "\n",
                                         "a\tb",
                                         "\\",
                                         "%s%n",
                                         " 5 ",
                                         "007",
                                         "\"a\" b",
                                         "{",
                                         "[1",
                                         "NaN",
                                         "\xf0\x9f\x92\xa9",
                                         ";",
                                         ":",
                                         "&&"};
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        json_t *object = json_object();
        json_object_set_new(object, "v", json_string(values[i]));
        char *text = json_dumps(object, 0);
        cleanup_hyperparameters struct hyperparameters h = {0};
        CU_ASSERT_EQUAL(parse(text, &h, NULL), 0);
        CU_ASSERT_STRING_EQUAL(hyperparameters_get(&h, "v"), values[i]);
        free(text);
        json_decref(object);
    }
}

static void what_speaks_to_us_is_hidden_from_the_program(void) {
    static const char text[] = "{\"sagemaker_program\":\"\\\"train.py\\\"\",\"lr\":\"0.1\","
                               "\"_tuning_objective_metric\":\"x\",\"sagemaker_job_name\":\"j\","
                               "\"default_user_module_name\":\"m\"}";
    CU_ASSERT_STRING_EQUAL(flags(text), "--lr|0.1");
    cleanup_hyperparameters struct hyperparameters h = {0};
    CU_ASSERT_EQUAL(parse(text, &h, NULL), 0);
    CU_ASSERT_STRING_EQUAL(hyperparameters_get(&h, "sagemaker_program"), "train.py");
    CU_ASSERT_PTR_NULL(hyperparameters_get(&h, "absent"));
}

/* The service accepts such names. They cannot become flags, but they are no error. */
static void names_outside_the_grammar_become_no_flags_and_are_counted(void) {
    static const char *const names[] = {"--",  "-x", "a=b",     "a b",    "a\\nb",
                                        "a;b", "$x", "\\u00e9", "../etc", ".a"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char text[64];
        cleanup_hyperparameters struct hyperparameters h = {0};
        snprintf(text, sizeof(text), "{\"%s\":\"1\",\"lr\":\"2\"}", names[i]);
        CU_ASSERT_STRING_EQUAL(flags(text), "--lr|2");
        CU_ASSERT_EQUAL(parse(text, &h, NULL), 0);
        CU_ASSERT_EQUAL(h.ignored, 1);
        CU_ASSERT_EQUAL(h.count, 2); /* the program can still read it */
    }
    for (size_t size = HYPERPARAMETER_NAME_MAX; size <= HYPERPARAMETER_NAME_MAX + 1; size++) {
        char text[HYPERPARAMETER_NAME_MAX + 32] = "{\"";
        cleanup_hyperparameters struct hyperparameters h = {0};
        memset(text + 2, 'n', size);
        snprintf(text + 2 + size, 16, "\":\"1\"}");
        CU_ASSERT_EQUAL(parse(text, &h, NULL), 0);
        CU_ASSERT_EQUAL_FATAL(h.count, 1);
        CU_ASSERT_EQUAL(h.items[0].odd, size > HYPERPARAMETER_NAME_MAX);
        CU_ASSERT_EQUAL(h.ignored, size <= HYPERPARAMETER_NAME_MAX ? 0 : 1);
    }
}

static void hostile_files_are_errors(void) {
    static const char *const bad[] = {
        "", "[]", "7", "{", "{\"a\":1,\"a\":2}", "{\"a\":\"\\u0000\"}", "{\"a\":\"\\ud800\"}"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct hyperparameters h = {0};
        struct error err = {0};
        CU_ASSERT_EQUAL(parse(bad[i], &h, &err), -1);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
        ASSERT_CONTAINS(err.text, "h.json");
        CU_ASSERT_PTR_NULL(h.items);
    }
}

static void ceilings_hold(void) {
    for (int count = 256; count <= 257; count++) {
        cleanup_buf struct buf text;
        buf_init(&text, 65536);
        buf_add_text(&text, "{\"a\":1", NULL);
        for (int i = 1; i < count; i++)
            buf_printf(&text, NULL, ",\"a%d\":1", i);
        buf_add_text(&text, "}", NULL);
        cleanup_hyperparameters struct hyperparameters h = {0};
        CU_ASSERT_EQUAL(parse(buf_text(&text), &h, NULL), count <= 256 ? 0 : -1);
    }
    for (size_t size = HYPERPARAMETER_VALUE_MAX; size <= HYPERPARAMETER_VALUE_MAX + 1; size++) {
        char *text = malloc(size + 32);
        int start = snprintf(text, 32, "{\"a\":\"");
        memset(text + start, 'x', size);
        memcpy(text + start + size, "\"}", 3);
        cleanup_hyperparameters struct hyperparameters h = {0};
        CU_ASSERT_EQUAL(parse(text, &h, NULL), size <= HYPERPARAMETER_VALUE_MAX ? 0 : -1);
        free(text);
    }
}

/* DEL takes one byte in JSON and four in Python's spelling, and an argument's length is limited. */
static void a_flag_that_becomes_too_long_is_an_error(void) {
    enum { LENGTH = 40000 };
    static char text[LENGTH + 64] = "{\"lr\":1,\"odd\":[\"";
    struct hyperparameters h = {0};
    struct error err = {0};
    size_t start = strlen(text);
    memset(text + start, 0x7f, LENGTH);
    memcpy(text + start + LENGTH, "\"]}", 4);
    CU_ASSERT_EQUAL(parse(text, &h, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
    ASSERT_CONTAINS(err.text, "h.json: \"odd\"");
    CU_ASSERT_PTR_NULL(h.items);
}

static int read_as_nobody(const char *path) {
    struct hyperparameters h = {0};
    struct error err = {0};
    if (setresgid(65534, 65534, 65534) != 0 || setresuid(65534, 65534, 65534) != 0)
        return 1;
    if (hyperparameters_read(path, &h, &err) == 0)
        return 2;
    return err.code == EXIT_CODE_CONFIG && strstr(err.text, path) != NULL ? 0 : 3;
}

/* A job must not run on without the parameters that it was given. */
static void a_file_that_may_not_be_read_is_an_error(void) {
    char path[4200];
    int status = -1;
    if (geteuid() != 0) {
        unit_skip("another user needs root");
        return;
    }
    snprintf(path, sizeof(path), "%s/h.json", unit_temp_dir());
    CU_ASSERT_EQUAL(chmod(unit_temp_dir(), 0755), 0);
    CU_ASSERT_EQUAL(file_publish(path, "{}", 2, 0600, NULL), 0);
    pid_t pid = fork();
    if (pid == 0)
        _exit(read_as_nobody(path));
    (void)waitpid(pid, &status, 0);
    CU_ASSERT_EQUAL(status, 0);
}

static void no_file_is_no_parameters(void) {
    cleanup_hyperparameters struct hyperparameters h = {0};
    CU_ASSERT_EQUAL(hyperparameters_read("/nonexistent/h.json", &h, NULL), 0);
    CU_ASSERT_EQUAL(h.count, 0);
    CU_ASSERT_PTR_NULL(hyperparameters_get(&h, "a"));
    struct error err = {0};
    CU_ASSERT_EQUAL(hyperparameters_read("/dev/null", &h, &err), -1);
    ASSERT_CONTAINS(err.text, "/dev/null");
    /* A file that exists but cannot be read does not count as absent. */
    CU_ASSERT_EQUAL(hyperparameters_read("/proc", &h, &err), -1);
    ASSERT_CONTAINS(err.text, "/proc");
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
}

UNIT_SUITE("job.hyperparameters", UNIT(all_three_spellings_are_understood),
           UNIT(null_is_an_empty_text_or_no_flag),
           UNIT(values_that_are_not_strings_are_spelled_as_in_python),
           UNIT(numbers_stay_as_they_were_sent), UNIT(integers_of_any_size_keep_their_digits),
           UNIT(texts_stay_json), UNIT(the_longest_list_that_may_be_is_a_flag),
           UNIT(one_letter_takes_one_dash_and_no_letter_none),
           UNIT(flags_come_in_byte_order_of_their_names), UNIT(hostile_values_arrive_as_they_are),
           UNIT(what_speaks_to_us_is_hidden_from_the_program),
           UNIT(names_outside_the_grammar_become_no_flags_and_are_counted),
           UNIT(hostile_files_are_errors), UNIT(ceilings_hold),
           UNIT(a_flag_that_becomes_too_long_is_an_error),
           UNIT(a_file_that_may_not_be_read_is_an_error), UNIT(no_file_is_no_parameters))

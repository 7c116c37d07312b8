#include "entrypoint/job/stop_signals.h"

#include "common/signal_name.h"
#include "tests/support/unit.h"

#include <string.h>

static void a_signal_has_a_name_or_a_number(void) {
    static const struct {
        const char *value;
        int number;
    } rows[] = {{"TERM", SIGTERM},  {"SIGTERM", SIGTERM}, {"USR1", SIGUSR1}, {"10", 10},
                {"SIGINT", SIGINT}, {"2", SIGINT},        {"PWR", SIGPWR},   {"31", 31}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        int number = 0;
        CU_ASSERT_EQUAL(stop_signals_parse(rows[i].value, &number, NULL), 0);
        CU_ASSERT_EQUAL(number, rows[i].number);
    }
}

static void what_no_program_can_handle_is_refused(void) {
    static const char *const bad[] = {
        "KILL", "SIGSTOP", "9",     "CHLD", "0",          "-1",  "65",      "99",
        "",     "usr1",    "TERM ", "SIG",  "SIGSIGTERM", "10x", "RTMIN+1", "TERMINATE"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        int number = 77;
        struct error err = {0};
        CU_ASSERT_EQUAL(stop_signals_parse(bad[i], &number, &err), -1);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
        CU_ASSERT_EQUAL(number, 77);
    }
}

static void a_warning_is_a_signal_and_seconds(void) {
    struct stop_warning warning = {0};
    CU_ASSERT_EQUAL(stop_signals_parse_warning("USR1@90", &warning, NULL), 0);
    CU_ASSERT(warning.number == SIGUSR1 && warning.seconds == 90);
    CU_ASSERT_EQUAL(stop_signals_parse_warning("SIGUSR2", &warning, NULL), 0);
    CU_ASSERT(warning.number == SIGUSR2 && warning.seconds == STOP_SIGNALS_WARN_SECONDS);
    json_t *shown = stop_signals_warning_json(&warning);
    CU_ASSERT_STRING_EQUAL(json_string_value(shown), "USR2@60");
    json_decref(shown);
    static const char *const bad[] = {
        "USR1@",    "USR1@0",  "@60",        "USR1@x", "KILL@60",
        "USR1@1@2", "60@USR1", "USR1@86401", "",       "a name that is longer than any signal's"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct error err = {0};
        CU_ASSERT_EQUAL(stop_signals_parse_warning(bad[i], &warning, &err), -1);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
        CU_ASSERT(warning.number == SIGUSR2 && warning.seconds == STOP_SIGNALS_WARN_SECONDS);
    }
    const struct stop_warning none = {0};
    shown = stop_signals_warning_json(&none);
    CU_ASSERT(json_is_null(shown));
    json_decref(shown);
}

static void what_ends_all_reaches_children(void) {
    for (int number = 1; number < NSIG; number++) {
        bool ends = number == SIGTERM || number == SIGINT || number == SIGHUP;
        CU_ASSERT_EQUAL(stop_signals_reach_children(number), ends);
    }
    CU_ASSERT_FALSE(stop_signals_has(SIGKILL));
    CU_ASSERT_FALSE(stop_signals_has(INT64_MAX));
    CU_ASSERT(stop_signals_has(SIGQUIT));
}

UNIT_SUITE("job.stop_signals", UNIT(a_signal_has_a_name_or_a_number),
           UNIT(what_no_program_can_handle_is_refused), UNIT(a_warning_is_a_signal_and_seconds),
           UNIT(what_ends_all_reaches_children))

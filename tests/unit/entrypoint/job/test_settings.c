#include "common/cleanup.h"
#include "common/json/json.h"
#include "entrypoint/job/cluster/platform_description.h"
#include "entrypoint/job/cluster/platform_table.h"
#include "entrypoint/job/settings.h"
#include "tests/support/unit.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static int parse(char *variable, struct settings *ret, struct error *err) {
    char path[] = "PATH=/bin";
    char *environment[] = {path, variable, NULL};
    return settings_parse(environment, ret, NULL, err);
}

static void nothing_set_gives_the_defaults(void) {
    struct settings s;
    CU_ASSERT_EQUAL(parse(NULL, &s, NULL), 0);
    CU_ASSERT_PTR_NULL(s.hosts);
    CU_ASSERT_EQUAL(s.port, 7070);
    CU_ASSERT_EQUAL(s.ready_seconds, 600);
    CU_ASSERT_EQUAL(s.dead_seconds, 10);
    CU_ASSERT_EQUAL(s.stall_seconds, 600);
    CU_ASSERT_EQUAL(s.idle_seconds, 0);
    CU_ASSERT_FALSE(s.stall_learned);
    CU_ASSERT_EQUAL(s.stop_seconds, 0);
    CU_ASSERT(s.stop_signal == SIGTERM && s.warning.number == 0);
    CU_ASSERT_PTR_NULL(s.platform);
    CU_ASSERT_STRING_EQUAL(s.base_dir, "/opt/ml");
    CU_ASSERT_EQUAL(s.logs, SETTINGS_LOGS_HOST);
    CU_ASSERT_FALSE(s.require_key);
    CU_ASSERT_EQUAL(s.restarts, 0);
    CU_ASSERT_EQUAL(s.min_hosts, 1);
    CU_ASSERT_FALSE(s.shrink);
    CU_ASSERT_EQUAL(s.efa, SETTINGS_EFA_AUTO);
}

static void an_empty_value_is_not_set(void) {
    struct settings s;
    char hosts[] = "RINGMASTER_HOSTS=";
    CU_ASSERT_EQUAL(parse(hosts, &s, NULL), 0);
    CU_ASSERT_PTR_NULL(s.hosts);
    char port[] = "RINGMASTER_PORT=";
    CU_ASSERT_EQUAL(parse(port, &s, NULL), 0);
    CU_ASSERT_EQUAL(s.port, 7070);
}

static void values_are_read(void) {
    struct settings s;
    char one[] = "RINGMASTER_HOSTS=a,b", two[] = "RINGMASTER_PORT=9000",
         three[] = "RINGMASTER_REQUIRE_KEY=1", four[] = "RINGMASTER_LOGS=master",
         five[] = "SAGEMAKER_BASE_DIR=/x", six[] = "RINGMASTER_SOCKET=/run/s", seven[] = "odd",
         eight[] = "RINGMASTER_ATTEMPT=1", nine[] = "RINGMASTER_RUN_ID=0123",
         ten[] = "RINGMASTER_PLATFORM=none", eleven[] = "RINGMASTER_PROGRESS=/proc/9/fd/4",
         twelve[] = "RINGMASTER_EFA=toolkit", thirteen[] = "RINGMASTER_STOP_SIGNAL=SIGINT",
         fourteen[] = "RINGMASTER_WARN_SIGNAL=USR1@90", fifteen[] = "RINGMASTER_TIME_LIMIT=3600";
    char *environment[] = {one,  two, three,  four,   five,     six,      seven,   eight,
                           nine, ten, eleven, twelve, thirteen, fourteen, fifteen, NULL};
    CU_ASSERT_EQUAL(settings_parse(environment, &s, NULL, NULL), 0);
    CU_ASSERT(s.stop_signal == SIGINT && s.time_limit == 3600);
    CU_ASSERT(s.warning.number == SIGUSR1 && s.warning.seconds == 90);
    CU_ASSERT_STRING_EQUAL(s.hosts, "a,b");
    CU_ASSERT_EQUAL(s.port, 9000);
    CU_ASSERT(s.require_key);
    CU_ASSERT_EQUAL(s.logs, SETTINGS_LOGS_MASTER);
    CU_ASSERT_STRING_EQUAL(s.base_dir, "/x");
    CU_ASSERT_STRING_EQUAL(s.platform, "none");
    CU_ASSERT_EQUAL(s.efa, SETTINGS_EFA_TOOLKIT);
}

static void wrong_values_and_unknown_names_are_errors_that_name_the_variable(void) {
    static char bad[][40] = {
        "RINGMASTER_PORT=80",          "RINGMASTER_PORT=70000",       "RINGMASTER_PORT=x",
        "RINGMASTER_REQUIRE_KEY=yes",  "RINGMASTER_LOGS=both",        "RINGMASTER_STOP_SECONDS=0",
        "RINGMASTER_READY_SECONDS=-1", "RINGMASTER_HOST_LIST=a",      "RINGMASTER_PLATFORM=Slurm",
        "RINGMASTER_PORTS=7070",       "RINGMASTER_PORT_X=1",         "RINGMASTER_NAME=x",
        "RINGMASTER_EFA=Toolkit",      "RINGMASTER_STOP_SIGNAL=KILL", "RINGMASTER_WARN_SIGNAL=@60",
        "RINGMASTER_TIME_LIMIT=0",     "RINGMASTER_SPARES=-1"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct settings s;
        struct error err = {0};
        CU_ASSERT_EQUAL(parse(bad[i], &s, &err), -1);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
        char name[40] = {0};
        memcpy(name, bad[i], strcspn(bad[i], "="));
        ASSERT_CONTAINS(err.text, name);
    }
}

static void a_name_that_is_near_is_offered(void) {
    static const char *const rows[][2] = {
        {"RINGMASTER_STALL=5", "did you mean RINGMASTER_STALL_SECONDS?"},
        {"RINGMASTER_HOTS=a,b", "did you mean RINGMASTER_HOSTS?"},
        {"RINGMASTER_IDLE_SECS=5", "did you mean RINGMASTER_IDLE_SECONDS?"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char variable[64];
        struct settings s;
        struct error err = {0};
        (void)snprintf(variable, sizeof(variable), "%s", rows[i][0]);
        CU_ASSERT_EQUAL(parse(variable, &s, &err), -1);
        ASSERT_CONTAINS(err.text, "there is no such setting; ");
        ASSERT_CONTAINS(err.text, rows[i][1]);
    }
    char far[] = "RINGMASTER_QQQQQQ=1";
    struct settings s;
    struct error err = {0};
    CU_ASSERT_EQUAL(parse(far, &s, &err), -1);
    CU_ASSERT_PTR_NULL(strstr(err.text, "did you mean"));
}

static void a_wrong_value_is_answered_with_those_that_are_right(void) {
    static char bad[][40] = {"RINGMASTER_PLATFORM=Slrum", "RINGMASTER_PLATFORM=nnone",
                             "RINGMASTER_PLATFORM=zzzzzz", "RINGMASTER_LAUNCHER=srun"};
    static const char *const said[] = {"\"Slrum\" is neither none nor a platform; ringmaster "
                                       "--help lists them; did you mean slurm?",
                                       "did you mean none?",
                                       "\"zzzzzz\" is neither none nor a platform",
                                       "\"srun\" is neither auto, mpirun nor direct"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct settings s;
        struct error err = {0};
        CU_ASSERT_EQUAL(parse(bad[i], &s, &err), -1);
        ASSERT_CONTAINS(err.text, said[i]);
        CU_ASSERT_EQUAL(strstr(err.text, "did you mean") != NULL, i < 2);
    }
}

/* --help lists the platforms that may be chosen. */
static void every_platform_can_be_chosen(void) {
    for (size_t i = 0; platform_table_name(i) != NULL; i++) {
        struct settings s;
        char variable[64];
        (void)snprintf(variable, sizeof(variable), "RINGMASTER_PLATFORM=%s",
                       platform_table_name(i));
        CU_ASSERT_EQUAL(parse(variable, &s, NULL), 0);
    }
}

static size_t platform_number(const char *name) {
    size_t i = 0;
    while (platform_table_name(i) != NULL && strcmp(platform_table_name(i), name) != 0)
        i++;
    return i;
}

/* The help is a literal, while the table grows: each name is in both, and once in the help. */
static void the_help_lists_the_platforms_of_the_table(void) {
    static const char begin[] = "in its variables: ";
    const char *help = NULL, *name = "";
    bool listed[64] = {false};
    char list[512];
    for (size_t i = 0; strcmp(name, "RINGMASTER_PLATFORM") != 0; i++)
        help = settings_help(i, &name);
    CU_ASSERT_PTR_NOT_NULL_FATAL(help != NULL ? strstr(help, begin) : NULL);
    (void)snprintf(list, sizeof(list), "%s", strstr(help, begin) + sizeof(begin) - 1);
    list[strcspn(list, ";")] = '\0';
    char *rest = NULL;
    for (char *word = strtok_r(list, " ,", &rest); word != NULL;
         word = strtok_r(NULL, " ,", &rest)) {
        if (strcmp(word, "or") == 0 || strcmp(word, "(default:") == 0 ||
            strcmp(word, "found)") == 0)
            continue;
        size_t number = platform_number(word);
        ASSERT_TEXT(platform_table_has(word) ? word : "no row of platform_table.c", word);
        CU_ASSERT_FALSE_FATAL(number >= sizeof(listed) || listed[number]);
        listed[number] = platform_table_name(number) != NULL;
    }
    for (size_t i = 0; platform_table_name(i) != NULL; i++)
        ASSERT_TEXT(listed[i] ? platform_table_name(i) : "not in the help", platform_table_name(i));
}

static int parse_number(const char *name, int64_t number, struct settings *ret) {
    char variable[64];
    (void)snprintf(variable, sizeof(variable), "%s=%" PRId64, name, number);
    return parse(variable, ret, NULL);
}

static void numbers_have_bounds(void) {
    static const struct {
        const char *name;
        int64_t least, most;
    } rows[] = {{"RINGMASTER_PORT", 1024, 65535},
                {"RINGMASTER_METRICS_PORT", 0, 65535},
                {"RINGMASTER_COUNT", 0, CLUSTER_HOSTS_MAX},
                {"RINGMASTER_STOP_SECONDS", 1, 86400},
                {"RINGMASTER_READY_SECONDS", 1, 86400},
                {"RINGMASTER_FETCH_SECONDS", 1, 604800},
                {"RINGMASTER_STALL_SECONDS", 0, 86400},
                {"RINGMASTER_IDLE_SECONDS", 0, 86400},
                {"RINGMASTER_DEAD_SECONDS", 5, 60},
                {"RINGMASTER_RESTARTS", 0, 1000},
                {"RINGMASTER_MIN_HOSTS", 1, CLUSTER_HOSTS_MAX}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct settings s;
        CU_ASSERT_EQUAL(parse_number(rows[i].name, rows[i].least, &s), 0);
        CU_ASSERT_EQUAL(parse_number(rows[i].name, rows[i].most, &s), 0);
        CU_ASSERT_EQUAL(parse_number(rows[i].name, rows[i].least - 1, &s), -1);
        CU_ASSERT_EQUAL(parse_number(rows[i].name, rows[i].most + 1, &s), -1);
    }
}

/* The interval is half a second, or longer with many hosts, so that all together send at most 250
 * heartbeats a second; but it is at most 3 s, and at least three heartbeats fit into the dead
 * time. */
static void heartbeats_are_as_frequent_as_the_master_can_bear(void) {
    static const int64_t rows[][3] = {{5, 2, 500},     {10, 2, 500},     {60, 2, 500},
                                      {10, 125, 500},  {10, 500, 2000},  {5, 500, 1500},
                                      {5, 1000, 1500}, {10, 1000, 3000}, {60, 1000, 3000}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct settings s;
        CU_ASSERT_EQUAL(parse_number("RINGMASTER_DEAD_SECONDS", rows[i][0], &s), 0);
        CU_ASSERT_EQUAL(settings_dead(&s), rows[i][0] * CLOCK_SECOND);
        CU_ASSERT_EQUAL(settings_beat(&s, (size_t)rows[i][1]), rows[i][2] * CLOCK_MILLISECOND);
    }
}

/* Kubernetes sets such variables in a pod beside a service called ringmaster, and Docker in a
 * container with a link to one. */
static void variables_made_of_a_service_are_ignored_with_a_warning(void) {
    static char made[][64] = {"RINGMASTER_SERVICE_HOST=10.0.0.1",
                              "RINGMASTER_SERVICE_PORT=7070",
                              "RINGMASTER_SERVICE_PORT_CONTROL=7070",
                              "RINGMASTER_PORT=tcp://10.0.0.1:7070",
                              "RINGMASTER_PORT_7070_TCP=tcp://10.0.0.1:7070",
                              "RINGMASTER_PORT_7070_TCP_ADDR=10.0.0.1",
                              "RINGMASTER_PORT_7070_UDP_PROTO=udp",
                              "RINGMASTER_TRAIN_SERVICE_HOST=10.0.0.2",
                              "RINGMASTER_METRICS_PORT=tcp://10.0.0.3:9464",
                              "RINGMASTER_TRAIN_PORT=udp://10.0.0.2:7070",
                              "RINGMASTER_NAME=/web/ringmaster",
                              "RINGMASTER_ENV_PATH=/bin"};
    enum { MADE = sizeof(made) / sizeof(made[0]) };
    char *environment[MADE + 1] = {0};
    struct settings s;
    struct error err = {0};
    for (size_t i = 0; i < MADE; i++) {
        struct warnings warnings = {0};
        char *alone[] = {made[i], NULL};
        char name[64] = {0};
        environment[i] = made[i];
        memcpy(name, made[i], strcspn(made[i], "="));
        CU_ASSERT_EQUAL(settings_parse(alone, &s, &warnings, &err), 0);
        CU_ASSERT_EQUAL(s.port, 7070);
        CU_ASSERT_EQUAL(s.metrics_port, 0);
        CU_ASSERT_EQUAL_FATAL(warnings.count, 1);
        ASSERT_CONTAINS(warnings.text[0], name);
    }
    struct warnings warnings = {0};
    CU_ASSERT_EQUAL(settings_parse(environment, &s, &warnings, &err), 0);
    CU_ASSERT_EQUAL(warnings.count, 1); /* all of them in one line */
    ASSERT_CONTAINS(warnings.text[0], "and others");
    static char bad[] = "RINGMASTER_KEY_FILE=tcp://x";
    CU_ASSERT_EQUAL(parse(bad, &s, &err), 0);
    CU_ASSERT_STRING_EQUAL(s.key_file, "tcp://x"); /* a setting is still a setting */
}

static void the_stop_budget_depends_on_the_place(void) {
    struct settings s;
    CU_ASSERT_EQUAL(parse(NULL, &s, NULL), 0);
    CU_ASSERT_EQUAL(settings_stop_seconds(&s, 0), 100);
    CU_ASSERT_EQUAL(settings_stop_seconds(&s, 120), 100);
    CU_ASSERT_EQUAL(settings_stop_seconds(&s, 10), 8);
    CU_ASSERT_EQUAL(settings_stop_seconds(&s, 30), 25);
    CU_ASSERT_EQUAL(settings_stop_seconds(&s, 300), 250);
    char told[] = "RINGMASTER_STOP_SECONDS=30";
    CU_ASSERT_EQUAL(parse(told, &s, NULL), 0);
    CU_ASSERT_EQUAL(settings_stop_seconds(&s, 10), 30);
}

static void help_and_json_name_every_setting_and_hide_the_key(void) {
    struct settings s;
    char key[] = "RINGMASTER_KEY=0123456789abcdef";
    CU_ASSERT_EQUAL(parse(key, &s, NULL), 0);
    CU_ASSERT_STRING_EQUAL(s.key, "0123456789abcdef");
    cleanup_json json_t *object = settings_json(&s);
    cleanup_free char *text = json_dumps(object, 0);
    CU_ASSERT_PTR_NULL(strstr(text, "0123456789abcdef"));
    char odd[] = "RINGMASTER_JOB=a\xff";
    struct settings other;
    CU_ASSERT_EQUAL(parse(odd, &other, NULL), 0);
    cleanup_json json_t *shown = settings_json(&other);
    CU_ASSERT_EQUAL(json_object_size(shown), json_object_size(object));
    CU_ASSERT_PTR_NOT_NULL(json_string_value(json_object_get(shown, "RINGMASTER_JOB")));
    ASSERT_CONTAINS(text, "\"RINGMASTER_KEY\": \"***\"");

    const char *name = NULL;
    size_t count = 0;
    for (; settings_help(count, &name) != NULL; count++) {
        char fallback[SETTINGS_DEFAULT_SIZE];
        settings_default(count, fallback);
        bool is_port = strcmp(name, "RINGMASTER_PORT") == 0;
        CU_ASSERT(!is_port || strcmp(fallback, " (default 7070)") == 0);
        CU_ASSERT(fallback[0] == '\0' || fallback[0] == ' ');
        CU_ASSERT(json_object_get(object, name) != NULL ||
                  strcmp(name, SETTINGS_CHANNEL "NAME") == 0);
    }
    CU_ASSERT_EQUAL(count, json_object_size(object) + 1);
}

static void lists_of_exit_codes_are_read(void) {
    static const char *const wrong[] = {"",    "0", "256", "1,,2", "1-",    "-3",
                                        "5-3", "a", "1,b", "1 2",  "1-2-3", "99999999999999999999",
                                        ","};
    CU_ASSERT(settings_has_code("7", 7) && !settings_has_code("7", 8));
    CU_ASSERT(settings_has_code("1,40-49", 40) && settings_has_code("1,40-49", 49));
    CU_ASSERT(settings_has_code("1,40-49", 1) && !settings_has_code("1,40-49", 50));
    CU_ASSERT_FALSE(settings_has_code(NULL, 1));
    for (size_t i = 1; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        char variable[64];
        char *environment[] = {variable, NULL};
        struct settings s;
        struct warnings warnings = {0};
        struct error err = {0};
        (void)snprintf(variable, sizeof(variable), "RINGMASTER_RESTART_CODES=%s", wrong[i]);
        CU_ASSERT_EQUAL(settings_parse(environment, &s, &warnings, &err), -1);
        ASSERT_CONTAINS(err.text, "RINGMASTER_RESTART_CODES: ");
        CU_ASSERT_FALSE(settings_has_code(wrong[i], 3) && i != 6);
    }
}

UNIT_SUITE("job.settings", UNIT(nothing_set_gives_the_defaults), UNIT(an_empty_value_is_not_set),
           UNIT(values_are_read),
           UNIT(wrong_values_and_unknown_names_are_errors_that_name_the_variable),
           UNIT(a_name_that_is_near_is_offered),
           UNIT(a_wrong_value_is_answered_with_those_that_are_right),
           UNIT(every_platform_can_be_chosen), UNIT(the_help_lists_the_platforms_of_the_table),
           UNIT(numbers_have_bounds), UNIT(heartbeats_are_as_frequent_as_the_master_can_bear),
           UNIT(variables_made_of_a_service_are_ignored_with_a_warning),
           UNIT(the_stop_budget_depends_on_the_place),
           UNIT(help_and_json_name_every_setting_and_hide_the_key),
           UNIT(lists_of_exit_codes_are_read))

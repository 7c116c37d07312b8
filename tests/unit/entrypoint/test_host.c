#include "entrypoint/host.h"

#include "entrypoint/frame.h"
#include "support/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct loop loop;
static struct reaper reaper;
static struct local local;
static struct tools tools;
static struct console console;
static struct host host;
static struct job job;
static json_t *told;
static size_t waiting;
static int output[2];

static void tell(void *context, json_t *message) {
    (void)context;
    (void)json_array_append_new(told, message);
}

static size_t queued(void *context) {
    (void)context;
    return waiting;
}

static const struct door_events no_guests = {0};

static void open_host(const char *logs) {
    static char path[] = "PATH=/usr/bin:/bin";
    static char hosts[] = "RINGMASTER_HOSTS=algo-1,algo-2";
    static char self[] = "RINGMASTER_HOST=algo-2";
    static char base[] = "SAGEMAKER_BASE_DIR=/no/such/base";
    static char variable[64];
    static char *environment[] = {path, hosts, self, base, variable, NULL};
    static const char *const words[] = {"--", "/bin/true", NULL};
    static char daemon[] = "/usr/bin/orted";
    struct error err = {0};
    (void)snprintf(variable, sizeof(variable), "RINGMASTER_LOGS=%s", logs);
    told = json_array();
    tools = (struct tools){.daemon = daemon, .version = {OPENMPI_4_1, 4, 1, 4}};
    CU_ASSERT_EQUAL_FATAL(job_read(words, environment, &job, &err), 0);
    CU_ASSERT_EQUAL_FATAL(loop_init(&loop, &err) | pipe(output), 0);
    CU_ASSERT_EQUAL_FATAL(local_open(&local, &loop, unit_temp_dir(), &no_guests, NULL, &err), 0);
    console_init(&console, &loop, output[1]);
    struct host_options options = {&loop,  &reaper,  &job, environment, &local,
                                   &tools, &console, tell, queued,      NULL};
    CU_ASSERT_EQUAL_FATAL(host_open(&host, &options, &err), 0);
}

static void close_host(void) {
    host_done(&host);
    console_done(&console);
    local_close(&local);
    loop_done(&loop);
    job_done(&job);
    json_decref(told);
    (void)close(output[0]);
    (void)close(output[1]);
}

static const char *told_text(size_t index, const char *key) {
    const char *text = json_string_value(json_object_get(json_array_get(told, index), key));
    return text != NULL ? text : "";
}

static void nothing_but_this_jobs_daemon_is_started(void) {
    struct in_addr loopback = {.s_addr = htonl(INADDR_LOOPBACK)};
    char warning[INTERFACE_WARNING_SIZE];
    struct error err = {0};
    static const char *const commands[] = {
        "rm -rf /", "orted; touch /tmp/x", "", "orted $(id)",
        " orted -mca ess \"env\" -mca plm_rsh_agent \"/bin/sh\""};
    open_host("host");
    CU_ASSERT_EQUAL(host_meet_master(&host, loopback, &loopback, warning, &err), 0);
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        json_t *order = frame_new("launch");
        (void)json_object_set_new(order, "command", json_string(commands[i]));
        host_order(&host, order);
        json_decref(order);
        CU_ASSERT_EQUAL(json_array_size(told), i + 1);
        CU_ASSERT_STRING_EQUAL(told_text(i, "type"), "daemon");
        CU_ASSERT(strlen(told_text(i, "text")) > 0);
        CU_ASSERT_FALSE(host.daemon.running);
    }
    close_host();
}

static void the_agent_is_a_link_to_this_program(void) {
    char agent[LOCAL_FILE_SIZE];
    char self[LOCAL_FILE_SIZE];
    char target[LOCAL_FILE_SIZE] = "";
    struct openmpi_request request;
    struct error err;
    open_host("host");
    host_request(&host, agent, &request);
    CU_ASSERT_EQUAL(host_self(self, &err), 0);
    CU_ASSERT(readlink(agent, target, sizeof(target) - 1) > 0);
    CU_ASSERT_STRING_EQUAL(target, self);
    CU_ASSERT_STRING_EQUAL(strrchr(agent, '/'), "/agent");
    close_host();
}

static void lines_go_to_the_master_too_where_it_wants_them(void) {
    open_host("master");
    host_tool_line(&host, "[algo-2 orted] one\n", 19);
    CU_ASSERT_EQUAL(json_array_size(told), 1);
    CU_ASSERT_STRING_EQUAL(told_text(0, "text"), "[algo-2 orted] one\n");
    waiting = LINK_QUEUE_MAX; /* the link is full: lines go, not the link */
    host_tool_line(&host, "[algo-2 orted] two\n", 19);
    CU_ASSERT_EQUAL(json_array_size(told), 1);
    waiting = 0;
    host_tool_line(&host, "[algo-2 orted] six\n", 19);
    CU_ASSERT_EQUAL(json_array_size(told), 2);
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(json_array_get(told, 1), "dropped")), 1);
    close_host();
    open_host("host");
    host_tool_line(&host, "[algo-2 orted] one\n", 19);
    CU_ASSERT_EQUAL(json_array_size(told), 0);
    CU_ASSERT(console.queue.size > 0);
    close_host();
}

UNIT_MAIN("entrypoint.host", UNIT(nothing_but_this_jobs_daemon_is_started),
          UNIT(the_agent_is_a_link_to_this_program),
          UNIT(lines_go_to_the_master_too_where_it_wants_them))

#include "entrypoint/mpi/agent.h"

#include "common/file/file.h"
#include "common/run_id.h"
#include "entrypoint/wire/control_socket.h"
#include "entrypoint/wire/frame.h"
#include "tests/support/unit.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct loop loop;
static struct link *link_to_agent;
static int answer;

static void ignore_message(void *context, const json_t *message) {
    (void)context;
    (void)message;
}

static void agent_gone(void *context, const struct error *why) {
    (void)context;
    (void)why;
    link_free(link_to_agent);
    loop_end(&loop);
}

static const struct link_events agent_events = {.message = ignore_message, .closed = agent_gone};

static void arrived(void *context, struct link *link, const struct net_address *peer,
                    const json_t *message) {
    (void)context;
    (void)peer;
    CU_ASSERT_STRING_EQUAL(frame_type(message), "agent");
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(message, "host")), "algo-2");
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(message, "command")),
                           " orted -mca ess \"env\"");
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(message, "attempt")), 3);
    if (answer < 0) {
        link_free(link);
        loop_end(&loop);
        return;
    }
    link_to_agent = link;
    link_own(link, &agent_events, NULL);
    json_t *leave = frame_new("leave");
    (void)json_object_set_new(leave, "code", json_integer(answer));
    link_send(link, leave);
}

static const struct listener_events events = {.arrived = arrived};

/* What the agent, a process of its own, leaves with; 99 for an error. */
static int run(int with) {
    static const char *const words[] = {"algo-2", " orted", "-mca", "ess", "\"env\"", NULL};
    struct control_socket local;
    struct error err;
    answer = with;
    (void)signal(SIGPIPE, SIG_IGN);
    CU_ASSERT_EQUAL_FATAL(loop_init(&loop, &err), 0);
    CU_ASSERT_EQUAL_FATAL(control_socket_open(&local, &loop, unit_temp_dir(), &events, NULL, &err),
                          0);
    pid_t pid = fork();
    if (pid == 0) {
        int code = 0;
        char socket[CONTROL_SOCKET_PATH_SIZE + 64];
        char attempt[] = ATTEMPT_VARIABLE "=3";
        (void)snprintf(socket, sizeof(socket), CONTROL_SOCKET_VARIABLE "=%s", local.socket);
        char *const environment[] = {socket, attempt, NULL};
        _exit(agent_run(words, environment, &code, &err) == 0 ? code : 99);
    }
    CU_ASSERT_EQUAL(loop_run(&loop, &err), 0);
    int status = 0;
    (void)waitpid(pid, &status, 0);
    control_socket_close(&local);
    loop_done(&loop);
    return WEXITSTATUS(status);
}

static void it_leaves_with_the_code_that_it_is_told(void) {
    CU_ASSERT_EQUAL(run(0), 0);
    CU_ASSERT_EQUAL(run(73), 73);
}

static void a_supervisor_that_closes_the_door_is_an_error(void) {
    CU_ASSERT_EQUAL(run(-1), 99);
}

static void host_and_command_are_needed(void) {
    static const char *const words[] = {"algo-2", NULL};
    struct error err;
    int code = 0;
    char *const nothing[] = {NULL};
    CU_ASSERT_EQUAL(agent_run(words, nothing, &code, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_USAGE);
}

UNIT_SUITE("mpi.agent", UNIT(it_leaves_with_the_code_that_it_is_told),
           UNIT(a_supervisor_that_closes_the_door_is_an_error), UNIT(host_and_command_are_needed))

#include "entrypoint/mpi/agent.h"

#include "common/argv.h"
#include "common/cleanup.h"
#include "common/file/file.h"
#include "common/json/json.h"
#include "common/run_id.h"
#include "common/str.h"
#include "common/system/process_guard.h"
#include "entrypoint/mpi/daemon_command.h"
#include "entrypoint/mpi/shell_words.h"
#include "entrypoint/os/user_signals.h"
#include "entrypoint/wire/control_socket.h"
#include "entrypoint/wire/frame.h"
#include "entrypoint/wire/message.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>

static int ask(int socket, const char *const *words, const char *attempt, struct error *err) {
    int64_t number = 0;
    cleanup_buf struct buf command;
    cleanup_buf struct buf bytes;
    buf_init(&command, GATE_COMMAND_MAX);
    buf_init(&bytes, (size_t)FRAME_HEADER + FRAME_MAX);
    if (attempt == NULL || str_parse_int(attempt, 1, INT32_MAX, &number, err) != 0)
        return error_set(err, EXIT_CODE_USAGE, ATTEMPT_VARIABLE " is not set by ringmaster");
    if (daemon_command_join(words + 1, &command, err) != 0)
        return -1;
    cleanup_json json_t *message = message_new(MESSAGE_AGENT);
    (void)json_object_set_new(message, "host", json_string(words[0]));
    (void)json_object_set_new(message, "command", json_string(buf_text(&command)));
    (void)json_object_set_new(message, "attempt", json_integer(number));
    if (frame_put(&bytes, message, err) != 0)
        return -1;
    return file_write_all(socket, bytes.data, bytes.size, err);
}

/* No deadline: the answer comes when the job ends, and the supervisor's end closes the socket. */
static int await(int socket, json_t **ret, struct error *err) {
    cleanup_buf struct buf in;
    buf_init(&in, (size_t)FRAME_HEADER + FRAME_MAX);
    for (;;) {
        int got = frame_take(&in, ret, err);
        if (got != 0)
            return got > 0 ? 0 : -1;
        char bytes[1024];
        ssize_t size = read(socket, bytes, sizeof(bytes));
        if (size < 0 && errno == EINTR)
            continue;
        if (size < 0)
            return error_set_errno(err, EXIT_CODE_INTERNAL, "the supervisor");
        if (size == 0)
            return error_set(err, EXIT_CODE_INTERNAL, "the supervisor has ended");
        if (buf_add(&in, bytes, (size_t)size, err) != 0)
            return -1;
    }
}

/* mpirun unblocks all signals before it starts an agent. Signals that a user sends to all processes
 * of a job are not meant for the agent. */
static void hold_user_signals(void) {
    sigset_t held;
    (void)sigemptyset(&held);
    user_signals_add(&held);
    (void)sigprocmask(SIG_BLOCK, &held, NULL);
}

int agent_run(const char *const *words, char *const *environment, int *ret_code,
              struct error *err) {
    const char *attempt = env_get(environment, ATTEMPT_VARIABLE);
    if (words[0] == NULL || words[1] == NULL)
        return error_set(err, EXIT_CODE_USAGE, "agent: expected HOST and a command");
    process_guard_forbid_inspection();
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM); /* an agent without its mpirun has no purpose */
    (void)signal(SIGPIPE, SIG_IGN);
    hold_user_signals();
    cleanup_fd int socket =
        control_socket_connect(env_get(environment, CONTROL_SOCKET_VARIABLE), err);
    cleanup_json json_t *answer = NULL;
    if (socket < 0 || ask(socket, words, attempt, err) != 0 || await(socket, &answer, err) != 0)
        return -1;
    int64_t code = EXIT_CODE_INTERNAL;
    if (json_member_int(answer, "leave", "code", &code, err) != 0)
        return -1;
    *ret_code = (int)(code & 0xFF);
    return 0;
}

/* The shim alone: this test is its supervisor. */
#include "common/clock.h"
#include "common/file/file.h"
#include "common/json/json.h"
#include "common/run_id.h"
#include "entrypoint/host/ranks/launch_spec.h"
#include "entrypoint/host/ranks/rank.h"
#include "entrypoint/wire/control_socket.h"
#include "entrypoint/wire/frame.h"
#include "entrypoint/wire/link.h"
#include "tests/support/ended.h"
#include "tests/support/lag.h"
#include "tests/support/unit.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATIENCE_MS = 60000 };

static struct {
    pid_t pid;
    int socket;
    int out; /* the reading end of the program's stdout */
    struct buf in;
} shim;

static _Noreturn void be_shim(const char *path) {
    static char rank[] = "OMPI_COMM_WORLD_RANK=0", size[] = "OMPI_COMM_WORLD_SIZE=1",
                local_rank[] = "OMPI_COMM_WORLD_LOCAL_RANK=0",
                local_size[] = "OMPI_COMM_WORLD_LOCAL_SIZE=1", attempt[] = ATTEMPT_VARIABLE "=1";
    char *const environment[] = {rank, size, local_rank, local_size, attempt, NULL};
    struct error err = {0};
    int code = -1;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)setenv(CONTROL_SOCKET_VARIABLE, path, 1);
    if (rank_run(environment, &code, &err) != 0)
        (void)dprintf(2, "shim: %s\n", err.text);
    _exit(code);
}

/* The next message of TYPE; others are left out. */
static json_t *hear(const char *type) {
    for (int64_t end = clock_now() + PATIENCE_MS * CLOCK_MILLISECOND; clock_now() < end;) {
        char bytes[4096];
        json_t *message = NULL;
        struct pollfd p = {.fd = shim.socket, .events = POLLIN};
        if (frame_take(&shim.in, &message, NULL) > 0) {
            if (strcmp(frame_type(message), type) == 0)
                return message;
            json_decref(message);
            continue;
        }
        if (poll(&p, 1, 100) <= 0)
            continue;
        ssize_t got = read(shim.socket, bytes, sizeof(bytes));
        if (got <= 0)
            break;
        CU_ASSERT_EQUAL(buf_add(&shim.in, bytes, (size_t)got, NULL), 0);
    }
    return NULL;
}

static void take_hello(void) {
    char bytes[4096];
    union {
        char room[CMSG_SPACE(LINK_FDS_MAX * sizeof(int))];
        struct cmsghdr align;
    } control;
    struct iovec piece = {.iov_base = bytes, .iov_len = sizeof(bytes)};
    struct msghdr header = {.msg_iov = &piece,
                            .msg_iovlen = 1,
                            .msg_control = control.room,
                            .msg_controllen = sizeof(control.room)};
    ssize_t got = recvmsg(shim.socket, &header, MSG_CMSG_CLOEXEC);
    CU_ASSERT_FATAL(got > 0 && CMSG_FIRSTHDR(&header) != NULL);
    int fds[LINK_FDS_MAX];
    memcpy(fds, CMSG_DATA(CMSG_FIRSTHDR(&header)), sizeof(fds));
    shim.out = fds[0];
    (void)close(fds[1]);
    (void)close(fds[2]);
    CU_ASSERT_EQUAL(buf_add(&shim.in, bytes, (size_t)got, NULL), 0);
    json_t *hello = hear("hello");
    CU_ASSERT_PTR_NOT_NULL_FATAL(hello);
    json_decref(hello);
}

static void order(const char *type) {
    struct error err;
    cleanup_buf struct buf bytes;
    buf_init(&bytes, 65536);
    cleanup_json json_t *message = frame_new(type);
    CU_ASSERT_EQUAL(frame_put(&bytes, message, &err), 0);
    CU_ASSERT_EQUAL(file_write_all(shim.socket, bytes.data, bytes.size, &err), 0);
}

/* Its supervisor itself has started the shim, and not mpirun. */
static bool direct;

static void send_start(const char *shell, const char *script) {
    cleanup_argv struct argv environment = {0};
    cleanup_argv struct argv words = {0};
    const char *const program[] = {shell, "-c", script, NULL};
    struct error err;
    CU_ASSERT_EQUAL(argv_add(&environment, "PATH=/usr/bin:/bin", &err), 0);
    CU_ASSERT_EQUAL(argv_add_all(&words, program, &err), 0);
    int spec = launch_spec_make(&environment, &words, &err);
    CU_ASSERT_FATAL(spec >= 0);
    cleanup_json json_t *start = frame_new("start");
    (void)json_object_set_new(start, "master_addr", json_string("10.0.0.1"));
    (void)json_object_set_new(start, "master_port", json_integer(7073));
    (void)json_object_set_new(start, "coordinator_port", json_integer(7075));
    (void)json_object_set_new(start, "direct", json_boolean(direct));
    CU_ASSERT_EQUAL(link_send_fds(shim.socket, start, &spec, 1, &err), 0);
    (void)close(spec);
}

static void begin_shim(void) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%.90s/socket", unit_temp_dir());
    (void)unlink(address.sun_path);
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CU_ASSERT_EQUAL_FATAL(bind(listener, (const struct sockaddr *)&address, sizeof(address)), 0);
    CU_ASSERT_EQUAL_FATAL(listen(listener, 1), 0);
    shim.pid = fork();
    if (shim.pid == 0)
        be_shim(address.sun_path);
    buf_init(&shim.in, (size_t)2 * FRAME_MAX);
    shim.socket = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    (void)close(listener);
    CU_ASSERT_FATAL(shim.socket >= 0);
    take_hello();
}

static void begin(const char *script) {
    begin_shim();
    send_start("/bin/sh", script);
}

/* Whether the program's output contains TEXT in time; with NULL, whether it ends, as it does when
 * the process that held the other end is dead. */
static bool prints(const char *text) {
    char words[4096] = "";
    size_t size = 0;
    for (int64_t end = clock_now() + PATIENCE_MS * CLOCK_MILLISECOND; clock_now() < end;) {
        struct pollfd p = {.fd = shim.out, .events = POLLIN};
        if (poll(&p, 1, 100) <= 0)
            continue;
        ssize_t got = read(shim.out, words + size, sizeof(words) - size - 1);
        if (got <= 0)
            return text == NULL;
        size += (size_t)got;
        if (text != NULL && strstr(words, text) != NULL)
            return true;
    }
    return false;
}

static bool leaves_within(int ms, int *ret_code) {
    int status = 0;
    if (!ended_within(shim.pid, ms) || waitpid(shim.pid, &status, 0) != shim.pid)
        return false;
    *ret_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    shim.pid = 0;
    return true;
}

static void done(void) {
    if (shim.pid > 0) {
        (void)kill(shim.pid, SIGKILL);
        (void)waitpid(shim.pid, NULL, 0);
    }
    if (shim.socket >= 0)
        (void)close(shim.socket);
    (void)close(shim.out);
    buf_done(&shim.in);
}

static void expect_report(const char *end, int value, const char *cause) {
    json_t *report = hear("report");
    CU_ASSERT_PTR_NOT_NULL_FATAL(report);
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(report, "end")), end);
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(report, "value")), value);
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(report, "cause")), cause);
    json_decref(report);
}

static void a_program_of_its_own_accord(void) {
    int code = -1;
    struct lag lag;
    int64_t before = clock_boot();
    begin("exit 7");
    json_t *report = hear("report");
    lag_begin(&lag);
    CU_ASSERT_PTR_NOT_NULL_FATAL(report);
    int64_t time = json_integer_value(json_object_get(report, "time"));
    CU_ASSERT(time >= before && time <= clock_boot()); /* a wall clock may be set meanwhile */
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(report, "cause")), "none");
    json_decref(report);
    CU_ASSERT(leaves_within(PATIENCE_MS, &code)); /* also when nobody lets it go */
    ASSERT_WITHIN(&lag, CLOCK_SECOND);
    CU_ASSERT(clock_boot() - time >= CLOCK_SECOND);
    CU_ASSERT_EQUAL(code, 7);
    done();
}

/* As the end of a job finds it, which would otherwise wait half a second to kill it. */
static void a_direct_shim_without_a_program_leaves_on_request(void) {
    int code = -1;
    struct lag lag;
    direct = true;
    begin("trap 'echo heard; exit 3' TERM; echo ready; while :; do :; done");
    CU_ASSERT(prints("ready"));
    (void)kill(shim.pid, SIGTERM);
    CU_ASSERT(prints("heard"));
    expect_report("exited", 3, "none");
    lag_begin(&lag);
    (void)kill(shim.pid, SIGTERM);
    CU_ASSERT(leaves_within(PATIENCE_MS, &code));
    ASSERT_WITHIN(&lag, CLOCK_SECOND / 2);
    CU_ASSERT_EQUAL(code, 3);
    direct = false;
    done();
}

/* PyTorch's @record writes such a file. */
static void an_exception_in_the_error_file_is_reported(void) {
    begin("printf '{\"message\": {\"message\": \"ValueError: no\"}}' >$TORCHELASTIC_ERROR_FILE; "
          "echo $JAX_COORDINATOR_ADDRESS; exit 7");
    CU_ASSERT(prints("10.0.0.1:7075\n"));
    json_t *report = hear("report");
    CU_ASSERT_PTR_NOT_NULL_FATAL(report);
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(report, "evidence")),
                           "ValueError: no");
    json_decref(report);
    done();
}

/* Schedulers use these signals to tell a program that its time is nearly up. */
static void the_two_signals_for_programs_are_passed_on(void) {
    int code = -1;
    /* Without a child, which would hear them, too, and die. */
    begin("trap 'echo one heard' USR1; trap 'echo two heard; exit 4' USR2; echo ready; "
          "while :; do :; done");
    CU_ASSERT(prints("ready"));
    (void)kill(shim.pid, SIGUSR1);
    CU_ASSERT(prints("one heard"));
    (void)kill(shim.pid, SIGUSR2);
    CU_ASSERT(prints("two heard"));
    expect_report("exited", 4, "none");
    CU_ASSERT(leaves_within(PATIENCE_MS, &code));
    CU_ASSERT_EQUAL(code, 4);
    done();
}

static void order_number(const char *type, int number, bool stops) {
    struct error err;
    cleanup_buf struct buf bytes;
    buf_init(&bytes, 65536);
    cleanup_json json_t *message = frame_new(type);
    (void)json_object_set_new(message, "number", json_integer(number));
    (void)json_object_set_new(message, "stops", json_boolean(stops));
    CU_ASSERT_EQUAL(frame_put(&bytes, message, &err), 0);
    CU_ASSERT_EQUAL(file_write_all(shim.socket, bytes.data, bytes.size, &err), 0);
}

static void order_signal(int number) {
    order_number("signal", number, false);
}

/* The program's child has no handler, and lives on. Signals that are none of the user's are not
 * taken for one. */
static void a_users_signal_reaches_the_program_alone(void) {
    int code = -1;
    begin("sleep 60 & child=$!; trap 'kill -0 $child && echo child lives' USR1; "
          "trap 'kill $child; exit 4' QUIT; echo ready; while :; do wait; done");
    CU_ASSERT(prints("ready"));
    order_signal(SIGKILL);
    order_signal(SIGTERM);
    order_signal(-1);
    order_signal(SIGUSR1);
    CU_ASSERT(prints("child lives"));
    order_signal(SIGQUIT);
    expect_report("exited", 4, "none");
    CU_ASSERT(leaves_within(PATIENCE_MS, &code));
    CU_ASSERT_EQUAL(code, 4);
    done();
}

static void what_mpirun_ends_is_torn_down(void) {
    begin("trap 'exit 5' TERM; sleep 60 & echo ready; wait");
    CU_ASSERT(prints("ready"));
    (void)kill(shim.pid, SIGTERM);
    expect_report("exited", 5, "teardown");
    done();
}

static void what_the_supervisor_ends_is_torn_down(void) {
    begin("trap 'exit 6' TERM; sleep 60 & echo ready; wait");
    CU_ASSERT(prints("ready"));
    order("end");
    expect_report("exited", 6, "teardown");
    done();
}

static void a_kill_is_one(void) {
    begin("trap '' TERM; echo ready; while :; do sleep 0.05; done");
    CU_ASSERT(prints("ready"));
    order("kill");
    expect_report("signalled", SIGKILL, "none");
    done();
}

static void a_stop_reaches_the_programs_children(void) {
    begin("trap '' TERM; (trap 'echo child heard; exit' TERM; sleep 60 & echo ready; wait) & "
          "while :; do sleep 0.05; done");
    CU_ASSERT(prints("ready"));
    order("stop");
    CU_ASSERT(prints("child heard"));
    order("kill");
    expect_report("signalled", SIGKILL, "stop");
    done();
}

/* A child without a handler would die of it. */
static void a_stop_by_another_signal_reaches_the_program_alone(void) {
    begin(
        "sleep 60 & child=$!; trap 'kill -0 $child && echo child lives; kill $child; exit 3' USR2;"
        "echo ready; while :; do wait; done");
    CU_ASSERT(prints("ready"));
    order_number("stop", SIGUSR2, true);
    CU_ASSERT(prints("child lives"));
    expect_report("exited", 3, "stop");
    done();
}

/* A warning of the platform's end is no request to end; that of a stop is one. */
static void a_warning_is_part_of_a_stop_or_none(void) {
    for (int stops = 0; stops < 2; stops++) {
        begin("trap 'echo warned' USR1; trap 'exit 5' USR2; echo ready; while :; do :; done");
        CU_ASSERT(prints("ready"));
        order_number("warn", SIGUSR1, stops != 0);
        CU_ASSERT(prints("warned"));
        order_signal(SIGUSR2);
        expect_report("exited", 5, stops != 0 ? "stop" : "none");
        done();
    }
}

/* Others may still be at work on a checkpoint. */
static void after_a_stop_it_waits_to_be_let_go(void) {
    int code = -1;
    begin("trap 'exit 0' TERM; sleep 60 & echo ready; wait");
    CU_ASSERT(prints("ready"));
    order("stop");
    expect_report("exited", 0, "stop");
    CU_ASSERT_FALSE(leaves_within(1600, &code));
    order("leave");
    CU_ASSERT(leaves_within(PATIENCE_MS, &code));
    CU_ASSERT_EQUAL(code, 0);
    done();
}

/* What the program has started, too: the kernel's signal at the shim's end goes to the program
 * alone. */
static void without_its_supervisor_it_ends_the_programs_whole_group(void) {
    int code = -1;
    begin("(trap '' TERM INT HUP; echo ready; while :; do sleep 0.05; done) & wait");
    CU_ASSERT(prints("ready"));
    (void)close(shim.socket);
    shim.socket = -1;
    CU_ASSERT(prints(NULL));
    CU_ASSERT(leaves_within(PATIENCE_MS, &code));
    CU_ASSERT_EQUAL(code, EXIT_CODE_INTERNAL);
    done();
}

/* MPI_Abort: mpirun's SIGTERM comes right after the program's end. Both wait for the shim here,
 * which takes them in the order in which they came, and has no turn to write between them. Whether
 * it falls asleep in time: after its hello it does so while it waits for events. If it were stopped
 * before that, it would find the signal first. */
static bool waits_for_events(void) {
    char path[64];
    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)shim.pid);
    for (int64_t end = clock_now() + PATIENCE_MS * CLOCK_MILLISECOND; clock_now() < end;) {
        char state = 0;
        FILE *stat = fopen(path, "re");
        bool asleep = stat != NULL && fscanf(stat, "%*d (%*[^)]) %c", &state) == 1 && state == 'S';
        if (stat != NULL)
            (void)fclose(stat);
        if (asleep)
            return true;
        (void)poll(NULL, 0, 1);
    }
    return false;
}

static void an_end_is_reported_before_mpiruns_signal_is_obeyed(void) {
    int code = -1;
    int status = 0;
    begin_shim();
    CU_ASSERT_FATAL(waits_for_events());
    (void)kill(shim.pid, SIGSTOP);
    CU_ASSERT_EQUAL(waitpid(shim.pid, &status, WUNTRACED), shim.pid);
    send_start("/nowhere/sh", "");
    (void)kill(shim.pid, SIGTERM);
    (void)kill(shim.pid, SIGCONT);
    expect_report("exited", EXIT_CODE_NOT_FOUND, "none");
    CU_ASSERT(leaves_within(PATIENCE_MS, &code));
    CU_ASSERT_EQUAL(code, EXIT_CODE_NOT_FOUND);
    done();
}

static void the_program_does_not_outlive_it(void) {
    begin("trap '' TERM INT HUP; echo ready; while :; do :; done"); /* no child of its own */
    CU_ASSERT(prints("ready"));
    (void)kill(shim.pid, SIGKILL);
    CU_ASSERT(prints(NULL));
    done();
}

UNIT_SUITE("host.rank_shim", UNIT(an_end_is_reported_before_mpiruns_signal_is_obeyed),
           UNIT(a_program_of_its_own_accord),
           UNIT(a_direct_shim_without_a_program_leaves_on_request),
           UNIT(an_exception_in_the_error_file_is_reported),
           UNIT(the_two_signals_for_programs_are_passed_on),
           UNIT(a_users_signal_reaches_the_program_alone), UNIT(what_mpirun_ends_is_torn_down),
           UNIT(what_the_supervisor_ends_is_torn_down), UNIT(a_kill_is_one),
           UNIT(a_stop_reaches_the_programs_children),
           UNIT(a_stop_by_another_signal_reaches_the_program_alone),
           UNIT(a_warning_is_part_of_a_stop_or_none), UNIT(after_a_stop_it_waits_to_be_let_go),
           UNIT(without_its_supervisor_it_ends_the_programs_whole_group),
           UNIT(the_program_does_not_outlive_it))

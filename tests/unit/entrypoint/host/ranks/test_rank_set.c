#include "common/file/file.h"
#include "common/json/json.h"
#include "entrypoint/host/ranks/rank_set.h"
#include "entrypoint/wire/frame.h"
#include "tests/unit/entrypoint/stage.h"

#include <sys/socket.h>

static struct stage_host host;

static void lines_carry_host_and_rank(void) {
    const char *const settings[] = {"RINGMASTER_HOSTS=algo-7", "RINGMASTER_HOST=algo-7", NULL};
    const char *words[] = {"--", "sh", "-c", "echo out; echo err >&2; printf 'a\\203b'", NULL};
    stage_start(&host, "lines", settings, words);
    CU_ASSERT_EQUAL(stage_end(&host), 0);
    ASSERT_CONTAINS(stage_output(&host), "[algo-7 rank 0] out\n");
    ASSERT_CONTAINS(stage_output(&host), "[algo-7 rank 0] err\n");
    ASSERT_CONTAINS(stage_output(&host), "[algo-7 rank 0] a\xef\xbf\xbd"
                                         "b\n");
}

/* --- a set of ranks alone: this test is its shims and its kernel
 * ------------------------------------
 */

static struct {
    struct loop loop;
    struct rank_set rank_set;
    int kernel; /* the end that says */
    int shim;
    const char *report;                       /* of the shim, in a frame; NULL: it vanishes */
    char evidence[RANK_REPORT_EVIDENCE_SIZE]; /* of the last report */
} lone;

/* A rank that is started ends at once: its shim reports that, or vanishes. */
static void hear_ranks(void *context, json_t *message) {
    (void)context;
    if (strcmp(frame_type(message), "rank_started") == 0) {
        cleanup_buf struct buf bytes;
        buf_init(&bytes, FRAME_MAX);
        if (lone.report != NULL) {
            cleanup_json json_t *report = frame_with("report", json_loads(lone.report, 0, NULL));
            CU_ASSERT(frame_put(&bytes, report, NULL) == 0 &&
                      file_write_all(lone.shim, bytes.data, bytes.size, NULL) == 0);
        }
        (void)close(lone.shim);
    }
    if (strcmp(frame_type(message), "report") == 0) {
        (void)snprintf(lone.evidence, sizeof(lone.evidence), "%s",
                       json_string_value(json_object_get(message, "evidence")));
        loop_end(&lone.loop);
    }
    json_decref(message);
}

static void ignore_line(void *context, const char *line, size_t size) {
    (void)context;
    (void)line;
    (void)size;
}

static struct link *caller;

static void hear_hello(void *context, const json_t *message) {
    (void)context;
    rank_set_register(&lone.rank_set, caller, message);
}

static void run_out(void *context) {
    (void)context;
    CU_FAIL("no report came");
    loop_end(&lone.loop);
}

/* What the kernel seems to have logged where rank 0 of ATTEMPT registers and vanishes. */
static const char *evidence_of(unsigned attempt) {
    static const struct link_events events = {.message = hear_hello};
    struct timer patience = {.fire = run_out};
    int ends[2], out[2], error_out[2];
    CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    CU_ASSERT_EQUAL_FATAL(pipe(out), 0);
    CU_ASSERT_EQUAL_FATAL(pipe(error_out), 0);
    (void)close(out[1]);
    (void)close(error_out[1]);
    lone.shim = ends[1];
    caller = link_new(&lone.loop, ends[0], NULL, true, &events, NULL, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(caller);
    cleanup_json json_t *hello = frame_new("hello");
    (void)json_object_set_new(hello, "rank", json_integer(0));
    (void)json_object_set_new(hello, "attempt", json_integer(attempt));
    const int pipes[] = {out[0], error_out[0]};
    CU_ASSERT_EQUAL(link_send_fds(lone.shim, hello, pipes, 2, NULL), 0);
    (void)close(out[0]);
    (void)close(error_out[0]);
    (void)snprintf(lone.evidence, sizeof(lone.evidence), "nothing was reported");
    loop_after(&lone.loop, &patience, 60 * CLOCK_SECOND);
    CU_ASSERT_EQUAL(loop_run(&lone.loop, NULL), 0);
    loop_cancel(&lone.loop, &patience);
    return lone.evidence;
}

static void kernel_says(const char *record) {
    CU_ASSERT_EQUAL(send(lone.kernel, record, strlen(record), 0), (ssize_t)strlen(record));
}

/* The kernel's log is a socket here, which is read record by record, too. */
static void an_attempt_is_not_told_what_the_kernel_said_of_the_one_before(void) {
    static struct cluster_host hosts[] = {{.name = {"algo-1"}, .slots = 1}};
    static char *environment[] = {NULL};
    struct job job = {.settings = {.base_dir = "/opt/ml"}, .cluster = {.hosts = hosts, .count = 1}};
    const struct services services = {.loop = &lone.loop, .job = &job, .environment = environment};
    const struct rank_sinks sinks = {.send = hear_ranks, .line = ignore_line};
    static const char raised[] =
        "{\"rank\": 0, \"host\": 0, \"end\": \"exited\", "
        "\"value\": 1,"
        " \"cause\": \"none\", \"time\": 1, \"evidence\": \"ValueError: no (train.py, line 7)\\n"
        "kernel: not so\"}";
    struct error err = {0};
    int ends[2];
    (void)signal(SIGPIPE, SIG_IGN);
    CU_ASSERT_EQUAL_FATAL(argv_add(&job.program.argv, "true", &err), 0);
    CU_ASSERT_EQUAL_FATAL(loop_init(&lone.loop, &err), 0);
    CU_ASSERT_EQUAL_FATAL(rank_set_open(&lone.rank_set, &services, &sinks, &err), 0);
    CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, ends), 0);
    kmsg_close(&lone.rank_set.kernel);
    lone.rank_set.kernel.fd = ends[0];
    lone.kernel = ends[1];

    kernel_says("4,1,1,-;NVRM: Xid (PCI:0000:41:00): 31, pid=7\n");
    CU_ASSERT_STRING_EQUAL(evidence_of(1), "kernel: NVRM: Xid (PCI:0000:41:00): 31, pid=7");
    kernel_says("4,2,2,-;NVRM: Xid (PCI:0000:41:00): 43, pid=7\n"); /* late: all had reported */
    rank_set_clear(&lone.rank_set, 2);
    CU_ASSERT_EQUAL(rank_set_begin(&lone.rank_set, &err), 0);
    CU_ASSERT_STRING_EQUAL(evidence_of(2), "");
    rank_set_clear(&lone.rank_set, 3);
    CU_ASSERT_EQUAL(rank_set_begin(&lone.rank_set, &err), 0);
    kernel_says("4,3,3,-;NVRM: Xid (PCI:0000:41:00): 79, pid=8\n");
    CU_ASSERT_STRING_EQUAL(evidence_of(3), "kernel: NVRM: Xid (PCI:0000:41:00): 79, pid=8");

    rank_set_clear(&lone.rank_set, 4);
    CU_ASSERT_EQUAL(rank_set_begin(&lone.rank_set, &err), 0);
    kernel_says("4,4,4,-;NVRM: Xid (PCI:0000:41:00): 31, pid=9\n");
    lone.report = raised;
    CU_ASSERT_STRING_EQUAL(evidence_of(4), "kernel: NVRM: Xid (PCI:0000:41:00): 31, pid=9\n"
                                           "exception: ValueError: no (train.py, line 7)");

    (void)close(lone.kernel);
    rank_set_done(&lone.rank_set);
    loop_done(&lone.loop);
    argv_done(&job.program.argv);
}

STAGE_SUITE("host.rank_set", UNIT(lines_carry_host_and_rank),
            UNIT(an_attempt_is_not_told_what_the_kernel_said_of_the_one_before))

/* The child is this program, started anew (stage.h). */
#include "common/json/json.h"
#include "entrypoint/host/preflight/preflight_probe.h"
#include "tests/support/addresses.h"
#include "tests/unit/entrypoint/stage.h"

struct watched {
    struct loop loop;
    struct reaper reaper;
    struct preflight_probe preflight_probe;
    json_t *found;
};

static void on_signal(void *context, int number) {
    struct watched *w = context;
    (void)number;
    (void)reaper_run(&w->reaper);
}

static void done(void *context, const json_t *found) {
    struct watched *w = context;
    w->found = json_deep_copy(found);
    loop_end(&w->loop);
}

static void examine(const char *order_text, bool listens, struct watched *w) {
    struct cluster_host host = {.name = {"algo-1"}};
    struct job job = {.settings = {.base_dir = "/tmp"}, .cluster = {.hosts = &host, .count = 1}};
    cleanup_json json_t *order = json_loads(order_text, 0, NULL);
    sigset_t set;
    uint16_t port = 0;
    struct net_address address = address_of("127.0.0.1");
    *w = (struct watched){.found = NULL};
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGCHLD);
    CU_ASSERT_EQUAL_FATAL(loop_init(&w->loop, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(loop_signals(&w->loop, &set, on_signal, w, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(ports_plan(ports_own(), 1, &job.ports, NULL), 0);
    if (listens) {
        CU_ASSERT_EQUAL(
            preflight_probe_listen(&w->preflight_probe, &address, &job.ports, &port, NULL), 0);
        CU_ASSERT(port >= job.ports.data && port < job.ports.data + job.ports.data_count);
    }
    const struct services services = {.loop = &w->loop, .reaper = &w->reaper, .job = &job};
    const struct preflight_probe_options options = {
        .interface = "lo", .order = order, .done = done, .context = w};
    CU_ASSERT_EQUAL_FATAL(preflight_probe_start(&w->preflight_probe, &services, &options, NULL), 0);
    CU_ASSERT_EQUAL(loop_run(&w->loop, NULL), 0);
    preflight_probe_close(&w->preflight_probe);
    loop_done(&w->loop);
    (void)sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static const char *member(const json_t *found, const char *part, const char *key) {
    const char *text = json_string_value(json_object_get(json_object_get(found, part), key));
    return text != NULL ? text : "";
}

static void a_host_alone_finds_what_it_has(void) {
    struct watched w;
    examine("{\"peers\":[[\"127.0.0.1\",1]]}", false, &w);
    CU_ASSERT_STRING_EQUAL(member(w.found, "means", "interface"), "lo");
    CU_ASSERT_PTR_NULL(json_object_get(w.found, "network"));
    CU_ASSERT_PTR_NULL(json_object_get(w.found, "fault"));
    json_decref(w.found);
}

/* The other one of the two is not there, so no way leads to it. */
static void its_network_is_looked_at_too(void) {
    struct watched w;
    examine("{\"peers\":[[\"127.0.0.1\",0],[\"127.0.0.1\",0]],"
            "\"ask\":\"0123456789abcdef0123456789abcdef\","
            "\"answer\":\"fedcba9876543210fedcba9876543210\"}",
            true, &w);
    CU_ASSERT(json_is_array(json_object_get(json_object_get(w.found, "network"), "ways")));
    CU_ASSERT(json_is_object(json_object_get(w.found, "means")));
    json_decref(w.found);
}

static void a_child_that_fails_says_why(void) {
    struct watched w;
    examine("{\"peers\":[[],[]],\"ask\":\"no word\"}", true, &w);
    const char *fault = json_string_value(json_object_get(w.found, "fault"));
    CU_ASSERT_PTR_NOT_NULL_FATAL(fault);
    ASSERT_CONTAINS(fault, "code 64");
    ASSERT_CONTAINS(fault, "with an order");
    json_decref(w.found);
}

/* What a disk that does not answer makes of a child: it has told of the network, and goes no
 * further. */
static void a_child_that_stalls_is_a_fault_whatever_it_told(void) {
    struct watched w;
    examine("{\"stalls\":true}", false, &w);
    const char *fault = json_string_value(json_object_get(w.found, "fault"));
    CU_ASSERT(json_is_object(json_object_get(w.found, "network")));
    CU_ASSERT_PTR_NOT_NULL_FATAL(fault);
    CU_ASSERT_STRING_EQUAL(fault, "its examination did not end in time: code 137");
    json_decref(w.found);
}

static bool is_to_stall(const char *order) {
    char text[512] = "";
    ssize_t size = pread((int)strtol(order, NULL, 10), text, sizeof(text) - 1, 0);
    return size > 0 && strstr(text, "\"stalls\":true") != NULL;
}

static int role(int argc, char **argv) {
    if (argc == 4 && strcmp(argv[1], "examine") == 0 && is_to_stall(argv[2])) {
        (void)puts("{\"network\":{}}");
        (void)fflush(stdout);
        (void)alarm(60);
        (void)pause();
    }
    return stage_role(argc, argv);
}

UNIT_ROLE(role)
UNIT_SUITE("host.preflight_probe", UNIT(a_host_alone_finds_what_it_has),
           UNIT(its_network_is_looked_at_too), UNIT(a_child_that_fails_says_why),
           UNIT(a_child_that_stalls_is_a_fault_whatever_it_told))

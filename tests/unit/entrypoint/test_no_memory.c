/* Every parser of outside input, and what hosts say when they join, with allocation number N
 * failing, alone or together with all later ones, for every N: the result is an error with a text,
 * or the same answer as with enough memory. Under a sanitizer there are no leaks either. */
#include "common/clock.h"
#include "common/file/file.h"
#include "common/json/json.h"
#include "common/log/log.h"
#include "entrypoint/host/failover/role_state.h"
#include "entrypoint/host/preflight/host_info.h"
#include "entrypoint/job/cluster/cluster.h"
#include "entrypoint/job/cluster/host_list_formats.h"
#include "entrypoint/job/cluster/platform_sagemaker.h"
#include "entrypoint/job/cluster/platform_variables.h"
#include "entrypoint/job/key.h"
#include "entrypoint/job/sagemaker/channels.h"
#include "entrypoint/job/sagemaker/hyperparameters.h"
#include "entrypoint/job/sagemaker/metric_definitions.h"
#include "entrypoint/job/sagemaker/mpi_options.h"
#include "entrypoint/master/members/join.h"
#include "entrypoint/mpi/custom_options.h"
#include "entrypoint/mpi/daemon_command.h"
#include "entrypoint/outcome/event_schema.h"
#include "entrypoint/outcome/rank_report.h"
#include "entrypoint/outcome/regex.h"
#include "entrypoint/outcome/verdict.h"
#include "entrypoint/wire/frame.h"
#include "tests/support/no_memory.h"
#include "tests/support/no_memory_rows.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define add no_memory_answer

static int answer_hyperparameters(struct error *err) {
    static const char text[] =
        "{\"a\":\"1\",\"b\":\"[1, 2]\",\"c\":{\"x\":[true,null,\"\\u00e9\"]},"
        "\"sagemaker_program\":\"p.py\",\"s\":\"\\\"quoted\\\"\",\"t\":true,"
        "\"u\":18446744073709551615,\"v\":\"[18446744073709551615]\"}";
    struct hyperparameters h = {0};
    struct mpi_options w = {0};
    struct argv flags = {0};
    int done = hyperparameters_parse(text, strlen(text), "h.json", &h, err);
    if (done == 0)
        done = mpi_options_read(&h, &w, err);
    if (done == 0)
        done = hyperparameters_add_flags(&h, true, &flags, err);
    for (size_t i = 0; done == 0 && i < h.count; i++)
        add("%s=%s|%s;", h.items[i].name, h.items[i].text,
            h.items[i].flag != NULL ? h.items[i].flag : "");
    for (size_t i = 0; done == 0 && i < flags.count; i++)
        add("%s ", flags.items[i]);
    argv_done(&flags);
    mpi_options_done(&w);
    hyperparameters_done(&h);
    return done;
}

static int answer_channels(struct error *err) {
    static const char text[] = "{\"train\":{\"TrainingInputMode\":\"File\"},\"test\":{}}";
    struct channels c = {0};
    int done = channels_parse(text, strlen(text), "i.json", &c, err);
    no_memory_of_json(true);
    if (done == 0)
        done = channels_add(&c, "more", true, err);
    for (size_t i = 0; done == 0 && i < c.count; i++)
        add("%s ", c.names[i]);
    channels_done(&c);
    return done;
}

static int answer_cluster(struct platform_description *d, int done, struct error *err) {
    struct cluster c = {0};
    if (done == 0)
        done = cluster_make(d, "job", &c, err);
    for (size_t i = 0; done == 0 && i < c.count; i++)
        add("%s:%u ", c.hosts[i].name.text, c.hosts[i].slots);
    if (done == 0)
        add("self %zu in %s", c.self, c.interface);
    platform_description_done(d);
    cluster_done(&c);
    return done;
}

static int answer_sagemaker(struct error *err) {
    static const char text[] = "{\"current_host\":\"algo-2\",\"hosts\":[\"algo-1\",\"algo-2\"],"
                               "\"network_interface_name\":\"eth0\",\"current_group_name\":\"g\"}";
    struct platform_description d = {0};
    int done = platform_sagemaker_parse(text, strlen(text), "r.json", &d, err);
    return answer_cluster(&d, done, err);
}

static int answer_variables(struct error *err) {
    static const struct local_names own = {.names = {{"n2"}}, .count = 1, .has_kernel_name = true};
    struct platform_description d = {0};
    int done = platform_variables_parse("n[1-40]:2,m:3,[fd00::1]:4", NULL, &own, &d, err);
    return answer_cluster(&d, done, err);
}

static int answer_host_file(struct error *err) {
    struct platform_description d = {.hosts_key = "f", .self_key = "f", .self = {"b"}};
    int done = host_list_format_lines("a slots=2\nb:3\na\n", &d, err);
    return answer_cluster(&d, done, err);
}

static int answer_hostlist(struct error *err) {
    struct platform_description d = {.hosts_key = "f", .self_key = "f", .self = {"b"}};
    int done = host_list_format_hostlist("a[01-20,7],b", "list", &d, err);
    return answer_cluster(&d, done, err);
}

static int answer_spec(struct error *err) {
    static const char *const tasks[] = {"chief", "worker", NULL};
    struct platform_description d = {.hosts_key = "f", .self_key = "f"};
    int done = host_list_format_spec("{\"cluster\":{\"chief\":[\"c:1\"],\"worker\":[\"w:1\"]},"
                                     "\"task\":{\"type\":\"worker\",\"index\":\"0\"}}",
                                     "spec", tasks, &d, err);
    return answer_cluster(&d, done, err);
}

static int answer_custom_options(struct error *err) {
    struct custom_options o = {0};
    int done = custom_options_parse(
        "-x A='b c' --mca btl_tcp_eager_limit 65536 --NCCL_DEBUG INFO -v --bind-to none", &o, err);
    for (size_t i = 0; done == 0 && i < o.environment.count; i++)
        add("%s;", o.environment.items[i]);
    if (done == 0)
        add("%zu %s", o.ignored.count, o.bind_to);
    custom_options_done(&o);
    return done;
}

static int answer_metrics(struct error *err) {
    static const char text[] = "[{\"Name\":\"a\",\"Regex\":\"(x|y)+[0-9]{2}\"},{\"name\":\"b\"}]";
    struct metric_definitions l = {0};
    struct regex r = {0};
    int done = metric_definitions_parse(text, strlen(text), "m.json", &l, err);
    if (done == 0)
        done = regex_compile(l.items[0].regex, &r, err);
    if (done == 0)
        add("%zu %zu %d", l.count, l.passed_over, r.code != NULL);
    regex_done(&r);
    metric_definitions_done(&l);
    return done;
}

/* A frame there and back. */
static int send_and_take(json_t *message, json_t **ret, struct error *err) {
    cleanup_json json_t *owned = message;
    cleanup_buf struct buf wire;
    buf_init(&wire, FRAME_MAX);
    if (owned == NULL)
        return error_no_memory(err, "a message");
    if (frame_put(&wire, owned, err) != 0)
        return -1;
    int got = frame_take(&wire, ret, err);
    return got == 1 ? 0 : -1;
}

/* MEMBERS were made where Jansson's allocations count, and so is this; it is read where not. */
static json_t *with(const char *type, json_t *members) {
    json_t *message = frame_with(type, members);
    no_memory_of_json(false);
    return message;
}

static int answer_join(struct error *err) {
    static const struct host_info info = {
        .version = "1.2", .openmpi = "4.1.4", .job = 7, .program = 8, .cpus = 2, .boot = 5};
    struct host_info again = {0};
    cleanup_json json_t *message = NULL;
    no_memory_of_json(true);
    if (send_and_take(with("join", host_info_json(&info)), &message, err) != 0 ||
        host_info_parse(message, &again, err) != 0)
        return -1;
    add("%s %s %d %d", again.version, again.openmpi, (int)again.cpus,
        host_info_compare(&info, &again, err));
    return 0;
}

/* Of reports and verdicts the last lines and texts may be lacking: how a rank or a job ended is
 * said all the same. */
static int answer_report(struct error *err) {
    static const struct rank_report report = {
        .rank = 3, .host = 1, .end = RANK_SIGNALLED, .value = 11, .time = 9, .lines = "last"};
    struct rank_report again;
    cleanup_json json_t *message = NULL;
    no_memory_of_json(true);
    if (send_and_take(with("report", rank_report_json(&report)), &message, err) != 0 ||
        rank_report_parse(message, 8, 4, &again, err) != 0)
        return -1;
    add("%u %u %d %d", again.rank, again.host, (int)again.end, again.value);
    return 0;
}

static int answer_verdict(struct error *err) {
    static const struct verdict verdict = {
        .code = 73, .class_name = "host-lost", .host = 1, .rank = -1, .text = "gone"};
    struct verdict again;
    cleanup_json json_t *message = NULL;
    no_memory_of_json(true);
    if (send_and_take(with("verdict", verdict_json(&verdict)), &message, err) != 0 ||
        verdict_parse(message, &again, err) != 0)
        return -1;
    add("%d %s %d", again.code, again.class_name, again.host);
    return 0;
}

/* What a host tells the next master when the first one is lost. */
static int answer_succession(struct error *err) {
    static const struct view later = {.number = 2, .master = 1, .hosts = {.words = {6}}};
    struct cluster_host hosts[3] = {{.slots = 1}};
    struct job job = {.settings = {.failover = true}, .cluster = {.hosts = hosts, .count = 3}};
    struct role_state s;
    struct quorum told;
    char run[ATTEMPT_RUN_SIZE];
    int64_t quiet = 0;
    cleanup_json json_t *message = NULL;
    int done = role_state_open(&s, &job, err);
    if (done == 0) {
        (void)snprintf(s.run, sizeof(s.run), "0123456789abcdef");
        (void)quorum_take(&s.quorum, &later);
        no_memory_of_json(true);
        done = send_and_take(with("join", role_state_json(&s)), &message, err);
    }
    if (done == 0)
        done = role_state_parse(message, 3, run, &told, &quiet, err);
    if (done == 0)
        add("%s %u %zu %u %u", run, told.committed.number, told.accepted_count,
            told.accepted[0].number, told.accepted[0].master);
    role_state_close(&s);
    return done;
}

static int answer_gate(struct error *err) {
    static const char line[] =
        " orted -mca orte_leave_session_attached \"1\" -mca ess \"env\" -mca ess_base_jobid "
        "\"1599864832\" -mca ess_base_vpid 1 -mca ess_base_num_procs \"3\" -mca orte_node_regex "
        "\"vm,algo-[1:2-3]-x@0(3)\" -mca orte_hnp_uri \"1599864832.0;tcp://10.0.0.1:7071\" --mca "
        "oob_tcp_if_include \"eth9\" -mca plm \"rsh\" -mca pmix \"^s1,s2,cray,isolated\"";
    static struct cluster_host hosts[] = {{.name = {"algo-1"}, .slots = 1},
                                          {.name = {"algo-2"}, .slots = 1},
                                          {.name = {"algo-3"}, .slots = 1}};
    static const struct cluster cluster = {.hosts = hosts, .count = 3};
    static const struct interface interface = {.name = "eth0", .prefix = 16};
    struct ports ports;
    struct openmpi_options options;
    struct argv words = {0};
    struct daemon_command gate = {
        .series = OPENMPI_4_1, .daemon = "/usr/bin/orted", .options = &options, .hosts = 3};
    const struct openmpi_request request = {.version = {.series = OPENMPI_4_1},
                                            .cluster = &cluster,
                                            .interface = &interface,
                                            .ports = &ports,
                                            .agent = "/run/agent",
                                            .dead_seconds = 10};
    if (ports_plan(7070, 1, &ports, err) != 0 || openmpi_options(&request, &options, err) != 0)
        return -1;
    gate.port = ports.daemons_v4;
    (void)net_address_parse("10.0.0.1", &gate.master);
    int done = daemon_command_check(&gate, line, strlen(line), &words, err);
    for (size_t i = 0; i < words.count; i++)
        add("%s ", words.items[i]);
    argv_done(&words);
    return done;
}

static int answer_settings(struct error *err) {
    static char one[] = "RINGMASTER_PORT=9000", two[] = "RINGMASTER_KEY=0123456789abcdef",
                three[] = "RINGMASTER_RESTART_CODES=1,40-49";
    char *environment[] = {one, two, three, NULL};
    struct settings s;
    if (settings_parse(environment, &s, NULL, err) != 0)
        return -1;
    no_memory_of_json(true);
    cleanup_json json_t *object = settings_json(&s);
    no_memory_of_json(false);
    if (object == NULL)
        return error_no_memory(err, "settings");
    const char *key = NULL;
    const json_t *value = NULL;
    json_object_foreach(object, key, value) {
        add("%s=%s%lld ", key, json_is_string(value) ? json_string_value(value) : "",
            (long long)json_integer_value(value));
    }
    return 0;
}

static int answer_key(struct error *err) {
    static char path[4096];
    static const char secret[] = "0123456789abcdef\n";
    static struct cluster_host hosts[] = {{.name = {"algo-1"}}, {.name = {"algo-2"}}};
    const struct cluster cluster = {.hosts = hosts, .count = 2, .job = "job"};
    const struct settings settings = {.key_file = path};
    const struct key_places places = {0};
    struct key key;
    if (path[0] == '\0') { /* the first time, when nothing fails */
        (void)snprintf(path, sizeof(path), "%s/key", unit_temp_dir());
        CU_ASSERT_EQUAL(file_put(path, secret, sizeof(secret) - 1, 0600, NULL), 0);
    }
    int done = key_make(&settings, &cluster, &places, &key, err);
    for (size_t i = 0; done == 0 && i < KEY_SIZE; i++)
        add("%02x", key.bytes[i]);
    key_done(&key);
    return done;
}

/* --- a join, as the master takes it ----------------------------------------------------------- */

static void end_loop(void *context) {
    loop_end(context);
}

static void hear(void *context, const json_t *message) {
    (void)context;
    (void)message;
}

static void cut(void *context, const struct error *why) {
    struct member *b = context;
    (void)why;
    link_free(b->link);
    b->link = NULL;
}

static void raise_nothing(struct master *m, const struct raised *what) {
    (void)m;
    (void)what;
}

/* The messages that the host receives; it counts as joined only if it receives all of them. */
static int hear_answers(int fd, const struct member *b, struct error *err) {
    struct buf in;
    buf_init(&in, (size_t)2 * FRAME_MAX);
    int done = b->link == NULL ? error_no_memory(err, "a link") : buf_reserve(&in, 4096, err);
    ssize_t got = done == 0 ? recv(fd, in.data, 4096, MSG_DONTWAIT) : 0;
    in.size = got > 0 ? (size_t)got : 0;
    for (json_t *message = NULL; done == 0 && frame_take(&in, &message, err) == 1;
         json_decref(message)) {
        const char *run = json_string_value(json_object_get(message, "run"));
        add("%s %s %d;", frame_type(message), run != NULL ? run : "",
            json_is_integer(json_object_get(message, "time")));
    }
    buf_done(&in);
    if (done == 0)
        add("%d %zu", b->joined, b->master->join.count);
    return done;
}

static int take_join(struct master *m, struct member *b, int fd, const json_t *join,
                     struct error *err) {
    struct timer end = {.fire = end_loop, .context = &m->s.loop};
    no_memory_of_json(true);
    join_receive(b, join);
    no_memory_of_json(false);
    loop_after(&m->s.loop, &end, CLOCK_MILLISECOND);
    return loop_run(&m->s.loop, err) == 0 ? hear_answers(fd, b, err) : -1;
}

static int answer_admission(struct error *err) {
    static const struct link_events events = {.message = hear, .closed = cut};
    static struct cluster_host hosts[2] = {{.name = {"algo-1"}, .slots = 1},
                                           {.name = {"algo-2"}, .slots = 1}};
    struct job job = {.settings = {.dead_seconds = 10, .ready_seconds = 10},
                      .cluster = {.hosts = hosts, .count = 2, .job = "job"}};
    struct member members[2];
    struct master m = {
        .s = {.job = &job}, .members = members, .phase = PHASE_JOINING, .raise = raise_nothing};
    static json_t *join; /* made once, when nothing fails */
    struct host_info info;
    int ends[2];
    if (join == NULL) {
        host_info_gather(&job, &m.s.mpi_install, &info);
        CU_ASSERT_TRUE(net_address_parse("10.0.0.2", &info.address));
        join = with("join", host_info_json(&info));
        (void)json_object_set_new(join, "host", json_string("algo-2"));
    }
    for (size_t i = 0; i < 2; i++)
        members[i] = (struct member){.master = &m, .index = i};
    (void)snprintf(m.s.host.run, sizeof(m.s.host.run), "0123456789abcdef");
    join_init(&m);
    m.join.begun = true;
    if (loop_init(&m.s.loop, err) != 0)
        return -1;
    CU_ASSERT_EQUAL(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    members[1].link = link_new(&m.s.loop, ends[0], NULL, true, &events, &members[1], err);
    int done = members[1].link != NULL ? take_join(&m, &members[1], ends[1], join, err) : -1;
    loop_cancel(&m.s.loop, &m.join.deadline);
    link_free(members[1].link);
    loop_done(&m.s.loop);
    (void)close(ends[1]);
    return done;
}

static const struct no_memory_row rows[] = {{"hyperparameters", answer_hyperparameters},
                                            {"channels", answer_channels},
                                            {"SageMaker's description", answer_sagemaker},
                                            {"RINGMASTER_HOSTS", answer_variables},
                                            {"a host file", answer_host_file},
                                            {"Slurm's list", answer_hostlist},
                                            {"a specification", answer_spec},
                                            {"options for mpirun", answer_custom_options},
                                            {"metric definitions", answer_metrics},
                                            {"a join", answer_join},
                                            {"a report", answer_report},
                                            {"a verdict", answer_verdict},
                                            {"the views that hosts accepted", answer_succession},
                                            {"a daemon's command line", answer_gate},
                                            {"settings", answer_settings},
                                            {"the key", answer_key},
                                            {"a host that is taken in", answer_admission}};

static void drop_line(void *context, const char *line, size_t size) {
    (void)context;
    (void)line;
    (void)size;
}

static void every_allocation_may_fail(void) {
    (void)log_set_sink((struct log_sink){.put = drop_line});
    no_memory_try(rows, sizeof(rows) / sizeof(rows[0]));
}

UNIT_SUITE("entrypoint.no_memory", UNIT(every_allocation_may_fail))

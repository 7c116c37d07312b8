/* Every parser of what comes from outside, and what hosts say when they join, where the allocation
 * number N fails, alone or with all behind it, for every N: an error with a text, or the answer
 * that there is with memory. Under a sanitizer nothing is lost either. */
#include "common/json.h"
#include "host/facts.h"
#include "job/channels.h"
#include "job/cluster.h"
#include "job/hyperparameters.h"
#include "job/metric_list.h"
#include "job/platform_forms.h"
#include "job/platform_sagemaker.h"
#include "job/platform_variables.h"
#include "job/wishes.h"
#include "mpi/custom_options.h"
#include "outcome/pattern.h"
#include "outcome/rank_report.h"
#include "outcome/record.h"
#include "outcome/verdict.h"
#include "support/no_memory.h"
#include "support/unit.h"
#include "wire/frame.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALLOCATIONS_MAX = 5000, ANSWER_SIZE = 8192 };

/* What was read, so that an answer that lacks something is noticed. Allocates nothing. */
static char answer[ANSWER_SIZE];

static void add(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void add(const char *format, ...) {
    size_t used = strlen(answer);
    va_list list;
    va_start(list, format);
    (void)vsnprintf(answer + used, sizeof(answer) - used, format, list);
    va_end(list);
}

static int answer_hyperparameters(struct error *err) {
    static const char text[] =
        "{\"a\":\"1\",\"b\":\"[1, 2]\",\"c\":{\"x\":[true,null,\"\\u00e9\"]},"
        "\"sagemaker_program\":\"p.py\",\"s\":\"\\\"quoted\\\"\",\"t\":true}";
    struct hyperparameters h = {0};
    struct wishes w = {0};
    struct argv flags = {0};
    int done = hyperparameters_parse(text, strlen(text), "h.json", &h, err);
    if (done == 0)
        done = wishes_read(&h, &w, err);
    if (done == 0)
        done = hyperparameters_add_flags(&h, true, &flags, err);
    for (size_t i = 0; done == 0 && i < h.count; i++)
        add("%s=%s|%s;", h.items[i].name, h.items[i].text,
            h.items[i].flag != NULL ? h.items[i].flag : "");
    for (size_t i = 0; done == 0 && i < flags.count; i++)
        add("%s ", flags.items[i]);
    argv_done(&flags);
    wishes_done(&w);
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
    static const struct own_names own = {.names = {{"n2"}}, .count = 1, .has_kernel_name = true};
    struct platform_description d = {0};
    int done = platform_variables_parse("n[1-40]:2,m:3,[fd00::1]:4", NULL, &own, &d, err);
    return answer_cluster(&d, done, err);
}

static int answer_host_file(struct error *err) {
    struct platform_description d = {.hosts_key = "f", .self_key = "f", .self = {"b"}};
    int done = platform_form_lines("a slots=2\nb:3\na\n", &d, err);
    return answer_cluster(&d, done, err);
}

static int answer_hostlist(struct error *err) {
    struct platform_description d = {.hosts_key = "f", .self_key = "f", .self = {"b"}};
    int done = platform_form_hostlist("a[01-20,7],b", "list", &d, err);
    return answer_cluster(&d, done, err);
}

static int answer_spec(struct error *err) {
    static const char *const tasks[] = {"chief", "worker", NULL};
    struct platform_description d = {.hosts_key = "f", .self_key = "f"};
    int done = platform_form_spec("{\"cluster\":{\"chief\":[\"c:1\"],\"worker\":[\"w:1\"]},"
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
    struct metric_list l = {0};
    struct pattern p = {0};
    int done = metric_list_parse(text, strlen(text), "m.json", &l, err);
    if (done == 0)
        done = pattern_parse(l.items[0].regex, &p, err);
    if (done == 0)
        add("%zu %zu %zu", l.count, l.passed_over, p.size);
    pattern_done(&p);
    metric_list_done(&l);
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
    cleanup_json json_t *owned = members;
    json_t *message = frame_new(type);
    bool whole = message != NULL && owned != NULL && json_object_update(message, owned) == 0;
    no_memory_of_json(false);
    if (whole)
        return message;
    json_decref(message);
    return NULL;
}

static int answer_join(struct error *err) {
    static const struct facts facts = {
        .version = "1.2", .openmpi = "4.1.4", .job = 7, .program = 8, .cpus = 2, .boot = 5};
    struct facts again = {0};
    cleanup_json json_t *message = NULL;
    no_memory_of_json(true);
    if (send_and_take(with("join", facts_json(&facts)), &message, err) != 0 ||
        facts_parse(message, &again, err) != 0)
        return -1;
    add("%s %s %d %d", again.version, again.openmpi, (int)again.cpus,
        facts_compare(&facts, &again, err));
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

static const struct row {
    const char *name;
    int (*run)(struct error *err);
} rows[] = {{"hyperparameters", answer_hyperparameters},
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
            {"a verdict", answer_verdict}};

/* Returns false when N was one more than there are. */
static bool try_one(const struct row *row, size_t n, bool for_good, const char *expected) {
    struct error err = {0};
    answer[0] = '\0';
    no_memory_begin(n, for_good);
    int done = row->run(&err);
    bool failed = no_memory_end();
    bool right = done == 0 ? strcmp(answer, expected) == 0 : failed && err.text[0] != '\0';
    if (!right)
        printf("\n%s, allocation %zu%s: %d, \"%s\", %s\n", row->name, n, for_good ? " and on" : "",
               done, answer, err.text);
    CU_ASSERT(right);
    return failed;
}

static void every_allocation_may_fail(void) {
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        static char expected[ANSWER_SIZE];
        struct error err = {0};
        answer[0] = '\0';
        CU_ASSERT_EQUAL(rows[i].run(&err), 0);
        (void)snprintf(expected, sizeof(expected), "%s", answer);
        size_t n = 1;
        while (n < ALLOCATIONS_MAX && try_one(&rows[i], n, false, expected))
            n++;
        CU_ASSERT(n > 1 && n < ALLOCATIONS_MAX);
        for (size_t from = 1; from < n; from++)
            (void)try_one(&rows[i], from, true, expected);
        printf("\n    %s: %zu allocations", rows[i].name, n - 1);
    }
}

UNIT_MAIN("entrypoint.no_memory", UNIT(every_allocation_may_fail))

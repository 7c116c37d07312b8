#include "entrypoint/master/preflight/check.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/json/json.h"
#include "common/str.h"
#include "entrypoint/master/preflight/check_print.h"
#include "entrypoint/master/preflight/check_rows.h"
#include "entrypoint/os/nonblocking_writer.h"
#include "entrypoint/wire/tls.h"

#include <string.h>
#include <unistd.h>

/* A check ends here: what the hosts have sent becomes an array of objects (hosts_json), the files
 * check_*.c make rows of it, and the rows give the verdict (conclude). Everything goes through
 * JSON, so that the output with --json and the table for people have the same source. */

enum { TEXT_MAX = 8 * 1024 * 1024 };
/* Time to write the result. Hosts wait for the verdict meanwhile, and nothing else is left to be
 * done. */
static const int64_t patience = CLOCK_SECOND;

/* --- what is known -----------------------------------------------------------------------------
 */

/* check_rows.c makes the row `host` of it. */
static void add_fault(json_t *host, const char *text, int code) {
    (void)json_object_set_new(host, "fault", json_string_any(text));
    (void)json_object_set_new(host, "fault_code", json_integer(code));
}

/* A host that is not here may have been refused for its key, which is worth another row than mere
 * absence. */
static void add_missing(const struct rejected_peers *rejected, size_t i, json_t *host) {
    struct net_address address;
    if (rejected_peers_host(rejected, &address) == (int)i)
        add_fault(host, "missing; it was refused: " TLS_ANOTHER_KEY, EXIT_CODE_KEY_REFUSED);
    else
        add_fault(host, "missing: it has not joined, or has disconnected", EXIT_CODE_NOT_READY);
}

/* Adds both addresses of a host behind address translation. */
static void add_translation(const struct member *b, json_t *host) {
    char sends[NET_ADDRESS_TEXT], arrives[NET_ADDRESS_TEXT];
    if (!b->joined || !net_address_is_set(&b->sends))
        return;
    net_address_text(&b->sends, sends);
    net_address_text(&b->address, arrives);
    (void)json_object_set_new(host, "sends_from", json_string(sends));
    (void)json_object_set_new(host, "arrives_from", json_string(arrives));
}

/* Returns all that is known of one host. A host that has sent nothing has its facts from the join
 * alone. */
static json_t *host_json(const struct master *m, size_t i) {
    static const char *const members[] = {"fault",  "means", "data",    "network",
                                          "plugin", "gpus",  "warnings"};
    const struct member *b = &m->members[i];
    const struct examined *e = &m->preflight.hosts[i];
    json_t *host = json_pack("{s:s, s:i, s:b, s:I}", "name", supervisor_host_name(&m->s, i),
                             "slots", (int)m->s.job->cluster.hosts[i].slots, "joined",
                             (int)b->joined, "clock_offset", (json_int_t)b->skew);
    add_translation(b, host);
    if (b->info.version[0] != '\0')
        (void)json_object_set_new(host, "facts", host_info_json(&b->info));
    for (size_t k = 0; k < sizeof(members) / sizeof(members[0]); k++)
        if (json_object_get(e->found, members[k]) != NULL)
            (void)json_object_set(host, members[k], json_object_get(e->found, members[k]));
    if (b->fault != NULL)
        add_fault(host, b->fault->text, (int)b->fault->code);
    else if (!b->joined)
        add_missing(&m->accept.rejected_peers, i, host);
    else if (e->found == NULL)
        add_fault(host, "it did not report its findings in time", EXIT_CODE_NOT_READY);
    return host;
}

/* Positions in the array are those of the cluster; the master is the first. */
static json_t *hosts_json(const struct master *m) {
    json_t *hosts = json_array();
    for (size_t i = 0; i < m->s.job->cluster.count; i++)
        (void)json_array_append_new(hosts, host_json(m, i));
    return hosts;
}

/* --- the verdict -------------------------------------------------------------------------------
 */

/* *RET_FIRST is left alone if no row has that status. */
static size_t count_rows(const json_t *rows, enum check_status status, const json_t **ret_first) {
    size_t count = 0;
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        if (strcmp(check_text(row, NULL, "status"), check_status_name(status)) == 0 && count++ == 0)
            *ret_first = row;
    }
    return count;
}

/* The first bad row gives the exit code and the text; all others are in the table. Its first host
 * is blamed, if it is one of the job's. Warnings leave the check successful. */
static void conclude(struct master *m, const json_t *rows) {
    const json_t *first = NULL;
    struct error err = {0};
    size_t bad = count_rows(rows, CHECK_BAD, &first);
    /* Success, until a bad row is found. */
    m->verdict = (struct verdict){.host = -1, .rank = -1, .class_name = "ok"};
    (void)snprintf(m->verdict.text, sizeof(m->verdict.text), "%zu host%s can run %zu rank%s",
                   m->s.job->cluster.count, STR_PLURAL(m->s.job->cluster.count), m->attempt.ranks,
                   STR_PLURAL(m->attempt.ranks));
    if (bad == 0)
        return;
    const char *host = json_string_value(json_array_get(json_object_get(first, "hosts"), 0));
    struct host_name name = {0};
    /* A row without a host, or about a name that is none of the job's, blames no host. */
    int index = -1;
    if (host != NULL && host_name_parse(host, strlen(host), &name, NULL) == 0)
        index = cluster_find(&m->s.job->cluster, &name);
    (void)error_set(&err, (enum exit_code)check_number(first, NULL, "code"),
                    "the check found problems that stop a job, in %zu row%s; %s: %s", bad,
                    STR_PLURAL(bad), check_text(first, NULL, "item"),
                    check_text(first, NULL, "value"));
    verdict_from_error(&err, &m->s.job->cluster, index, &m->verdict);
}

/* --- printing ----------------------------------------------------------------------------------
 */

/* Writes one object; each host and each row is on a line of its own. */
static int add_list(const char *name, const json_t *list, struct buf *ret, struct error *err) {
    if (buf_printf(ret, err, "\"%s\":[\n", name) != 0)
        return -1;
    for (size_t i = 0; i < json_array_size(list); i++) {
        cleanup_free char *text = json_shortest(json_array_get(list, i), JSON_COMPACT);
        if (text == NULL)
            return error_no_memory(err, "JSON");
        if (buf_printf(ret, err, "%s%s", text, i + 1 < json_array_size(list) ? ",\n" : "\n") != 0)
            return -1;
    }
    return buf_add_text(ret, "]", err);
}

/* The counts and the exit code come last, after everything that they sum up. */
static int add_json(const struct master *m, const json_t *hosts, const json_t *rows,
                    struct buf *ret, struct error *err) {
    const json_t *first = NULL;
    if (buf_add_text(ret, "{", err) != 0 || add_list("hosts", hosts, ret, err) != 0 ||
        buf_add_text(ret, ",", err) != 0 || add_list("rows", rows, ret, err) != 0)
        return -1;
    return buf_printf(ret, err, ",\"bad\":%zu,\"warnings\":%zu,\"code\":%d}\n",
                      count_rows(rows, CHECK_BAD, &first), count_rows(rows, CHECK_WARNING, &first),
                      m->verdict.code);
}

/* Writes the result to standard output within a limited time, so that a reader that has stopped
 * cannot hold up the hosts. The verdict is set before, whether the writing succeeds or not. */
int check_print(struct master *m, struct error *err) {
    cleanup_json json_t *hosts = hosts_json(m);
    cleanup_json json_t *rows = json_array();
    cleanup_buf struct buf text;
    buf_init(&text, TEXT_MAX);
    check_add_hosts(hosts, rows);
    check_add_gpus(hosts, rows);
    check_add_network(hosts, rows);
    conclude(m, rows);
    int result = m->json
                     ? add_json(m, hosts, rows, &text, err)
                     : check_print_rows(rows, m->s.job->cluster.count,
                                        check_look_of(STDOUT_FILENO, m->s.environment), &text, err);
    if (result == 0)
        nonblocking_writer_put(STDOUT_FILENO, buf_text(&text), text.size, patience);
    return result;
}

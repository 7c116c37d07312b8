/* What hosts, shims and agents say in their frames: the first byte chooses the parser: facts of a
 * join ('f'), a mark ('m'), a host's answer to a check ('c'), a metric's name ('n'), a machine's
 * metric definitions ('d') or a regular expression and a line ('p'). Reports and verdicts are
 * fuzz_report's. */
#include "common/json/json.h"
#include "entrypoint/host/observe/metric_matcher.h"
#include "entrypoint/host/preflight/host_info.h"
#include "entrypoint/host/provision/fetch_progress.h"
#include "entrypoint/job/sagemaker/metric_definitions.h"
#include "entrypoint/master/preflight/check_rows.h"
#include "entrypoint/outcome/metric_counts.h"
#include "entrypoint/outcome/regex.h"
#include "tests/fuzz/check.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_facts(const json_t *object) {
    struct host_info f, again;
    struct error err = {0};
    if (host_info_parse(object, &f, &err) != 0) {
        CHECK(err.text[0] != '\0');
        return;
    }
    CHECK(strlen(f.version) < HOST_INFO_VERSION_SIZE && strlen(f.openmpi) < HOST_INFO_VERSION_SIZE);
    json_t *copy = host_info_json(&f);
    CHECK(copy != NULL && host_info_parse(copy, &again, &err) == 0);
    CHECK(f.job == again.job && f.program == again.program && f.boot == again.boot);
    CHECK(strcmp(f.version, again.version) == 0 && host_info_compare(&f, &again, &err) == 0);
    json_decref(copy);
}

static void try_mark(const json_t *object) {
    struct fetch_progress m;
    fetch_progress_parse(object, &m);
    CHECK(memchr(m.text, '\0', sizeof(m.text)) != NULL);
    json_t *text = json_string(m.text);
    CHECK(text != NULL); /* valid UTF-8 */
    json_decref(text);
}

/* Rows are printed: each has its texts, whatever hosts said. */
static void try_check(json_t *object) {
    json_t *hosts =
        json_is_array(object) ? json_incref(object) : json_pack("[O, O]", object, object);
    json_t *rows = json_array();
    size_t i = 0;
    const json_t *row = NULL;
    check_add_hosts(hosts, rows);
    check_add_network(hosts, rows);
    json_array_foreach(rows, i, row) {
        CHECK(json_is_string(json_object_get(row, "item")));
        CHECK(json_is_string(json_object_get(row, "status")));
        CHECK(json_is_string(json_object_get(row, "value")));
    }
    json_decref(rows);
    json_decref(hosts);
}

static void try_name(const json_t *object) {
    struct metric_counts c;
    const struct metric_definitions none = {0};
    metric_counts_open(&c, &none, NULL);
    metric_matcher_receive(&c, object);
    metric_counts_done(&c);
}

static void try_definitions(const char *text, size_t size) {
    struct metric_definitions l;
    if (metric_definitions_parse(text, size, "m.json", &l, NULL) == 0) {
        CHECK(l.count <= METRIC_DEFINITIONS_MAX);
        for (size_t i = 0; i < l.count; i++)
            CHECK(l.items[i].name[0] != '\0' && strlen(l.items[i].regex) < METRIC_REGEX_SIZE);
    }
    metric_definitions_done(&l);
}

/* EXPRESSION '\n' LINE. An error names its offset; a line gets the same answer twice.
 */
static void try_regex(const char *text, size_t size) {
    struct regex r;
    struct error err = {0};
    const char *end = memchr(text, '\n', size);
    size_t first = end != NULL ? (size_t)(end - text) : size;
    char *expression = strndup(text, first);
    const char *line = end != NULL ? end + 1 : "";
    size_t rest = end != NULL ? size - first - 1 : 0;
    struct regex_scratch *scratch = regex_scratch_new();
    CHECK(expression != NULL && scratch != NULL);
    if (regex_compile(expression, &r, &err) == 0) {
        enum regex_answer answer = regex_match(&r, line, rest, scratch);
        CHECK(regex_match(&r, line, rest, scratch) == answer);
    } else
        CHECK(r.code == NULL &&
              (strstr(err.text, " at offset ") != NULL || strstr(err.text, " more than ") != NULL));
    regex_done(&r);
    regex_scratch_free(scratch);
    free(expression);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    json_t *object = NULL;
    if (size == 0)
        return 0;
    const char *text = (const char *)data + 1;
    if (data[0] == 'p')
        try_regex(text, size - 1);
    else if (data[0] == 'd')
        try_definitions(text, size - 1);
    if (json_parse(text, size - 1, "frame", &object, NULL) != 0)
        return 0;
    if (data[0] == 'f')
        try_facts(object);
    else if (data[0] == 'm')
        try_mark(object);
    else if (data[0] == 'c')
        try_check(object);
    else if (data[0] == 'n')
        try_name(object);
    json_decref(object);
    return 0;
}

#include "entrypoint/command/docs.h"

#include "common/exit_code.h"
#include "common/json/json.h"
#include "common/text/metric_line.h"
#include "common/text/nearest.h"
#include "entrypoint/command/command_output.h"
#include "entrypoint/command/manual.h"
#include "entrypoint/evidence/gather_table.h"
#include "entrypoint/job/cluster/platform_table.h"
#include "entrypoint/job/ports.h"
#include "entrypoint/job/settings.h"
#include "entrypoint/master/state/phase.h"
#include "entrypoint/mpi/custom_options.h"
#include "entrypoint/outcome/event_schema.h"
#include "entrypoint/outcome/explain.h"
#include "entrypoint/wire/message.h"

#include <string.h>

static int commands(struct buf *ret, struct error *err) {
    if (buf_add_text(ret, "| command | what it does | example |\n| --- | --- | --- |\n", err) != 0)
        return -1;
    for (const struct manual_row *row = manual_rows(); row->command != NULL; row++)
        if (buf_printf(ret, err, "| `ringmaster %s%s%s` | %s | %s%s%s |\n", row->command,
                       row->words[0] != '\0' ? " " : "", row->words, row->text,
                       row->example != NULL ? "`" : "", row->example != NULL ? row->example : "",
                       row->example != NULL ? "`" : "") != 0)
            return -1;
    return 0;
}

static int exit_codes(struct buf *ret, struct error *err) {
    size_t count = 0;
    const struct exit_code_row *rows = exit_code_table(&count);
    if (buf_add_text(ret, "| code | class | meaning |\n| --- | --- | --- |\n", err) != 0)
        return -1;
    for (size_t i = 0; i < count; i++)
        if (buf_printf(ret, err, "| %d | `%s` | %s |\n", rows[i].code, rows[i].class_name,
                       rows[i].meaning) != 0)
            return -1;
    return buf_add_text(ret,
                        "| 128 + n | `signal` | the program was killed by signal n |\n"
                        "| other | `program` | the program's own code; its 130 becomes 1 |\n",
                        err);
}

static int metric_lines(struct buf *ret, struct error *err) {
    size_t count = 0;
    const struct metric_definition *rows = metric_line_definitions(&count);
    if (buf_add_text(ret, "| metric | in lines that begin with | key |\n| --- | --- | --- |\n",
                     err) != 0)
        return -1;
    for (size_t i = 0; i < count; i++) {
        const char *colon = strchr(rows[i].name, ':');
        if (buf_printf(ret, err, "| `%s` | `%.*s` | `%s=` |\n", rows[i].name,
                       (int)(colon - rows[i].name), rows[i].name, colon + 1) != 0)
            return -1;
    }
    return 0;
}

static int picture_of_phases(struct buf *ret, struct error *err) {
    if (buf_add_text(ret, "```mermaid\n", err) != 0 || phase_draw(ret, err) != 0)
        return -1;
    return buf_add_text(ret, "```\n", err);
}

static int ports(struct buf *ret, struct error *err) {
    struct ports p;
    if (ports_plan(PORTS_DEFAULT, 1, &p, err) != 0)
        return -1;
    return buf_printf(
        ret, err,
        "| port | use |\n| --- | --- |\n"
        "| %u | control link, to the master |\n"
        "| %u, %u | Open MPI's daemons, IPv4 and IPv6 |\n"
        "| %u | `MASTER_PORT`, for the program |\n"
        "| %u | what hosts pass on to each other with `RINGMASTER_FETCH_ONCE=1` or `first:///` |\n"
        "| %u | `JAX_COORDINATOR_ADDRESS`, for the program |\n"
        "| %u and up | MPI messages: %u ports, or %d per slot if that is more |\n",
        p.control, p.daemons_v4, p.daemons_v6, p.master, p.passing, p.coordinator, p.data,
        p.data_count, PORTS_DATA_PER_SLOT);
}

static const struct docs_table tables[] = {
    {"commands", "docs/reference/ringmaster.md", commands},
    {"ports", "docs/reference/ports.md", ports},
    {"variables", "docs/reference/variables.md", settings_page},
    {"exit-codes", "docs/reference/exit-codes.md", exit_codes},
    {"failures", "docs/reference/failures.md", explain_page},
    {"events", "docs/reference/events.md", event_schema_page},
    {"evidence", "docs/guides/hangs.md", evidence_page},
    {"metric-lines", "docs/reference/metrics.md", metric_lines},
    {"platforms", "docs/reference/platforms.md", platform_table_page},
    {"mpi-options", "docs/reference/hyperparameters.md", custom_options_page},
    {"messages", "docs/reference/protocol.md", message_page},
    {"phases-picture", "docs/internals/master-states.md", picture_of_phases},
    {"phases", "docs/internals/master-states.md", phase_print},
    {NULL, NULL, NULL},
};

const struct docs_table *docs_tables(void) {
    return tables;
}

int docs_print(const char *name, struct buf *ret, struct error *err) {
    struct nearest nearest =
        nearest_begin(name != NULL ? name : "", name != NULL ? strlen(name) : 0);
    char words[NEAREST_WORDS_MAX];
    for (const struct docs_table *t = tables; t->name != NULL; t++) {
        nearest_try(&nearest, t->name);
        if (name == NULL && buf_printf(ret, err, "%s %s\n", t->name, t->page) != 0)
            return -1;
        if (name != NULL && strcmp(name, t->name) == 0)
            return t->print(ret, err);
    }
    return name == NULL ? 0
                        : error_set(err, EXIT_CODE_USAGE,
                                    "docs: unknown table \"%.64s\"; `ringmaster docs` lists them%s",
                                    name, nearest_words(&nearest, words));
}

int docs_metrics(struct buf *ret, struct error *err) {
    size_t count = 0;
    const struct metric_definition *metrics = metric_line_definitions(&count);
    cleanup_json json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(
            list, json_pack("{s:s, s:s}", "Name", metrics[i].name, "Regex", metrics[i].regex));
    if (json_array_size(list) != count)
        return error_no_memory(err, "the metric definitions");
    return json_add_text(list, ret, err);
}

int docs_run(const char *const *words, struct error *err) {
    cleanup_buf struct buf text;
    buf_init(&text, COMMAND_OUTPUT_MAX);
    if (words[0] != NULL && manual_refuse_words(words + 1, err) != 0)
        return -1;
    return docs_print(words[0], &text, err) == 0 ? command_output_print(&text) : -1;
}

int docs_run_metrics(const char *const *words, struct error *err) {
    cleanup_buf struct buf text;
    buf_init(&text, COMMAND_OUTPUT_MAX);
    if (manual_refuse_words(words, err) != 0)
        return -1;
    return docs_metrics(&text, err) == 0 ? command_output_print(&text) : -1;
}

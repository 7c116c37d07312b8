#include "entrypoint/gpu/smi.h"

#include "common/argv.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/str.h"
#include "entrypoint/job/user_program.h"
#include "entrypoint/os/answer.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* nvidia-smi is run once for each table, since one call gives one table. Columns come in the order
 * in which the query names them, so each parser counts cells instead of reading heads. Cells hold
 * words such as "[N/A]" or "[Not Supported]" where a GPU lacks a value: these are no numbers, and
 * become -1.
 *
 * A line with another number of cells is a message and is skipped. GPUs are matched by their bus
 * address, which all tables begin with, because nothing promises the same order in each. */

/* The most bytes of one table, and the most columns. A cell holds a name of a GPU with room to
 * spare. */
enum { WORDS_MAX = 256 * 1024, CELLS_MAX = 10, CELL_SIZE = 64 };

/* The order of the columns is the one in which the parsers below read them. */
static const char gpus_query[] =
    "--query-gpu=pci.bus_id,memory.total,memory.used,ecc.mode.current,"
    "ecc.errors.uncorrected.volatile.total,clocks_throttle_reasons.active,pcie.link.gen.current,"
    "pcie.link.gen.max,pcie.link.width.current,pcie.link.width.max";
static const char rows_query[] =
    "--query-remapped-rows=gpu_bus_id,remapped_rows.pending,remapped_rows.failure,"
    "remapped_rows.correctable,remapped_rows.uncorrectable";
static const char processes_query[] = "--query-compute-apps=gpu_bus_id,pid,used_memory";
static const char details_query[] =
    "--query-gpu=pci.bus_id,name,uuid,utilization.gpu,utilization.memory,clocks.sm,clocks.max.sm,"
    "clocks.mem,temperature.gpu,power.draw";

/* --- tables ---------------------------------------------------------------------------------- */

/* The cells of a line; unused ones are undefined. */
struct cells {
    char text[CELLS_MAX][CELL_SIZE];
    size_t count;
};

/* Splits the line at *AT and moves past it. Blanks before a cell are dropped; a cell that is too
 * long is cut, and cells beyond CELLS_MAX are left out, with which no parser accepts the line
 * wrongly. */
static void split(const char **at, struct cells *ret) {
    const char *line = *at;
    size_t size = strcspn(line, "\n");
    *at += size + (line[size] == '\n');
    *ret = (struct cells){.count = 0};
    for (const char *end = line + size; line <= end && ret->count < CELLS_MAX;) {
        line += strspn(line, " ");
        size_t cell = strcspn(line, ",\n");
        (void)snprintf(ret->text[ret->count++], CELL_SIZE, "%.*s", (int)cell, line);
        line += cell + 1;
    }
}

/* Bit masks are printed in hexadecimal. A number with a fraction is unknown here; power, the only
 * such column, is cut at the point by its parser. A negative number is unknown, too, like any
 * word. */
static int64_t number_of(const char *cell) {
    int64_t value = 0;
    if (str_starts_with(cell, "0x"))
        return (int64_t)(strtoull(cell, NULL, 16) & INT64_MAX);
    return str_parse_int(cell, 0, INT64_MAX, &value, NULL) == 0 ? value : -1;
}

/* 1 for on, 0 for off, else the number that older versions print, or -1. Tables differ in their
 * words for the same thing. */
static int64_t switch_of(const char *cell) {
    if (strcmp(cell, "Enabled") == 0 || strcmp(cell, "Yes") == 0)
        return 1;
    return strcmp(cell, "Disabled") == 0 || strcmp(cell, "No") == 0 ? 0 : number_of(cell);
}

/* A bus address has two colons; what else is printed has not. So a message with as many commas as a
 * table has columns makes no GPU. */
static bool is_address(const char *cell) {
    const char *colon = strchr(cell, ':');
    return colon != NULL && strchr(colon + 1, ':') != NULL && strlen(cell) < GPU_STATE_BUS_SIZE;
}

/* Begins RET anew. All cells of a line have to be there, even if some of them hold no value. */
void smi_parse_gpus(const char *text, struct gpu_states *ret) {
    struct cells c;
    ret->source = "nvidia-smi";
    ret->count = 0;
    while (*text != '\0' && ret->count < GPU_STATE_MAX) {
        split(&text, &c);
        if (c.count != CELLS_MAX || !is_address(c.text[0]))
            continue;
        struct gpu_state *g = &ret->devices[ret->count++];
        gpu_state_init(g);
        (void)snprintf(g->bus, sizeof(g->bus), "%.31s", c.text[0]);
        g->memory_mib = number_of(c.text[1]);
        g->used_mib = number_of(c.text[2]);
        g->ecc = switch_of(c.text[3]);
        g->uncorrected = number_of(c.text[4]);
        g->clocks = number_of(c.text[5]);
        g->pcie_generation = number_of(c.text[6]);
        g->pcie_generation_max = number_of(c.text[7]);
        g->pcie_width = number_of(c.text[8]);
        g->pcie_width_max = number_of(c.text[9]);
    }
}

/* NULL for a GPU that the first table did not have, or that is written in another way. */
static struct gpu_state *find(struct gpu_states *states, const char *bus) {
    for (size_t i = 0; i < states->count; i++)
        if (strcmp(states->devices[i].bus, bus) == 0)
            return &states->devices[i];
    return NULL;
}

/* GPUs that do not remap rows are not in this table and keep -1, which gpu_state_is_dead() tells
 * from 0. */
void smi_parse_rows(const char *text, struct gpu_states *ret) {
    struct cells c;
    while (*text != '\0') {
        split(&text, &c);
        struct gpu_state *g = c.count == 5 ? find(ret, c.text[0]) : NULL;
        if (g == NULL)
            continue;
        g->remap_pending = switch_of(c.text[1]);
        g->remap_failed = switch_of(c.text[2]);
        g->rows_corrected = number_of(c.text[3]);
        g->rows_uncorrected = number_of(c.text[4]);
    }
}

/* Processes beyond the room for them are left out. An amount of memory may be unknown. */
void smi_parse_processes(const char *text, struct gpu_states *ret) {
    struct cells c;
    while (*text != '\0') {
        split(&text, &c);
        struct gpu_state *g = c.count == 3 ? find(ret, c.text[0]) : NULL;
        if (g == NULL || number_of(c.text[1]) < 0 || g->process_count >= GPU_STATE_PROCESSES_MAX)
            continue;
        g->processes[g->process_count++] =
            (struct gpu_process){.pid = number_of(c.text[1]), .memory_mib = number_of(c.text[2])};
    }
}

/* UUIDs have 40 characters and fit into a cell; a longer name of a GPU is cut. */
void smi_parse_details(const char *text, struct gpu_states *ret) {
    struct cells c;
    while (*text != '\0') {
        split(&text, &c);
        struct gpu_state *g = c.count == CELLS_MAX ? find(ret, c.text[0]) : NULL;
        if (g == NULL)
            continue;
        (void)snprintf(g->name, sizeof(g->name), "%s", c.text[1]);
        (void)snprintf(g->uuid, sizeof(g->uuid), "%s", c.text[2]);
        g->utilization = number_of(c.text[3]);
        g->memory_utilization = number_of(c.text[4]);
        g->sm_mhz = number_of(c.text[5]);
        g->sm_mhz_max = number_of(c.text[6]);
        g->memory_mhz = number_of(c.text[7]);
        g->celsius = number_of(c.text[8]);
        c.text[9][strcspn(c.text[9], ".")] = '\0';
        g->watts = number_of(c.text[9]);
    }
}

/* --- the program ----------------------------------------------------------------------------- */

/* LC_ALL=C keeps numbers free of commas, which part the cells. One deadline holds for all tables,
 * so a slow first one leaves less for the others. With less than a millisecond left nothing is
 * started. What the program says on failure is quoted, as it often names the driver's fault. */
static int ask(const char *program, const char *query, char *const *environment, int64_t deadline,
               struct program_reply *ret, struct error *err) {
    const char *const words[] = {program, query, "--format=csv,noheader,nounits", NULL};
    cleanup_argv struct argv own = {0};
    int64_t left = deadline - clock_now();
    if (left < CLOCK_MILLISECOND)
        return error_set(err, EXIT_CODE_DEVICE, "nvidia-smi did not answer in time");
    if (argv_add_all(&own, (const char *const *)environment, err) != 0 ||
        argv_set_env(&own, "LC_ALL", "C", err) != 0 || answer_ask(words, &own, left, ret, err) != 0)
        return -1;
    if (ret->late)
        return error_set(err, EXIT_CODE_DEVICE, "nvidia-smi did not answer in time");
    if (ret->code != 0)
        return error_set(err, EXIT_CODE_DEVICE, "nvidia-smi ended with %d: %.160s", ret->code,
                         buf_text(&ret->words));
    return 0;
}

/* Only the first table must be there: an older version lacks the others. Errors of later tables are
 * dropped, and their values stay unknown. */
int smi_read(char *const *environment, int64_t limit, bool details, struct gpu_states *ret,
             struct error *err) {
    static void (*const parse[])(const char *, struct gpu_states *) = {
        smi_parse_gpus, smi_parse_rows, smi_parse_processes, smi_parse_details};
    const char *const queries[] = {gpus_query, rows_query, processes_query, details_query};
    const size_t tables = sizeof(queries) / sizeof(queries[0]) - (details ? 0 : 1);
    const int64_t deadline = clock_now() + limit;
    cleanup_free char *program = NULL;
    if (user_program_find("nvidia-smi", env_get(environment, "PATH"), &program, NULL) != 0)
        return error_set(err, EXIT_CODE_DEVICE, "no nvidia-smi in PATH");
    for (size_t i = 0; i < tables; i++) {
        struct program_reply heard = {.code = -1};
        buf_init(&heard.words, WORDS_MAX);
        int asked = ask(program, queries[i], environment, deadline, &heard, i == 0 ? err : NULL);
        if (asked == 0)
            parse[i](buf_text(&heard.words), ret);
        buf_done(&heard.words);
        if (i == 0 && asked != 0)
            return -1;
    }
    return 0;
}

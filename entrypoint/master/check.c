#include "master/check.h"

#include "common/cleanup.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { TABLE_MAX = 1024 * 1024 };

/* Below these a job of this kind runs into trouble. */
static const int64_t least_shm_mib = 64;
static const int64_t least_files = 1024;
static const double most_clock_seconds = 0.5;

static int add_row(const struct cluster *cluster, size_t i, const struct facts *f, double clock,
                   struct buf *ret, struct error *err) {
    return buf_printf(
        ret, err,
        "%-20s %5u %5" PRId64 " %11" PRId64 " %8" PRId64 " %8" PRId64 " %9.3f  %-10s %s\n",
        cluster->hosts[i].name.text, cluster->hosts[i].slots, f->cpus, f->memory_mib, f->shm_mib,
        f->files, clock, f->openmpi[0] != '\0' ? f->openmpi : "-", f->version);
}

static int add_warnings(const char *name, unsigned slots, const struct facts *f, double clock,
                        struct buf *ret, struct error *err) {
    if (f->cpus < slots && buf_printf(ret, err, "warning: %s: %u ranks share %" PRId64 " cores\n",
                                      name, slots, f->cpus) != 0)
        return -1;
    if (f->shm_mib < least_shm_mib &&
        buf_printf(ret, err, "warning: %s: /dev/shm has %" PRId64 " MiB, %" PRId64 " are advised\n",
                   name, f->shm_mib, least_shm_mib) != 0)
        return -1;
    if (f->files < least_files &&
        buf_printf(ret, err,
                   "warning: %s: %" PRId64 " open files are allowed, %" PRId64 " are advised\n",
                   name, f->files, least_files) != 0)
        return -1;
    if ((clock > most_clock_seconds || clock < -most_clock_seconds) &&
        buf_printf(ret, err, "warning: %s: its clock is off by %.3f s\n", name, clock) != 0)
        return -1;
    return 0;
}

int check_table(const struct cluster *cluster, const struct facts *const *hosts,
                const int64_t *offsets, struct buf *ret, struct error *err) {
    if (buf_printf(ret, err, "%-20s %5s %5s %11s %8s %8s %9s  %-10s %s\n", "host", "ranks", "cores",
                   "memory MiB", "shm MiB", "files", "clock s", "Open MPI", "ringmaster") != 0)
        return -1;
    for (size_t i = 0; i < cluster->count; i++)
        if (add_row(cluster, i, hosts[i], (double)offsets[i] * 1e-9, ret, err) != 0)
            return -1;
    for (size_t i = 0; i < cluster->count; i++)
        if (add_warnings(cluster->hosts[i].name.text, cluster->hosts[i].slots, hosts[i],
                         (double)offsets[i] * 1e-9, ret, err) != 0)
            return -1;
    return 0;
}

static void print_lines(struct console *console, const struct buf *table) {
    const char *at = buf_text(table);
    for (const char *end; (end = strchr(at, '\n')) != NULL; at = end + 1)
        console_line(console, at, (size_t)(end - at) + 1);
}

/* A host's clock was read when it sent its facts, ours when they came, so the way is counted in:
 * fit for a warning. */
int check_print(struct master *m, struct error *err) {
    const struct cluster *cluster = &m->s.job->cluster;
    cleanup_free const struct facts **hosts = calloc(cluster->count, sizeof(struct facts *));
    cleanup_free int64_t *offsets = calloc(cluster->count, sizeof(*offsets));
    cleanup_buf struct buf table;
    buf_init(&table, TABLE_MAX);
    if (hosts == NULL || offsets == NULL)
        return error_no_memory(err, "the table");
    for (size_t i = 0; i < cluster->count; i++) {
        hosts[i] = &m->members[i].facts;
        offsets[i] = m->members[i].skew;
    }
    if (check_table(cluster, hosts, offsets, &table, err) != 0)
        return -1;
    print_lines(&m->s.console, &table);
    m->verdict = (struct verdict){.host = -1, .rank = -1, .class_name = "ok"};
    (void)snprintf(m->verdict.text, sizeof(m->verdict.text), "%zu hosts can run %zu ranks",
                   cluster->count, m->attempt.ranks);
    return 0;
}

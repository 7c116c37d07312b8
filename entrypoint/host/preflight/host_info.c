#include "entrypoint/host/preflight/host_info.h"

#include "common/buf.h"
#include "common/clock.h"
#include "common/file/file.h"
#include "common/json/json.h"
#include "common/str.h"
#include "common/system/cpus.h"
#include "entrypoint/job/job.h"
#include "entrypoint/job/machine/accelerators.h"
#include "entrypoint/mpi/mpi_install.h"
#include "entrypoint/mpi/ucx.h"
#include "entrypoint/os/fd_limits.h"
#include "entrypoint/outcome/rank_report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>

/* Every worker sends this with its join, and the master compares it with its own. Some differences
 * would make ranks fail later, for reasons that are hard to see. They are refused here by name: the
 * image, the launcher, the list of hosts, the program and two settings.
 *
 * Texts are required, except those that older builds lack: the build ID is then compared with
 * nothing. A number or flag that is missing has its default, mostly 0. */

/* LIMIT_TEXT_MAX is in bytes; limits of control groups are shorter. */
enum { MIB = 1024 * 1024, LIMIT_TEXT_MAX = 64 };

/* All hosts must agree on these: names in their order, slots and ports decide which rank is where,
 * and which port is for what. Terminating NULs are hashed, too, so that "ab", "c" and "a", "bc"
 * differ. Numbers are hashed as they lie in memory. */
static uint64_t hash_job(const struct job *job) {
    const struct cluster *c = &job->cluster;
    uint64_t hash = str_hash(STR_HASH_START, c->job, strlen(c->job) + 1);
    for (size_t i = 0; i < c->count; i++) {
        hash = str_hash(hash, c->hosts[i].name.text, strlen(c->hosts[i].name.text) + 1);
        hash = str_hash(hash, &c->hosts[i].slots, sizeof(c->hosts[i].slots));
    }
    return str_hash(hash, &job->ports, sizeof(job->ports));
}

/* Hash of the arguments, which must be the same on all hosts, because each host starts its own
 * ranks. The program's path may differ. Only the last part of its path counts. */
static uint64_t hash_program(const struct argv *words) {
    uint64_t hash = STR_HASH_START;
    for (size_t i = 0; i < words->count; i++) {
        const char *slash = i == 0 ? strrchr(words->items[i], '/') : NULL;
        const char *word = slash != NULL ? slash + 1 : words->items[i];
        hash = str_hash(hash, word, strlen(word) + 1);
    }
    return hash;
}

/* Memory limit of cgroup v2, else v1; "max" and missing files mean no limit. Cgroup v1 writes a
 * huge number if there is no limit. The machine's own memory is less, and then counts. */
static int64_t memory_limit_mib(void) {
    static const char *const paths[] = {"/sys/fs/cgroup/memory.max",
                                        "/sys/fs/cgroup/memory/memory.limit_in_bytes"};
    struct sysinfo info = {0};
    (void)sysinfo(&info);
    int64_t least = (int64_t)((uint64_t)info.totalram * info.mem_unit / MIB);
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        cleanup_buf struct buf text;
        buf_init(&text, LIMIT_TEXT_MAX);
        if (file_read(paths[i], &text, NULL) != 0)
            continue;
        int64_t limit = strtoll(buf_text(&text), NULL, 10) / MIB;
        if (limit > 0 && limit < least)
            least = limit;
    }
    return least;
}

/* Reads files and asks the kernel, in the supervisor's loop. A call that fails leaves 0.
 * MPI_INSTALL without a daemon means that this job needs no Open MPI, or has not found it: then no
 * version of it is sent. */
void host_info_gather(const struct job *job, const struct mpi_install *mpi_install,
                      struct host_info *ret) {
    struct statvfs shm = {0};
    struct rlimit files = {0};
    (void)statvfs("/dev/shm", &shm);
    (void)getrlimit(RLIMIT_NOFILE, &files);
    /* The supervisor has raised its own limit, and programs get the one from before. */
    if (fd_limits_before() != 0)
        files.rlim_cur = fd_limits_before(); /* limit that programs get */
    *ret = (struct host_info){.version = RINGMASTER_VERSION,
                              .job = hash_job(job),
                              .program = hash_program(&job->program.argv),
                              .device = accelerators_ucx(""),
                              .ucx = ucx_is_built(mpi_install->mpirun),
                              .failover = job->settings.failover,
                              .dead_seconds = job->settings.dead_seconds,
                              .address = job->cluster.hosts[job->cluster.self].address,
                              .cpus = cpus_affinity(),
                              .memory_mib = memory_limit_mib(),
                              .shm_mib = (int64_t)(shm.f_blocks * shm.f_frsize / MIB),
                              .files = (int64_t)files.rlim_cur,
                              .boot = clock_boot(),
                              .clock = clock_wall()};
    build_id(ret->build);
    (void)snprintf(ret->launcher, sizeof(ret->launcher), "%s", launcher_name(job->launcher.kind));
    if (mpi_install->daemon != NULL)
        (void)snprintf(ret->openmpi, sizeof(ret->openmpi), "%u.%u.%u", mpi_install->version.major,
                       mpi_install->version.minor, mpi_install->version.release);
}

/* Hashes are texts of 16 hexadecimal digits, because JSON's integers are signed. */
json_t *host_info_json(const struct host_info *f) {
    char hash[24];
    char program[24];
    char address[NET_ADDRESS_TEXT];
    (void)snprintf(hash, sizeof(hash), "%016" PRIx64, f->job);
    (void)snprintf(program, sizeof(program), "%016" PRIx64, f->program);
    net_address_text(&f->address, address);
    return json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:s, s:b, s:b, s:b, s:I, s:s, s:I, s:I, s:I, s:I, s:I, s:I}",
        "version", f->version, "build", f->build, "openmpi", f->openmpi, "launcher", f->launcher,
        "job", hash, "program", program, "device", (int)f->device, "ucx", (int)f->ucx, "failover",
        (int)f->failover, "dead_seconds", (json_int_t)f->dead_seconds, "interface_address", address,
        "cpus", (json_int_t)f->cpus, "memory_mib", (json_int_t)f->memory_mib, "shm_mib",
        (json_int_t)f->shm_mib, "files", (json_int_t)f->files, "boot", (json_int_t)f->boot, "clock",
        (json_int_t)f->clock);
}

/* Copies a required text of at most SIZE - 1 bytes. An error names the member, so that a person can
 * tell what another build sends. */
static int text_member(const json_t *object, const char *key, char *ret, size_t size,
                       struct error *err) {
    const char *text = NULL;
    if (json_member_string(object, "join", key, &text, err) != 0)
        return -1;
    if (text == NULL || strlen(text) >= size)
        return error_set(err, EXIT_CODE_CONFIG, "join: %s is %s; expected at most %zu bytes", key,
                         text == NULL ? "missing" : "too long", size - 1);
    memcpy(ret, text, strlen(text) + 1);
    return 0;
}

/* A message without the build ID comes from a version that had none. One that is sent is shown to
 * people, so it must be digits. */
static int build_member(const json_t *object, char ret[BUILD_ID_SIZE], struct error *err) {
    const char *text = NULL;
    if (json_member_string(object, "join", "build", &text, err) != 0)
        return -1;
    if (text == NULL)
        return 0;
    size_t size = strlen(text);
    if (size >= BUILD_ID_SIZE || strspn(text, "0123456789abcdef") < size)
        return error_set(err, EXIT_CODE_CONFIG,
                         "join: build is \"%.64s\"; expected up to %d hexadecimal digits", text,
                         BUILD_ID_SIZE - 1);
    memcpy(ret, text, size + 1);
    return 0;
}

/* A message without it comes from a version that had no choice. Then it is "", which fits only a
 * host that sends none either. */
static int launcher_member(const json_t *object, char ret[HOST_INFO_VERSION_SIZE],
                           struct error *err) {
    if (json_object_get(object, "launcher") == NULL)
        return 0;
    return text_member(object, "launcher", ret, HOST_INFO_VERSION_SIZE, err);
}

/* On failure RET is filled in part. The clocks are checked because the master computes with them:
 * the difference to its own must not overflow. An address that holds on one link alone is of no use
 * to hosts on other interfaces. */
int host_info_parse(const json_t *object, struct host_info *ret, struct error *err) {
    char hash[24];
    char program[24];
    char address[NET_ADDRESS_TEXT];
    /* A build that does not send it has this one. */
    *ret = (struct host_info){.dead_seconds = SETTINGS_DEAD_SECONDS};
    if (text_member(object, "version", ret->version, sizeof(ret->version), err) != 0 ||
        build_member(object, ret->build, err) != 0 ||
        text_member(object, "openmpi", ret->openmpi, sizeof(ret->openmpi), err) != 0 ||
        launcher_member(object, ret->launcher, err) != 0 ||
        text_member(object, "job", hash, sizeof(hash), err) != 0 ||
        text_member(object, "program", program, sizeof(program), err) != 0 ||
        text_member(object, "interface_address", address, sizeof(address), err) != 0 ||
        json_member_bool(object, "join", "device", &ret->device, err) != 0 ||
        json_member_bool(object, "join", "ucx", &ret->ucx, err) != 0 ||
        json_member_bool(object, "join", "failover", &ret->failover, err) != 0 ||
        json_member_int(object, "join", "dead_seconds", &ret->dead_seconds, err) != 0 ||
        json_member_int(object, "join", "cpus", &ret->cpus, err) != 0 ||
        json_member_int(object, "join", "memory_mib", &ret->memory_mib, err) != 0 ||
        json_member_int(object, "join", "shm_mib", &ret->shm_mib, err) != 0 ||
        json_member_int(object, "join", "files", &ret->files, err) != 0 ||
        json_member_int(object, "join", "boot", &ret->boot, err) != 0 ||
        json_member_int(object, "join", "clock", &ret->clock, err) != 0)
        return -1;
    if (ret->boot < 0 || ret->boot > RANK_REPORT_TIME_MAX || ret->clock < 0)
        return error_set(err, EXIT_CODE_CONFIG, "join: a clock is out of range");
    /* A text that is no number becomes a hash that fits no other. */
    ret->job = strtoull(hash, NULL, 16);
    ret->program = strtoull(program, NULL, 16);
    if (!net_address_parse(address, &ret->address) || net_address_is_link_local(&ret->address))
        return error_set(err, EXIT_CODE_CONFIG, "join: interface_address is \"%s\"", address);
    return 0;
}

/* The order is that of causes: another image explains most differences that follow. Builds are
 * compared only if both are known. */
int host_info_compare(const struct host_info *ours, const struct host_info *theirs,
                      struct error *err) {
    if (strcmp(ours->version, theirs->version) != 0)
        return error_set(err, EXIT_CODE_CONFIG,
                         "it runs ringmaster %s, the master %s: another image", theirs->version,
                         ours->version);
    if (ours->build[0] != '\0' && theirs->build[0] != '\0' &&
        strcmp(ours->build, theirs->build) != 0)
        return error_set(err, EXIT_CODE_CONFIG,
                         "it runs build %.*s of ringmaster, the master build %.*s: another image",
                         BUILD_ID_SHORT, theirs->build, BUILD_ID_SHORT, ours->build);
    /* Each host chooses its launcher by its own image, so they may differ without any setting. */
    if (strcmp(ours->launcher, theirs->launcher) != 0)
        return error_set(err, EXIT_CODE_CONFIG,
                         "it starts ranks by %s, the master by %s: set RINGMASTER_LAUNCHER equally "
                         "on all hosts, and use the same image",
                         theirs->launcher, ours->launcher);
    /* One side may have none, and the other mpirun: that is another image, too. */
    if (strcmp(ours->openmpi, theirs->openmpi) != 0)
        return error_set(err, EXIT_CODE_CONFIG, "it has Open MPI %s, the master %s: another image",
                         theirs->openmpi, ours->openmpi);
    /* A hash does not tell which of the three differs. */
    if (ours->job != theirs->job)
        return error_set(err, EXIT_CODE_CONFIG,
                         "its hosts, slots or ports differ from the master's");
    if (ours->program != theirs->program)
        return error_set(err, EXIT_CODE_CONFIG,
                         "its program or its arguments differ from the master's");
    if (ours->failover != theirs->failover)
        return error_set(err, EXIT_CODE_CONFIG,
                         "RINGMASTER_FAILOVER is set %s, and not %s: set it equally on all hosts",
                         theirs->failover ? "there" : "on the master",
                         theirs->failover ? "on the master" : "there");
    /* The rule that keeps two parts of a job apart counts on one lease for all hosts
     * (failover/role_state.h). */
    if (ours->dead_seconds != theirs->dead_seconds)
        return error_set(err, EXIT_CODE_CONFIG,
                         "RINGMASTER_DEAD_SECONDS is %lld there, and %lld on the master: set it "
                         "equally on all hosts",
                         (long long)theirs->dead_seconds, (long long)ours->dead_seconds);
    return 0;
}

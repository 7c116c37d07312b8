#include "entrypoint/master/preflight/check_rows.h"

#include "common/json/json.h"
#include "common/str.h"
#include "entrypoint/host/preflight/net_plugin.h"
#include "entrypoint/master/preflight/check_data.h"
#include "entrypoint/master/preflight/check_item.h"
#include "entrypoint/mpi/openmpi.h"
#include "entrypoint/os/build_id.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* An item looks at one host, with the master for comparison, and leaves a value, a status and
 * advice in a finding. Hosts with equal findings share a row (check_item.c). So a value should not
 * hold a number that differs on each host without need: free memory in bytes would give as many
 * rows as hosts.
 *
 * Items name the parts of a host's answer that they need, and are skipped for hosts without them.
 * Within a part any member may be missing: numbers are -1 then, and texts empty. Every comparison
 * is written so that a missing number does no harm.
 *
 * After the items come rows about equal kernel names, names too long for Open MPI, and warnings
 * that a host has sent in its own words. */

/* Below these limits a job of this kind runs into trouble. In the units of their names; the ones
 * with `a_rank` are multiplied by the ranks of the host. */
static const int64_t least_shm_mib = 64;
static const int64_t shm_a_rank_mib = 5;
static const int64_t least_files = 1024;
static const int64_t least_pids = 256;
static const int64_t pids_a_rank = 32;
static const int64_t least_disk_mib = 1024;
static const double most_clock_seconds = 0.5;

/* --- one thing on one host ---------------------------------------------------------------------
 */

/* Ranks that the host would run. */
static int64_t slots_of(const json_t *host) {
    return check_number(host, NULL, "slots");
}

/* Texts of the part `facts`, which hosts compare in a job, too (host_info.h). */
static bool differs(const json_t *a, const json_t *b, const char *key) {
    return strcmp(check_text(a, "facts", key), check_text(b, "facts", key)) != 0;
}

enum { FAULT_SIZE = 240 }; /* of it, in a row */

/* The fault is the one for which the host would be refused in a job. It is cut at a whole UTF-8
 * character. A code that is no exit code becomes EXIT_CODE_CONFIG. */
static void look_host(const json_t *host, const json_t *master, struct check_finding *f) {
    const char *fault = check_text(host, NULL, "fault");
    int64_t code = check_number(host, NULL, "fault_code");
    (void)master;
    check_put(f, "%.*s", (int)str_utf8_prefix(fault, strlen(fault), FAULT_SIZE), fault);
    if (fault[0] == '\0')
        check_put(f, "joined, and can run the job");
    if (fault[0] != '\0')
        /* The fault is the value already, so the advice stays empty. */
        check_fail(f, code > 0 && code < 256 ? (enum exit_code)code : EXIT_CODE_CONFIG, "%s", "");
}

/* A host with a fault may lack what others compare themselves with: nothing is found for it, and
 * the row of the fault says what is wrong. */
static bool has_fault(const json_t *host) {
    return check_text(host, NULL, "fault")[0] != '\0';
}

/* Versions are compared first, as they say more to people than a build does. Builds count only if
 * both are known. */
static void look_build(const json_t *host, const json_t *master, struct check_finding *f) {
    const char *openmpi = check_text(host, "facts", "openmpi");
    const char *build = check_text(host, "facts", "build");
    const char *masters = check_text(master, "facts", "build");
    if (has_fault(host) || has_fault(master))
        return;
    check_put(f, "ringmaster %.40s%s%.*s, %s%.40s", check_text(host, "facts", "version"),
              build[0] != '\0' ? " build " : "", BUILD_ID_SHORT, build,
              openmpi[0] != '\0' ? "Open MPI " : "no Open MPI, which these ranks do not need",
              openmpi);
    if (differs(host, master, "version") || differs(host, master, "openmpi"))
        check_fail(f, EXIT_CODE_CONFIG, "another image than the master's: all hosts need the same");
    else if (build[0] != '\0' && masters[0] != '\0' && strcmp(build, masters) != 0)
        check_fail(f, EXIT_CODE_CONFIG,
                   "another image than the master's, build %.*s: all hosts need the same",
                   BUILD_ID_SHORT, masters);
}

/* Only the first difference is named, as one often brings the others with it. */
static void look_job(const json_t *host, const json_t *master, struct check_finding *f) {
    if (has_fault(host) || has_fault(master))
        return;
    check_put(f, "the same settings as the master");
    if (differs(host, master, "job"))
        check_put(f, "hosts, slots or ports differ from the master's");
    else if (differs(host, master, "program"))
        check_put(f, "program or arguments differ from the master's");
    else if (check_number(host, "facts", "dead_seconds") !=
             check_number(master, "facts", "dead_seconds"))
        check_put(f, "RINGMASTER_DEAD_SECONDS differs from the master's");
    else
        return;
    check_fail(f, EXIT_CODE_CONFIG, "all hosts need the same variables and hyperparameters");
}

/* Fewer cores than ranks slow these down, but stop nothing. */
static void look_cores(const json_t *host, const json_t *master, struct check_finding *f) {
    int64_t cores = check_number(host, "facts", "cpus");
    const char *processor = check_text(host, "means", "processor");
    check_put(f, "%" PRId64 " for %" PRId64 " rank%s%s%.160s", cores, slots_of(host),
              STR_PLURAL(slots_of(host)), processor[0] != '\0' ? ", " : "", processor);
    /* A warning at most: the job runs, if slowly. */
    if (cores < slots_of(host))
        check_warn(f, "ranks share cores");
    else if (strcmp(processor, check_text(master, "means", "processor")) != 0)
        check_warn(f, "processor differs from the master's: the slowest host sets the pace");
}

/* For information alone: how much a program needs is not known. */
static void look_memory(const json_t *host, const json_t *master, struct check_finding *f) {
    (void)master;
    check_put(f, "%" PRId64 " MiB", check_number(host, "facts", "memory_mib"));
}

/* Ranks of one host exchange data through /dev/shm, which has 64 MiB in a container unless another
 * size is asked for. A single rank needs none. The advice doubles the need, and never recommends
 * less than the default. */
static void look_shm(const json_t *host, const json_t *master, struct check_finding *f) {
    int64_t all = check_number(host, "facts", "shm_mib");
    int64_t left = check_number(host, "means", "shm_free_mib");
    /* In MiB, for the segments through which ranks of this host exchange data. */
    int64_t needed = slots_of(host) > 1 ? slots_of(host) * shm_a_rank_mib : 0;
    (void)master;
    check_put(f, "%" PRId64 " MiB in /dev/shm", all);
    /* What is left counts and not the size: other programs of the host may use it, too. */
    if (left >= 0 && left < needed)
        check_warn(f,
                   "%" PRId64 " MiB are left, its ranks share %" PRId64
                   ": docker run --shm-size=%" PRId64 "m",
                   left, needed, 2 * needed > least_shm_mib ? 2 * needed : least_shm_mib);
    else if (all < least_shm_mib)
        check_warn(
            f, "%" PRId64 " are recommended, and data loaders need more: docker run --shm-size=8g",
            least_shm_mib);
}

/* Open MPI copies between ranks of a host in one step if the kernel allows it, else in two. */
static void look_copies(const json_t *host, const json_t *master, struct check_finding *f) {
    const char *why = check_text(host, "means", "read_memory");
    (void)master;
    if (why[0] == '\0')
        check_put(f, "ranks of a host may read each other's memory");
    else
        check_put(f, "ranks of a host may not read each other's memory: %.120s", why);
}

/* Connections, data files and libraries count. */
static void look_files(const json_t *host, const json_t *master, struct check_finding *f) {
    int64_t files = check_number(host, "facts", "files");
    (void)master;
    check_put(f, "%" PRId64 " open files", files);
    if (files < least_files)
        check_warn(f, "%" PRId64 " are recommended: docker run --ulimit nofile=1048576",
                   least_files);
}

/* -1: no limit. RDMA registers memory, which locks it; without such a device the limit does not
 * matter. */
static void look_locked(const json_t *host, const json_t *master, struct check_finding *f) {
    int64_t kib = check_number(host, "means", "memlock_kib");
    (void)master;
    if (kib < 0) {
        check_put(f, "all memory may be locked");
        return;
    }
    check_put(f, "%" PRId64 " KiB of memory may be locked", kib);
    if (json_is_true(json_object_get(json_object_get(host, "means"), "rdma")))
        check_warn(f, "its RDMA device needs more: docker run --ulimit memlock=-1");
}

/* -1: no limit. The kernel counts threads as processes. */
static void look_pids(const json_t *host, const json_t *master, struct check_finding *f) {
    int64_t pids = check_number(host, "means", "pids");
    (void)master;
    if (pids < 0) {
        check_put(f, "no limit on processes");
        return;
    }
    check_put(f, "%" PRId64 " more processes", pids);
    if (pids < least_pids + pids_a_rank * slots_of(host))
        check_warn(f, "%" PRId64 " are recommended, as threads count: docker run --pids-limit=-1",
                   least_pids + pids_a_rank * slots_of(host));
}

/* -1: the directory does not exist. */
static void look_disk(const json_t *host, const json_t *master, struct check_finding *f) {
    int64_t mib = check_number(host, "means", "disk_free_mib");
    (void)master;
    if (mib < 0) {
        check_put(f, "the job's directory does not exist");
        check_warn(f, "model, checkpoints and failure file cannot be saved");
        return;
    }
    /* Shown in GiB but compared in MiB: the row would differ on every host otherwise. */
    check_put(f, "%" PRId64 " GiB left for the job's directory", mib / 1024);
    if (mib < least_disk_mib)
        check_warn(f, "%" PRId64 " MiB are not enough for models and checkpoints", mib);
}

/* CLOCK_OFFSET is measured when the host joins, and includes the time that its message took. */
static void look_clock(const json_t *host, const json_t *master, struct check_finding *f) {
    /* In seconds; either sign. */
    double off = (double)json_integer_value(json_object_get(host, "clock_offset")) * 1e-9;
    (void)master;
    check_put(f, "within %.1f s of the master's", most_clock_seconds);
    if (off <= most_clock_seconds && off >= -most_clock_seconds)
        return;
    check_put(f, "off by %.3f s", off);
    check_warn(
        f,
        "times in logs cannot be compared, and signed requests fail if clocks differ by minutes");
}

/* For information alone: one row if all hosts have the same. */
static void look_kernel(const json_t *host, const json_t *master, struct check_finding *f) {
    (void)master;
    check_put(f, "Linux %.120s", check_text(host, "means", "kernel"));
}

/* Here GPUs are counted and named; their state is in check_gpus.c. */
static void look_gpu(const json_t *host, const json_t *master, struct check_finding *f) {
    int64_t gpus = check_number(host, "means", "gpus");
    const char *model = check_text(host, "means", "gpu");
    const char *driver = check_text(host, "means", "driver");
    if (gpus > 0)
        check_put(f, "%" PRId64 " GPU%s%s%.160s%s%.40s", gpus, STR_PLURAL(gpus),
                  model[0] != '\0' ? ", " : "", model, driver[0] != '\0' ? ", driver " : "",
                  driver);
    else
        check_put(f, "no GPU");
    if (gpus > 0 && slots_of(host) > gpus)
        check_warn(f, "%" PRId64 " ranks share them", slots_of(host));
    else if (gpus != check_number(master, "means", "gpus") ||
             strcmp(model, check_text(master, "means", "gpu")) != 0 ||
             strcmp(driver, check_text(master, "means", "driver")) != 0)
        check_warn(f, "differs from the master: the slowest host sets the pace");
    /* Models are listed once each, with commas between them. */
    else if (strchr(model, ',') != NULL)
        check_warn(f, "its GPUs differ: the slowest one sets the pace");
}

/* EFA is named before RDMA where a host has both. */
static void look_adapter(const json_t *host, const json_t *master, struct check_finding *f) {
    const json_t *means = json_object_get(host, "means");
    bool efa = json_is_true(json_object_get(means, "efa"));
    bool rdma = json_is_true(json_object_get(means, "rdma"));
    const json_t *other = json_object_get(master, "means");
    check_put(f, "%s", efa ? "an Elastic Fabric Adapter" : rdma ? "an RDMA device" : "TCP alone");
    /* Both directions matter, as either host has to fall back to TCP. */
    if (efa != json_is_true(json_object_get(other, "efa")) ||
        rdma != json_is_true(json_object_get(other, "rdma")))
        check_warn(
            f,
            "differs from the master: hosts without it cannot communicate with hosts that have it");
}

/* The text says which plugin NCCL would load, or why none; only hosts that look for one have this
 * part. */
static void look_plugin(const json_t *host, const json_t *master, struct check_finding *f) {
    const json_t *plugin = json_object_get(host, "plugin");
    (void)master;
    net_plugin_text(plugin, f->value, sizeof(f->value));
    if (json_object_get(plugin, "fault") != NULL)
        check_warn(f, "NCCL uses TCP between hosts");
}

/* The job's interface, which leads to the other hosts; "" is none. */
static void look_interface(const json_t *host, const json_t *master, struct check_finding *f) {
    int64_t mtu = check_number(host, "means", "mtu");
    if (check_text(host, "means", "interface")[0] == '\0') {
        check_put(f, "none is chosen");
        return;
    }
    check_put(f, "%.16s, packets of %" PRId64 " bytes", check_text(host, "means", "interface"),
              mtu);
    /* Packets larger than the smaller MTU may be dropped on the way. */
    if (mtu != check_number(master, "means", "mtu"))
        check_warn(f, "differs from the master: large packets may be dropped between them");
}

/* In the order of the rows. The second member lists the parts that the item needs. */
static const struct check_item items[] = {
    {"host", {NULL}, look_host},
    {"build", {"facts"}, look_build},
    {"job", {"facts"}, look_job},
    {"cores", {"facts", "means"}, look_cores},
    {"memory", {"facts"}, look_memory},
    {"shared", {"facts", "means"}, look_shm},
    {"copies", {"means"}, look_copies},
    {"files", {"facts"}, look_files},
    {"locked", {"means"}, look_locked},
    {"processes", {"means"}, look_pids},
    {"disk", {"means"}, look_disk},
    {"data", {"data", "means"}, check_data_look},
    {"reading", {"data"}, check_data_look_reading},
    {"clock", {"facts"}, look_clock},
    {"kernel", {"means"}, look_kernel},
    {"gpu", {"means"}, look_gpu},
    {"adapter", {"means"}, look_adapter},
    {"plugin", {"plugin"}, look_plugin},
    {"interface", {"means"}, look_interface},
};

/* --- all of them -------------------------------------------------------------------------------
 */

/* Open MPI 5.0 takes hosts of one kernel name for one, unless it was built with its Slurm
 * component. Hosts are grouped by kernel name; a group of two or more is a row. */
static void add_equal_kernel_names(const json_t *hosts, json_t *rows) {
    json_t *names = json_object();
    const json_t *host = NULL;
    size_t i = 0;
    json_array_foreach(hosts, i, host) {
        const char *kernel = check_text(host, "means", "kernel_name");
        json_t *list = json_object_get(names, kernel);
        if (kernel[0] != '\0' && list == NULL)
            (void)json_object_set_new(names, kernel, list = json_array());
        if (kernel[0] != '\0')
            (void)json_array_append_new(list, json_string(check_text(host, NULL, "name")));
    }
    const char *kernel = NULL;
    json_t *list = NULL;
    json_object_foreach(names, kernel, list) {
        char value[CHECK_VALUE_SIZE];
        if (json_array_size(list) < 2)
            continue;
        (void)snprintf(value, sizeof(value), "their kernels are all called %.64s", kernel);
        /* The master's version stands for all: others are another image, which is a bad row. */
        bool is_5 = check_text(json_array_get(hosts, 0), "facts", "openmpi")[0] == '5';
        check_add(rows, is_5 ? CHECK_WARNING : CHECK_OK, "names", value, json_incref(list),
                  is_5 ? "an Open MPI 5.0 that was built without its Slurm component hangs" : "",
                  EXIT_CODE_CONFIG);
    }
    json_decref(names);
}

/* Adds kernel names, which Open MPI 5.0 and kernel messages use: as many as fit into a row. */
static void add_kernel_names(const json_t *hosts, json_t *rows) {
    char value[CHECK_VALUE_SIZE] = "";
    json_t *named = json_array();
    const json_t *host = NULL;
    size_t i = 0;
    json_array_foreach(hosts, i, host) {
        char one[CHECK_VALUE_SIZE / 2];
        const char *name = check_text(host, NULL, "name");
        const char *kernel = check_text(host, "means", "kernel_name");
        if (kernel[0] == '\0' || strcmp(kernel, name) == 0)
            continue;
        int size = snprintf(one, sizeof(one), "%.48s's kernel is called %.48s", name, kernel);
        /* A full row is added, and another one begins with this host. */
        if (strlen(value) + (size_t)size + sizeof(", ") > sizeof(value)) {
            check_add(rows, CHECK_OK, "names", value, named, "", EXIT_CODE_CONFIG);
            named = json_array();
            value[0] = '\0';
        }
        size_t used = strlen(value);
        (void)snprintf(value + used, sizeof(value) - used, "%s%s", used > 0 ? ", " : "", one);
        (void)json_array_append_new(named, json_string(name));
    }
    if (value[0] != '\0')
        check_add(rows, CHECK_OK, "names", value, json_incref(named), "", EXIT_CODE_CONFIG);
    json_decref(named);
}

/* Only the first host's name is passed to mpirun; the others are addresses there. A job that starts
 * its only rank directly has no mpirun, and no such limit. */
static void add_long_name(const json_t *hosts, json_t *rows) {
    struct error why = {0};
    const json_t *master = json_array_get(hosts, 0);
    bool is_4 = check_text(master, "facts", "openmpi")[0] == '4';
    /* One host with one slot at most is a job of a single rank. */
    bool one = json_array_size(hosts) == 1 && slots_of(master) <= 1;
    if (is_4 && !one &&
        openmpi_check_kernel_name(OPENMPI_4_1, check_text(master, "means", "kernel_name"), &why) !=
            0)
        check_add(rows, CHECK_BAD, "names", why.text,
                  json_pack("[s]", check_text(master, NULL, "name")), "", why.code);
}

/* Each warning is a row of its own: texts of hosts are not compared. */
static void add_warnings(const json_t *hosts, json_t *rows) {
    const json_t *host = NULL;
    const json_t *warning = NULL;
    size_t i = 0, k = 0;
    json_array_foreach(hosts, i, host) {
        json_array_foreach(json_object_get(host, "warnings"), k, warning) {
            const char *text = json_string_value(warning);
            check_add(rows, CHECK_WARNING, "job", text != NULL ? text : "",
                      json_pack("[s]", check_text(host, NULL, "name")), "", EXIT_CODE_CONFIG);
        }
    }
}

/* Rows stay in this order: items first, then what concerns several hosts. */
void check_add_hosts(const json_t *hosts, json_t *rows) {
    for (size_t i = 0; i < sizeof(items) / sizeof(items[0]); i++)
        check_item_add(&items[i], hosts, rows);
    add_equal_kernel_names(hosts, rows);
    add_kernel_names(hosts, rows);
    add_long_name(hosts, rows);
    add_warnings(hosts, rows);
}

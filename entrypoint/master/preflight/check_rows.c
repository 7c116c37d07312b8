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

/* Below these limits a job of this kind runs into trouble. */
static const int64_t least_shm_mib = 64;
static const int64_t shm_a_rank_mib = 5;
static const int64_t least_files = 1024;
static const int64_t least_pids = 256;
static const int64_t pids_a_rank = 32;
static const int64_t least_disk_mib = 1024;
static const double most_clock_seconds = 0.5;

/* --- one thing on one host ---------------------------------------------------------------------
 */

static int64_t slots_of(const json_t *host) {
    return check_number(host, NULL, "slots");
}

static bool differs(const json_t *a, const json_t *b, const char *key) {
    return strcmp(check_text(a, "facts", key), check_text(b, "facts", key)) != 0;
}

enum { FAULT_SIZE = 240 }; /* of it, in a row */

static void look_host(const json_t *host, const json_t *master, struct check_finding *f) {
    const char *fault = check_text(host, NULL, "fault");
    int64_t code = check_number(host, NULL, "fault_code");
    (void)master;
    check_put(f, "%.*s", (int)str_utf8_prefix(fault, strlen(fault), FAULT_SIZE), fault);
    if (fault[0] == '\0')
        check_put(f, "joined, and can run the job");
    if (fault[0] != '\0')
        check_fail(f, code > 0 && code < 256 ? (enum exit_code)code : EXIT_CODE_CONFIG, "%s", "");
}

/* A host with a fault may lack what others compare themselves with: nothing is found for it, and
 * the row of the fault says what is wrong. */
static bool has_fault(const json_t *host) {
    return check_text(host, NULL, "fault")[0] != '\0';
}

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

static void look_cores(const json_t *host, const json_t *master, struct check_finding *f) {
    int64_t cores = check_number(host, "facts", "cpus");
    const char *processor = check_text(host, "means", "processor");
    check_put(f, "%" PRId64 " for %" PRId64 " rank%s%s%.160s", cores, slots_of(host),
              STR_PLURAL(slots_of(host)), processor[0] != '\0' ? ", " : "", processor);
    if (cores < slots_of(host))
        check_warn(f, "ranks share cores");
    else if (strcmp(processor, check_text(master, "means", "processor")) != 0)
        check_warn(f, "processor differs from the master's: the slowest host sets the pace");
}

static void look_memory(const json_t *host, const json_t *master, struct check_finding *f) {
    (void)master;
    check_put(f, "%" PRId64 " MiB", check_number(host, "facts", "memory_mib"));
}

static void look_shm(const json_t *host, const json_t *master, struct check_finding *f) {
    int64_t all = check_number(host, "facts", "shm_mib");
    int64_t left = check_number(host, "means", "shm_free_mib");
    int64_t needed = slots_of(host) > 1 ? slots_of(host) * shm_a_rank_mib : 0;
    (void)master;
    check_put(f, "%" PRId64 " MiB in /dev/shm", all);
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

static void look_copies(const json_t *host, const json_t *master, struct check_finding *f) {
    const char *why = check_text(host, "means", "read_memory");
    (void)master;
    if (why[0] == '\0')
        check_put(f, "ranks of a host may read each other's memory");
    else
        check_put(f, "ranks of a host may not read each other's memory: %.120s", why);
}

static void look_files(const json_t *host, const json_t *master, struct check_finding *f) {
    int64_t files = check_number(host, "facts", "files");
    (void)master;
    check_put(f, "%" PRId64 " open files", files);
    if (files < least_files)
        check_warn(f, "%" PRId64 " are recommended: docker run --ulimit nofile=1048576",
                   least_files);
}

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

static void look_disk(const json_t *host, const json_t *master, struct check_finding *f) {
    int64_t mib = check_number(host, "means", "disk_free_mib");
    (void)master;
    if (mib < 0) {
        check_put(f, "the job's directory does not exist");
        check_warn(f, "model, checkpoints and failure file cannot be saved");
        return;
    }
    check_put(f, "%" PRId64 " GiB left for the job's directory", mib / 1024);
    if (mib < least_disk_mib)
        check_warn(f, "%" PRId64 " MiB are not enough for models and checkpoints", mib);
}

static void look_clock(const json_t *host, const json_t *master, struct check_finding *f) {
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

static void look_kernel(const json_t *host, const json_t *master, struct check_finding *f) {
    (void)master;
    check_put(f, "Linux %.120s", check_text(host, "means", "kernel"));
}

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
    else if (strchr(model, ',') != NULL)
        check_warn(f, "its GPUs differ: the slowest one sets the pace");
}

static void look_adapter(const json_t *host, const json_t *master, struct check_finding *f) {
    const json_t *means = json_object_get(host, "means");
    bool efa = json_is_true(json_object_get(means, "efa"));
    bool rdma = json_is_true(json_object_get(means, "rdma"));
    const json_t *other = json_object_get(master, "means");
    check_put(f, "%s", efa ? "an Elastic Fabric Adapter" : rdma ? "an RDMA device" : "TCP alone");
    if (efa != json_is_true(json_object_get(other, "efa")) ||
        rdma != json_is_true(json_object_get(other, "rdma")))
        check_warn(
            f,
            "differs from the master: hosts without it cannot communicate with hosts that have it");
}

static void look_plugin(const json_t *host, const json_t *master, struct check_finding *f) {
    const json_t *plugin = json_object_get(host, "plugin");
    (void)master;
    net_plugin_text(plugin, f->value, sizeof(f->value));
    if (json_object_get(plugin, "fault") != NULL)
        check_warn(f, "NCCL uses TCP between hosts");
}

static void look_interface(const json_t *host, const json_t *master, struct check_finding *f) {
    int64_t mtu = check_number(host, "means", "mtu");
    if (check_text(host, "means", "interface")[0] == '\0') {
        check_put(f, "none is chosen");
        return;
    }
    check_put(f, "%.16s, packets of %" PRId64 " bytes", check_text(host, "means", "interface"),
              mtu);
    if (mtu != check_number(master, "means", "mtu"))
        check_warn(f, "differs from the master: large packets may be dropped between them");
}

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
 * component. */
static void add_twins(const json_t *hosts, json_t *rows) {
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

/* Only the first host's name is passed to mpirun; the others are addresses there. */
static void add_long_name(const json_t *hosts, json_t *rows) {
    struct error why = {0};
    const json_t *master = json_array_get(hosts, 0);
    bool is_4 = check_text(master, "facts", "openmpi")[0] == '4';
    bool one = json_array_size(hosts) == 1 && slots_of(master) <= 1;
    if (is_4 && !one &&
        openmpi_check_kernel_name(OPENMPI_4_1, check_text(master, "means", "kernel_name"), &why) !=
            0)
        check_add(rows, CHECK_BAD, "names", why.text,
                  json_pack("[s]", check_text(master, NULL, "name")), "", why.code);
}

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

void check_add_hosts(const json_t *hosts, json_t *rows) {
    for (size_t i = 0; i < sizeof(items) / sizeof(items[0]); i++)
        check_item_add(&items[i], hosts, rows);
    add_twins(hosts, rows);
    add_kernel_names(hosts, rows);
    add_long_name(hosts, rows);
    add_warnings(hosts, rows);
}

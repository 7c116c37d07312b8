/* Rows about the state of GPUs, as the driver tells it (gpu/gpu_state.h). */
#include "common/str.h"
#include "entrypoint/gpu/gpu_child.h"
#include "entrypoint/master/preflight/check_rows.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Each host has sent one object for each GPU, as gpu_states_json() writes it. A number that the
 * driver did not tell is -1, and so is a member that is missing or no number. Every question is
 * asked so that -1 answers no.
 *
 * An item first looks for GPUs in a bad state, by a predicate on one GPU (find). Its row names the
 * first of them and counts the others: a fault seldom hits one GPU alone, and a row for each would
 * hide everything else. The master's values are not compared here, since a sound GPU needs no other
 * one as its measure.
 *
 * check_put() replaces the value that was put before, so that the last one that applies is the
 * row's. */

/* Returns NULL, which counts as empty, if the host has sent no list. */
static const json_t *devices_of(const json_t *host) {
    return json_object_get(json_object_get(host, "gpus"), "devices");
}

/* The first GPU of a host that NEEDLE finds, and how many there are. */
struct found {
    const json_t *first;
    size_t count;
};

static struct found find(const json_t *host, bool (*needle)(const json_t *device)) {
    struct found f = {.first = NULL};
    const json_t *device = NULL;
    size_t i = 0;
    json_array_foreach(devices_of(host), i, device) {
        if (!needle(device))
            continue;
        f.first = f.count++ == 0 ? device : f.first;
    }
    return f;
}

/* -1: not known. */
static int64_t of(const json_t *device, const char *key) {
    return check_number(device, NULL, key);
}

/* "GPU 00000000:41:00.0" or "GPU 00000000:41:00.0 and 2 more" */
static const char *name_of(struct found f, char ret[64]) {
    (void)snprintf(ret, 64, "GPU %.31s", check_text(f.first, NULL, "bus"));
    if (f.count > 1)
        (void)snprintf(ret + strlen(ret), 64 - strlen(ret), " and %zu more", f.count - 1);
    return ret;
}

/* The driver lists the GPU, but it does not answer. */
static bool is_lost(const json_t *device) {
    return check_text(device, NULL, "fault")[0] != '\0';
}

/* Without NVML and nvidia-smi nothing is known of any GPU: only this item says so, and the others
 * stay silent. */
static void look_driver(const json_t *host, const json_t *master, struct check_finding *f) {
    char name[64];
    const char *fault = check_text(host, "gpus", "fault");
    struct found lost = find(host, is_lost);
    (void)master;
    if (fault[0] != '\0') {
        check_put(f, "their state is not known: %.200s", fault);
        check_warn(f, "the NVIDIA Container Toolkit brings libnvidia-ml.so.1 and nvidia-smi with "
                      "the capability utility");
        return;
    }
    check_put(f, "%zu answer to %.16s", json_array_size(devices_of(host)) - lost.count,
              check_text(host, "gpus", "source"));
    if (lost.count > 0)
        check_fail(f, EXIT_CODE_DEVICE, "%s: %.128s; the machine has to be restarted",
                   name_of(lost, name), check_text(lost.first, NULL, "fault"));
}

/* Predicates of the memory. Counts are since the driver was loaded; a remapping is pending or has
 * failed, or not. */
static bool has_errors(const json_t *device) {
    return of(device, "uncorrected") > 0;
}
/* Both are 0 or 1, and -1 on GPUs that do not remap rows. */
static bool waits_for_reset(const json_t *device) {
    return of(device, "remap_pending") > 0;
}
static bool has_no_spare_row(const json_t *device) {
    return of(device, "remap_failed") > 0;
}
/* One of the two is enough: older GPUs count errors but remap nothing. */
static bool knows_memory(const json_t *device) {
    return of(device, "uncorrected") >= 0 || of(device, "remap_failed") >= 0;
}
static bool has_no_ecc(const json_t *device) {
    return of(device, "ecc") == 0;
}

/* The worst finding decides: a row that cannot be replaced stops the check. A pending replacement
 * needs only a reset. Errors that were counted need one before a long job. */
static void look_ecc(const json_t *host, const json_t *master, struct check_finding *f) {
    char name[64];
    struct found failed = find(host, has_no_spare_row);
    struct found pending = find(host, waits_for_reset);
    struct found errors = find(host, has_errors);
    struct found off = find(host, has_no_ecc);
    (void)master;
    /* Memory without correction is worth a word, and no warning: it may be wanted. */
    if (off.count > 0)
        check_put(f, "%s: errors of the memory are not corrected", name_of(off, name));
    else if (find(host, knows_memory).count > 0)
        check_put(f, "no uncorrected error of the memory");
    if (errors.count > 0)
        check_put(f, "%s: %" PRId64 " uncorrected error%s of the memory", name_of(errors, name),
                  of(errors.first, "uncorrected"), STR_PLURAL(of(errors.first, "uncorrected")));
    if (failed.count > 0)
        check_fail(f, EXIT_CODE_DEVICE, "%s has no spare row for a bad one: replace it",
                   name_of(failed, name));
    else if (pending.count > 0)
        check_warn(f, "%s waits for a reset to replace a bad row", name_of(pending, name));
    else if (errors.count > 0)
        check_warn(f, "reset it before a long job; replace it if errors come back");
}

/* Only reasons that mean heat or lack of power count. An idle GPU lowers its clocks, too. */
static bool is_slowed_down(const json_t *device) {
    const int64_t bad = GPU_CLOCKS_HW_SLOWDOWN | GPU_CLOCKS_SW_THERMAL | GPU_CLOCKS_HW_THERMAL |
                        GPU_CLOCKS_POWER_BRAKE;
    return of(device, "clocks") > 0 && (of(device, "clocks") & bad) != 0;
}
/* A set of no reasons is 0, and known. */
static bool knows_clocks(const json_t *device) {
    return of(device, "clocks") >= 0;
}

/* Heat is named first, as it may be what the other bits follow from. */
static const char *reason_of(int64_t clocks) {
    if ((clocks & (GPU_CLOCKS_HW_THERMAL | GPU_CLOCKS_SW_THERMAL)) != 0)
        return "it is too hot";
    return (clocks & GPU_CLOCKS_POWER_BRAKE) != 0 ? "the machine's power supply asks for it"
                                                  : "heat or power";
}

/* A warning, as the job runs all the same. */
static void look_clocks(const json_t *host, const json_t *master, struct check_finding *f) {
    char name[64];
    struct found slow = find(host, is_slowed_down);
    (void)master;
    if (find(host, knows_clocks).count == 0)
        return;
    /* Replaced below if one is. */
    check_put(f, "no clock is slowed down");
    if (slow.count == 0)
        return;
    check_put(f, "%s is slowed down: %s", name_of(slow, name), reason_of(of(slow.first, "clocks")));
    check_warn(f, "the slowest GPU sets the pace");
}

/* Compared with the most that both the GPU and its slot can do. */
static bool is_narrow(const json_t *device) {
    return of(device, "pcie_width") >= 0 && of(device, "pcie_width") < of(device, "pcie_width_max");
}
/* The generation is the speed of a lane. */
static bool is_early(const json_t *device) {
    return of(device, "pcie_generation") >= 0 &&
           of(device, "pcie_generation") < of(device, "pcie_generation_max");
}
/* A GPU that shows no PCIe link, as in some virtual machines, is left out. */
static bool knows_pcie(const json_t *device) {
    return of(device, "pcie_width") >= 0;
}

/* Without load a GPU may take a lower generation to save power, never fewer lanes. */
static void look_pcie(const json_t *host, const json_t *master, struct check_finding *f) {
    char name[64];
    struct found narrow = find(host, is_narrow);
    struct found early = find(host, is_early);
    struct found known = find(host, knows_pcie);
    (void)master;
    if (known.count == 0)
        return;
    check_put(f, "%" PRId64 " lanes of generation %" PRId64, of(known.first, "pcie_width"),
              of(known.first, "pcie_generation"));
    if (early.count > 0)
        check_put(f, "%s: generation %" PRId64 " of %" PRId64 ", which is usual without load",
                  name_of(early, name), of(early.first, "pcie_generation"),
                  of(early.first, "pcie_generation_max"));
    if (narrow.count == 0)
        return;
    check_put(f, "%s: %" PRId64 " lanes of %" PRId64, name_of(narrow, name),
              of(narrow.first, "pcie_width"), of(narrow.first, "pcie_width_max"));
    check_warn(f, "copies to it are slower: its slot, its riser or the card");
}

/* GPUs that have no NVLink are left out: they lack none. */
static bool lacks_links(const json_t *device) {
    return of(device, "links_up") >= 0 && of(device, "links_up") < of(device, "links");
}
static bool has_links(const json_t *device) {
    return of(device, "links") > 0;
}

/* Nothing is said about GPUs without NVLink. */
static void look_nvlink(const json_t *host, const json_t *master, struct check_finding *f) {
    char name[64];
    struct found lacking = find(host, lacks_links);
    struct found linked = find(host, has_links);
    (void)master;
    if (linked.count == 0)
        return;
    check_put(f, "%" PRId64 " links up", of(linked.first, "links_up"));
    if (lacking.count == 0)
        return;
    check_put(f, "%s: %" PRId64 " of %" PRId64 " links up", name_of(lacking, name),
              of(lacking.first, "links_up"), of(lacking.first, "links"));
    check_warn(f, "NCCL goes by the rest, more slowly: `nvidia-smi nvlink -s`");
}

/* Less than that is what the driver itself keeps (gpu_child.h). */
static bool is_in_use(const json_t *device) {
    return of(device, "used_mib") > GPU_CHILD_FREE_MIB;
}
static bool knows_use(const json_t *device) {
    return of(device, "used_mib") >= 0;
}

/* No rank runs during a check, so that whatever is in use belongs to other programs. */
static void look_memory(const json_t *host, const json_t *master, struct check_finding *f) {
    char name[64];
    struct found used = find(host, is_in_use);
    (void)master;
    if (find(host, knows_use).count == 0)
        return;
    check_put(f, "free");
    if (used.count == 0)
        return;
    check_put(f, "%s: %" PRId64 " of %" PRId64 " MiB in use by %.120s", name_of(used, name),
              of(used.first, "used_mib"), of(used.first, "memory_mib"),
              check_text(used.first, NULL, "users"));
    check_warn(f, "end them, or the job's programs may run out of memory");
}

/* The driver comes first: without it the other items say nothing. */
void check_add_gpus(const json_t *hosts, json_t *rows) {
    static const struct check_item items[] = {
        {"gpu driver", {"gpus"}, look_driver}, {"gpu ecc", {"gpus"}, look_ecc},
        {"gpu clocks", {"gpus"}, look_clocks}, {"gpu pcie", {"gpus"}, look_pcie},
        {"gpu nvlink", {"gpus"}, look_nvlink}, {"gpu memory", {"gpus"}, look_memory},
    };
    for (size_t i = 0; i < sizeof(items) / sizeof(items[0]); i++)
        check_item_add(&items[i], hosts, rows);
}

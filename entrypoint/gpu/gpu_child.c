#include "entrypoint/gpu/gpu_child.h"

#include "common/clock.h"
#include "common/file/file.h"
#include "common/json/json.h"
#include "entrypoint/gpu/nvml.h"
#include "entrypoint/gpu/smi.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

/* All functions run in a child of the supervisor (preflight_child.c), because a driver that hangs
 * stops the process that asks it, even for SIGKILL. The supervisor gives the child a deadline of
 * its own and continues without an answer.
 *
 * NVML is asked first. nvidia-smi is slower, as it is a program that loads the same library, but it
 * works where this program is static. What neither knows is -1 in struct gpu_state, and no
 * comparison below takes -1 for a value. */

/* XID_WAIT_MS only bounds one wait: the loop begins it anew. TEXT_SIZE is for one GPU's line, half
 * of it for the names of its processes. NAME_SIZE holds any name that the kernel keeps, which has
 * 15 characters. */
enum { ASK_AGAIN_MS = 250, XID_WAIT_MS = 10 * 1000, NAME_SIZE = 32, TEXT_SIZE = 512 };

/* A failure of NVML after it was opened is not tried again by nvidia-smi, which would fail in the
 * same driver. The error quotes both sources, cut so that both fit. */
int gpu_child_read(char *const *environment, struct gpu_states *ret, struct error *err) {
    struct error no_nvml = {0};
    struct error no_smi = {0};
    struct nvml *n = nvml_open(&no_nvml);
    if (n != NULL) {
        int result = nvml_read(n, ret, err);
        nvml_close(n);
        return result;
    }
    if (smi_read(environment, GPU_CHILD_SMI_MS * CLOCK_MILLISECOND, false, ret, &no_smi) == 0)
        return 0;
    return error_set(err, EXIT_CODE_DEVICE, "%.120s; %.120s", no_nvml.text, no_smi.text);
}

/* The text may quote a tool's output and so need not be UTF-8. */
static json_t *fault_json(const struct error *err) {
    return json_pack("{s:o}", "fault", json_string_any(err->text));
}

/* An unknown amount, -1, is not busy. */
static bool is_busy(const struct gpu_state *g) {
    return g->used_mib > GPU_CHILD_FREE_MIB;
}

/* Names of processes are those of this container. Only GPUs in use get the member, since naming
 * processes takes a read of /proc for each. */
static void add_users(const struct gpu_states *states, json_t *object) {
    const json_t *devices = json_object_get(object, "devices");
    for (size_t i = 0; i < states->count; i++) {
        char users[TEXT_SIZE / 2];
        if (!is_busy(&states->devices[i]))
            continue;
        gpu_child_users(&states->devices[i], users, sizeof(users));
        (void)json_object_set_new(json_array_get(devices, i), "users", json_string_any(users));
    }
}

/* The object belongs to the caller; NULL only without memory. */
json_t *gpu_child_gpus(char *const *environment) {
    struct gpu_states states = {.count = 0};
    struct error err = {0};
    if (gpu_child_read(environment, &states, &err) != 0)
        return fault_json(&err);
    json_t *object = gpu_states_json(&states);
    add_users(&states, object);
    return object;
}

/* --- memory ---------------------------------------------------------------------------------- */

/* "" for a process that is not in this container: its number is then one of the host. Such a number
 * may also belong to another process here, so the name is only a hint. */
static void read_name(int64_t pid, char ret[NAME_SIZE]) {
    char path[64];
    cleanup_buf struct buf text;
    buf_init(&text, NAME_SIZE - 1);
    (void)snprintf(path, sizeof(path), "/proc/%" PRId64 "/comm", pid);
    ret[0] = '\0';
    if (file_read(path, &text, NULL) == 0)
        (void)snprintf(ret, NAME_SIZE, "%.*s", (int)strcspn(buf_text(&text), "\n"),
                       buf_text(&text));
}

void gpu_child_users(const struct gpu_state *g, char *ret, size_t size) {
    ret[0] = '\0';
    for (size_t i = 0; i < g->process_count; i++) {
        char name[NAME_SIZE];
        size_t used = strlen(ret);
        read_name(g->processes[i].pid, name);
        (void)snprintf(ret + used, size - used, "%spid %" PRId64 "%s%s%s", used > 0 ? ", " : "",
                       g->processes[i].pid, name[0] != '\0' ? " (" : "", name,
                       name[0] != '\0' ? ")" : "");
        used = strlen(ret);
        if (g->processes[i].memory_mib >= 0)
            (void)snprintf(ret + used, size - used, " with %" PRId64 " MiB",
                           g->processes[i].memory_mib);
    }
    if (g->process_count == 0)
        (void)snprintf(ret, size, "processes that cannot be seen from here");
}

/* One text for each GPU with memory in use, for the log. */
static json_t *busy_json(const struct gpu_states *states) {
    json_t *list = json_array();
    for (size_t i = 0; i < states->count; i++) {
        char text[TEXT_SIZE];
        char users[TEXT_SIZE / 2];
        const struct gpu_state *g = &states->devices[i];
        if (!is_busy(g))
            continue;
        gpu_child_users(g, users, sizeof(users));
        (void)snprintf(text, sizeof(text), "%" PRId64 " of %" PRId64 " MiB of GPU %s: %s",
                       g->used_mib, g->memory_mib, g->bus, users);
        (void)json_array_append_new(list, json_string_any(text));
    }
    return list;
}

/* One text for each GPU that nothing should use before it was repaired or reset (gpu_state.c). */
static json_t *dead_json(const struct gpu_states *states) {
    json_t *list = json_array();
    for (size_t i = 0; i < states->count; i++) {
        char text[TEXT_SIZE];
        if (gpu_state_is_dead(&states->devices[i], text, sizeof(text)))
            (void)json_array_append_new(list, json_string_any(text));
    }
    return list;
}

/* GPUs that do not answer are not waited for: their amount is unknown, which is not busy. */
static bool any_is_busy(const struct gpu_states *states) {
    for (size_t i = 0; i < states->count; i++)
        if (is_busy(&states->devices[i]))
            return true;
    return false;
}

/* The driver has no event for memory that becomes free, so it is asked again. The programs of the
 * last attempt may still be ending: their memory is freed by the driver after they are gone. */
json_t *gpu_child_memory(char *const *environment) {
    struct gpu_states states = {.count = 0};
    struct error err = {0};
    const int64_t begun = clock_now();
    const int64_t deadline = begun + GPU_CHILD_MEMORY_SECONDS * CLOCK_SECOND;
    for (;;) {
        if (gpu_child_read(environment, &states, &err) != 0)
            return fault_json(&err);
        int64_t now = clock_now();
        if (!any_is_busy(&states) || now >= deadline)
            return json_pack("{s:I, s:o, s:o}", "waited",
                             (json_int_t)((now - begun) / CLOCK_MILLISECOND), "busy",
                             busy_json(&states), "dead", dead_json(&states));
        (void)poll(NULL, 0, ASK_AGAIN_MS);
    }
}

/* --- Xids ------------------------------------------------------------------------------------ */

/* The kernel writes the address without function and without the leading zeros of NVML's domain.
 * The line has the kernel's form, so that a supervisor reads both sources alike. */
static int print_xid(int fd, uint64_t number, const char *bus, struct error *err) {
    char line[128];
    const char *end = strrchr(bus, '.');
    size_t size = end != NULL ? (size_t)(end - bus) : strlen(bus);
    size_t skip = size > 10 && strncmp(bus, "0000", 4) == 0 ? 4 : 0;
    int length = snprintf(line, sizeof(line), "NVRM: Xid (PCI:%.*s): %" PRIu64 ", told by NVML\n",
                          (int)(size - skip), bus + skip, number);
    return file_write_all(fd, line, (size_t)length, err);
}

/* Ends only by an error: NVML without events, a driver that goes away, or a reader that closed FD.
 * The supervisor ends it otherwise. */
int gpu_child_xids(int fd, struct error *err) {
    struct nvml *n = nvml_open(err);
    int got = n != NULL ? nvml_listen(n, err) : -1;
    while (got >= 0) {
        uint64_t number = 0;
        char bus[GPU_STATE_BUS_SIZE];
        got = nvml_next_xid(n, XID_WAIT_MS, &number, bus, err);
        if (got > 0 && print_xid(fd, number, bus, err) != 0)
            got = -1;
    }
    nvml_close(n);
    return -1;
}

#include "entrypoint/job/machine/nic_environment.h"

#include "entrypoint/job/machine/accelerators.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* NCCL treats a name as a prefix unless '=' comes before it. */
static const struct row {
    const char *name;
    const char *before;
    bool devices; /* takes RDMA devices, too, and prefers them to interfaces */
} rows[] = {
    {"NCCL_SOCKET_IFNAME", "=", false}, {"GLOO_SOCKET_IFNAME", "", false},
    {"TP_SOCKET_IFNAME", "", false},    {"FI_TCP_IFACE", "", false},
    {"UCX_NET_DEVICES", "", true},
};
enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

/* Finds the device for UCX; "" if it needs none. */
static void ucx_devices(const char *interface, const char *root, char ret[ACCELERATORS_PORT_SIZE]) {
    accelerators_port(root, interface, ret);
    if (ret[0] == '\0' && !accelerators_infiniband(root))
        (void)snprintf(ret, ACCELERATORS_PORT_SIZE, "%s", interface);
}

int nic_environment_add(const char *interface, const char *root, struct argv *environment,
                        struct error *err) {
    char value[ACCELERATORS_PORT_SIZE];
    for (size_t i = 0; i < ROWS; i++) {
        if (rows[i].devices)
            ucx_devices(interface, root, value);
        else
            (void)snprintf(value, sizeof(value), "%s%s", rows[i].before, interface);
        if (value[0] == '\0' || argv_get_env(environment, rows[i].name) != NULL)
            continue;
        if (argv_set_env(environment, rows[i].name, value, err) != 0)
            return -1;
    }
    return 0;
}

void nic_environment_own(char *const *environment, char text[NIC_ENVIRONMENT_TEXT_SIZE]) {
    size_t size = 0;
    text[0] = '\0';
    for (size_t i = 0; i < ROWS; i++) {
        const char *value = env_get(environment, rows[i].name);
        if (value == NULL)
            continue;
        int more = snprintf(text + size, NIC_ENVIRONMENT_TEXT_SIZE - size, "%s%s=%.32s",
                            size > 0 ? " " : "", rows[i].name, value);
        size += (size_t)more < NIC_ENVIRONMENT_TEXT_SIZE - size ? (size_t)more : 0;
    }
}

#include "entrypoint/job/machine/accelerators.h"

#include "common/buf.h"
#include "common/file/file.h"
#include "common/str.h"

#include <dirent.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Devices are recognized by names in /dev and /sys, which the kernel's drivers choose. A folder
 * that is missing, or cannot be read, has no devices: nothing here fails. All paths begin with a
 * folder that tests replace.
 *
 * A container sees in /sys all devices of the machine, but can open only those in its own /dev.
 * GPUs are therefore counted in /dev, and RDMA devices are checked against /dev/infiniband
 * (is_reached). */

/* Returns true if NAME is PREFIX followed only by digits. */
static bool is_numbered(const char *name, const char *prefix) {
    const char *digits = name + strlen(prefix);
    return str_starts_with(name, prefix) && *digits != '\0' &&
           digits[strspn(digits, "0123456789")] == '\0';
}

/* Adds up the values of EACH for all entries of FOLDER named PREFIX and a number; 0 if there is no
 * such folder. EACH gets the folder and the name of the entry. */
static unsigned sum(const char *folder, const char *prefix,
                    unsigned (*each)(const char *folder, const char *name)) {
    DIR *open = opendir(folder);
    if (open == NULL)
        return 0;
    unsigned total = 0;
    for (const struct dirent *entry = readdir(open); entry != NULL; entry = readdir(open))
        if (is_numbered(entry->d_name, prefix))
            total += each(folder, entry->d_name);
    closedir(open);
    return total;
}

/* Each entry counts once. */
static unsigned one(const char *folder, const char *name) {
    (void)folder;
    (void)name;
    return 1;
}

/* nvidiactl, nvidia-uvm and the like are no GPUs: only digits may follow. */
unsigned accelerators_gpus(const char *dev) {
    return sum(dev, "nvidia", one);
}

/* The cores of one device. */
static unsigned neuron_cores(const char *folder, const char *name) {
    char path[PATH_MAX];
    int size = snprintf(path, sizeof(path), "%s/%s", folder, name);
    return size > 0 && (size_t)size < sizeof(path) ? sum(path, "neuron_core", one) : 0;
}

/* A path that is too long has no devices. */
unsigned accelerators_neurons(const char *sysfs) {
    char path[PATH_MAX];
    int size = snprintf(path, sizeof(path), "%s/devices/virtual/neuron_device", sysfs);
    return size > 0 && (size_t)size < sizeof(path) ? sum(path, "neuron", neuron_cores) : 0;
}

/* Returns true if the driver of FOLDER/NAME has a name that begins with PREFIX. Follows the link
 * `driver` of the device. */
static bool is_driven_by(const char *folder, const char *name, const char *prefix) {
    char path[PATH_MAX];
    char driver[PATH_MAX];
    int size = snprintf(path, sizeof(path), "%s/%s/device/driver", folder, name);
    if (size < 0 || (size_t)size >= sizeof(path))
        return false;
    ssize_t length = readlink(path, driver, sizeof(driver) - 1);
    driver[length > 0 ? length : 0] = '\0';
    /* The link leads to a folder that is called by the driver. */
    const char *slash = strrchr(driver, '/');
    return str_starts_with(slash != NULL ? slash + 1 : driver, prefix);
}

/* Amazon's driver for its adapters is called efa. */
static unsigned is_efa(const char *folder, const char *name) {
    return is_driven_by(folder, name, "efa");
}

/* --- devices that this container can open ----------------------------------------------------- */

/* PORTS_MAX is more than machines have; ports beyond it are not looked at. */
enum { LINE_MAX_SIZE = ACCELERATORS_PRODUCT_SIZE, PORTS_MAX = 64 };

/* Reads the first line of FOLDER/NAME/FILE; "" if there is none. */
static void read_line(const char *folder, const char *name, const char *file,
                      char ret[LINE_MAX_SIZE]) {
    char path[PATH_MAX];
    cleanup_buf struct buf text;
    buf_init(&text, PATH_MAX);
    ret[0] = '\0';
    int size = snprintf(path, sizeof(path), "%s/%s/%s", folder, name, file);
    if (size > 0 && (size_t)size < sizeof(path) && file_read(path, &text, NULL) == 0)
        (void)snprintf(ret, LINE_MAX_SIZE, "%.*s", LINE_MAX_SIZE - 1, buf_text(&text));
    /* Files in /sys end with a newline. */
    ret[strcspn(ret, "\n")] = '\0';
}

/* Returns true if the device's file is in /dev. Every container sees all devices of its host in
 * /sys. A file uverbsN names the device that it opens in ibdev. */
static bool is_reached(const char *root, const char *device) {
    char path[PATH_MAX];
    char verbs[PATH_MAX];
    char name[LINE_MAX_SIZE];
    bool found = false;
    int size = snprintf(path, sizeof(path), "%s/dev/infiniband", root);
    DIR *open = size > 0 && (size_t)size < sizeof(path) ? opendir(path) : NULL;
    if (open == NULL)
        return false;
    (void)snprintf(verbs, sizeof(verbs), "%s/sys/class/infiniband_verbs", root);
    for (const struct dirent *entry = readdir(open); entry != NULL && !found;
         entry = readdir(open)) {
        if (!is_numbered(entry->d_name, "uverbs"))
            continue;
        read_line(verbs, entry->d_name, "ibdev", name);
        found = strcmp(name, device) == 0;
    }
    closedir(open);
    return found;
}

/* Returns true if this container can open a device that IS_ONE accepts. Stops at the first. */
static bool has_device(const char *root, unsigned (*is_one)(const char *folder, const char *name)) {
    char folder[PATH_MAX];
    bool found = false;
    int size = snprintf(folder, sizeof(folder), "%s/sys/class/infiniband", root);
    DIR *open = size > 0 && (size_t)size < sizeof(folder) ? opendir(folder) : NULL;
    if (open == NULL)
        return false;
    for (const struct dirent *entry = readdir(open); entry != NULL && !found; entry = readdir(open))
        found = entry->d_name[0] != '.' && is_one(folder, entry->d_name) > 0 &&
                is_reached(root, entry->d_name);
    closedir(open);
    return found;
}

bool accelerators_infiniband(const char *root) {
    return has_device(root, one);
}

bool accelerators_efa(const char *root) {
    return has_device(root, is_efa);
}

/* The firmware's name of the machine, which needs no network. */
void accelerators_product(const char *root, char ret[ACCELERATORS_PRODUCT_SIZE]) {
    read_line(root, "sys/class/dmi/id", "product_name", ret);
}

/* --- for UCX --------------------------------------------------------------------------------- */

/* A port that is up, of a device that this container can open. */
struct port {
    char device[LINE_MAX_SIZE];
    long number;
    bool infiniband; /* false: Ethernet, for RoCE */
};

/* Adds the ports of one device that are up: a state reads "4: ACTIVE". */
static void add_ports(const char *folder, const char *device, struct port *ret, size_t *count) {
    char path[PATH_MAX];
    char text[LINE_MAX_SIZE];
    int size = snprintf(path, sizeof(path), "%s/%s/ports", folder, device);
    DIR *open = size > 0 && (size_t)size < sizeof(path) ? opendir(path) : NULL;
    if (open == NULL)
        return;
    for (const struct dirent *entry = readdir(open); entry != NULL && *count < PORTS_MAX;
         entry = readdir(open)) {
        if (!is_numbered(entry->d_name, ""))
            continue;
        read_line(path, entry->d_name, "state", text);
        /* A port that is down carries nothing. */
        if (strstr(text, "ACTIVE") == NULL)
            continue;
        struct port *port = &ret[(*count)++];
        *port = (struct port){.number = strtol(entry->d_name, NULL, 10)};
        (void)snprintf(port->device, sizeof(port->device), "%s", device);
        read_line(path, entry->d_name, "link_layer", text);
        port->infiniband = strcmp(text, "InfiniBand") == 0;
    }
    closedir(open);
}

/* Finds the ports of all devices except libfabric's. FOLDER becomes the one that lists the devices.
 * EFA is libfabric's, and UCX does not use it. */
static size_t find_ports(const char *root, char folder[PATH_MAX], struct port ret[PORTS_MAX]) {
    size_t count = 0;
    int size = snprintf(folder, PATH_MAX, "%s/sys/class/infiniband", root);
    DIR *open = size > 0 && size < PATH_MAX ? opendir(folder) : NULL;
    if (open == NULL)
        return 0;
    for (const struct dirent *entry = readdir(open); entry != NULL; entry = readdir(open))
        if (entry->d_name[0] != '.' && !is_efa(folder, entry->d_name) &&
            is_reached(root, entry->d_name))
            add_ports(folder, entry->d_name, ret, &count);
    closedir(open);
    return count;
}

/* Only NVIDIA's drivers count, mlx4 and mlx5: for others Open MPI does not choose UCX by itself. */
bool accelerators_ucx(const char *root) {
    char folder[PATH_MAX];
    struct port ports[PORTS_MAX];
    size_t count = find_ports(root, folder, ports);
    for (size_t i = 0; i < count; i++)
        if (is_driven_by(folder, ports[i].device, "mlx"))
            return true;
    return false;
}

/* The kernel counts a network interface's port (dev_port) from 0 and a device's ports from 1. An
 * Ethernet port is not chosen where there are InfiniBand ports, as UCX would then be kept from
 * those. */
void accelerators_port(const char *root, const char *interface, char ret[ACCELERATORS_PORT_SIZE]) {
    char folder[PATH_MAX];
    char file[LINE_MAX_SIZE];
    char number[LINE_MAX_SIZE];
    struct port ports[PORTS_MAX];
    const struct port *own = NULL;
    bool infiniband = false;
    size_t count = find_ports(root, folder, ports);
    ret[0] = '\0';
    (void)snprintf(file, sizeof(file), "device/net/%.32s/dev_port", interface);
    for (size_t i = 0; i < count; i++) {
        read_line(folder, ports[i].device, file, number);
        if (number[0] != '\0' && strtol(number, NULL, 10) + 1 == ports[i].number)
            own = &ports[i];
        /* A port of any device counts, not only one of the device that has the interface. */
        infiniband |= ports[i].infiniband;
    }
    if (own != NULL && (own->infiniband || !infiniband))
        (void)snprintf(ret, ACCELERATORS_PORT_SIZE, "%.40s:%ld", own->device, own->number);
}

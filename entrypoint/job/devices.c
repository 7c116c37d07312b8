#include "job/devices.h"

#include "common/str.h"

#include <dirent.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* PREFIX and then digits alone. */
static bool is_numbered(const char *name, const char *prefix) {
    const char *digits = name + strlen(prefix);
    return str_starts_with(name, prefix) && *digits != '\0' &&
           digits[strspn(digits, "0123456789")] == '\0';
}

/* What EACH makes of every entry of FOLDER called PREFIX and a number, added up; 0 where there is
 * no such folder. An empty PREFIX takes all names. */
static unsigned sum(const char *folder, const char *prefix,
                    unsigned (*each)(const char *folder, const char *name)) {
    DIR *open = opendir(folder);
    if (open == NULL)
        return 0;
    unsigned total = 0;
    for (const struct dirent *entry = readdir(open); entry != NULL; entry = readdir(open))
        if (prefix[0] == '\0' ? entry->d_name[0] != '.' : is_numbered(entry->d_name, prefix))
            total += each(folder, entry->d_name);
    closedir(open);
    return total;
}

static unsigned one(const char *folder, const char *name) {
    (void)folder;
    (void)name;
    return 1;
}

unsigned devices_gpus(const char *dev) {
    return sum(dev, "nvidia", one);
}

static unsigned neuron_cores(const char *folder, const char *name) {
    char path[PATH_MAX];
    int size = snprintf(path, sizeof(path), "%s/%s", folder, name);
    return size > 0 && (size_t)size < sizeof(path) ? sum(path, "neuron_core", one) : 0;
}

unsigned devices_neurons(const char *sysfs) {
    char path[PATH_MAX];
    int size = snprintf(path, sizeof(path), "%s/devices/virtual/neuron_device", sysfs);
    return size > 0 && (size_t)size < sizeof(path) ? sum(path, "neuron", neuron_cores) : 0;
}

static unsigned is_efa(const char *folder, const char *name) {
    char path[PATH_MAX];
    char driver[PATH_MAX];
    int size = snprintf(path, sizeof(path), "%s/%s/device/driver", folder, name);
    if (size < 0 || (size_t)size >= sizeof(path))
        return 0;
    ssize_t length = readlink(path, driver, sizeof(driver) - 1);
    driver[length > 0 ? length : 0] = '\0';
    const char *slash = strrchr(driver, '/');
    return strcmp(slash != NULL ? slash + 1 : driver, "efa") == 0;
}

static unsigned any(const char *folder, const char *name) {
    (void)folder;
    return name[0] != '.' ? 1 : 0;
}

bool devices_infiniband(const char *sysfs) {
    char path[PATH_MAX];
    int size = snprintf(path, sizeof(path), "%s/class/infiniband", sysfs);
    return size > 0 && (size_t)size < sizeof(path) && sum(path, "", any) > 0;
}

bool devices_efa(const char *sysfs) {
    char path[PATH_MAX];
    int size = snprintf(path, sizeof(path), "%s/class/infiniband", sysfs);
    return size > 0 && (size_t)size < sizeof(path) && sum(path, "", is_efa) > 0;
}

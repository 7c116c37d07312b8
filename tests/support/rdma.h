/* RDMA devices of a fake machine.
 *
 * The machine is a folder, laid out as the kernel shows its devices. */
#ifndef TESTS_SUPPORT_RDMA_H
#define TESTS_SUPPORT_RDMA_H

#include "common/file/file.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { RDMA_PATH_SIZE = 4500 };

/* Makes a device that DRIVER drives ("": unknown), and its device file in this container,
 * uverbsVERBS. */
static inline void rdma_make(const char *root, const char *name, const char *driver,
                             unsigned verbs) {
    char path[RDMA_PATH_SIZE];
    char text[64];
    (void)snprintf(path, sizeof(path), "%s/sys/class/infiniband/%s/device", root, name);
    CU_ASSERT_EQUAL(file_make_dirs(path, NULL), 0);
    (void)snprintf(path, sizeof(path), "%s/sys/class/infiniband/%s/device/driver", root, name);
    (void)snprintf(text, sizeof(text), "../../../../bus/pci/drivers/%s", driver);
    if (driver[0] != '\0')
        CU_ASSERT_EQUAL(symlink(text, path), 0);
    (void)snprintf(path, sizeof(path), "%s/sys/class/infiniband_verbs/uverbs%u", root, verbs);
    CU_ASSERT_EQUAL(file_make_dirs(path, NULL), 0);
    (void)snprintf(path, sizeof(path), "%s/sys/class/infiniband_verbs/uverbs%u/ibdev", root, verbs);
    (void)snprintf(text, sizeof(text), "%s\n", name);
    CU_ASSERT_EQUAL(file_publish(path, text, strlen(text), 0644, NULL), 0);
    (void)snprintf(path, sizeof(path), "%s/dev/infiniband/uverbs%u", root, verbs);
    CU_ASSERT_EQUAL(file_make_dirs(path, NULL), 0);
}

/* Removes the device file: from now on the device belongs to another container. */
static inline void rdma_remove_way(const char *root, unsigned verbs) {
    char path[RDMA_PATH_SIZE];
    (void)snprintf(path, sizeof(path), "%s/dev/infiniband/uverbs%u", root, verbs);
    CU_ASSERT_EQUAL(rmdir(path), 0);
}

#endif

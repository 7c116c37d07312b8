#include "common/file/file.h"
#include "tests/support/unit.h"
#include "trainer/app/device/locality.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int parsed(const char *list) {
    size_t size = CPU_ALLOC_SIZE(LOCALITY_CORES);
    cpu_set_t *set = CPU_ALLOC(LOCALITY_CORES);
    int count = locality_parse(list, set, size) == 0 ? CPU_COUNT_S(size, set) : -1;
    CPU_FREE(set);
    return count;
}

static void lists_of_cores_are_read_as_the_kernel_writes_them(void) {
    CU_ASSERT_EQUAL(parsed("0-3,8,10-11\n"), 7);
    CU_ASSERT_EQUAL(parsed("5"), 1);
    CU_ASSERT_EQUAL(parsed("0-8191\n"), 8192);
    CU_ASSERT_EQUAL(parsed(""), -1);
    CU_ASSERT_EQUAL(parsed("\n"), -1);
    CU_ASSERT_EQUAL(parsed("3-1"), -1);
    CU_ASSERT_EQUAL(parsed("0-"), -1);
    CU_ASSERT_EQUAL(parsed("0,"), -1);
    CU_ASSERT_EQUAL(parsed("8192"), -1);
    CU_ASSERT_EQUAL(parsed("99999999999999999999"), -1);
    CU_ASSERT_EQUAL(parsed("0 1"), -1);
}

struct sysfs {
    char root[64], device[256];
};

/* A sysfs with the device 0000:0a:00.0. */
static void sysfs_make(struct sysfs *s, const char *node, const char *cores) {
    char path[512];
    (void)snprintf(s->root, sizeof(s->root), "/tmp/locality.XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(s->root));
    (void)snprintf(s->device, sizeof(s->device), "%s/bus/pci/devices/0000:0a:00.0", s->root);
    CU_ASSERT_EQUAL_FATAL(file_make_dirs(s->device, NULL), 0);
    (void)snprintf(path, sizeof(path), "%s/numa_node", s->device);
    CU_ASSERT_EQUAL_FATAL(file_publish(path, node, strlen(node), 0644, NULL), 0);
    (void)snprintf(path, sizeof(path), "%s/local_cpulist", s->device);
    CU_ASSERT_EQUAL_FATAL(file_publish(path, cores, strlen(cores), 0644, NULL), 0);
}

static void sysfs_remove(const struct sysfs *s) {
    static const char *const parts[] = {"/bus/pci/devices/0000:0a:00.0/numa_node",
                                        "/bus/pci/devices/0000:0a:00.0/local_cpulist",
                                        "/bus/pci/devices/0000:0a:00.0",
                                        "/bus/pci/devices",
                                        "/bus/pci",
                                        "/bus",
                                        ""};
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        char path[512];
        (void)snprintf(path, sizeof(path), "%s%s", s->root, parts[i]);
        CU_ASSERT_EQUAL(remove(path), 0);
    }
}

static void a_device_is_found_by_its_address_in_any_case(void) {
    struct sysfs s;
    cleanup_locality struct locality l = {0};
    sysfs_make(&s, "1\n", "16-31\n");
    CU_ASSERT_EQUAL(locality_read(&l, s.root, "0000:0A:00.0", NULL), 0);
    CU_ASSERT_EQUAL(l.node, 1);
    CU_ASSERT_EQUAL(CPU_COUNT_S(l.size, l.near), 16);
    CU_ASSERT(CPU_ISSET_S(16, l.size, l.near) && !CPU_ISSET_S(15, l.size, l.near));
    sysfs_remove(&s);
}

static void a_machine_of_one_node_has_no_node(void) {
    struct sysfs s;
    cleanup_locality struct locality l = {0};
    sysfs_make(&s, "-1\n", "0-1\n");
    CU_ASSERT_EQUAL(locality_read(&l, s.root, "0000:0a:00.0", NULL), 0);
    CU_ASSERT_EQUAL(l.node, -1);
    sysfs_remove(&s);
}

static void an_unknown_device_and_an_odd_list_are_errors(void) {
    struct sysfs s;
    struct error err = {0};
    cleanup_locality struct locality l = {0};
    sysfs_make(&s, "0\n", "none\n");
    CU_ASSERT_EQUAL(locality_read(&l, s.root, "0000:0b:00.0", &err), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "0000:0b:00.0/numa_node"));
    CU_ASSERT_EQUAL(locality_read(&l, s.root, "0000:0a:00.0", &err), -1);
    CU_ASSERT_PTR_NULL(l.near);
    sysfs_remove(&s);
}

UNIT_SUITE("app.locality", UNIT(lists_of_cores_are_read_as_the_kernel_writes_them),
           UNIT(a_device_is_found_by_its_address_in_any_case),
           UNIT(a_machine_of_one_node_has_no_node),
           UNIT(an_unknown_device_and_an_odd_list_are_errors))

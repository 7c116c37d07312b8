#include "trainer/app/device/locality.h"

#include "common/buf.h"
#include "common/file/file.h"
#include "common/str.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_MAX = 64 * 1024, ADDRESS_MAX = 32 };

void locality_done(struct locality *l) {
    if (l->near != NULL)
        CPU_FREE(l->near);
    *l = (struct locality){0};
}

/* Reads a number below LOCALITY_CORES and moves *AT past it; -1 if there is none. */
static long take_core(const char **at) {
    char *end = NULL;
    if (!isdigit((unsigned char)**at))
        return -1;
    long core = strtol(*at, &end, 10);
    *at = end;
    return core < LOCALITY_CORES ? core : -1;
}

int locality_parse(const char *list, cpu_set_t *set, size_t size) {
    CPU_ZERO_S(size, set);
    const char *at = list;
    for (;;) {
        long first = take_core(&at);
        long last = first;
        if (first >= 0 && *at == '-') {
            at++;
            last = take_core(&at);
        }
        if (first < 0 || last < first)
            return -1;
        for (long core = first; core <= last; core++)
            CPU_SET_S((size_t)core, size, set);
        if (*at != ',')
            break;
        at++;
    }
    return *at == '\0' || *at == '\n' ? 0 : -1;
}

/* Reads the file NAME of the device. */
static int read_file(struct buf *text, const char *root, const char *address, const char *name,
                     struct error *err) {
    char path[512];
    (void)snprintf(path, sizeof(path), "%.256s/bus/pci/devices/%s/%s", root, address, name);
    buf_init(text, FILE_MAX);
    return file_read(path, text, err);
}

int locality_read(struct locality *l, const char *root, const char *address, struct error *err) {
    char lower[ADDRESS_MAX] = "";
    *l = (struct locality){.node = -1};
    for (size_t i = 0; i + 1 < sizeof(lower) && address[i] != '\0'; i++)
        lower[i] = (char)tolower((unsigned char)address[i]);
    cleanup_buf struct buf node = {0};
    cleanup_buf struct buf cores = {0};
    if (read_file(&node, root, lower, "numa_node", err) != 0 ||
        read_file(&cores, root, lower, "local_cpulist", err) != 0)
        return -1;
    l->size = CPU_ALLOC_SIZE(LOCALITY_CORES);
    l->near = CPU_ALLOC(LOCALITY_CORES);
    if (l->near == NULL)
        return error_no_memory(err, "a set of cores");
    char *end = NULL;
    long number = strtol(buf_text(&node), &end, 10);
    if (end != buf_text(&node) && number >= 0 && number < LOCALITY_CORES)
        l->node = (int)number;
    if (locality_parse(buf_text(&cores), l->near, l->size) == 0)
        return 0;
    locality_done(l);
    return error_set(err, EXIT_CODE_INTERNAL, "%s: the kernel's list of cores is '%.64s'", address,
                     buf_text(&cores));
}

#include "entrypoint/mpi/ucx.h"

#include "common/cleanup.h"
#include "entrypoint/job/machine/multiarch.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool ucx_is_built(const char *mpirun) {
    static const char *const folders[] = {"lib/openmpi", "lib64/openmpi",
                                          "lib/" MULTIARCH "/openmpi/lib/openmpi3",
                                          "lib/" MULTIARCH "/openmpi/lib/openmpi"};
    char path[PATH_MAX];
    cleanup_free char *real = mpirun != NULL ? realpath(mpirun, NULL) : NULL;
    for (int up = 0; up < 2; up++) {
        char *slash = real != NULL ? strrchr(real, '/') : NULL;
        if (slash == NULL)
            return false;
        *slash = '\0';
    }
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        int size = snprintf(path, sizeof(path), "%s/%s/mca_pml_ucx.so", real, folders[i]);
        if (size > 0 && (size_t)size < sizeof(path) && access(path, R_OK) == 0)
            return true;
    }
    return false;
}

void ucx_choose(const struct ucx_hosts *hosts, bool options, struct ucx_choice *ret) {
    static const char devices[] = "an InfiniBand or RoCE device of a driver mlx*";
    *ret = (struct ucx_choice){0};
    if (hosts->all < 2 || hosts->with_device == 0 || options)
        return;
    if (hosts->with_device < hosts->all) {
        (void)snprintf(ret->said, sizeof(ret->said),
                       "%zu of %zu hosts have %s, and all ranks must use the same transport: Open "
                       "MPI uses TCP",
                       hosts->with_device, hosts->all, devices);
    } else if (hosts->with_component < hosts->all) {
        ret->worse = true;
        (void)snprintf(
            ret->said, sizeof(ret->said),
            "every host has %s, but %zu of them lack Open MPI's mca_pml_ucx.so: it uses TCP",
            devices, hosts->all - hosts->with_component);
    } else {
        ret->taken = true;
        (void)snprintf(ret->said, sizeof(ret->said),
                       "every host has %s: Open MPI chooses UCX where that finds a transport on it",
                       devices);
    }
}

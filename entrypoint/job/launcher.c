#include "entrypoint/job/launcher.h"

#include "common/str.h"

#include <stdio.h>

bool launcher_is_mpi_library(const char *library) {
    static const char *const names[] = {"libmpi.so", "libmpi_", "libmpich", "libmpifort.so",
                                        "libmpicxx.so"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (str_starts_with(library, names[i]))
            return true;
    return false;
}

bool launcher_is_pmi_library(const char *library) {
    return str_starts_with(library, "libmpich") ||
           (launcher_is_mpi_library(library) && str_ends_with(library, ".so.12"));
}

const char *launcher_name(enum launcher_kind kind) {
    return kind == LAUNCHER_DIRECT ? "direct" : "mpirun";
}

/* Describes why mpirun has to start the ranks; "" if nothing requires that. Ringtrain's ranks,
 * which are linked against MPI, find each other over TCP without it. */
static void describe_need(const struct launcher_facts *f, char ret[LAUNCHER_WHY_SIZE]) {
    ret[0] = '\0';
    if (f->library[0] != '\0' && !launcher_is_pmi_library(f->library) && !f->over_tcp)
        (void)snprintf(ret, LAUNCHER_WHY_SIZE, "%.160s is linked against MPI (%.100s)", f->program,
                       f->library);
    else if (f->options)
        (void)snprintf(ret, LAUNCHER_WHY_SIZE,
                       "sagemaker_mpi_custom_mpi_options has options for mpirun");
}

static int take(enum launcher_kind kind, const char *why, struct launcher *ret) {
    ret->kind = kind;
    (void)snprintf(ret->why, sizeof(ret->why), "%s", why);
    return 0;
}

int launcher_choose(const struct launcher_facts *f, struct launcher *ret, struct error *err) {
    char need[LAUNCHER_WHY_SIZE];
    if (f->ranks <= 1)
        return take(LAUNCHER_DIRECT, "a single rank needs no mpirun", ret);
    describe_need(f, need);
    if (f->setting == SETTINGS_LAUNCHER_DIRECT && need[0] != '\0')
        return error_set(err, EXIT_CODE_CONFIG,
                         "RINGMASTER_LAUNCHER is direct, but %s: without mpirun its ranks would "
                         "not find each other; set RINGMASTER_LAUNCHER to auto or mpirun",
                         need);
    if (f->setting == SETTINGS_LAUNCHER_DIRECT)
        return take(LAUNCHER_DIRECT, "RINGMASTER_LAUNCHER is direct", ret);
    if (f->setting == SETTINGS_LAUNCHER_MPIRUN)
        (void)snprintf(need, sizeof(need), "RINGMASTER_LAUNCHER is mpirun");
    if (need[0] != '\0' && !f->mpirun)
        return error_set(err, EXIT_CODE_NOT_FOUND,
                         "%s, but mpirun is not in PATH; use an image with Open MPI 4.1 or 5",
                         need);
    if (need[0] != '\0')
        return take(LAUNCHER_MPIRUN, need, ret);
    if (f->library[0] != '\0' && !f->over_tcp) {
        (void)snprintf(need, sizeof(need), "%.160s is linked against %.100s, which needs no mpirun",
                       f->program, f->library);
        return take(LAUNCHER_DIRECT, need, ret);
    }
    return f->mpirun ? take(LAUNCHER_MPIRUN, "it is in PATH", ret)
                     : take(LAUNCHER_DIRECT, "no mpirun is in PATH", ret);
}

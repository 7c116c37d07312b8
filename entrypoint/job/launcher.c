#include "entrypoint/job/launcher.h"

#include "common/str.h"

#include <inttypes.h>
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

/* For a job that may lose ranks: LAUNCHER_DIRECT, or why it cannot. NEED: why mpirun has to start
 * the ranks; "": nothing requires that. */
static int choose_for_losses(const struct launcher_facts *f, const char *need, struct launcher *ret,
                             struct error *err) {
    char why[LAUNCHER_WHY_SIZE];
    (void)snprintf(why, sizeof(why), "RINGMASTER_LOST_RANKS is %" PRId64, f->lost_ranks);
    if ((uint64_t)f->lost_ranks >= f->ranks)
        return error_set(err, EXIT_CODE_CONFIG,
                         "%s, and the job has %zu ranks: at least one of them has to be left", why,
                         f->ranks);
    if (need[0] != '\0')
        return error_set(err, EXIT_CODE_CONFIG,
                         "%s, but %s, and mpirun ends all ranks with the first that fails; start "
                         "ranks without it (RINGMASTER_LAUNCHER=direct, a program without MPI) or "
                         "leave RINGMASTER_LOST_RANKS out",
                         why, need);
    if (f->library[0] != '\0' && !f->over_tcp)
        return error_set(err, EXIT_CODE_CONFIG,
                         "%s, but %.160s is linked against MPI (%.100s), and its ranks do not "
                         "survive each other; leave RINGMASTER_LOST_RANKS out",
                         why, f->program, f->library);
    return take(LAUNCHER_DIRECT, why, ret);
}

int launcher_choose(const struct launcher_facts *f, struct launcher *ret, struct error *err) {
    char need[LAUNCHER_WHY_SIZE];
    if (f->ranks <= 1)
        return take(LAUNCHER_DIRECT, "a single rank needs no mpirun", ret);
    describe_need(f, need);
    if (f->lost_ranks > 0) {
        if (need[0] == '\0' && f->setting == SETTINGS_LAUNCHER_MPIRUN)
            (void)snprintf(need, sizeof(need), "RINGMASTER_LAUNCHER is mpirun");
        return choose_for_losses(f, need, ret, err);
    }
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

#include "common/file/file.h"
#include "entrypoint/mpi/ucx.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void make(const char *name) {
    char path[4500];
    (void)snprintf(path, sizeof(path), "%s/%s", unit_temp_dir(), name);
    char *slash = strrchr(path, '/');
    *slash = '\0';
    CU_ASSERT_EQUAL(file_make_dirs(path, NULL), 0);
    *slash = '/';
    CU_ASSERT_EQUAL(file_publish(path, "x", 1, 0755, NULL), 0);
}

static bool is_built(const char *mpirun) {
    char path[4500];
    (void)snprintf(path, sizeof(path), "%s/%s", unit_temp_dir(), mpirun);
    return ucx_is_built(path);
}

static void the_component_lies_beside_mpirun(void) {
    char link[4500];
    make("plain/bin/mpirun");
    CU_ASSERT_FALSE(is_built("plain/bin/mpirun"));
    make("plain/lib/openmpi/mca_pml_ob1.so");
    CU_ASSERT_FALSE(is_built("plain/bin/mpirun"));
    make("plain/lib/openmpi/mca_pml_ucx.so");
    CU_ASSERT_TRUE(is_built("plain/bin/mpirun"));
    make("usr/bin/orterun");
    make("usr/lib/x86_64-linux-gnu/openmpi/lib/openmpi3/mca_pml_ucx.so");
    make("alternatives/none");
    (void)snprintf(link, sizeof(link), "%s/alternatives/mpirun", unit_temp_dir());
    CU_ASSERT_EQUAL(symlink("../usr/bin/orterun", link), 0);
    CU_ASSERT_TRUE(is_built("alternatives/mpirun"));
    CU_ASSERT_FALSE(is_built("nowhere/mpirun"));
    CU_ASSERT_FALSE(ucx_is_built(NULL));
}

static void all_hosts_or_none_take_it(void) {
    static const struct {
        struct ucx_hosts hosts;
        bool options, taken, worse;
        const char *said; /* NULL: nothing */
    } cases[] = {
        {{3, 3, 3},
         false,
         true,
         false,
         "every host has an InfiniBand or RoCE device of a driver mlx*: "},
        {{3, 3, 3}, true, false, false, NULL},
        {{3, 2, 3}, false, false, false, "2 of 3 hosts have an InfiniBand or RoCE device"},
        {{3, 3, 1}, false, false, true, "2 of them lack Open MPI's mca_pml_ucx.so"},
        {{3, 0, 3}, false, false, false, NULL},
        {{1, 1, 1}, false, false, false, NULL},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct ucx_choice choice;
        ucx_choose(&cases[i].hosts, cases[i].options, &choice);
        CU_ASSERT_EQUAL(choice.taken, cases[i].taken);
        CU_ASSERT_EQUAL(choice.worse, cases[i].worse);
        if (cases[i].said != NULL)
            ASSERT_CONTAINS(choice.said, cases[i].said);
        else
            CU_ASSERT_STRING_EQUAL(choice.said, "");
    }
}

UNIT_SUITE("mpi.ucx", UNIT(the_component_lies_beside_mpirun), UNIT(all_hosts_or_none_take_it))

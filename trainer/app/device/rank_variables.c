#include "trainer/app/device/rank_variables.h"

#include "common/str.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { RANKS_MAX = 1 << 20, PORT_MAX = 65535 };

/* Reads the number in NAME; *RET stays where it is not set, unless it is NEEDED. */
static int read_number(const char *name, int64_t least, int64_t most, bool needed, int *ret,
                       struct error *err) {
    int64_t value = 0;
    const char *text = getenv(name);
    if (text == NULL && !needed)
        return 0;
    if (text == NULL)
        return error_set(err, EXIT_CODE_CONFIG,
                         "%s is not set: several ranks over TCP need RANK, WORLD_SIZE, "
                         "MASTER_ADDR and MASTER_PORT",
                         name);
    if (str_parse_int(text, least, most, &value, err) != 0) {
        (void)error_wrap(err, "%s", name);
        return error_recode(err, EXIT_CODE_CONFIG);
    }
    *ret = (int)value;
    return 0;
}

int rank_variables_mpi(int *ret, struct error *err) {
    *ret = 0;
    /* Launchers without MPI set the names of Open MPI, too, but not those of its process manager.
     */
    if (getenv("PMIX_RANK") == NULL)
        return 0;
    return read_number("OMPI_COMM_WORLD_SIZE", 1, RANKS_MAX, false, ret, err);
}

static const char *text_of(const char *name) {
    const char *text = getenv(name);
    return text != NULL ? text : "";
}

int rank_variables_tcp(struct comm_tcp_plan *ret, struct error *err) {
    int port = 0;
    *ret = (struct comm_tcp_plan){.mesh = {.size = 1}, .local_size = 1};
    struct mesh_plan *mesh = &ret->mesh;
    if (read_number("WORLD_SIZE", 1, RANKS_MAX, false, &mesh->size, err) != 0)
        return -1;
    if (mesh->size == 1)
        return 0;
    mesh->address = getenv("MASTER_ADDR");
    if (read_number("RANK", 0, mesh->size - 1, true, &mesh->rank, err) != 0 ||
        read_number("MASTER_PORT", 1, PORT_MAX, true, &port, err) != 0 ||
        read_number("LOCAL_WORLD_SIZE", 1, mesh->size, false, &ret->local_size, err) != 0 ||
        read_number("LOCAL_RANK", 0, ret->local_size - 1, false, &ret->local_rank, err) != 0)
        return -1;
    if (mesh->address == NULL || mesh->address[0] == '\0')
        return error_set(err, EXIT_CODE_CONFIG,
                         "MASTER_ADDR is not set: the host of rank 0 is expected there");
    mesh->port = (uint16_t)port;
    (void)snprintf(mesh->job, sizeof(mesh->job), "%.20s %.40s",
                   text_of("TORCHELASTIC_RESTART_COUNT"), text_of("TORCHELASTIC_RUN_ID"));
    return 0;
}

int rank_variables_local_size(void) {
    int size = 1;
    if (getenv("OMPI_COMM_WORLD_LOCAL_SIZE") != NULL)
        (void)read_number("OMPI_COMM_WORLD_LOCAL_SIZE", 1, RANKS_MAX, false, &size, NULL);
    else
        (void)read_number("LOCAL_WORLD_SIZE", 1, RANKS_MAX, false, &size, NULL);
    return size;
}

#include "entrypoint/host/ranks/jax_environment.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const char devices_name[] = "JAX_LOCAL_DEVICE_IDS";

static int set_number(struct argv *environment, const char *name, unsigned value,
                      struct error *err) {
    char text[16];
    (void)snprintf(text, sizeof(text), "%u", value);
    return argv_set_env(environment, name, text, err);
}

/* CUDA numbers the devices that it shows to a program from 0. It ignores those after a negative
 * number. */
static unsigned count_visible(const struct argv *environment, unsigned gpus) {
    const char *list = argv_get_env(environment, "CUDA_VISIBLE_DEVICES");
    unsigned count = 0;
    if (list == NULL)
        return gpus;
    for (list += strspn(list, " "); *list != '\0' && *list != '-'; count++) {
        list += strcspn(list, ",");
        list += strspn(list, ", ");
    }
    return count;
}

static int add_devices(const struct rank_place *place, unsigned devices, struct argv *environment,
                       struct error *err) {
    enum { DEVICES_MAX = 64 };
    char text[4 * DEVICES_MAX];
    size_t size = 0;
    if (argv_get_env(environment, devices_name) != NULL || place->local_size == 0 || devices == 0 ||
        devices > DEVICES_MAX || devices % place->local_size != 0)
        return 0;
    unsigned share = devices / place->local_size;
    for (unsigned i = 0; i < share; i++)
        size += (size_t)snprintf(text + size, sizeof(text) - size, "%s%u", i > 0 ? "," : "",
                                 place->local_rank * share + i);
    return argv_set_env(environment, devices_name, text, err);
}

int jax_environment_add(const struct rank_place *place, const char *coordinator, unsigned port,
                        unsigned gpus, struct argv *environment, struct error *err) {
    char address[INET6_ADDRSTRLEN + 16];
    bool v6 = strchr(coordinator, ':') != NULL;
    (void)snprintf(address, sizeof(address), v6 ? "[%.*s]:%u" : "%.*s:%u", INET6_ADDRSTRLEN,
                   coordinator, port);
    if (argv_set_env(environment, "JAX_COORDINATOR_ADDRESS", address, err) != 0 ||
        set_number(environment, "JAX_COORDINATOR_PORT", port, err) != 0 ||
        set_number(environment, "JAX_NUM_PROCESSES", place->size, err) != 0 ||
        set_number(environment, "JAX_PROCESS_ID", place->rank, err) != 0)
        return -1;
    return add_devices(place, count_visible(environment, gpus), environment, err);
}

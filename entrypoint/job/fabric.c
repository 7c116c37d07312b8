#include "job/fabric.h"

#include <stddef.h>
#include <string.h>

/* Types with an adapter, and whether it reads and writes memory of other hosts by itself. */
static const struct {
    const char *type;
    bool rdma;
} known[] = {
    {"ml.g4dn.8xlarge", false},  {"ml.g4dn.12xlarge", false}, {"ml.g5.48xlarge", false},
    {"ml.p3dn.24xlarge", false}, {"ml.p4d.24xlarge", true},   {"ml.p4de.24xlarge", true},
    {"ml.p5.48xlarge", false},   {"ml.trn1.32xlarge", true},  {"ml.p6e-gb200.36xlarge", true},
};

static int add_default(struct argv *environment, const char *name, const char *value,
                       struct error *err) {
    return argv_get_env(environment, name) != NULL ? 0
                                                   : argv_set_env(environment, name, value, err);
}

int fabric_add(const char *instance_type, bool has_device, struct argv *environment,
               struct error *err) {
    bool rdma = false;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (strcmp(known[i].type, instance_type) == 0) {
            has_device = true;
            rdma = known[i].rdma;
        }
    if (!has_device)
        return 0;
    if (add_default(environment, "FI_PROVIDER", "efa", err) != 0 ||
        add_default(environment, "NCCL_PROTO", "simple", err) != 0 ||
        add_default(environment, "RDMAV_FORK_SAFE", "1", err) != 0)
        return -1;
    return rdma ? add_default(environment, "FI_EFA_USE_DEVICE_RDMA", "1", err) : 0;
}

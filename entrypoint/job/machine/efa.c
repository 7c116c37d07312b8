#include "entrypoint/job/machine/efa.h"

#include "common/str.h"
#include "common/table.h"
#include "entrypoint/job/machine/accelerators.h"

#include <stddef.h>
#include <string.h>
#include <sys/resource.h>

/* Instance types with an adapter, and whether it supports RDMA. Without libfabric there is no other
 * source for that, and a program that is wrongly set to use RDMA is aborted. */
static const struct known {
    const char *type;
    bool rdma;
} known[] = {
    {"g4dn.8xlarge", false},  {"g4dn.12xlarge", false}, {"g5.48xlarge", false},
    {"p3dn.24xlarge", false}, {"p4d.24xlarge", true},   {"p4de.24xlarge", true},
    {"p5.48xlarge", false},   {"trn1.32xlarge", true},  {"p6e-gb200.36xlarge", true},
};

static int add_default(struct argv *environment, const char *name, const char *value,
                       struct error *err) {
    return argv_get_env(environment, name) != NULL ? 0
                                                   : argv_set_env(environment, name, value, err);
}

int efa_add(const char *root, const char *instance_type, bool as_toolkit, struct argv *environment,
            struct error *err) {
    static const char of_sagemaker[] = "ml.";
    char product[ACCELERATORS_PRODUCT_SIZE];
    const struct known *type = NULL;
    if (str_starts_with(instance_type, of_sagemaker))
        type = TABLE_FIND(known, type, instance_type + strlen(of_sagemaker));
    if (type == NULL && !accelerators_efa(root))
        return 0;
    if (type == NULL) {
        accelerators_product(root, product);
        type = TABLE_FIND(known, type, product);
    }
    if (add_default(environment, "FI_PROVIDER", "efa", err) != 0 ||
        (as_toolkit && type != NULL &&
         (add_default(environment, "NCCL_PROTO", "simple", err) != 0 ||
          add_default(environment, "RDMAV_FORK_SAFE", "1", err) != 0)))
        return -1;
    return type != NULL && type->rdma ? add_default(environment, "FI_EFA_USE_DEVICE_RDMA", "1", err)
                                      : 0;
}

/* --- missing parts --------------------------------------------------------------------------- */

void efa_warn(const char *root, struct warnings *warnings) {
    struct rlimit locked;
    if (!accelerators_infiniband(root))
        return;
    if (getrlimit(RLIMIT_MEMLOCK, &locked) == 0 && locked.rlim_max != RLIM_INFINITY)
        warnings_add(warnings,
                     "no more than %llu KiB of memory may be locked, and this host's RDMA device "
                     "needs more: docker run --ulimit memlock=-1",
                     (unsigned long long)locked.rlim_max / 1024);
}

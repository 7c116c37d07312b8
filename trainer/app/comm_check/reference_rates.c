#include "trainer/app/comm_check/reference_rates.h"

#include "common/str.h"

#include <string.h>

/* Output of all_reduce_perf, f32, out of place: nccl-tests 2.13.9, NCCL 2.20.3, EFA 1.31.0, plugin
 * 1.8.1, 8 GPUs a host. */
#define AWSOME                                                                                     \
    "awslabs/awsome-distributed-training micro-benchmarks/nccl-tests/README.md at 27b7d49, read "  \
    "2026-11-27"
#define MIB(n) ((uint64_t)(n) << 20)

static const struct reference_rate rates[] = {
    {"p4de.24xlarge", 2, 8, 164.3, 0, AWSOME},
    {"p4de.24xlarge", 2, MIB(1), 309.4, 6.35, AWSOME},
    {"p4de.24xlarge", 2, MIB(16), 1191.8, 26.39, AWSOME},
    {"p4de.24xlarge", 2, MIB(128), 3912.9, 64.31, AWSOME},
    {"p4de.24xlarge", 2, MIB(1024), 26217, 76.79, AWSOME},
    {"p5.48xlarge", 2, 8, 69.12, 0, AWSOME},
    {"p5.48xlarge", 2, MIB(1), 123.2, 15.95, AWSOME},
    {"p5.48xlarge", 2, MIB(16), 298.1, 105.52, AWSOME},
    {"p5.48xlarge", 2, MIB(128), 870.3, 289.16, AWSOME},
    {"p5.48xlarge", 2, MIB(1024), 4607.6, 436.95, AWSOME},
};

const struct reference_rate *reference_rates(size_t *ret_count) {
    *ret_count = sizeof(rates) / sizeof(rates[0]);
    return rates;
}

const struct reference_rate *reference_rates_find(const char *instance_type, uint64_t bytes) {
    static const char of_sagemaker[] = "ml.";
    if (str_starts_with(instance_type, of_sagemaker))
        instance_type += strlen(of_sagemaker);
    for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++)
        if (strcmp(rates[i].instance_type, instance_type) == 0 && rates[i].bytes == bytes)
            return &rates[i];
    return NULL;
}

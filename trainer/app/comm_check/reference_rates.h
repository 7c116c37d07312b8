/* Published bus bandwidths of all-reduces over NCCL by instance type. They are printed beside
 * measured ones. Only figures with a source are here; they are somebody else's measurements, not
 * promises. */
#ifndef TRAINER_APP_COMM_CHECK_REFERENCE_RATES_H
#define TRAINER_APP_COMM_CHECK_REFERENCE_RATES_H

#include <stddef.h>
#include <stdint.h>

struct reference_rate {
    const char *instance_type; /* "p5.48xlarge" */
    int hosts;
    uint64_t bytes;      /* of the message */
    double microseconds; /* of one all-reduce */
    double bus_rate;     /* GB/s, 10^9 bytes */
    const char *source;  /* repository, file, commit, and when it was read */
};

/* Returns the row for INSTANCE_TYPE, with or without SageMaker's "ml.", and BYTES; NULL: none. */
const struct reference_rate *reference_rates_find(const char *instance_type, uint64_t bytes);
const struct reference_rate *reference_rates(size_t *ret_count);

#endif

/* One run of a network on pictures of requests: its inputs by name. Those that only training or
 * scoring need, such as labels, are zero. */
#ifndef TRAINER_APP_SERVE_SERVE_PASS_H
#define TRAINER_APP_SERVE_SERVE_PASS_H

#include "common/error.h"
#include "trainer/app/step/network.h"

#include <stddef.h>

struct serve_input {
    const char *name;
    const void *values; /* of the whole input */
};

/* Feeds COUNT inputs and runs PASS. */
int serve_pass_run(struct pass *pass, const struct serve_input *inputs, int count,
                   struct error *err);

#endif

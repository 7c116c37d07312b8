/* hyperparameters.json (first byte 'H') and inputdataconfig.json: what was read keeps its grammar
 * and ceilings. */
#include "entrypoint/job/cluster/cluster.h"
#include "entrypoint/job/sagemaker/channels.h"
#include "entrypoint/job/sagemaker/hyperparameters.h"
#include "entrypoint/job/sagemaker/mpi_options.h"
#include "tests/fuzz/check.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_hyperparameters(const char *text, size_t size) {
    struct hyperparameters h = {0};
    struct argv flags = {0};
    struct error err = {0};
    struct mpi_options mpi_options = {0};
    if (hyperparameters_parse(text, size, "file", &h, &err) != 0) {
        CHECK(err.text[0] != '\0' && h.items == NULL);
        return;
    }
    CHECK(h.count <= HYPERPARAMETERS_MAX);
    CHECK(hyperparameters_add_flags(&h, true, &flags, NULL) == 0 && flags.count % 2 == 0);
    for (size_t i = 0; i < flags.count; i += 2) {
        size_t size_of_name = strlen(flags.items[i]);
        size_t dashes = strspn(flags.items[i], "-");
        CHECK(size_of_name == 0 || (size_of_name == 2 ? dashes == 1 : dashes == 2));
        CHECK(strpbrk(flags.items[i], "= \n\t\"'$") == NULL);
        CHECK(strlen(flags.items[i + 1]) <= (size_t)2 * HYPERPARAMETER_VALUE_MAX);
    }
    if (mpi_options_read(&h, &mpi_options, &err) == 0)
        CHECK(mpi_options.slots <= CLUSTER_SLOTS_MAX && mpi_options.options != NULL);
    mpi_options_done(&mpi_options);
    argv_done(&flags);
    hyperparameters_done(&h);
}

static void try_channels(const char *text, size_t size) {
    struct channels c = {0};
    if (channels_parse(text, size, "file", &c, NULL) != 0)
        return;
    CHECK(c.count <= CHANNELS_MAX);
    for (size_t i = 0; i < c.count; i++)
        CHECK(c.names[i][0] != '.' && c.names[i][0] != '-' && strpbrk(c.names[i], "/ \n") == NULL);
    channels_done(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > 0 && data[0] == 'H')
        try_hyperparameters((const char *)data + 1, size - 1);
    else if (size > 0)
        try_channels((const char *)data + 1, size - 1);
    return 0;
}

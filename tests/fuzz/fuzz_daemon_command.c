/* Launch requests: the first byte chooses the series of Open MPI. Whatever passes the gate is the
 * daemon's path and words without a byte that any shell would read. */
#include "entrypoint/mpi/daemon_command.h"
#include "tests/fuzz/check.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct cluster_host hosts[] = {{.name = {"algo-1"}, .slots = 1},
                                      {.name = {"algo-2"}, .slots = 1},
                                      {.name = {"algo-3"}, .slots = 1}};
static const struct cluster cluster = {.hosts = hosts, .count = 3};
static const struct interface interface = {.name = "eth0", .prefix = 16};

static void check_words(const struct argv *words) {
    CHECK(strcmp(words->items[0], "/usr/bin/daemon") == 0);
    for (size_t i = 1; i < words->count; i++) {
        const char *word = words->items[i];
        CHECK(word[0] != '\0');
        CHECK(word[strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                "_.,:;^/=+@()[]-")] == '\0');
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct ports ports;
    struct openmpi_options options;
    if (size == 0)
        return 0;
    struct openmpi_request request = {
        .version = {.series = data[0] == '5' ? OPENMPI_5_0 : OPENMPI_4_1},
        .cluster = &cluster,
        .interface = &interface,
        .ports = &ports,
        .agent = "/run/agent",
    };
    CHECK(ports_plan(7070, 1, &ports, NULL) == 0);
    CHECK(openmpi_options(&request, &options, NULL) == 0);
    struct daemon_command gate = {.series = request.version.series,
                                  .daemon = "/usr/bin/daemon",
                                  .options = &options,
                                  .hosts = 3,
                                  .port = ports.daemons_v4};
    CHECK(net_address_parse("10.0.0.1", &gate.master));
    struct argv words = {0};
    struct error err = {0};
    if (daemon_command_check(&gate, (const char *)data + 1, size - 1, &words, &err) == 0)
        check_words(&words);
    else
        CHECK(words.items == NULL && err.text[0] != '\0');
    argv_done(&words);
    return 0;
}

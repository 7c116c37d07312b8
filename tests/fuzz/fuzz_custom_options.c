/* Options for mpirun as users write them: no accepted option controls a daemon, and every refusal
 * names the setting. */
#include "entrypoint/mpi/custom_options.h"
#include "tests/fuzz/check.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_parameter(const char *variable) {
    return strncmp(variable, "OMPI_MCA_", strlen("OMPI_MCA_")) == 0;
}

static void check_variable(const char *variable) {
    static const char *const ours[] = {
        "RINGMASTER_",  "PMIX_",         "PRTE_",          "OMPI_COMM_",  "OMPI_MCA_plm",
        "OMPI_MCA_oob", "OMPI_MCA_orte", "OMPI_MCA_rmaps", "LD_PRELOAD=", "LD_AUDIT=",
        "RANK=",        "MASTER_ADDR=",  "MASTER_PORT=",   "SM_CURRENT_", "SM_HOSTS="};
    size_t name = strcspn(variable, "=");
    CHECK(variable[name] == '=' && name > 0 && strcspn(variable, " \t\n'\"$;") >= name);
    for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
        CHECK(strncmp(variable, ours[i], strlen(ours[i])) != 0);
    CHECK(strlen(variable + name + 1) <= CUSTOM_OPTIONS_VALUE_MAX);
    for (const char *c = variable + name; *c != '\0'; c++)
        CHECK((unsigned char)*c >= ' ' && *c != 0x7f);
    CHECK(!is_parameter(variable) || strpbrk(variable + name, " '\"$`\\|&<>(){}!?") == NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct custom_options got;
    struct error err = {0};
    char *text = strndup((const char *)data, size);
    if (custom_options_parse(text, &got, &err) != 0) {
        CHECK(strstr(err.text, "sagemaker_mpi_custom_mpi_options") != NULL);
    } else {
        for (size_t i = 0; i < got.environment.count; i++)
            check_variable(got.environment.items[i]);
        CHECK(strpbrk(got.bind_to, " \t\n'\"$;/=") == NULL);
        CHECK(strpbrk(got.map_by, " \t\n'\"$;/") == NULL && strstr(got.map_by, "::") == NULL);
    }
    custom_options_done(&got);
    free(text);
    return 0;
}

#include "entrypoint/job/service_variables.h"

#include "tests/support/unit.h"

#include <string.h>

static bool has(const char *variable) {
    return service_variables_has(variable, strcspn(variable, "="));
}

static void the_form_tells_a_services_variable_from_a_setting(void) {
    CU_ASSERT(has("RINGMASTER_SERVICE_HOST=10.0.0.1"));
    CU_ASSERT(has("RINGMASTER_SERVICE_PORT=7070"));
    CU_ASSERT(has("RINGMASTER_SERVICE_PORT_CONTROL=7070"));
    CU_ASSERT(has("RINGMASTER_METRICS_SERVICE_HOST=10.0.0.1"));
    CU_ASSERT(has("RINGMASTER_PORT_7070_TCP_ADDR=10.0.0.1"));
    CU_ASSERT(has("RINGMASTER_PORT_7070=1"));
    CU_ASSERT(has("RINGMASTER_ANYTHING=tcp://10.0.0.1:80"));
    CU_ASSERT(has("RINGMASTER_NAME=/train/ringmaster"));
    CU_ASSERT(has("RINGMASTER_ENV_PATH=/bin"));
    CU_ASSERT_FALSE(has("RINGMASTER_PORT_X=1"));
    CU_ASSERT_FALSE(has("RINGMASTER_PORT_70X=1"));
    CU_ASSERT_FALSE(has("RINGMASTER_SERVICE_PORTS=1"));
    CU_ASSERT_FALSE(has("RINGMASTER_NAME=train"));
    CU_ASSERT_FALSE(has("RINGMASTER_RESTARTS=1"));
    CU_ASSERT_FALSE(has("_SERVICE_HOST=1"));
}

static void a_services_port_is_an_address(void) {
    CU_ASSERT(service_variables_is_url("tcp://10.0.0.1:80"));
    CU_ASSERT(service_variables_is_url("udp://10.0.0.1:80"));
    CU_ASSERT(service_variables_is_url("sctp://10.0.0.1:80"));
    CU_ASSERT_FALSE(service_variables_is_url("7070"));
    CU_ASSERT_FALSE(service_variables_is_url("http://10.0.0.1"));
}

UNIT_SUITE("job.service_variables", UNIT(the_form_tells_a_services_variable_from_a_setting),
           UNIT(a_services_port_is_an_address))

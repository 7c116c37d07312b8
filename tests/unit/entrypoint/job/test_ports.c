#include "common/cleanup.h"
#include "entrypoint/job/ports.h"
#include "tests/support/unit.h"

#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

static void ports_are_counted_from_the_first(void) {
    struct ports p;
    CU_ASSERT_EQUAL(ports_plan(7070, 8, &p, NULL), 0);
    CU_ASSERT_EQUAL(p.control, 7070);
    CU_ASSERT_EQUAL(p.daemons_v4, 7071);
    CU_ASSERT_EQUAL(p.daemons_v6, 7072);
    CU_ASSERT_EQUAL(p.master, 7073);
    CU_ASSERT_EQUAL(p.passing, 7074);
    CU_ASSERT_EQUAL(p.coordinator, 7075);
    CU_ASSERT_EQUAL(p.data, 7086);
    CU_ASSERT_EQUAL(p.data_count, 64);
    CU_ASSERT_EQUAL(p.data_needed, 8);
    CU_ASSERT_EQUAL(ports_plan(7070, 9, &p, NULL), 0);
    CU_ASSERT_EQUAL(p.data_count, 72);
}

static void a_range_past_the_end_is_an_error(void) {
    struct ports p;
    struct error err = {0};
    CU_ASSERT_EQUAL(ports_plan(65456, 8, &p, NULL), 0);
    CU_ASSERT_EQUAL(ports_plan(65457, 8, &p, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
    ASSERT_CONTAINS(err.text, "RINGMASTER_PORT");
    CU_ASSERT_EQUAL(ports_plan(1023, 1, &p, &err), -1);
}

enum {
    LOWEST = 10000,     /* below the ports that the kernel gives out (ip_local_port_range) */
    NEIGHBOURHOOD = 64, /* ports from one candidate to the next */
    CANDIDATES = 300,
    BEFORE = 16, /* free ports before the listener ... */
    AFTER = 32,  /* ... and after it */
};

static bool neighbours_are_free(uint16_t port) {
    for (int at = port - BEFORE; at <= port + AFTER; at++)
        if (port_check_free((uint16_t)at, "a neighbour", NULL) != 0)
            return false;
    return true;
}

/* A listener with free neighbouring ports, which stay free: connections of the tests that run at
 * the same time get ports chosen by the kernel, which are higher. */
static int listen_somewhere(uint16_t *ret_port) {
    for (int tried = 0; tried < CANDIDATES; tried++) {
        int at = (getpid() + tried) % CANDIDATES;
        struct sockaddr_in address = {.sin_family = AF_INET};
        address.sin_port = htons((uint16_t)(LOWEST + at * NEIGHBOURHOOD + BEFORE));
        if (!neighbours_are_free(ntohs(address.sin_port)))
            continue;
        cleanup_fd int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0 && listen(fd, 1) == 0) {
            *ret_port = ntohs(address.sin_port);
            return take_fd(&fd);
        }
    }
    CU_FAIL("no free port was found");
    return -1;
}

static void a_busy_port_is_named_with_its_variable(void) {
    uint16_t port = 0;
    cleanup_fd int fd = listen_somewhere(&port);
    struct error err = {0};
    CU_ASSERT_EQUAL(port_check_free(port, "the control link", &err), -1);
    char number[32];
    snprintf(number, sizeof(number), "port %u ", (unsigned)port);
    ASSERT_CONTAINS(err.text, number);
    ASSERT_CONTAINS(err.text, "the control link");
    ASSERT_CONTAINS(err.text, "RINGMASTER_PORT");
    ASSERT_CONTAINS(err.text, "in use");
    close(take_fd(&fd));
    CU_ASSERT_EQUAL(port_check_free(port, "the control link", NULL), 0);
}

static void every_port_that_others_will_listen_on_is_checked(void) {
    uint16_t port = 0;
    cleanup_fd int fd = listen_somewhere(&port);
    CU_ASSERT_FATAL(fd >= 0);
    struct ports p;
    struct error err = {0};
    for (int offset = 1; offset < 4; offset++) {
        CU_ASSERT_EQUAL_FATAL(ports_plan(port - offset, 1, &p, NULL), 0);
        CU_ASSERT_EQUAL(ports_check_free(&p, true, &err), -1);
        CU_ASSERT_EQUAL(ports_check_free(&p, false, &err), offset == 3 ? -1 : 0);
    }
}

static void data_ports_must_be_enough(void) {
    uint16_t port = 0;
    cleanup_fd int fd = listen_somewhere(&port);
    CU_ASSERT_FATAL(fd >= 0);
    struct error err = {0};
    struct ports p = {.control = (uint16_t)(port - 10),
                      .daemons_v4 = (uint16_t)(port - 9),
                      .daemons_v6 = (uint16_t)(port - 8),
                      .master = (uint16_t)(port - 7),
                      .data = port,
                      .data_count = 1,
                      .data_needed = 1};
    CU_ASSERT_EQUAL(ports_check_free(&p, true, &err), -1);
    ASSERT_CONTAINS(err.text, "MPI data");
    ASSERT_CONTAINS(err.text, "RINGMASTER_PORT");
    p.data_count = 30; /* others are free */
    CU_ASSERT_EQUAL(ports_check_free(&p, true, NULL), 0);
}

UNIT_SUITE("job.ports", UNIT(ports_are_counted_from_the_first),
           UNIT(a_range_past_the_end_is_an_error), UNIT(a_busy_port_is_named_with_its_variable),
           UNIT(every_port_that_others_will_listen_on_is_checked), UNIT(data_ports_must_be_enough))

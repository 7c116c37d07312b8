#include "common/system/sealed_memfd.h"
#include "entrypoint/host/preflight/preflight_child.h"
#include "tests/support/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Runs the child with ORDER on a host without a network and writes what it prints to RET; returns
 * -1 if it refuses the order. */
static int examine(const char *order, char *ret, size_t size, struct error *err) {
    char number[16];
    char path[512];
    (void)snprintf(path, sizeof(path), "%s/out", unit_temp_dir());
    int fd = sealed_memfd_make("order", order, strlen(order), NULL);
    (void)snprintf(number, sizeof(number), "%d", fd);
    const char *const words[] = {number, "0", NULL};
    int before = dup(STDOUT_FILENO);
    int out = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    (void)fflush(stdout);
    (void)dup2(out, STDOUT_FILENO);
    int result = preflight_child_run(words, environ, err);
    (void)dup2(before, STDOUT_FILENO);
    (void)close(before);
    ssize_t got = pread(out, ret, size - 1, 0);
    ret[got > 0 ? got : 0] = '\0';
    (void)close(out);
    (void)close(fd);
    return result;
}

static void a_host_without_a_network_is_looked_at(void) {
    char text[4096];
    CU_ASSERT_EQUAL(examine("{\"peers\":[[\"10.0.0.1\",0],[\"10.0.0.2\",7086]],\"self\":0,\"base\":"
                            "\"/nowhere\",\"interface\":\"lo\"}",
                            text, sizeof(text), NULL),
                    0);
    CU_ASSERT_PTR_NULL(strstr(text, "\"network\""));
    ASSERT_CONTAINS(text, "{\"means\":{");
    ASSERT_CONTAINS(text, "\"interface\":\"lo\"");
    const char *second = strchr(text, '\n') + 1;
    CU_ASSERT_EQUAL(strncmp(second, "{\"data\":{\"channels\":[", 21), 0);
    CU_ASSERT(strchr(second, '\n') == second + strlen(second) - 1);
}

static void orders_that_are_none_are_refused(void) {
    static const char *const bad[] = {"x", "", "[", "{\"peers\":"};
    char text[4096];
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct error err = {0};
        CU_ASSERT_EQUAL(examine(bad[i], text, sizeof(text), &err), -1);
        CU_ASSERT_STRING_EQUAL(text, "");
        CU_ASSERT(err.code != EXIT_CODE_OK);
    }
    static const char *const words[][3] = {
        {NULL}, {"-1", "0", NULL}, {"0", "1", NULL}, {"abc", "0", NULL}, {"999999", "0", NULL}};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        struct error err = {0};
        CU_ASSERT_EQUAL(preflight_child_run(words[i], environ, &err), -1);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_USAGE);
    }
}

/* The orders come with a listener, but with a host number outside the list or without valid words
 * to exchange. */
static void orders_about_a_network_are_checked(void) {
    static const char *const bad[] = {
        "{\"peers\":[[],[]],\"self\":2}", "{\"peers\":[[],[]],\"self\":-1}",
        "{\"peers\":[[],[]],\"self\":0,\"ask\":\"a\",\"answer\":\"b\"}",
        "{\"peers\":[[],[]],\"self\":0}"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        char numbers[2][16];
        struct error err = {0};
        int fd = sealed_memfd_make("order", bad[i], strlen(bad[i]), NULL);
        (void)snprintf(numbers[0], sizeof(numbers[0]), "%d", fd);
        (void)snprintf(numbers[1], sizeof(numbers[1]), "%d", dup(fd));
        const char *const words[] = {numbers[0], numbers[1], NULL};
        CU_ASSERT_EQUAL(preflight_child_run(words, environ, &err), -1);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_USAGE);
        (void)close(fd);
    }
}

UNIT_SUITE("host.preflight_child", UNIT(a_host_without_a_network_is_looked_at),
           UNIT(orders_that_are_none_are_refused), UNIT(orders_about_a_network_are_checked))

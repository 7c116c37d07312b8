#include "tests/unit/entrypoint/stage.h"

#include "tests/support/ports.h"

#include <arpa/inet.h>
#include <sys/socket.h>

static struct stage_host h;

/* The metrics port is the last of this process's own ports, which the job does not use. */
enum { BEHIND = PORTS_EACH - 1 };

static void start(const char *name, unsigned port, const char *script) {
    char variable[64];
    (void)snprintf(variable, sizeof(variable), "RINGMASTER_METRICS_PORT=%u", port);
    const char *const settings[] = {"RINGMASTER_HOSTS=one", "RINGMASTER_HOST=one",
                                    "RINGMASTER_EVENTS=0", variable, NULL};
    stage_start(&h, name, settings, (const char *[]){"--", "sh", "-c", script, NULL});
}

/* What GET /metrics says, or "". */
static const char *ask(uint16_t port) {
    static char text[64 * 1024];
    static const char request[] = "GET /metrics HTTP/1.1\r\nHost: one\r\n\r\n";
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons(port),
                             .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    size_t size = 0;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(fd, (const struct sockaddr *)&to, sizeof(to)) == 0 &&
        send(fd, request, sizeof(request) - 1, MSG_NOSIGNAL) > 0)
        for (ssize_t got; (got = recv(fd, text + size, sizeof(text) - 1 - size, 0)) > 0;)
            size += (size_t)got;
    (void)close(fd);
    text[size] = '\0';
    return text;
}

/* Without a file, and without an event log. */
static void they_are_answered_at_a_port(void) {
    const uint16_t port = (uint16_t)(ports_own() + BEHIND);
    start("port", port, "echo train step=7 loss=0.5; echo told; exec sleep 60");
    CU_ASSERT(stage_wait_for(&h, "] told"));
    const char *text = ask(port);
    ASSERT_CONTAINS(text, "HTTP/1.1 200 OK\r\n");
    ASSERT_CONTAINS(text, "\r\nContent-Type: application/openmetrics-text; version=1.0.0; "
                          "charset=utf-8\r\n");
    ASSERT_CONTAINS(text, "\nringmaster_train_loss 0.5\n");
    ASSERT_CONTAINS(text, "\nringmaster_hosts 1\n");
    CU_ASSERT_STRING_EQUAL(text + strlen(text) - 6, "# EOF\n");
    (void)kill(h.pid, SIGTERM);
    CU_ASSERT_EQUAL(stage_end(&h), 143);
    CU_ASSERT_STRING_EQUAL(ask(port), "");
}

static void a_port_that_is_taken_is_named(void) {
    const uint16_t port = (uint16_t)(ports_own() + BEHIND);
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int on = 1;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    CU_ASSERT_EQUAL_FATAL(bind(fd, (const struct sockaddr *)&at, sizeof(at)), 0);
    CU_ASSERT_EQUAL_FATAL(listen(fd, 1), 0);
    char words[64];
    (void)snprintf(words, sizeof(words), "port %u of metrics (RINGMASTER_METRICS_PORT)", port);
    start("taken", port, "true");
    CU_ASSERT_EQUAL(stage_end(&h), EXIT_CODE_CONFIG);
    ASSERT_CONTAINS(stage_failure(&h), words);
    (void)close(fd);
}

STAGE_SUITE("host.metrics_exporter", UNIT(they_are_answered_at_a_port),
            UNIT(a_port_that_is_taken_is_named))

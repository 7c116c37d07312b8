#include "entrypoint/evidence/ras_client.h"

#include "common/clock.h"
#include "tests/support/unit.h"

#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static char address[32];

static int listen_here(void) {
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof(a);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CU_ASSERT_EQUAL_FATAL(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
    CU_ASSERT_EQUAL_FATAL(listen(fd, 4), 0);
    CU_ASSERT_EQUAL_FATAL(getsockname(fd, (struct sockaddr *)&a, &size), 0);
    (void)snprintf(address, sizeof(address), "127.0.0.1:%d", ntohs(a.sin_port));
    return fd;
}

/* Serves one client: answers each line with the next of REPLIES and the last line with ANSWER, then
 * closes the connection; if ENDLESS, it repeats ANSWER forever. */
static pid_t serve(const char *const *replies, const char *answer, bool endless) {
    int fd = listen_here();
    pid_t pid = fork();
    if (pid != 0) {
        (void)close(fd);
        return pid;
    }
    FILE *client = fdopen(accept(fd, NULL, NULL), "r+");
    char line[256];
    (void)signal(SIGPIPE, SIG_IGN);
    (void)setvbuf(client, NULL, _IONBF, 0);
    for (; *replies != NULL; replies++)
        if (fgets(line, sizeof(line), client) != NULL)
            (void)fputs(*replies, client);
    if (fgets(line, sizeof(line), client) != NULL)
        do
            if (fputs(answer, client) == EOF)
                _exit(1);
        while (endless);
    (void)fclose(client);
    _exit(0);
}

static int ask(pid_t server, int64_t milliseconds, struct buf *ret, struct error *err) {
    *err = (struct error){0};
    int result =
        ras_client_ask(address, false, clock_now() + milliseconds * CLOCK_MILLISECOND, ret, err);
    if (server > 0) {
        (void)kill(server, SIGKILL);
        (void)waitpid(server, NULL, 0);
    }
    return result;
}

static const char *const usual[] = {"SERVER PROTOCOL 2\n", "OK\n", "OK\n", NULL};
static const char *const older[] = {"SERVER PROTOCOL 2\n", "OK\n", "ERROR: Unknown command\n",
                                    NULL};
static const char *const other[] = {"220 mail ready\r\n", NULL};

static void an_answer_is_read_to_its_end(void) {
    struct error err;
    cleanup_buf struct buf text;
    buf_init(&text, 4096);
    CU_ASSERT_EQUAL(ask(serve(usual, "{\n}\n", false), 60000, &text, &err), 0);
    CU_ASSERT_STRING_EQUAL(buf_text(&text), "{\n}\n");
    text.size = 0;
    CU_ASSERT_EQUAL(ask(serve(older, "Job summary\n", false), 60000, &text, &err), 0);
    CU_ASSERT_EQUAL(text.size, strlen("Job summary\n"));
}

static void an_endless_answer_is_an_error(void) {
    struct error err;
    cleanup_buf struct buf text;
    buf_init(&text, 4096);
    CU_ASSERT_EQUAL(ask(serve(usual, "0123456789\n", true), 60000, &text, &err), -1);
    CU_ASSERT(text.size <= 4096);
}

static void silence_ends_at_the_deadline(void) {
    struct error err;
    cleanup_buf struct buf text;
    buf_init(&text, 4096);
    int fd = listen_here(); /* nobody accepts the connection */
    CU_ASSERT_EQUAL(ask(0, 50, &text, &err), -1);
    ASSERT_CONTAINS(err.text, "RAS did not answer in time");
    (void)close(fd);
    CU_ASSERT_EQUAL(ask(0, 60000, &text, &err), -1); /* nothing listens any more */
    ASSERT_CONTAINS(err.text, "connecting to RAS");
}

static void another_service_is_distinguished(void) {
    struct error err;
    cleanup_buf struct buf text;
    buf_init(&text, 4096);
    CU_ASSERT_EQUAL(ask(serve(other, "", false), 60000, &text, &err), -1);
    ASSERT_CONTAINS(err.text, "what listens there is not RAS");
}

static void addresses_are_checked(void) {
    static const char *const bad[] = {"", "localhost", ":28028", "localhost:"};
    struct error err;
    cleanup_buf struct buf text;
    buf_init(&text, 4096);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        (void)snprintf(address, sizeof(address), "%s", bad[i]);
        CU_ASSERT_EQUAL(ask(0, 1000, &text, &err), -1);
        ASSERT_CONTAINS(err.text, "is not HOST:PORT");
    }
}

static void the_environment_says_where_it_is(void) {
    static char address_variable[] = "NCCL_RAS_ADDR=a:1";
    static char off[] = "NCCL_RAS_ENABLE=0";
    char *const none[] = {NULL};
    char *const set[] = {address_variable, NULL};
    char *const both[] = {address_variable, off, NULL};
    CU_ASSERT_PTR_NULL(ras_client_address(none, false));
    CU_ASSERT_STRING_EQUAL(ras_client_address(none, true), RAS_CLIENT_ADDRESS);
    CU_ASSERT_STRING_EQUAL(ras_client_address(set, false), "a:1");
    CU_ASSERT_PTR_NULL(ras_client_address(both, true));
}

UNIT_SUITE("evidence.ras_client", UNIT(an_answer_is_read_to_its_end),
           UNIT(an_endless_answer_is_an_error), UNIT(silence_ends_at_the_deadline),
           UNIT(another_service_is_distinguished), UNIT(addresses_are_checked),
           UNIT(the_environment_says_where_it_is))

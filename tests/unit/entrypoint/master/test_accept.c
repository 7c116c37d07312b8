#include "tests/support/addresses.h"
#include "tests/support/lag.h"
#include "tests/unit/entrypoint/hand.h"

static struct stage_host master;
static struct stage_host worker;

static const char *const words[] = {"--", "/bin/true", NULL};
static const char hosts[] = "RINGMASTER_HOSTS=127.0.0.1,127.0.0.2";

static void start_master(const char *ready) {
    const char *const settings[] = {hosts, "RINGMASTER_HOST=127.0.0.1", ready, NULL};
    stage_start(&master, "master", settings, words);
}

/* The second host's name is the address that it comes from. */
static void a_host_with_another_key_leaves_with_77_and_so_does_the_master(void) {
    static const char list[] = "RINGMASTER_HOSTS=127.0.0.1,localhost";
    const char *const first[] = {list, "RINGMASTER_HOST=127.0.0.1", "RINGMASTER_READY_SECONDS=10",
                                 NULL};
    const char *const second[] = {list, "RINGMASTER_HOST=localhost",
                                  "RINGMASTER_KEY=fedcba9876543210", "RINGMASTER_READY_SECONDS=11",
                                  NULL};
    stage_start(&master, "master", first, words);
    CU_ASSERT(stage_wait_for(&master, "waiting for 1 host"));
    stage_start(&worker, "worker", second, words);
    struct lag lag;
    lag_begin(&lag);
    CU_ASSERT(stage_wait_for(&worker, "refuses this host: another key: "));
    CU_ASSERT(stage_wait_for(&master, "that is localhost, at 127.0.0.1"));
    ASSERT_WITHIN(&lag, 3 * CLOCK_SECOND);
    CU_ASSERT_EQUAL(stage_end(&worker), EXIT_CODE_KEY_REFUSED);
    ASSERT_CONTAINS(stage_failure(&worker), "list of hosts or job's name differs");
    CU_ASSERT_EQUAL(stage_end(&master), EXIT_CODE_KEY_REFUSED);
    ASSERT_CONTAINS(stage_failure(&master), "localhost at 127.0.0.1 was refused");
    ASSERT_CONTAINS(stage_failure(&master), "list of hosts or job's name differs");
}

static void knock_with(const char *text) {
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons(ports_own()),
                             .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    char byte;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    CU_ASSERT_EQUAL(connect(fd, (const struct sockaddr *)&to, sizeof(to)), 0);
    CU_ASSERT(send(fd, text, strlen(text), MSG_NOSIGNAL) > 0);
    while (recv(fd, &byte, 1, 0) > 0)
        ;
    (void)close(fd);
}

/* A scanner, and a ringmaster with another key at an address that no missing host has. */
static void strangers_are_no_reason_that_a_host_is_missing(void) {
    const char *const other[] = {hosts, "RINGMASTER_HOST=127.0.0.2",
                                 "RINGMASTER_KEY=fedcba9876543210", "RINGMASTER_READY_SECONDS=10",
                                 NULL};
    start_master("RINGMASTER_READY_SECONDS=10");
    CU_ASSERT(stage_wait_for(&master, "waiting for 1 host"));
    knock_with("GET / HTTP/1.0\r\n\r\n");
    knock_with("\x80\x80\x80\x80\x80\x80");
    stage_start(&worker, "worker", other, words);
    CU_ASSERT_EQUAL(stage_end(&master), EXIT_CODE_NOT_READY);
    ASSERT_CONTAINS(stage_output(&master), "a peer at 127.0.0.1 was refused: another key");
    const char *said = strstr(stage_output(&master), "a stranger at 127.0.0.1 was turned away");
    CU_ASSERT(said != NULL && strstr(said + 1, "a stranger at") == NULL); /* one line a minute */
    CU_ASSERT_EQUAL(stage_end(&worker), EXIT_CODE_KEY_REFUSED);
}

/* Two containers with one RINGMASTER_HOST: the first keeps the place. */
static void a_twin_is_refused_with_words(void) {
    static const char list[] = "RINGMASTER_HOSTS=127.0.0.1,127.0.0.2,127.0.0.3";
    const char *const first[] = {list, "RINGMASTER_HOST=127.0.0.1", NULL};
    const char *const second[] = {list, "RINGMASTER_HOST=127.0.0.2", NULL};
    struct stage_host twin;
    stage_start(&master, "master", first, words);
    CU_ASSERT(stage_wait_for(&master, "waiting for 2 hosts"));
    stage_start(&worker, "worker", second, words);
    CU_ASSERT(stage_wait_for(&worker, "joined 127.0.0.1"));
    stage_start(&twin, "twin", second, words);
    CU_ASSERT_EQUAL(stage_end(&twin), EXIT_CODE_CONFIG);
    ASSERT_CONTAINS(stage_failure(&twin), "the name 127.0.0.2 is that of the host at 127.0.0.1, "
                                          "and this one is at 127.0.0.1");
    ASSERT_CONTAINS(stage_failure(&twin), "RINGMASTER_HOST");
    (void)kill(worker.pid, SIGTERM); /* which it tells the master by the link that it has had */
    CU_ASSERT_EQUAL(stage_end(&master), EXIT_CODE_STOPPED);
    ASSERT_CONTAINS(stage_failure(&master), "127.0.0.2");
    CU_ASSERT_EQUAL(stage_end(&worker), EXIT_CODE_STOPPED);
    CU_ASSERT_PTR_NULL(strstr(stage_output(&master), "has disconnected"));
}

/* It says no goodbye: as far as the master knows its first life is there until it is missed. */
static void a_host_that_is_killed_and_started_anew_takes_its_place(void) {
    static const char list[] = "RINGMASTER_HOSTS=127.0.0.1,127.0.0.2,127.0.0.3";
    const char *const first[] = {list, "RINGMASTER_HOST=127.0.0.1", NULL};
    const char *const second[] = {list, "RINGMASTER_HOST=127.0.0.2", NULL};
    struct stage_host anew;
    stage_start(&master, "master", first, words);
    CU_ASSERT(stage_wait_for(&master, "waiting for 2 hosts"));
    stage_start(&worker, "worker", second, words);
    CU_ASSERT(stage_wait_for(&worker, "joined 127.0.0.1"));
    (void)kill(worker.pid, SIGSTOP);
    stage_start(&anew, "anew", second, words);
    CU_ASSERT(
        stage_wait_for(&anew, "cannot admit this host yet: 127.0.0.2 at this address answered"));
    CU_ASSERT(stage_wait_for(&anew, "joined 127.0.0.1"));
    (void)kill(worker.pid, SIGKILL);
    (void)stage_end(&worker);
    (void)kill(anew.pid, SIGTERM);
    CU_ASSERT_EQUAL(stage_end(&master), EXIT_CODE_STOPPED);
    CU_ASSERT_EQUAL(stage_end(&anew), EXIT_CODE_STOPPED);
}

/* Sent by a first host that is started anew, whatever name it has found for itself. */
static void who_seeks_a_leader_hears_that_none_is_here(void) {
    struct hand hand;
    start_master("RINGMASTER_READY_SECONDS=60");
    CU_ASSERT(stage_wait_for(&master, "waiting for 1 host"));
    hand_connect(&hand);
    json_t *seek = frame_new("find_leader");
    (void)json_object_set_new(seek, "host", json_string("127.0.0.1"));
    CU_ASSERT_EQUAL(put_frame(hand.ssl, seek), 1);
    json_t *answer = get_frame(hand.ssl);
    CU_ASSERT_STRING_EQUAL(frame_type(answer), "refuse");
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(answer, "code")), EXIT_CODE_CONFIG);
    json_decref(answer);
    hand_done(&hand);
    (void)kill(master.pid, SIGTERM);
    CU_ASSERT_EQUAL(stage_end(&master), EXIT_CODE_STOPPED);
    CU_ASSERT_PTR_NULL(strstr(stage_output(&master), "refused"));
}

/* A worker of version 1, by hand: no offer of a protocol, frames with its number. */
static void an_older_worker_hears_which_version_each_speaks_and_so_do_all(void) {
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons(ports_own()),
                             .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    start_master("RINGMASTER_READY_SECONDS=6");
    CU_ASSERT(stage_wait_for(&master, "waiting for 1 host"));
    SSL_CTX *context = stage_tls(2, 0);
    (void)SSL_CTX_set_alpn_protos(context, NULL, 0);
    SSL *ssl = SSL_new(context);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    CU_ASSERT_EQUAL(connect(fd, (const struct sockaddr *)&to, sizeof(to)), 0);
    (void)SSL_set_fd(ssl, fd);
    CU_ASSERT_EQUAL(SSL_connect(ssl), 1);
    json_t *join = frame_new_for(1, "join");
    (void)json_object_set_new(join, "host", json_string("127.0.0.2"));
    CU_ASSERT_EQUAL(put_frame(ssl, join), 1);
    json_t *answer = get_frame(ssl);
    CU_ASSERT_PTR_NOT_NULL_FATAL(answer);
    CU_ASSERT_EQUAL(frame_version(answer), 1);
    CU_ASSERT_STRING_EQUAL(frame_type(answer), "refuse");
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(answer, "code")), EXIT_CODE_CONFIG);
    ASSERT_CONTAINS(json_string_value(json_object_get(answer, "text")),
                    "it speaks version 1 of the control link, the master version 4");
    json_decref(answer);
    CU_ASSERT_EQUAL(stage_end(&master), EXIT_CODE_CONFIG);
    ASSERT_CONTAINS(stage_failure(&master), "127.0.0.2: it speaks version 1 of the control link");
    SSL_free(ssl);
    (void)close(fd);
    tls_context_free(context);
}

/* A master of version 1, by hand: it takes no offer of a protocol. */
static void an_older_master_hears_which_version_each_speaks(void) {
    const char *const settings[] = {hosts, "RINGMASTER_HOST=127.0.0.2", NULL};
    struct error err;
    struct net_address loopback = address_of("127.0.0.1");
    int listener = listener_listen(&loopback, ports_own(), LISTENER_CONTROL, &err);
    CU_ASSERT_FATAL(listener >= 0);
    SSL_CTX *context = stage_tls(2, 1);
    SSL_CTX_set_alpn_select_cb(context, NULL, NULL);
    stage_start(&worker, "worker", settings, words);
    struct pollfd knock = {.fd = listener, .events = POLLIN};
    CU_ASSERT_EQUAL_FATAL(poll(&knock, 1, 60000), 1);
    int fd = accept(listener, NULL, NULL);
    SSL *ssl = SSL_new(context);
    (void)SSL_set_fd(ssl, fd);
    CU_ASSERT_EQUAL(SSL_accept(ssl), 1);
    json_t *join = get_frame(ssl);
    CU_ASSERT_PTR_NOT_NULL_FATAL(join);
    CU_ASSERT_EQUAL(frame_version(join), 1);
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(join, "host")), "127.0.0.2");
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(join, "fault_code")), EXIT_CODE_CONFIG);
    ASSERT_CONTAINS(json_string_value(json_object_get(join, "fault_text")),
                    "it speaks version 4 of the control link, the master version 1");
    json_decref(join);
    CU_ASSERT_EQUAL(stage_end(&worker), EXIT_CODE_CONFIG);
    ASSERT_CONTAINS(stage_failure(&worker), "127.0.0.1 speaks version 1 of the control link");
    SSL_free(ssl);
    (void)close(fd);
    (void)close(listener);
    tls_context_free(context);
}

/* A newer master answers in the worker's words. */
static void a_refusal_is_understood_and_never_a_success(void) {
    const char *const settings[] = {hosts, "RINGMASTER_HOST=127.0.0.2", NULL};
    struct error err;
    struct net_address loopback = address_of("127.0.0.1");
    int listener = listener_listen(&loopback, ports_own(), LISTENER_CONTROL, &err);
    CU_ASSERT_FATAL(listener >= 0);
    SSL_CTX *context = stage_tls(2, 1);
    stage_start(&worker, "worker", settings, words);
    struct pollfd knock = {.fd = listener, .events = POLLIN};
    CU_ASSERT_EQUAL_FATAL(poll(&knock, 1, 60000), 1);
    int fd = accept(listener, NULL, NULL);
    SSL *ssl = SSL_new(context);
    (void)SSL_set_fd(ssl, fd);
    CU_ASSERT_EQUAL(SSL_accept(ssl), 1);
    json_t *join = get_frame(ssl);
    CU_ASSERT_EQUAL(frame_version(join), FRAME_VERSION);
    json_decref(join);
    json_t *refusal = frame_new_for(FRAME_VERSION + 1, "refuse");
    (void)json_object_set_new(refusal, "code", json_integer(256)); /* as a status that is 0 */
    (void)json_object_set_new(refusal, "text", json_string("another version"));
    CU_ASSERT_EQUAL(put_frame(ssl, refusal), 1);
    CU_ASSERT_EQUAL(stage_end(&worker), EXIT_CODE_CONFIG);
    ASSERT_CONTAINS(stage_failure(&worker), "127.0.0.1 refused this host: another version");
    SSL_free(ssl);
    (void)close(fd);
    (void)close(listener);
    tls_context_free(context);
}

static void a_busy_control_port_is_an_error_at_once(void) {
    struct error err;
    struct net_address any = {0};
    int taken = listener_listen(&any, ports_own(), LISTENER_CONTROL, &err);
    CU_ASSERT_FATAL(taken >= 0);
    start_master("RINGMASTER_READY_SECONDS=20");
    CU_ASSERT_EQUAL(stage_end(&master), EXIT_CODE_CONFIG);
    ASSERT_CONTAINS(stage_failure(&master), "of the control link");
    ASSERT_CONTAINS(stage_failure(&master), "RINGMASTER_PORT");
    (void)close(taken);
}

STAGE_SUITE("master.accept", UNIT(a_host_with_another_key_leaves_with_77_and_so_does_the_master),
            UNIT(strangers_are_no_reason_that_a_host_is_missing),
            UNIT(a_twin_is_refused_with_words),
            UNIT(a_host_that_is_killed_and_started_anew_takes_its_place),
            UNIT(who_seeks_a_leader_hears_that_none_is_here),
            UNIT(an_older_worker_hears_which_version_each_speaks_and_so_do_all),
            UNIT(an_older_master_hears_which_version_each_speaks),
            UNIT(a_refusal_is_understood_and_never_a_success),
            UNIT(a_busy_control_port_is_an_error_at_once))

#include "entrypoint/transfer/status_order.h"

#include "common/cleanup.h"
#include "common/file/file.h"
#include "common/text/redact.h"
#include "tests/support/http_server.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

static char token[512];

static void put_token(const char *text) {
    (void)snprintf(token, sizeof(token), "%s/token", unit_temp_dir());
    CU_ASSERT_EQUAL(file_publish(token, text, strlen(text), 0600, NULL), 0);
}

/* Counters: 0 is whether all was right. */
static void take(struct http_call *call) {
    if (strcmp(call->method, "POST") == 0 && strcmp(call->target, "/status") == 0 &&
        strcmp(http_header(call, "authorization"), "Bearer some-token") == 0 &&
        strcmp(http_header(call, "content-type"), "application/json") == 0 &&
        strcmp(call->body, "{\"a\":1}") == 0)
        atomic_fetch_add(&call->shared->counters[0], 1);
    http_reply_text(call, strcmp(call->target, "/status") == 0 ? 200 : 403, "");
}

static int report(unsigned port, const char *path, struct error *err) {
    char url[128];
    (void)snprintf(url, sizeof(url), "http://127.0.0.1:%u%s", port, path);
    const struct status_order order = {
        .url = url, .certificates = "/none", .token = token, .body = "{\"a\":1}"};
    return status_order_run(&order, 10, err);
}

static void a_report_is_sent_once_with_the_token(void) {
    struct http_server server;
    struct error err = {0};
    http_server_start(&server, take);
    put_token("some-token\r\n");
    CU_ASSERT_EQUAL(report(server.port, "/status", &err), 0);
    CU_ASSERT_EQUAL(atomic_load(&server.shared->counters[0]), 1);
    CU_ASSERT_EQUAL(report(server.port, "/other", &err), -1);
    ASSERT_CONTAINS(err.text, "403");
    ASSERT_CONTAINS(err.text, "KUBEFLOW_TRAINER_SERVER_URL");
    CU_ASSERT_PTR_NULL(strstr(err.text, "some-token"));
    CU_ASSERT_EQUAL(atomic_load(&server.shared->requests), 2);
    http_server_stop(&server);
    redact_done();
}

static void a_token_that_is_none_is_not_sent(void) {
    static const char *const bad[] = {"", "\n", "two words", "a\nx-evil: 1"};
    struct error err = {0};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        put_token(bad[i]);
        CU_ASSERT_EQUAL(report(1, "/status", &err), -1);
        ASSERT_CONTAINS(err.text, "KUBEFLOW_TRAINER_SERVER_TOKEN: the file ");
    }
    (void)snprintf(token, sizeof(token), "%s/none", unit_temp_dir());
    CU_ASSERT_EQUAL(report(1, "/status", &err), -1);
    ASSERT_CONTAINS(err.text, "KUBEFLOW_TRAINER_SERVER_TOKEN");
}

static void an_order_has_all_its_parts(void) {
    struct status_order order;
    struct error err = {0};
    cleanup_json json_t *good = json_pack("{s:s, s:s, s:s, s:s}", "url", "https://t",
                                          "certificates", "/c", "token", "/t", "body", "{}");
    CU_ASSERT_EQUAL(status_order_parse(good, &order, &err), 0);
    CU_ASSERT_STRING_EQUAL(order.url, "https://t");
    CU_ASSERT_STRING_EQUAL(order.token, "/t");
    static const char *const keys[] = {"url", "certificates", "token", "body"};
    for (size_t i = 0; i < 4; i++) {
        cleanup_json json_t *without = json_copy(good);
        (void)json_object_del(without, keys[i]);
        CU_ASSERT_EQUAL(status_order_parse(without, &order, &err), -1);
        ASSERT_CONTAINS(err.text, keys[i]);
    }
}

UNIT_SUITE("transfer.status_order", UNIT(a_report_is_sent_once_with_the_token),
           UNIT(a_token_that_is_none_is_not_sent), UNIT(an_order_has_all_its_parts))

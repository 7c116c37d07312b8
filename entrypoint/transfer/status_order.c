#include "entrypoint/transfer/status_order.h"

#include "common/buf.h"
#include "common/file/file.h"
#include "common/str.h"
#include "common/text/redact.h"
#include "entrypoint/transfer/http/exchange_pool.h"

#include <string.h>

enum { SILENCE_SECONDS = 5, ANSWER_MAX = 64 * 1024 };

/* For people: an address may have a part that is none of theirs. */
static const char name[] = "the server of KUBEFLOW_TRAINER_SERVER_URL";

struct status_report {
    const struct status_order *order;
    const char *token;
};

static int take(const json_t *status, const char *key, const char **ret, struct error *err) {
    *ret = "";
    if (json_member_string(status, "the order's status", key, ret, err) != 0)
        return -1;
    return (*ret)[0] != '\0'
               ? 0
               : error_set(err, EXIT_CODE_INTERNAL, "the order's status has no %s", key);
}

int status_order_parse(const json_t *status, struct status_order *ret, struct error *err) {
    *ret = (struct status_order){0};
    if (take(status, "url", &ret->url, err) != 0 ||
        take(status, "certificates", &ret->certificates, err) != 0 ||
        take(status, "token", &ret->token, err) != 0 || take(status, "body", &ret->body, err) != 0)
        return -1;
    if (strlen(ret->url) >= EXCHANGE_URL_MAX || strlen(ret->body) > STATUS_ORDER_BODY_MAX)
        return error_set(err, EXIT_CODE_INTERNAL, "the order's status is too long");
    return 0;
}

static int prepare(void *context, struct request *ret, struct error *err) {
    const struct status_report *r = context;
    ret->method = "POST";
    ret->body = r->order->body;
    ret->size = (int64_t)strlen(r->order->body);
    if (buf_add_text(&ret->url, r->order->url, err) != 0 ||
        argv_add(&ret->headers, "content-type: application/json", err) != 0)
        return -1;
    return argv_printf(&ret->headers, err, "authorization: Bearer %s", r->token);
}

/* A token is one word: anything else would become lines of the request. */
static int read_token(const char *path, struct buf *ret, struct error *err) {
    if (file_read(path, ret, err) != 0)
        return error_wrap(err, "KUBEFLOW_TRAINER_SERVER_TOKEN");
    while (ret->size > 0 && (ret->data[ret->size - 1] == '\n' || ret->data[ret->size - 1] == '\r'))
        ret->data[--ret->size] = '\0';
    for (size_t i = 0; i < ret->size; i++)
        if (ret->data[i] <= ' ' || ret->data[i] > '~')
            return error_set(err, EXIT_CODE_CONFIG,
                             "KUBEFLOW_TRAINER_SERVER_TOKEN: the file does not hold one word");
    if (ret->size == 0)
        return error_set(err, EXIT_CODE_CONFIG, "KUBEFLOW_TRAINER_SERVER_TOKEN: the file is empty");
    return redact_add(buf_text(ret), err);
}

int status_order_run(const struct status_order *o, int64_t seconds, struct error *err) {
    struct status_report r = {.order = o};
    struct answer answer;
    cleanup_buf struct buf token;
    cleanup_buf struct buf body;
    buf_init(&token, STATUS_ORDER_TOKEN_MAX);
    buf_init(&body, ANSWER_MAX);
    int result = read_token(o->token, &token, err);
    if (result == 0) {
        r.token = buf_text(&token);
        const struct question question = {.name = name,
                                          .prepare = prepare,
                                          .context = &r,
                                          .tries = 1,
                                          .silence = SILENCE_SECONDS,
                                          .seconds = seconds,
                                          .certificates = o->certificates};
        result = exchange_pool_ask(&question, &body, &answer, err);
    }
    if (token.data != NULL)
        explicit_bzero(token.data, token.capacity);
    return result;
}

/* Orders of the transfer program, both kinds. They come from our own first process, but names and
 * addresses in them are a job's. */
#include "common/text/redact.h"
#include "entrypoint/transfer/download_order.h"
#include "entrypoint/transfer/s3/address.h"
#include "entrypoint/transfer/status_order.h"
#include "entrypoint/transfer/upload_order.h"
#include "tests/fuzz/check.h"

#include <stdint.h>
#include <string.h>

static void check_status(const struct download_order *w) {
    struct status_order status;
    if (status_order_parse(w->status, &status, NULL) == 0)
        CHECK(status.url[0] != '\0' && status.token[0] != '\0' &&
              strlen(status.body) <= STATUS_ORDER_BODY_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_address(const char *text) {
    struct address a;
    struct error err = {0};
    if (address_parse(text, &a, &err) != 0) {
        CHECK(err.text[0] != '\0');
        return;
    }
    CHECK(a.kind != ADDRESS_S3 || a.bucket[0] != '\0');
    CHECK(a.kind != ADDRESS_HTTP || strchr(a.shown, '?') == NULL);
    address_done(&a);
}

static void check_task(const struct download_order_task *t) {
    CHECK(t->what != NULL && t->to != NULL && (t->from != NULL || t->target));
    CHECK(t->shard >= 0 && t->shard < t->shards);
    check_address(t->target ? t->to : t->from);
}

static void check_uploads(const struct download_order *w) {
    struct upload_order out;
    if (upload_order_parse(w->uploads, &w->environment, w->seconds, &out, NULL) != 0)
        return;
    CHECK(out.count <= UPLOAD_ORDER_MAX);
    for (size_t i = 0; i < out.count; i++)
        CHECK(out.uploads[i].to.kind != ADDRESS_HTTP && out.uploads[i].from != NULL);
    upload_order_done(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct download_order w;
    struct error err = {0};
    if (download_order_parse((const char *)data, size, &w, &err) == 0) {
        CHECK(w.count <= DOWNLOAD_ORDER_TASKS_MAX && w.seconds >= 1 &&
              w.seconds <= DOWNLOAD_ORDER_SECONDS_MAX);
        for (size_t i = 0; i < w.count; i++)
            check_task(&w.tasks[i]);
        if (w.uploads != NULL)
            check_uploads(&w);
        if (w.status != NULL)
            check_status(&w);
        download_order_done(&w);
    } else {
        CHECK(err.text[0] != '\0');
    }
    redact_done();
    return 0;
}

/* Orders of the transfer program, both kinds. Who gives them is our own first process, but names
 * and addresses in them are a job's. */
#include "common/redact.h"
#include "entrypoint/transfer/outgoing.h"
#include "entrypoint/transfer/s3/address.h"
#include "entrypoint/transfer/work.h"
#include "tests/fuzz/check.h"

#include <stdint.h>
#include <string.h>

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

static void check_task(const struct work_task *t) {
    CHECK(t->what != NULL && t->to != NULL && (t->from != NULL || t->target));
    CHECK(t->shard >= 0 && t->shard < t->shards);
    check_address(t->target ? t->to : t->from);
}

static void check_uploads(const struct work *w) {
    struct outgoing out;
    if (outgoing_parse(w->uploads, &w->environment, w->seconds, &out, NULL) != 0)
        return;
    CHECK(out.count <= OUTGOING_MAX);
    for (size_t i = 0; i < out.count; i++)
        CHECK(out.uploads[i].to.kind != ADDRESS_HTTP && out.uploads[i].from != NULL);
    outgoing_done(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct work w;
    struct error err = {0};
    if (work_parse((const char *)data, size, &w, &err) == 0) {
        CHECK(w.count <= WORK_TASKS_MAX && w.seconds >= 1 && w.seconds <= WORK_SECONDS_MAX);
        for (size_t i = 0; i < w.count; i++)
            check_task(&w.tasks[i]);
        if (w.uploads != NULL)
            check_uploads(&w);
        work_done(&w);
    } else {
        CHECK(err.text[0] != '\0');
    }
    redact_done();
    return 0;
}

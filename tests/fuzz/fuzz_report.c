/* What peers send: rank reports and verdicts. Whatever is taken can be sent on and read again. */
#include "common/json/json.h"
#include "entrypoint/outcome/failure_file.h"
#include "entrypoint/outcome/verdict.h"
#include "tests/fuzz/check.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_report(const json_t *object) {
    struct rank_report r, again;
    if (rank_report_parse(object, 8, 4, &r, NULL) != 0)
        return;
    json_t *copy = rank_report_json(&r);
    CHECK(copy != NULL && rank_report_parse(copy, 8, 4, &again, NULL) == 0);
    CHECK(r.rank == again.rank && r.time == again.time && strcmp(r.lines, again.lines) == 0);
    json_decref(copy);
}

static void try_verdict(const json_t *object) {
    struct verdict v, again;
    if (verdict_parse(object, &v, NULL) != 0)
        return;
    json_t *copy = verdict_json(&v);
    CHECK(copy != NULL && verdict_parse(copy, &again, NULL) == 0 && again.code == v.code);
    json_decref(copy);
    struct buf text;
    buf_init(&text, FAILURE_FILE_MAX);
    CHECK(failure_file_text(&v, &text, NULL) == 0);
    json_t *valid = json_stringn(buf_text(&text), text.size);
    CHECK(valid != NULL);
    json_decref(valid);
    buf_done(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    json_t *object = NULL;
    if (json_parse((const char *)data, size, "frame", &object, NULL) != 0)
        return 0;
    try_report(object);
    try_verdict(object);
    json_decref(object);
    return 0;
}

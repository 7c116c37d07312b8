/* What the event log takes from elsewhere: names of hosts, errors, messages of ranks. Whatever they
 * contain, a record is one line of JSON that gives them back unchanged. */
#include "common/json/json.h"
#include "entrypoint/outcome/event_schema.h"
#include "tests/fuzz/check.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct buf text;
    struct buf line;
    json_t *record = NULL;
    buf_init(&text, 1 << 20);
    buf_init(&line, EVENT_SCHEMA_LINE_MAX);
    if (size < 2 || size > 100000 || buf_add(&text, data + 1, size - 1, NULL) != 0)
        return 0;
    const enum event_log_kind kind = data[0] % EVENT_LOG_KINDS;
    size_t half = strlen(buf_text(&text)) / 2;
    const struct event_schema_stamp stamp = {.time = (int64_t)size,
                                             .boot = (int64_t)data[0] << 40,
                                             .host = buf_text(&text),
                                             .job = buf_text(&text) + half,
                                             .run = "",
                                             .attempt = data[0]};
    json_t *members = json_pack("{s:o, s:o}", "text", event_schema_text(buf_text(&text)), "v",
                                event_schema_text(buf_text(&text)));
    CHECK(members != NULL);
    CHECK(event_schema_line(kind, &stamp, members, &line, NULL) == 0);
    CHECK(memchr(line.data, '\n', line.size) == line.data + line.size - 1);
    CHECK(json_parse(line.data, line.size, "a record", &record, NULL) == 0);
    CHECK(json_integer_value(json_object_get(record, "v")) == EVENT_SCHEMA_VERSION);
    CHECK(strcmp(json_string_value(json_object_get(record, "event")),
                 event_schema_row(kind)->name) == 0);
    CHECK(json_equal(json_object_get(record, "text"), json_object_get(members, "text")));
    CHECK(json_string_length(json_object_get(record, "host")) <= EVENT_SCHEMA_TEXT_MAX);
    json_decref(record);
    json_decref(members);
    buf_done(&text);
    buf_done(&line);
    return 0;
}

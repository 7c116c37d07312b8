#include "common/json/json.h"
#include "common/str.h"
#include "entrypoint/outcome/verdict.h"

#include <string.h>

/* The verdict as a frame, from the master to every host (verdict.h). A host parses it again before
 * it acts on it: numbers out of range are refused, and texts are cut to their places. The log tail
 * is called "story" there. */

/* TEXT as a JSON string, whatever bytes it holds: a name in an error may contain any. */
static json_t *clean_string(const char *text) {
    struct rank_report cleaned;
    rank_report_set_lines(&cleaned, text, strlen(text));
    return json_string(cleaned.lines);
}

json_t *verdict_json(const struct verdict *v) {
    return json_pack("{s:i, s:i, s:i, s:s, s:o, s:o, s:o}", "code", v->code, "host", v->host,
                     "rank", v->rank, "class", v->class_name, "text", clean_string(v->text),
                     "evidence", clean_string(v->evidence), "story", clean_string(v->log_tail));
}

static int read_text(const json_t *object, const char *key, char *ret, size_t size,
                     struct error *err) {
    const char *text = "";
    if (json_member_string(object, "verdict", key, &text, err) != 0)
        return -1;
    size_t fit = str_utf8_prefix(text, strlen(text), size - 1);
    memcpy(ret, text, fit);
    ret[fit] = '\0';
    return 0;
}

int verdict_parse(const json_t *object, struct verdict *ret, struct error *err) {
    *ret = (struct verdict){0};
    int64_t code = -1, host = -1, rank = -1;
    if (json_member_int(object, "verdict", "code", &code, err) != 0 ||
        json_member_int(object, "verdict", "host", &host, err) != 0 ||
        json_member_int(object, "verdict", "rank", &rank, err) != 0 ||
        read_text(object, "class", ret->class_name, sizeof(ret->class_name), err) != 0 ||
        read_text(object, "text", ret->text, sizeof(ret->text), err) != 0 ||
        read_text(object, "evidence", ret->evidence, sizeof(ret->evidence), err) != 0 ||
        read_text(object, "story", ret->log_tail, sizeof(ret->log_tail), err) != 0)
        return -1;
    if (code < 0 || code > 255 || host < -1 || host >= CLUSTER_HOSTS_MAX || rank < -1 ||
        rank >= (int64_t)CLUSTER_HOSTS_MAX * CLUSTER_SLOTS_MAX)
        return error_set(err, EXIT_CODE_INTERNAL, "verdict: a number is missing or out of range");
    ret->code = (int)code;
    ret->host = (int)host;
    ret->rank = (int)rank;
    return 0;
}

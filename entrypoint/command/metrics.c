#include "entrypoint/command/metrics.h"

#include "common/json/json.h"
#include "common/text/metric_line.h"

int metrics_print(struct buf *ret, struct error *err) {
    size_t count = 0;
    const struct metric_definition *metrics = metric_line_definitions(&count);
    cleanup_json json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(
            list, json_pack("{s:s, s:s}", "Name", metrics[i].name, "Regex", metrics[i].regex));
    if (json_array_size(list) != count)
        return error_no_memory(err, "the metric definitions");
    return json_add_text(list, ret, err);
}

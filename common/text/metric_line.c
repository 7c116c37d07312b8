#include "common/text/metric_line.h"

#include <math.h>

/* A number as metric_line_format writes it. */
#define NUMBER "(-?[0-9.]+(?:e[-+]?[0-9]+)?|nan|-?inf)"

#define TRAIN(name)                                                                                \
    { "train:" name, "train step=.* " name "=" NUMBER }
#define EVAL(name)                                                                                 \
    { "eval:" name, "eval epoch=.* " name "=" NUMBER }
/* Keys for boxes and masks. */
#define COCO(kind)                                                                                 \
    EVAL(kind "_mAP"), EVAL(kind "_AP50"), EVAL(kind "_AP75"), EVAL(kind "_APs"),                  \
        EVAL(kind "_APm"), EVAL(kind "_APl"), EVAL(kind "_AR1"), EVAL(kind "_AR10"),               \
        EVAL(kind "_AR100"), EVAL(kind "_ARs"), EVAL(kind "_ARm"), EVAL(kind "_ARl")

/* As many as a training job takes, so the accuracy on training batches of a network that
 * classifies, top1 of the lines of training, has none. */
static const struct metric_definition definitions[] = {
    TRAIN("loss"),
    TRAIN("loss_classifier"),
    TRAIN("loss_box_reg"),
    TRAIN("loss_mask"),
    TRAIN("loss_objectness"),
    TRAIN("loss_rpn_box_reg"),
    TRAIN("label_accuracy"),
    TRAIN("lr"),
    TRAIN("images_per_second"),
    TRAIN("data_wait"),
    TRAIN("comm_wait"),
    TRAIN("skipped"),
    TRAIN("objects_dropped"),
    EVAL("top1"),
    EVAL("top5"),
    EVAL("loss"),
    COCO("bbox"),
    COCO("segm"),
};

static int add_value(struct buf *out, double value, struct error *err) {
    if (isnan(value))
        return buf_add_text(out, "nan", err);
    if (isinf(value))
        return buf_add_text(out, value < 0 ? "-inf" : "inf", err);
    if (fabs(value) < 1e15 && value == floor(value))
        return buf_printf(out, err, "%.0f", value);
    return buf_printf(out, err, "%.6g", value);
}

int metric_line_format(struct buf *out, const char *kind, const struct metric_field *fields,
                       size_t count, struct error *err) {
    if (buf_add_text(out, kind, err) != 0)
        return -1;
    for (size_t i = 0; i < count; i++)
        if (buf_printf(out, err, " %s=", fields[i].name) != 0 ||
            add_value(out, fields[i].value, err) != 0)
            return -1;
    return 0;
}

const struct metric_definition *metric_line_definitions(size_t *ret_count) {
    *ret_count = sizeof(definitions) / sizeof(definitions[0]);
    return definitions;
}

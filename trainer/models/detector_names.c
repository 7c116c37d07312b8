#include "trainer/models/detector_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const pyramids[] = {"backbone.fpn.inner_blocks.", "backbone.fpn.layer_blocks."};
#define RPN "rpn.head.conv."
#define MASK "roi_heads.mask_head."

/* Returns the text after START, or NULL if NAME does not begin with it. */
static const char *behind(const char *name, const char *start) {
    size_t size = strlen(start);
    return strncmp(name, start, size) == 0 ? name + size : NULL;
}

/* Reads "N.0." and returns the text after it, or NULL. */
static const char *layer(const char *text, long *ret_number) {
    char *end = NULL;
    if (text == NULL || *text < '0' || *text > '9')
        return NULL;
    *ret_number = strtol(text, &end, 10);
    return behind(end, ".0.");
}

static bool old_name(const char *name, char *ret_old, size_t size) {
    long number = 0;
    for (size_t i = 0; i < sizeof(pyramids) / sizeof(pyramids[0]); i++) {
        const char *rest = layer(behind(name, pyramids[i]), &number);
        if (rest != NULL) {
            (void)snprintf(ret_old, size, "%s%ld.%s", pyramids[i], number, rest);
            return true;
        }
    }
    const char *rest = behind(name, RPN "0.0.");
    if (rest != NULL) {
        (void)snprintf(ret_old, size, RPN "%s", rest);
        return true;
    }
    rest = layer(behind(name, MASK), &number);
    if (rest != NULL)
        (void)snprintf(ret_old, size, MASK "mask_fcn%ld.%s", number + 1, rest);
    return rest != NULL;
}

static const char *const heads[] = {"roi_heads.box_predictor.",
                                    "roi_heads.mask_predictor.mask_fcn_logits.", NULL};

const struct model_names DETECTOR_NAMES = {
    .body = "backbone.body.", .heads = heads, .old_name = old_name};

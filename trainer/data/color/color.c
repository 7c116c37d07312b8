#include "trainer/data/color/color.h"

#include "common/str.h"
#include "common/table.h"
#include "trainer/data/color/color_change.h"
#include "trainer/data/color/color_salt.h"
#include "trainer/math/random.h"

#include <math.h>
#include <string.h>

/* A plan is drawn first and rendered later, so that the drawing depends on seed, epoch and sample
 * alone. Each kind of change has a random stream of its own (color_salt.h): to switch one off
 * leaves the numbers of the others as they are. trainer/data/dataset/labelled.c does both for each
 * crop, after the geometry.
 *
 * There are two ways of rendering, because the recipes that are followed have two. torchvision's
 * works on 8-bit pictures and rounds after each change, and the others on floats, where several
 * changes make one affine map of a pixel. */

static const double PI = 3.14159265358979323846;

enum { WORD_SIZE = 32 }; /* bytes of one range as text */

/* color_draw adds a change to SALT_CHANGES, which must not reach the next stream. */
_Static_assert(SALT_CHANGES + COLOR_CHANGES == SALT_ORDER, "each change has a stream");

/* TEXT is the whole value of --color. */
static int refuse(const char *text, struct error *err) {
    return error_set(
        err, EXIT_CODE_USAGE,
        "--color: '%.64s' is not none, mxnet, tf or torchvision:B,C,S,H: the ranges of "
        "brightness, contrast and saturation from 0 to 10, and of hue from 0 to 0.5",
        text);
}

/* Parses RANGES, the four of torchvision's ColorJitter. There must be four, divided by commas. A
 * hue of 0.5 turns half the circle, which is all of it in both directions. */
static int parse_ranges(const char *text, const char *ranges, struct color_ranges *ret,
                        struct error *err) {
    for (int i = 0; i < COLOR_CHANGES; i++) {
        const size_t size = strcspn(ranges, ",");
        const double most = i == COLOR_HUE ? 0.5 : 10;
        char word[WORD_SIZE] = "";
        if (size < sizeof(word))
            memcpy(word, ranges, size);
        /* A comma after the last range is refused as well as one that is missing. */
        if (size >= sizeof(word) || (ranges[size] == ',') != (i + 1 < COLOR_CHANGES) ||
            str_parse_double(word, 0, most, &ret->range[i], NULL) != 0)
            return refuse(text, err);
        ranges += size + (ranges[size] == ',');
    }
    return 0;
}

/* The presets have the ranges of the recipes that color.h names. Their order is that of enum
 * color_change: brightness, contrast, saturation, hue. */
int color_parse(const char *text, struct color_ranges *ret, struct error *err) {
    static const struct color_preset {
        const char *name;
        struct color_ranges color;
    } presets[] = {
        {"none", {.set = COLOR_NONE}},
        {"mxnet", {.set = COLOR_MXNET, .range = {0.4, 0.4, 0.4, 0}, .lighting = 0.1}},
        {"tf", {.set = COLOR_TF, .range = {0, 0.4, 0.4, 0.13}}},
    };
    static const char jitter[] = "torchvision:";
    const struct color_preset *preset = TABLE_FIND(presets, name, text);
    if (preset != NULL) {
        *ret = preset->color;
        return 0;
    }
    *ret = (struct color_ranges){.set = COLOR_TORCHVISION};
    return strncmp(text, jitter, strlen(jitter)) == 0
               ? parse_ranges(text, text + strlen(jitter), ret, err)
               : refuse(text, err);
}

/* Draws the factor of CHANGE, or for hue the shift. torchvision has 0 as the least factor; a
 * negative one would turn colours around. */
static double draw_factor(const struct color_ranges *color, enum color_change change,
                          struct random *random) {
    const double range = color->range[change], low = 1 - range;
    if (change == COLOR_HUE)
        return random_between(random, -range, range);
    return random_between(random, color->set == COLOR_TORCHVISION && low < 0 ? 0 : low, 1 + range);
}

/* Lists the changes with a range, in drawn order: Fisher and Yates. For tf the order is fixed and
 * no number is drawn. */
static void draw_order(const struct color_ranges *color, struct random *random,
                       struct color_plan *plan) {
    for (int i = 0; i < COLOR_CHANGES; i++)
        if (color->range[i] > 0)
            plan->order[plan->count++] = (enum color_change)i;
    for (int i = plan->count - 1; i > 0 && color->set != COLOR_TF; i--) {
        const uint32_t other = random_below(random, (uint32_t)i + 1);
        const enum color_change kept = plan->order[i];
        plan->order[i] = plan->order[other];
        plan->order[other] = kept;
    }
}

/* Noise along the principal components of ImageNet's colours: eigenvalues and eigenvectors as MXNet
 * has them, in units of 8-bit values. */
static void draw_lighting(double deviation, struct random *random, double offset[3]) {
    static const double values[3] = {55.46, 4.794, 1.148};
    static const double vectors[3][3] = {
        {-0.5675, 0.7192, 0.4009}, {-0.5808, -0.0045, -0.8140}, {-0.5836, -0.6948, 0.4203}};
    for (int k = 0; k < 3; k++) {
        const double alpha = deviation * random_normal(random);
        for (int c = 0; c < 3; c++)
            offset[c] += vectors[c][k] * alpha * values[k];
    }
}

/* Factors are drawn for all changes, whether they are used or not, and each from its own stream. */
void color_draw(const struct color_ranges *color, uint64_t seed, uint32_t epoch, uint64_t sample,
                struct color_plan *ret) {
    *ret = (struct color_plan){.set = color->set};
    if (color->set == COLOR_NONE)
        return;
    struct random order = color_stream(seed, epoch, sample, SALT_ORDER);
    draw_order(color, &order, ret);
    for (int i = 0; i < COLOR_CHANGES; i++) {
        struct random random = color_stream(seed, epoch, sample, SALT_CHANGES + i);
        ret->factor[i] = draw_factor(color, (enum color_change)i, &random);
    }
    struct random lighting = color_stream(seed, epoch, sample, SALT_LIGHTING);
    if (color->lighting > 0)
        draw_lighting(color->lighting, &lighting, ret->offset);
}

/* One affine map of R, G and B in floats, made from the means of the channels. Contrast needs the
 * mean of what the earlier changes left, which the map itself gives without another pass. The noise
 * is added last. */
static void render_affine(const struct color_plan *plan, uint8_t *pixels, size_t count) {
    struct color_affine affine = color_affine_identity(pixels, count);
    if (plan->set == COLOR_TF) {
        color_affine_yiq(&affine, plan->factor[COLOR_SATURATION], plan->factor[COLOR_HUE] * PI);
        color_affine_channels(&affine, plan->factor[COLOR_CONTRAST]);
    }
    for (int i = 0; i < plan->count && plan->set == COLOR_MXNET; i++) {
        const double factor = plan->factor[plan->order[i]];
        if (plan->order[i] == COLOR_BRIGHTNESS)
            color_affine_scale(&affine, factor);
        else if (plan->order[i] == COLOR_CONTRAST)
            color_affine_contrast(&affine, factor);
        else
            color_affine_saturation(&affine, factor);
    }
    for (int c = 0; c < 3; c++)
        affine.offset[c] += plan->offset[c];
    color_affine_apply(&affine, pixels, count);
}

/* PIL's changes, one pass over the pixels each, in the drawn order. */
static void render_jitter(const struct color_plan *plan, uint8_t *pixels, size_t count) {
    for (int i = 0; i < plan->count; i++) {
        const double factor = plan->factor[plan->order[i]];
        switch (plan->order[i]) {
        case COLOR_BRIGHTNESS:
            color_pil_brightness(factor, pixels, count);
            break;
        case COLOR_CONTRAST:
            color_pil_contrast(factor, pixels, count);
            break;
        case COLOR_SATURATION:
            color_pil_saturation(factor, pixels, count);
            break;
        default:
            color_pil_hue(factor, pixels, count);
        }
    }
}

/* Without changes the pixels stay as they are, bit for bit. */
void color_render(const struct color_plan *plan, uint8_t *pixels, size_t count) {
    if (plan->set == COLOR_TORCHVISION)
        render_jitter(plan, pixels, count);
    else if (plan->set != COLOR_NONE)
        render_affine(plan, pixels, count);
}

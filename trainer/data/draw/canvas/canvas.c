#include "trainer/data/draw/canvas/canvas.h"

#include "common/cleanup.h"

#include <math.h>
#include <string.h>

/* Opacities, as shares of 255. */
enum { TINT = 95, CROWD_TINT = 40, STRIPE_TINT = 170, OUTLINE_TINT = 255, EDGE_TINT = 140 };

enum { STRIPE = 8, STRIPE_WIDTH = 2 };

static const struct color BLACK = {{0, 0, 0}};

/* Converts hue, saturation and value to RGB; HUE in turns. */
static struct color from_hue(double hue, double saturation, double value) {
    struct color color;
    for (int c = 0; c < IMAGE_CHANNELS; c++) {
        double at = fmod(hue * 6 + (double[]){5, 3, 1}[c], 6);
        double fall = fmax(0, fmin(fmin(at, 4 - at), 1));
        color.channel[c] = (uint8_t)lrint(255 * value * (1 - saturation * fall));
    }
    return color;
}

struct color color_of(uint32_t number) {
    /* Steps of the golden ratio do not come near an earlier hue for a long time. */
    double hue = fmod(0.05 + number * 0.61803398874989485, 1);
    return from_hue(hue, number % 2 == 0 ? 0.85 : 0.65, number % 3 == 0 ? 0.85 : 1);
}

void canvas_blend(struct image *image, int x, int y, struct color color, int share) {
    if (x < 0 || y < 0 || x >= image->width || y >= image->height)
        return;
    uint8_t *pixel = image_row(image, y) + (size_t)x * IMAGE_CHANNELS;
    for (int c = 0; c < IMAGE_CHANNELS; c++)
        pixel[c] = (uint8_t)(pixel[c] + (color.channel[c] - pixel[c]) * share / 255);
}

void canvas_fill(struct image *image, const struct rect *rect, struct color color, int share) {
    for (int y = rect->top; y < rect->top + rect->height; y++)
        for (int x = rect->left; x < rect->left + rect->width; x++)
            canvas_blend(image, x, y, color, share);
}

/* Returns true if a pixel of the mask has a neighbour outside it. */
static bool on_outline(const uint8_t *bits, int width, int height, int x, int y) {
    const uint8_t *at = bits + (size_t)y * (size_t)width + x;
    return x == 0 || y == 0 || x == width - 1 || y == height - 1 || !at[-1] || !at[1] ||
           !at[-width] || !at[width];
}

int canvas_mask(struct image *image, const struct rle *mask, struct color color, bool hatched,
                struct error *err) {
    if ((int64_t)mask->width != image->width || (int64_t)mask->height != image->height)
        return error_set(err, EXIT_CODE_DATA,
                         "a mask of %u x %u for a picture of %d x %d; expected the picture's size",
                         mask->width, mask->height, image->width, image->height);
    size_t width = (size_t)image->width;
    cleanup_free uint8_t *bits = calloc((size_t)image->height, width);
    if (bits == NULL)
        return error_no_memory(err, "a mask");
    struct rle_pixels pixels = {bits, mask->height, mask->width, width, 1};
    rle_decode(mask, &pixels);
    for (int y = 0; y < image->height; y++)
        for (int x = 0; x < image->width; x++) {
            if (!bits[(size_t)y * width + (size_t)x])
                continue;
            bool stripe = hatched && (x + y) % STRIPE < STRIPE_WIDTH;
            int share = stripe ? STRIPE_TINT : hatched ? CROWD_TINT : TINT;
            if (!hatched && on_outline(bits, image->width, image->height, x, y))
                share = OUTLINE_TINT;
            canvas_blend(image, x, y, color, share);
        }
    return 0;
}

static void frame(struct image *image, const struct rect *r, struct color color, int share) {
    const struct rect sides[] = {{r->left, r->top, r->width, 1},
                                 {r->left, r->top + r->height - 1, r->width, 1},
                                 {r->left, r->top + 1, 1, r->height - 2},
                                 {r->left + r->width - 1, r->top + 1, 1, r->height - 2}};
    for (int i = 0; i < 4; i++)
        canvas_fill(image, &sides[i], color, share);
}

/* Converts a coordinate to a pixel, clamped near the picture. */
static int pixel_of(double place, int size) {
    return place < -1 ? -1 : place > size ? size : (int)lrint(place);
}

void canvas_box(struct image *image, const double box[4], struct color color, int thick) {
    int left = pixel_of(box[0], image->width), top = pixel_of(box[1], image->height);
    int right = pixel_of(box[0] + box[2], image->width);
    int bottom = pixel_of(box[1] + box[3], image->height);
    struct rect r = {left - 1, top - 1, right - left + 2, bottom - top + 2};
    frame(image, &r, BLACK, EDGE_TINT);
    for (int i = 0; i <= thick; i++) {
        r = (struct rect){r.left + 1, r.top + 1, r.width - 2, r.height - 2};
        if (r.width < 1 || r.height < 1)
            return;
        frame(image, &r, i < thick ? color : BLACK, i < thick ? OUTLINE_TINT : EDGE_TINT);
    }
}

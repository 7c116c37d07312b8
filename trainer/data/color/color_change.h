/* Single changes of colour: PIL's, on u8 with its rounding, and affine maps of R, G and B, of which
 * several become one pass over the pixels. PIXELS are COUNT of u8 RGB, changed in place. */
#ifndef TRAINER_DATA_COLOR_COLOR_CHANGE_H
#define TRAINER_DATA_COLOR_COLOR_CHANGE_H

#include <stddef.h>
#include <stdint.h>

/* --- PIL (color_pil.c) --------------------------------------------------------------------- */
/* ImageEnhance.Brightness, Contrast and Color: blends with black, with the rounded mean of the grey
 * picture, and with the grey picture itself. */
void color_pil_brightness(double factor, uint8_t *pixels, size_t count);
void color_pil_contrast(double factor, uint8_t *pixels, size_t count);
void color_pil_saturation(double factor, uint8_t *pixels, size_t count);
/* torchvision's adjust_hue of a PIL picture: SHIFT of the circle, from -0.5 to 0.5, in PIL's HSV of
 * eight bits. */
void color_pil_hue(double shift, uint8_t *pixels, size_t count);

/* --- affine (color_affine.c) --------------------------------------------------------------- */
/* y = matrix x + offset, and the means of the channels before. */
struct color_affine {
    double matrix[3][3], offset[3], mean[3];
};

struct color_affine color_affine_identity(const uint8_t *pixels, size_t count);
/* Each of these comes after what the map does already. */
void color_affine_scale(struct color_affine *a, double factor);
/* Blends with the mean of the grey picture, or of each channel. */
void color_affine_contrast(struct color_affine *a, double factor);
void color_affine_channels(struct color_affine *a, double factor);
/* Blends each pixel with its grey value. */
void color_affine_saturation(struct color_affine *a, double factor);
/* In YIQ: multiplies the saturation by FACTOR and turns the hue by ANGLE, in radians. */
void color_affine_yiq(struct color_affine *a, double factor, double angle);
/* Applies the map, rounded to the nearest and clipped. */
void color_affine_apply(const struct color_affine *a, uint8_t *pixels, size_t count);

#endif

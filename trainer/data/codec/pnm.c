#include "trainer/data/codec/pnm.h"

#include "trainer/data/codec/jpeg.h"

#include <stdio.h>
#include <string.h>

struct pnm_header {
    bool grey;
    int width;
    int height;
    size_t pixels; /* offset of the first one */
};

static bool is_space(uint8_t c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_digit(uint8_t c) {
    return c >= '0' && c <= '9';
}

bool pnm_is(const uint8_t *bytes, size_t size) {
    return size >= 3 && bytes[0] == 'P' && (bytes[1] == '5' || bytes[1] == '6') &&
           (is_space(bytes[2]) || bytes[2] == '#');
}

/* Skips blanks, and comments from '#' to the end of the line. */
static size_t skip_blanks(const uint8_t *bytes, size_t size, size_t at) {
    for (bool comment = false; at < size; at++) {
        if (bytes[at] == '#')
            comment = true;
        else if (comment && (bytes[at] == '\n' || bytes[at] == '\r'))
            comment = false;
        else if (!comment && !is_space(bytes[at]))
            break;
    }
    return at;
}

/* Reads the number at *AT. Returns false if there is none, or one of more than nine digits. */
static bool take_number(const uint8_t *bytes, size_t size, size_t *at, int *ret) {
    enum { DIGITS_MAX = 9 };
    const size_t begin = skip_blanks(bytes, size, *at);
    size_t end = begin;
    *ret = 0;
    for (; end < size && end - begin < DIGITS_MAX && is_digit(bytes[end]); end++)
        *ret = *ret * 10 + (bytes[end] - '0');
    *at = end;
    return end > begin && (end == size || !is_digit(bytes[end]));
}

static int read_header(const uint8_t *bytes, size_t size, struct pnm_header *ret,
                       struct error *err) {
    size_t at = 2;
    int most = 0;
    if (!pnm_is(bytes, size) || !take_number(bytes, size, &at, &ret->width) ||
        !take_number(bytes, size, &at, &ret->height) || !take_number(bytes, size, &at, &most) ||
        at == size || !is_space(bytes[at]))
        return error_set(err, EXIT_CODE_DATA,
                         "PNM: the header is damaged; expected P5 or P6, width, height and 255");
    if (most != 255)
        return error_set(err, EXIT_CODE_DATA,
                         "PNM: the largest value of a pixel is %d; expected 255: 8 bits a channel",
                         most);
    if (ret->width == 0 || ret->height == 0 ||
        (uint64_t)ret->width * (uint64_t)ret->height > JPEG_PIXELS_MAX)
        return error_set(err, EXIT_CODE_DATA, "PNM: %d x %d pixels; expected 1 to %d in all",
                         ret->width, ret->height, JPEG_PIXELS_MAX);
    ret->grey = bytes[1] == '5';
    ret->pixels = at + 1;
    return 0;
}

int pnm_size(const uint8_t *bytes, size_t size, int *ret_width, int *ret_height,
             struct error *err) {
    struct pnm_header header;
    if (read_header(bytes, size, &header, err) != 0)
        return -1;
    *ret_width = header.width;
    *ret_height = header.height;
    return 0;
}

int pnm_decode(const uint8_t *bytes, size_t size, struct image *out, struct error *err) {
    struct pnm_header header;
    if (read_header(bytes, size, &header, err) != 0)
        return -1;
    const size_t count = (size_t)header.width * (size_t)header.height;
    const size_t wanted = header.grey ? count : count * IMAGE_CHANNELS;
    const uint8_t *from = bytes + header.pixels;
    if (size - header.pixels < wanted)
        return error_set(err, EXIT_CODE_DATA, "PNM: truncated: %zu bytes of pixels; expected %zu",
                         size - header.pixels, wanted);
    if (image_resize(out, header.width, header.height, err) != 0)
        return -1;
    if (!header.grey) {
        memcpy(out->pixels, from, wanted);
        return 0;
    }
    for (size_t i = 0; i < count; i++)
        memset(out->pixels + i * IMAGE_CHANNELS, from[i], IMAGE_CHANNELS);
    return 0;
}

size_t pnm_header(char ret[PNM_HEADER_MAX], bool grey, int width, int height) {
    return (size_t)snprintf(ret, PNM_HEADER_MAX, "P%d\n%d %d\n255\n", grey ? 5 : 6, width, height);
}

int pnm_encode(const struct image *image, struct buf *out, struct error *err) {
    char header[PNM_HEADER_MAX];
    const size_t size = pnm_header(header, false, image->width, image->height);
    return buf_add(out, header, size, err) != 0
               ? -1
               : buf_add(out, image->pixels,
                         (size_t)image->width * (size_t)image->height * IMAGE_CHANNELS, err);
}

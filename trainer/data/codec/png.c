#include "trainer/data/codec/png.h"

#include "common/binary/big_endian.h"
#include "trainer/data/codec/jpeg.h"

#include <png.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

static const uint8_t signature[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};

bool png_is(const uint8_t *bytes, size_t size) {
    return size >= sizeof(signature) && memcmp(bytes, signature, sizeof(signature)) == 0;
}

/* IHDR is the first chunk: the signature is followed by its length, its name, width and height. */
int png_size(const uint8_t *bytes, size_t size, int *ret_width, int *ret_height,
             struct error *err) {
    enum { NAME = 12, WIDTH = 16, HEIGHT = 20, END = 24 };
    if (size < END || memcmp(bytes + NAME, "IHDR", 4) != 0)
        return error_set(err, EXIT_CODE_DATA, "PNG: truncated");
    uint32_t width = big_endian_u32(bytes + WIDTH), height = big_endian_u32(bytes + HEIGHT);
    if (width == 0 || height == 0 || (uint64_t)width * height > JPEG_PIXELS_MAX)
        return error_set(err, EXIT_CODE_DATA, "PNG: %u x %u pixels; expected 1 to %d in all", width,
                         height, JPEG_PIXELS_MAX);
    *ret_width = (int)width;
    *ret_height = (int)height;
    return 0;
}

/* The bytes that libpng reads, and where it jumps to on an error. */
struct png_input {
    const uint8_t *at;
    size_t left;
    jmp_buf out_of_library;
    char text[128];
};

static void leave_library(png_structp png, png_const_charp text) {
    struct png_input *source = png_get_error_ptr(png);
    snprintf(source->text, sizeof(source->text), "%s", text);
    longjmp(source->out_of_library, 1);
}

/* Most files that libpng warns of have a colour profile that it rejects, which is no damage. */
static void say_nothing(png_structp png, png_const_charp text) {
    (void)png;
    (void)text;
}

static void read_bytes(png_structp png, png_bytep to, size_t size) {
    struct png_input *source = png_get_io_ptr(png);
    if (size > source->left)
        png_error(png, "truncated");
    memcpy(to, source->at, size);
    source->at += size;
    source->left -= size;
}

/* The only error that is not the file's fault. */
static bool is_lack_of_memory(const struct png_input *source) {
    return strcmp(source->text, "Out of memory") == 0;
}

/* Converts every kind of PNG to RGB of 8 bits. Inside the library. */
static void set_output(png_structp png) {
    png_set_expand(png); /* palettes, grey of few bits; a tRNS chunk becomes alpha... */
    png_set_strip_16(png);
    png_set_strip_alpha(png); /* ...which is dropped */
    png_set_gray_to_rgb(png);
}

/* Inside the library, except for the allocation of pixels. */
static int read_picture(png_structp png, png_infop info, struct png_input *source,
                        struct image *out, struct error *err) {
    /* Colours are taken as coded: gamma, profiles, text and the like are not even read. */
    png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, NULL, -1);
    png_set_read_fn(png, source, read_bytes);
    png_read_info(png, info);
    png_uint_32 width = png_get_image_width(png, info);
    png_uint_32 height = png_get_image_height(png, info);
    if ((uint64_t)width * height > JPEG_PIXELS_MAX)
        return error_set(err, EXIT_CODE_DATA, "PNG: %u x %u pixels; at most %d in all are allowed",
                         (unsigned)width, (unsigned)height, JPEG_PIXELS_MAX);
    set_output(png);
    int passes = png_set_interlace_handling(png);
    png_read_update_info(png, info);
    if (image_resize(out, (int)width, (int)height, err) != 0)
        return -1;
    for (int pass = 0; pass < passes; pass++)
        for (int y = 0; y < out->height; y++)
            png_read_row(png, image_row(out, y), NULL);
    return 0;
}

int png_decode(const uint8_t *bytes, size_t size, struct image *out, struct error *err) {
    struct png_input source = {.at = bytes, .left = size};
    png_structp png =
        png_create_read_struct(PNG_LIBPNG_VER_STRING, &source, leave_library, say_nothing);
    png_infop info = png != NULL ? png_create_info_struct(png) : NULL;
    int result = -1;
    if (info == NULL)
        (void)error_no_memory(err, "PNG");
    else if (setjmp(source.out_of_library) != 0)
        (void)error_set(err, is_lack_of_memory(&source) ? EXIT_CODE_INTERNAL : EXIT_CODE_DATA,
                        "PNG: %s", source.text);
    else
        result = read_picture(png, info, &source, out, err);
    png_destroy_read_struct(&png, &info, NULL);
    return result;
}

int png_encode(const struct image *image, struct buf *out, struct error *err) {
    png_image picture;
    memset(&picture, 0, sizeof(picture));
    picture.version = PNG_IMAGE_VERSION;
    picture.width = (png_uint_32)image->width;
    picture.height = (png_uint_32)image->height;
    picture.format = PNG_FORMAT_RGB;
    size_t size = PNG_IMAGE_PNG_SIZE_MAX(picture);
    if (buf_reserve(out, size, err) != 0)
        return -1;
    png_alloc_size_t written = size;
    if (png_image_write_to_memory(&picture, out->data + out->size, &written, 0, image->pixels, 0,
                                  NULL) == 0)
        return error_set(err, EXIT_CODE_INTERNAL, "PNG: %s", picture.message);
    out->size += written;
    out->data[out->size] = '\0';
    return 0;
}

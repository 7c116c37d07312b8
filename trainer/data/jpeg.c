#include "data/jpeg.h"

#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* jpeglib.h wants stdio.h before it. */
#include <jerror.h>
#include <jpeglib.h>

struct jpeg_library {
    struct jpeg_decompress_struct in;
    struct jpeg_error_mgr errors;
    struct jpeg_progress_mgr progress;
    jmp_buf out_of_library; /* valid while a call of ours is in the library */
    char text[JMSG_LENGTH_MAX];
    int64_t warnings;
    JSAMPLE *line; /* one row that is not the caller's: CMYK, or more than it wants */
    size_t line_size;
};

/* libjpeg's error_exit must not return. */
static void leave_library(j_common_ptr common) {
    struct jpeg_library *library = common->client_data;
    common->err->format_message(common, library->text);
    longjmp(library->out_of_library, 1);
}

static void count_message(j_common_ptr common, int level) {
    struct jpeg_library *library = common->client_data;
    if (level < 0)
        library->warnings++;
}

static void say_nothing(j_common_ptr common) {
    (void)common;
}

/* Called once a row of blocks: the place to give up on a file with thousands of scans. */
static void check_scans(j_common_ptr common) {
    struct jpeg_library *library = common->client_data;
    if (library->in.input_scan_number <= JPEG_SCANS_MAX)
        return;
    snprintf(library->text, sizeof(library->text), "more than %d scans", JPEG_SCANS_MAX);
    longjmp(library->out_of_library, 1);
}

int jpeg_decoder_init(struct jpeg_decoder *decoder, struct error *err) {
    *decoder = (struct jpeg_decoder){0};
    struct jpeg_library *library = calloc(1, sizeof(*library));
    if (library == NULL)
        return error_no_memory(err, "JPEG decoder");
    library->in.err = jpeg_std_error(&library->errors);
    library->errors.error_exit = leave_library;
    library->errors.emit_message = count_message;
    library->errors.output_message = say_nothing;
    library->in.client_data = library;
    if (setjmp(library->out_of_library) != 0) {
        (void)error_set(err, EXIT_CODE_INTERNAL, "libjpeg: %s", library->text);
        free(library);
        return -1;
    }
    jpeg_create_decompress(&library->in);
    library->in.mem->max_memory_to_use = JPEG_MEMORY_MAX;
    library->progress.progress_monitor = check_scans;
    library->in.progress = &library->progress;
    decoder->library = library;
    return 0;
}

void jpeg_decoder_done(struct jpeg_decoder *decoder) {
    if (decoder->library != NULL) {
        jpeg_destroy_decompress(&decoder->library->in);
        free(decoder->library->line);
        free(decoder->library);
    }
    *decoder = (struct jpeg_decoder){0};
}

/* Coded data never holds FF D9 but as the end marker, so its absence behind the headers means that
 * the file was cut. Seen here, before any decoding: a crop may never reach the cut. */
static bool has_end(const uint8_t *coded, size_t size) {
    while (size >= 2) {
        const uint8_t *mark = memrchr(coded + 1, 0xd9, size - 1);
        if (mark == NULL)
            return false;
        if (mark[-1] == 0xff)
            return true;
        size = (size_t)(mark - coded);
    }
    return false;
}

static int refuse_truncated(size_t size, struct error *err) {
    return error_set(err, EXIT_CODE_DATA,
                     "JPEG: truncated: the file ends after %zu bytes without an end marker", size);
}

static J_COLOR_SPACE rgb_or_cmyk(J_COLOR_SPACE coded) {
    return coded == JCS_CMYK || coded == JCS_YCCK ? JCS_CMYK : JCS_RGB;
}

int jpeg_open(struct jpeg_decoder *decoder, const uint8_t *bytes, size_t size, struct error *err) {
    struct jpeg_library *library = decoder->library;
    struct jpeg_decompress_struct *in = &library->in;
    decoder->width = decoder->height = 0;
    jpeg_abort_decompress(in); /* a picture that was opened and not decoded */
    if (size < 4 || bytes[0] != 0xff || bytes[1] != 0xd8)
        return error_set(err, EXIT_CODE_DATA, size == 0 ? "the file is empty" : "not a JPEG");
    if (size > JPEG_BYTES_MAX)
        return error_set(err, EXIT_CODE_DATA, "a JPEG of %zu bytes; %d are the most", size,
                         JPEG_BYTES_MAX);
    if (!has_end(bytes, size))
        return refuse_truncated(size, err);
    if (setjmp(library->out_of_library) != 0) {
        jpeg_abort_decompress(in);
        return error_set(err, EXIT_CODE_DATA, "JPEG: %s", library->text);
    }
    jpeg_mem_src(in, bytes, (unsigned long)size);
    int64_t before = library->warnings;
    jpeg_read_header(in, TRUE);
    if (library->warnings != before) /* the source ran dry and made up an end marker */
        decoder->warnings = library->warnings;
    if ((uint64_t)in->image_width * in->image_height > JPEG_PIXELS_MAX)
        return error_set(err, EXIT_CODE_DATA, "JPEG: %u x %u pixels; %d in all are the most",
                         in->image_width, in->image_height, JPEG_PIXELS_MAX);
    size_t coded = in->src->bytes_in_buffer < size ? in->src->bytes_in_buffer : 0;
    if (!has_end(bytes + (size - coded), coded)) /* the marker found before was a thumbnail's */
        return refuse_truncated(size, err);
    in->out_color_space = rgb_or_cmyk(in->jpeg_color_space);
    decoder->width = (int)in->image_width;
    decoder->height = (int)in->image_height;
    return 0;
}

/* Adobe writes CMYK inverted (255 is no ink); without its marker 0 is. As Pillow reads both. */
static void cmyk_to_rgb(const JSAMPLE *in, uint8_t *out, JDIMENSION width, bool inverted) {
    for (JDIMENSION x = 0; x < width; x++, in += 4, out += 3) {
        unsigned black = inverted ? in[3] : 255u - in[3];
        for (int c = 0; c < 3; c++) {
            unsigned light = inverted ? in[c] : 255u - in[c];
            out[c] = (uint8_t)((light * black + 127) / 255);
        }
    }
}

static int reserve_line(struct jpeg_library *library, size_t size, struct error *err) {
    if (size <= library->line_size)
        return 0;
    free(library->line);
    library->line_size = 0;
    library->line = malloc(size);
    if (library->line == NULL)
        return error_no_memory(err, "JPEG row");
    library->line_size = size;
    return 0;
}

/* Rows top .. top+height-1 of the crop that is set. Inside the library: may longjmp. */
static void read_rows(struct jpeg_library *library, JDIMENSION top, struct image *out) {
    struct jpeg_decompress_struct *in = &library->in;
    bool cmyk = in->out_color_space == JCS_CMYK;
    if (top > 0)
        (void)jpeg_skip_scanlines(in, top);
    for (int y = 0; y < out->height; y++) {
        JSAMPROW row = cmyk ? library->line : image_row(out, y);
        (void)jpeg_read_scanlines(in, &row, 1);
        if (cmyk)
            cmyk_to_rgb(library->line, image_row(out, y), in->output_width,
                        in->saw_Adobe_marker != 0);
    }
}

/* The places of a shrunk line of SIZE that cover BEGIN .. BEGIN+LENGTH-1 of the full one. */
static void shrink_range(int begin, int length, int shrink, int margin, int size, int *ret_begin,
                         int *ret_length) {
    int end = (begin + length + shrink - 1) / shrink + margin;
    end = end > size ? size : end;
    begin = begin / shrink - margin;
    begin = begin < 0 ? 0 : begin >= end ? end - 1 : begin;
    *ret_begin = begin;
    *ret_length = end - begin;
}

/* Chroma is interpolated between neighbours, which the library lacks at a crop's edge: columns
 * this near to one differ from the whole picture's. */
enum { CHROMA_MARGIN = 2 };

int jpeg_decode(struct jpeg_decoder *decoder, const struct rect *region, int shrink,
                struct image *out, struct rect *ret_at, struct error *err) {
    struct jpeg_library *library = decoder->library;
    struct jpeg_decompress_struct *in = &library->in;
    if (decoder->width == 0 || region->left < 0 || region->top < 0 || region->width <= 0 ||
        region->height <= 0 || region->width > decoder->width - region->left ||
        region->height > decoder->height - region->top)
        return error_set(err, EXIT_CODE_INTERNAL, "a crop outside of the picture");
    decoder->width = decoder->height = 0;
    if (setjmp(library->out_of_library) != 0) {
        jpeg_abort_decompress(in);
        return error_set(err, EXIT_CODE_DATA, "JPEG: %s", library->text);
    }
    in->scale_num = 1;
    in->scale_denom = (unsigned)shrink;
    in->dct_method = JDCT_ISLOW;
    jpeg_start_decompress(in);
    shrink_range(region->left, region->width, shrink, CHROMA_MARGIN, (int)in->output_width,
                 &ret_at->left, &ret_at->width);
    shrink_range(region->top, region->height, shrink, 0, (int)in->output_height, &ret_at->top,
                 &ret_at->height);
    JDIMENSION left = (JDIMENSION)ret_at->left;
    JDIMENSION width = (JDIMENSION)ret_at->width;
    if (width < in->output_width)
        jpeg_crop_scanline(in, &left, &width);
    ret_at->left = (int)left;
    ret_at->width = (int)width;
    if (image_resize(out, ret_at->width, ret_at->height, err) != 0 ||
        (in->out_color_space == JCS_CMYK && reserve_line(library, (size_t)width * 4, err) != 0)) {
        jpeg_abort_decompress(in);
        return -1;
    }
    read_rows(library, (JDIMENSION)ret_at->top, out);
    jpeg_abort_decompress(in); /* what lies below is not wanted */
    decoder->warnings = library->warnings;
    return 0;
}

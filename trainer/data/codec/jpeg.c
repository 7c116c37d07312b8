#include "trainer/data/codec/jpeg.h"

#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* libjpeg reports an error by a function that must not return. Here it is a longjmp to the setjmp
 * of jpeg_open or jpeg_decode, past all frames of the library. All memory is owned by the decoder
 * or the image and none by a local, so that a jump loses none.
 *
 * trainer/data/dataset/fetch.c opens a picture, draws a crop from its size and decodes that. The
 * order of the checks in jpeg_open is by cost: size, end marker, header, pixels. Nothing is
 * allocated by what a hostile header says until all have passed. */

/* jpeglib.h needs stdio.h before it. */
#include <jerror.h>
#include <jpeglib.h>

struct jpeg_library {
    struct jpeg_decompress_struct in;
    struct jpeg_error_mgr errors;
    struct jpeg_progress_mgr progress;
    jmp_buf out_of_library; /* valid while a call of ours is in the library */
    char text[JMSG_LENGTH_MAX];
    int warnings; /* of this picture */
    char damage[JMSG_LENGTH_MAX];
    bool made;     /* `in` needs to be destroyed */
    JSAMPLE *line; /* scratch row: for CMYK, or if the row has more pixels than the caller needs */
    size_t line_size;
};

/* error_exit of libjpeg. It must not return, as the library's state is undefined after an error. */
static void leave_library(j_common_ptr common) {
    struct jpeg_library *library = common->client_data;
    common->err->format_message(common, library->text);
    longjmp(library->out_of_library, 1);
}

/* emit_message of libjpeg: a negative level is a warning, of damage that it decodes over; others
 * are traces. The words of the first are kept. */
static void count_message(j_common_ptr common, int level) {
    struct jpeg_library *library = common->client_data;
    if (level >= 0)
        return;
    if (library->warnings++ == 0)
        common->err->format_message(common, library->damage);
}

/* output_message of libjpeg, which would print to standard error. */
static void say_nothing(j_common_ptr common) {
    (void)common;
}

/* progress_monitor of libjpeg, called once per row of blocks. It gives up on a file with thousands
 * of scans: each is a pass over the whole picture, so that a small file could take hours. */
static void check_scans(j_common_ptr common) {
    struct jpeg_library *library = common->client_data;
    if (library->in.input_scan_number <= JPEG_SCANS_MAX)
        return;
    library->errors.msg_code = JERR_BAD_PROGRESSION;
    snprintf(library->text, sizeof(library->text), "more than %d scans", JPEG_SCANS_MAX);
    longjmp(library->out_of_library, 1);
}

/* Only the handlers are set here. The decompressor itself is made anew for each picture
 * (open_library). */
int jpeg_decoder_init(struct jpeg_decoder *decoder, struct error *err) {
    *decoder = (struct jpeg_decoder){0};
    struct jpeg_library *library = calloc(1, sizeof(*library));
    if (library == NULL)
        return error_no_memory(err, "JPEG decoder");
    library->in.err = jpeg_std_error(&library->errors);
    library->errors.error_exit = leave_library;
    library->errors.emit_message = count_message;
    library->errors.output_message = say_nothing;
    library->progress.progress_monitor = check_scans;
    decoder->library = library;
    return 0;
}

/* Frees what libjpeg holds for the open picture, if there is one. Outside of a picture the sides
 * are 0, by which jpeg_decode knows. */
static void close_picture(struct jpeg_decoder *decoder) {
    struct jpeg_library *library = decoder->library;
    decoder->width = decoder->height = 0;
    if (library->made)
        jpeg_destroy_decompress(&library->in);
    library->made = false;
}

/* Each picture gets a new decompressor: libjpeg's abort keeps quantization and Huffman tables,
 * with which a file that has none would then be decoded. Inside the library. */
static void open_library(struct jpeg_library *library) {
    jpeg_create_decompress(&library->in); /* zeroes all but `err` and `client_data` */
    library->made = true;
    library->in.mem->max_memory_to_use = JPEG_MEMORY_MAX;
    library->in.progress = &library->progress;
}

void jpeg_decoder_done(struct jpeg_decoder *decoder) {
    if (decoder->library != NULL) {
        close_picture(decoder);
        free(decoder->library->line);
        free(decoder->library);
    }
    *decoder = (struct jpeg_decoder){0};
}

/* Shows the library's warnings so far to the caller, in the decoder's own fields. */
static void note_damage(struct jpeg_decoder *decoder) {
    decoder->warnings = decoder->library->warnings;
    decoder->damage = decoder->warnings > 0 ? decoder->library->damage : NULL;
}

/* Coded data never contains FF D9 except as the end marker, so if it is missing after the headers,
 * the file is truncated. Checked before decoding, because a crop may never reach the end. */
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

/* The colours to ask the library for. It makes RGB of gray and YCbCr itself, but leaves CMYK to its
 * caller. */
static J_COLOR_SPACE rgb_or_cmyk(J_COLOR_SPACE coded) {
    return coded == JCS_CMYK || coded == JCS_YCCK ? JCS_CMYK : JCS_RGB;
}

/* Fills the error after a failure in the library: the file's fault unless memory is short. */
static int give_up(struct jpeg_decoder *decoder, struct error *err) {
    struct jpeg_library *library = decoder->library;
    bool memory = library->errors.msg_code == JERR_OUT_OF_MEMORY;
    close_picture(decoder);
    return error_set(err, memory ? EXIT_CODE_INTERNAL : EXIT_CODE_DATA, "JPEG: %s", library->text);
}

/* Returns the name of another known image format, or NULL. */
static const char *other_kind(const uint8_t *bytes, size_t size) {
    static const struct {
        size_t at;
        const char *begins, *kind;
    } kinds[] = {{8, "WEBP", "WebP"}, {0, "GIF8", "GIF"},        {0, "BM", "BMP"},
                 {0, "II*", "TIFF"},  {0, "MM", "TIFF"},         {4, "ftypavi", "AVIF"},
                 {4, "ftyp", "HEIF"}, {0, "\xff\x0a", "JPEG XL"}};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        size_t length = strlen(kinds[i].begins);
        if (size >= kinds[i].at + length &&
            memcmp(bytes + kinds[i].at, kinds[i].begins, length) == 0)
            return kinds[i].kind;
    }
    return NULL;
}

/* Refuses what does not begin as a JPEG does, and names the format if it is a common one. */
static int refuse_kind(const uint8_t *bytes, size_t size, struct error *err) {
    const char *kind = other_kind(bytes, size);
    if (size == 0)
        return error_set(err, EXIT_CODE_DATA, "the file is empty");
    return error_set(err, EXIT_CODE_DATA, "not a JPEG or PNG%s%s", kind != NULL ? ", but " : "",
                     kind != NULL ? kind : "");
}

int jpeg_open(struct jpeg_decoder *decoder, const uint8_t *bytes, size_t size, struct error *err) {
    struct jpeg_library *library = decoder->library;
    struct jpeg_decompress_struct *in = &library->in;
    close_picture(decoder);
    library->warnings = 0;
    note_damage(decoder);
    if (size < 4 || bytes[0] != 0xff || bytes[1] != 0xd8)
        return refuse_kind(bytes, size, err);
    if (size > JPEG_BYTES_MAX)
        return error_set(err, EXIT_CODE_DATA, "a JPEG of %zu bytes; at most %d are allowed", size,
                         JPEG_BYTES_MAX);
    if (!has_end(bytes, size))
        return refuse_truncated(size, err);
    in->client_data = library;
    /* No local that the code after a jump reads has changed since. */
    if (setjmp(library->out_of_library) != 0) {
        return give_up(decoder, err);
    }
    open_library(library);
    jpeg_mem_src(in, bytes, (unsigned long)size);
    jpeg_read_header(in, TRUE);
    note_damage(decoder); /* the source ran out of data and made up an end marker */
    if ((uint64_t)in->image_width * in->image_height > JPEG_PIXELS_MAX)
        return error_set(err, EXIT_CODE_DATA, "JPEG: %u x %u pixels; at most %d in all are allowed",
                         in->image_width, in->image_height, JPEG_PIXELS_MAX);
    size_t coded = in->src->bytes_in_buffer < size ? in->src->bytes_in_buffer : 0;
    if (!has_end(bytes + (size - coded), coded)) /* the marker found before belonged to a
                                                  * thumbnail */
        return refuse_truncated(size, err);
    in->out_color_space = rgb_or_cmyk(in->jpeg_color_space);
    decoder->width = (int)in->image_width;
    decoder->height = (int)in->image_height;
    return 0;
}

/* Returns a * b / 255, rounded as in Pillow. */
static unsigned times(unsigned a, unsigned b) {
    unsigned product = a * b + 128;
    return ((product >> 8) + product) >> 8;
}

/* Values are light, not ink, as Adobe writes them; Pillow assumes that even without the marker. */
static void cmyk_to_rgb(const JSAMPLE *in, uint8_t *out, JDIMENSION width) {
    for (JDIMENSION x = 0; x < width; x++, in += 4, out += IMAGE_CHANNELS)
        for (int c = 0; c < IMAGE_CHANNELS; c++)
            out[c] = (uint8_t)(in[3] - times(255u - in[c], in[3]));
}

/* Makes room for a row of CMYK, which has a byte more for each pixel than the picture's. */
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

/* Reads rows top .. top+height-1 of the current crop. Inside the library: may longjmp. */
static void read_rows(struct jpeg_library *library, JDIMENSION top, struct image *out) {
    struct jpeg_decompress_struct *in = &library->in;
    bool cmyk = in->out_color_space == JCS_CMYK;
    if (top > 0)
        (void)jpeg_skip_scanlines(in, top);
    for (int y = 0; y < out->height; y++) {
        JSAMPROW row = cmyk ? library->line : image_row(out, y);
        (void)jpeg_read_scanlines(in, &row, 1);
        if (cmyk)
            cmyk_to_rgb(library->line, image_row(out, y), in->output_width);
    }
    if (in->output_scanline == in->output_height)
        jpeg_finish_decompress(in); /* reads to the end marker, with warnings of damage before it */
}

/* Computes the range of a reduced line of SIZE that covers BEGIN .. BEGIN+LENGTH-1 of the full
 * one. */
static void shrink_range(int begin, int length, int shrink, int margin, int size, int *ret_begin,
                         int *ret_length) {
    int end = (begin + length + shrink - 1) / shrink + margin;
    end = end > size ? size : end;
    begin = begin / shrink - margin;
    begin = begin < 0 ? 0 : begin >= end ? end - 1 : begin;
    *ret_begin = begin;
    *ret_length = end - begin;
}

/* Chroma of half the width is interpolated between neighbours, which the library does not have at a
 * crop's edge: columns this near to one differ from the whole picture's. */
enum { CHROMA_MARGIN = 2 };

int jpeg_decode(struct jpeg_decoder *decoder, const struct rect *region, int shrink,
                struct image *out, struct rect *ret_at, struct error *err) {
    struct jpeg_library *library = decoder->library;
    struct jpeg_decompress_struct *in = &library->in;
    if (decoder->width == 0 || region->left < 0 || region->top < 0 || region->width <= 0 ||
        region->height <= 0 || region->width > decoder->width - region->left ||
        region->height > decoder->height - region->top)
        return error_set(err, EXIT_CODE_INTERNAL, "a crop outside of the picture");
    /* The picture counts as closed from here on: a second call must not reach the library. */
    decoder->width = decoder->height = 0;
    if (setjmp(library->out_of_library) != 0) {
        return give_up(decoder, err);
    }
    in->scale_num = 1;
    in->scale_denom = (unsigned)shrink;
    in->dct_method = JDCT_ISLOW;
    jpeg_start_decompress(in);
    const int margin = in->max_h_samp_factor > 1 ? CHROMA_MARGIN : 0;
    shrink_range(region->left, region->width, shrink, margin, (int)in->output_width, &ret_at->left,
                 &ret_at->width);
    shrink_range(region->top, region->height, shrink, 0, (int)in->output_height, &ret_at->top,
                 &ret_at->height);
    /* The library moves the left edge to the start of a block, and widens the crop by as much. */
    JDIMENSION left = (JDIMENSION)ret_at->left;
    JDIMENSION width = (JDIMENSION)ret_at->width;
    if (width < in->output_width)
        jpeg_crop_scanline(in, &left, &width);
    ret_at->left = (int)left;
    ret_at->width = (int)width;
    if (image_resize(out, ret_at->width, ret_at->height, err) != 0 ||
        (in->out_color_space == JCS_CMYK && reserve_line(library, (size_t)width * 4, err) != 0)) {
        close_picture(decoder);
        return -1;
    }
    read_rows(library, (JDIMENSION)ret_at->top, out);
    close_picture(decoder); /* the rows below are not needed */
    note_damage(decoder);
    return 0;
}

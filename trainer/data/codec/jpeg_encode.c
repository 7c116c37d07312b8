#include "trainer/data/codec/jpeg.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* jpeglib.h needs stdio.h before it. */
#include <jpeglib.h>

struct encoder {
    struct jpeg_compress_struct out;
    struct jpeg_error_mgr errors;
    jmp_buf out_of_library;
    char text[JMSG_LENGTH_MAX];
    unsigned char *bytes; /* grown by the library */
    unsigned long size;
};

static void leave_library(j_common_ptr common) {
    struct encoder *encoder = common->client_data;
    common->err->format_message(common, encoder->text);
    longjmp(encoder->out_of_library, 1);
}

/* Inside the library: may longjmp. */
static void write_picture(struct encoder *encoder, const struct image *image, int quality) {
    struct jpeg_compress_struct *out = &encoder->out;
    jpeg_create_compress(out);
    jpeg_mem_dest(out, &encoder->bytes, &encoder->size);
    out->image_width = (JDIMENSION)image->width;
    out->image_height = (JDIMENSION)image->height;
    out->input_components = IMAGE_CHANNELS;
    out->in_color_space = JCS_RGB;
    jpeg_set_defaults(out);
    jpeg_set_quality(out, quality, TRUE);
    out->dct_method = JDCT_ISLOW;
    jpeg_start_compress(out, TRUE);
    for (int y = 0; y < image->height; y++) {
        JSAMPROW row = image_row(image, y);
        (void)jpeg_write_scanlines(out, &row, 1);
    }
    jpeg_finish_compress(out);
}

int jpeg_encode(const struct image *image, int quality, struct buf *out, struct error *err) {
    struct encoder *encoder = calloc(1, sizeof(*encoder));
    if (encoder == NULL)
        return error_no_memory(err, "JPEG encoder");
    encoder->out.err = jpeg_std_error(&encoder->errors);
    encoder->errors.error_exit = leave_library;
    encoder->out.client_data = encoder;
    int rc = 0;
    if (setjmp(encoder->out_of_library) != 0)
        rc = error_set(err, EXIT_CODE_INTERNAL, "JPEG: %s", encoder->text);
    else
        write_picture(encoder, image, quality);
    if (rc == 0)
        rc = buf_add(out, encoder->bytes, encoder->size, err);
    jpeg_destroy_compress(&encoder->out);
    free(encoder->bytes);
    free(encoder);
    return rc;
}

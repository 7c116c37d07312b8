#include "trainer/data/prepare/picture_make.h"

#include "trainer/data/codec/jpeg.h"
#include "trainer/data/codec/picture.h"
#include "trainer/data/codec/pnm.h"
#include "trainer/data/codec/resize.h"

#include <stdio.h>
#include <string.h>

int picture_maker_init(struct picture_maker *maker, struct error *err) {
    *maker = (struct picture_maker){0};
    buf_init(&maker->picture, JPEG_BYTES_MAX);
    buf_init(&maker->encoded, JPEG_BYTES_MAX);
    return fetcher_init(&maker->fetcher, err);
}

void picture_maker_done(struct picture_maker *maker) {
    fetcher_done(&maker->fetcher);
    resizer_done(&maker->resizer);
    image_done(&maker->small);
    buf_done(&maker->picture);
    buf_done(&maker->encoded);
}

/* Replaces the picture by a smaller one, if it is larger than asked for, or by its pixels. */
static int convert(struct picture_maker *m, const struct shard_set_options *o,
                   const struct buf **ret_bytes, struct error *err) {
    const struct image *image = &m->fetcher.picture;
    if (fetch_whole(&m->fetcher, (const uint8_t *)m->picture.data, m->picture.size, err) != 0)
        return -1;
    const bool large = o->resize > 0 && image->width > o->resize && image->height > o->resize;
    if (!large && !o->raw)
        return 0;
    if (large && resize_short_side(&m->resizer, image, o->resize, &m->small, err) != 0)
        return -1;
    image = large ? &m->small : image;
    buf_consume(&m->encoded, m->encoded.size);
    *ret_bytes = &m->encoded;
    return o->raw ? pnm_encode(image, &m->encoded, err)
                  : jpeg_encode(image, o->quality, &m->encoded, err);
}

int picture_make(struct picture_maker *maker, const struct shard_set_options *options,
                 const struct dataset *set, size_t sample, const struct buf **ret_bytes,
                 bool *ret_bad, struct error *err) {
    struct error why = {0};
    char name[PATH_MAX];
    *ret_bytes = &maker->picture;
    *ret_bad = false;
    if (dataset_read(set, sample, &maker->picture, &why) == 0 &&
        ((options->resize == 0 && !options->raw) || convert(maker, options, ret_bytes, &why) == 0))
        return 0;
    dataset_sample_name(set, sample, name, sizeof(name));
    *ret_bad = why.code == EXIT_CODE_DATA && options->bad_allowed > 0;
    if (*ret_bad)
        return 0;
    *err = why;
    return strncmp(why.text, name, strlen(name)) == 0 ? -1 : error_wrap(err, "%s", name);
}

void picture_make_name(const struct shard_set_options *options, const struct dataset *set,
                       size_t sample, char ret[PATH_MAX]) {
    const char *name = set->names + set->name_at[sample];
    const size_t suffix = picture_suffix_ends(name) ? strlen(strrchr(name, '.')) : 0;
    (void)snprintf(ret, PATH_MAX, "%.*s%s", (int)(strlen(name) - (options->raw ? suffix : 0)), name,
                   options->raw ? ".ppm" : "");
}

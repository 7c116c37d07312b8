#include "trainer/data/dataset/fetch.h"

#include "trainer/data/codec/whole.h"

#include <errno.h>
#include <limits.h>
#include <math.h>

/* A picture is read as a whole, but decoded in part. The plan of the augmentation is drawn from the
 * sides in the header, and says which rectangle is needed at which scale. The JPEG decoder then
 * skips rows and blocks, and reduces inside the inverse DCT. Only the rest of the scaling is
 * resampling.
 *
 * The order is reversed if there is a cache: pictures are decoded whole, scaled down to `side` and
 * kept, and crops come from these. The pixels of the two ways differ; within one, they do not
 * depend on what the cache holds. */

int fetcher_init(struct fetcher *fetcher, struct error *err) {
    *fetcher = (struct fetcher){0};
    buf_init(&fetcher->encoded, JPEG_BYTES_MAX);
    return jpeg_decoder_init(&fetcher->decoder, err);
}

void fetcher_done(struct fetcher *fetcher) {
    jpeg_decoder_done(&fetcher->decoder);
    resizer_done(&fetcher->resizer);
    image_done(&fetcher->picture);
    image_done(&fetcher->small);
    buf_done(&fetcher->encoded);
}

/* The decoder's reduction must leave at least this factor for the resampling: with less, edges
 * differ visibly from those of a picture that is resampled from its full size. */
enum { SHRINK_LEFT = 2 };

/* Returns the strongest reduction of the decoder that leaves that much. */
static int decoder_shrink(const struct augment_plan *plan) {
    for (int shrink = 8; shrink > 1; shrink /= 2)
        if (plan->source.width >= plan->width * shrink * SHRINK_LEFT &&
            plan->source.height >= plan->height * shrink * SHRINK_LEFT)
            return shrink;
    return 1;
}

/* Computes the range of the source that a window of the scaled picture needs, including the support
 * of the filter, in pixels of the source. SOURCE is where the part that is scaled begins, LENGTH
 * its side, SCALED the side that it becomes; WINDOW and SIDE are the window's, in scaled pixels. */
static void needed_part(int source, int length, int scaled, int window, int side, int *ret_begin,
                        int *ret_length) {
    double scale = (double)length / scaled;
    double reach = scale > 1 ? scale : 1;
    double begin = floor(window * scale - reach);
    double end = ceil((window + side) * scale + reach);
    begin = begin < 0 ? 0 : begin;
    end = end > length ? length : end;
    if (end <= begin) { /* the window lies in the padding */
        begin = 0;
        end = 1;
    }
    *ret_begin = source + (int)begin;
    *ret_length = (int)(end - begin);
}

/* Opens the encoded picture for `decode` and sets its sides. Formats other than JPEG are decoded
 * here as a whole. The content decides, not the suffix: data sets of JPEGs sometimes contain a PNG
 * with another suffix; ImageNet itself has one. */
static int open_picture(struct fetcher *fetcher, const uint8_t *bytes, size_t size, int *ret_width,
                        int *ret_height, struct error *err) {
    const struct whole_format *format = whole_format_of(bytes, size);
    fetcher->whole = format != NULL;
    if (fetcher->whole ? whole_decode(format, bytes, size, &fetcher->picture, err) != 0
                       : jpeg_open(&fetcher->decoder, bytes, size, err) != 0)
        return -1;
    *ret_width = fetcher->whole ? fetcher->picture.width : fetcher->decoder.width;
    *ret_height = fetcher->whole ? fetcher->picture.height : fetcher->decoder.height;
    return 0;
}

/* Decodes the part NEED of the open picture, at 1/SHRINK, into `picture`; *RET_AT is its
 * position. */
static int decode(struct fetcher *fetcher, const struct rect *need, int shrink, struct rect *ret_at,
                  struct error *err) {
    if (!fetcher->whole)
        return jpeg_decode(&fetcher->decoder, need, shrink, &fetcher->picture, ret_at, err);
    *ret_at = (struct rect){0, 0, fetcher->picture.width, fetcher->picture.height};
    return 0;
}

/* Renders the open picture by the plan. */
static int render(struct fetcher *fetcher, const struct augment_plan *plan, int side,
                  uint8_t *pixels, struct error *err) {
    /* A picture that was decoded as a whole has its full size already. */
    const int shrink = fetcher->whole ? 1 : decoder_shrink(plan);
    struct rect need;
    struct rect at;
    needed_part(plan->source.left, plan->source.width, plan->width, plan->left, side, &need.left,
                &need.width);
    needed_part(plan->source.top, plan->source.height, plan->height, plan->top, side, &need.top,
                &need.height);
    if (decode(fetcher, &need, shrink, &at, err) != 0)
        return -1;
    /* The part in pixels of what was decoded: at 1/shrink of the size, and from its corner on. */
    const struct resize_map map = {
        .left = (double)plan->source.left / shrink - at.left,
        .top = (double)plan->source.top / shrink - at.top,
        .width = (double)plan->source.width / shrink,
        .height = (double)plan->source.height / shrink,
        .virtual_width = plan->width,
        .virtual_height = plan->height,
        .window = {plan->left, plan->top, side, side},
        .flip = plan->flip,
    };
    return resize_window(&fetcher->resizer, &fetcher->picture, &map, pixels, err);
}

/* The same augmentation is drawn for the same seed, epoch and sample, whatever thread or host does
 * it. Damage is known only after decoding, and belongs to the crop alone. */
int fetch_picture(struct fetcher *fetcher, const uint8_t *bytes, size_t size,
                  const struct augment *augment, uint64_t seed, uint32_t epoch, uint64_t sample,
                  uint8_t *pixels, struct error *err) {
    struct augment_plan plan;
    int width = 0;
    int height = 0;
    fetcher->damage = NULL;
    if (open_picture(fetcher, bytes, size, &width, &height, err) != 0)
        return -1;
    augment_draw(augment, width, height, seed, epoch, sample, &plan);
    if (render(fetcher, &plan, augment->image_size, pixels, err) != 0)
        return -1;
    fetcher->damage = fetcher->whole ? NULL : fetcher->decoder.damage;
    return 0;
}

/* Used where all pixels count: for statistics, verification, and before a picture is kept. */
int fetch_whole(struct fetcher *fetcher, const uint8_t *bytes, size_t size, struct error *err) {
    struct rect all = {0};
    struct rect at;
    fetcher->damage = NULL;
    if (open_picture(fetcher, bytes, size, &all.width, &all.height, err) != 0 ||
        decode(fetcher, &all, 1, &at, err) != 0)
        return -1;
    fetcher->damage = fetcher->whole ? NULL : fetcher->decoder.damage;
    return 0;
}

int fetch_sample(struct fetcher *fetcher, const struct dataset *set, size_t sample,
                 const struct augment *augment, uint64_t seed, uint32_t epoch, uint8_t *pixels,
                 struct error *err) {
    fetcher->damage = NULL;
    if (set->kind == DATASET_SYNTHETIC) {
        dataset_paint(set, sample, augment->image_size, pixels);
        return 0;
    }
    if (dataset_read(set, sample, &fetcher->encoded, err) != 0)
        return -1; /* the error already names the file */
    if (fetch_picture(fetcher, (const uint8_t *)fetcher->encoded.data, fetcher->encoded.size,
                      augment, seed, epoch, sample, pixels, err) == 0)
        return 0;
    char name[PATH_MAX];
    dataset_sample_name(set, sample, name, sizeof(name));
    return error_wrap(err, "%s", name);
}

/* Replaces the decoded picture by one of the side that is kept, if it is larger. The two images
 * change places, so that the memory of both is used again for the next sample. */
static int scale_down(struct fetcher *fetcher, int side, struct error *err) {
    const struct image whole = fetcher->picture;
    if (side == 0 || whole.width <= side || whole.height <= side)
        return 0;
    if (resize_short_side(&fetcher->resizer, &whole, side, &fetcher->small, err) != 0)
        return -1;
    fetcher->picture = fetcher->small;
    fetcher->small = whole;
    return 0;
}

int fetch_kept(struct fetcher *fetcher, const struct dataset *set, size_t sample,
               const struct fetch_cache *kept, struct error *err) {
    char name[PATH_MAX];
    fetcher->damage = NULL;
    fetcher->whole = true;
    if (kept->cache != NULL && picture_cache_get(kept->cache, sample, &fetcher->picture))
        return 0;
    if (dataset_read(set, sample, &fetcher->encoded, err) != 0)
        return -1; /* the error already names the file */
    if (fetch_whole(fetcher, (const uint8_t *)fetcher->encoded.data, fetcher->encoded.size, err) !=
            0 ||
        scale_down(fetcher, kept->side, err) != 0) {
        dataset_sample_name(set, sample, name, sizeof(name));
        return error_wrap(err, "%s", name);
    }
    fetcher->whole = true;
    /* Damage is reported each time it is met. */
    if (kept->cache != NULL && fetcher->damage == NULL)
        picture_cache_put(kept->cache, sample, &fetcher->picture);
    return 0;
}

/* A picture from the cache is rendered as one that was decoded as a whole: `whole` is set for
 * it. */
int fetch_sample_kept(struct fetcher *fetcher, const struct dataset *set, size_t sample,
                      const struct fetch_cache *kept, const struct augment *augment, uint64_t seed,
                      uint32_t epoch, uint8_t *pixels, struct error *err) {
    struct augment_plan plan;
    if (!kept->on || set->kind == DATASET_SYNTHETIC)
        return fetch_sample(fetcher, set, sample, augment, seed, epoch, pixels, err);
    if (fetch_kept(fetcher, set, sample, kept, err) != 0)
        return -1;
    augment_draw(augment, fetcher->picture.width, fetcher->picture.height, seed, epoch, sample,
                 &plan);
    return render(fetcher, &plan, augment->image_size, pixels, err);
}

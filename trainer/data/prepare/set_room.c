#include "trainer/data/prepare/set_room.h"

#include "trainer/data/order/sampler.h"
#include "trainer/data/prepare/picture_make.h"

/* Estimates the bytes of all pictures. */
static int64_t estimate(struct picture_maker *maker, const struct shard_set_options *options,
                        const struct dataset *set) {
    const size_t count = set->count < SET_ROOM_PICTURES ? set->count : SET_ROOM_PICTURES;
    struct shard_set_options lenient = *options;
    double bytes = 0;
    size_t used = 0;
    lenient.bad_allowed = INT64_MAX;
    for (size_t i = 0; i < count; i++) {
        const struct buf *picture = NULL;
        bool bad = false;
        struct error why = {0};
        const size_t sample = sampler_permute(0, 0, set->count, i);
        /* What is wrong with a picture is reported when it is written. */
        if (picture_make(maker, &lenient, set, sample, &picture, &bad, &why) != 0 || bad)
            continue;
        bytes += (double)picture->size;
        used++;
    }
    if (used == 0)
        return 0;
    const double all = bytes / (double)used * (double)set->count;
    return (int64_t)(count < set->count ? all * (100 + SET_ROOM_MARGIN) / 100 : all);
}

int set_room(const struct shard_set_options *options, const struct dataset *set, int64_t *ret,
             struct error *err) {
    struct picture_maker maker;
    *ret = (int64_t)set->count * SET_ROOM_RECORD;
    if (options->resize == 0 && !options->raw) {
        *ret += set->bytes;
        return 0;
    }
    int result = picture_maker_init(&maker, err);
    if (result == 0)
        *ret += estimate(&maker, options, set);
    picture_maker_done(&maker);
    return result;
}

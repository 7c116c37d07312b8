#include "trainer/data/dataset/augment.h"

#include "trainer/math/random.h"

#include <math.h>

enum {
    SMALL_SIDE = 40,   /* pictures up to this size are used whole in training */
    CROP_TRIES = 10,   /* of the random resized crop */
    SIDE_MAX = 1 << 14 /* of the result */
};

void augment_defaults_train(struct augment *augment, int image_size) {
    *augment = (struct augment){
        .mode = image_size <= SMALL_SIDE ? AUGMENT_PAD_CROP : AUGMENT_RANDOM_RESIZED_CROP,
        .image_size = image_size,
        .resize_side = image_size,
        .pad = image_size / 8,
        .area_min = 0.08,
        .area_max = 1,
        .aspect_min = 3.0 / 4,
        .aspect_max = 4.0 / 3,
        .flip = true,
    };
}

void augment_defaults_eval(struct augment *augment, int image_size) {
    augment_defaults_train(augment, image_size);
    augment->mode = AUGMENT_CENTER_CROP;
    augment->resize_side = image_size <= SMALL_SIDE ? image_size : (image_size * 8 + 3) / 7;
    augment->flip = false;
}

struct augment augment_center_crop(int image_size, int given, int trained) {
    struct augment crop;
    augment_defaults_eval(&crop, image_size);
    if (given > 0 || trained > 0)
        crop.resize_side = given > 0 ? given : trained;
    return crop;
}

int augment_check(const struct augment *augment, struct error *err) {
    if (augment->image_size < 1 || augment->image_size > SIDE_MAX)
        return error_set(err, EXIT_CODE_USAGE, "image_size is %d; expected 1 to %d",
                         augment->image_size, SIDE_MAX);
    if (augment->mode == AUGMENT_CENTER_CROP &&
        (augment->resize_side < augment->image_size || augment->resize_side > SIDE_MAX))
        return error_set(err, EXIT_CODE_USAGE, "resize_side is %d; expected %d (image_size) to %d",
                         augment->resize_side, augment->image_size, SIDE_MAX);
    if (augment->mode == AUGMENT_PAD_CROP &&
        (augment->pad < 0 || augment->pad > augment->image_size))
        return error_set(err, EXIT_CODE_USAGE, "pad is %d; expected 0 to %d (image_size)",
                         augment->pad, augment->image_size);
    if (augment->mode == AUGMENT_RANDOM_RESIZED_CROP &&
        !(augment->area_min > 0 && augment->area_min <= augment->area_max &&
          augment->area_max <= 1))
        return error_set(err, EXIT_CODE_USAGE, "area is %g to %g; expected a range within 0 to 1",
                         augment->area_min, augment->area_max);
    if (augment->mode == AUGMENT_RANDOM_RESIZED_CROP &&
        !(augment->aspect_min > 0 && augment->aspect_min <= augment->aspect_max &&
          augment->aspect_max <= 100))
        return error_set(err, EXIT_CODE_USAGE,
                         "aspect is %g to %g; expected a range within 0 to 100",
                         augment->aspect_min, augment->aspect_max);
    return 0;
}

/* Returns the largest central box within the limits of the aspect ratio. */
static struct rect central_box(const struct augment *augment, int width, int height) {
    struct rect box = {0, 0, width, height};
    double aspect = (double)width / height;
    if (aspect < augment->aspect_min)
        box.height = (int)lrint(width / augment->aspect_min);
    else if (aspect > augment->aspect_max)
        box.width = (int)lrint(height * augment->aspect_max);
    box.width = box.width < 1 ? 1 : box.width > width ? width : box.width;
    box.height = box.height < 1 ? 1 : box.height > height ? height : box.height;
    box.left = (width - box.width) / 2;
    box.top = (height - box.height) / 2;
    return box;
}

static struct rect random_box(const struct augment *augment, int width, int height,
                              struct random *random) {
    double area = (double)width * height;
    double low = log(augment->aspect_min);
    double high = log(augment->aspect_max);
    for (int try = 0; try < CROP_TRIES; try++) {
        double wanted = area * random_between(random, augment->area_min, augment->area_max);
        double aspect = exp(random_between(random, low, high));
        int w = (int)lrint(sqrt(wanted * aspect));
        int h = (int)lrint(sqrt(wanted / aspect));
        if (w < 1 || h < 1 || w > width || h > height)
            continue;
        struct rect box = {.width = w, .height = h};
        box.top = (int)random_below(random, (uint32_t)(height - h + 1));
        box.left = (int)random_below(random, (uint32_t)(width - w + 1));
        return box;
    }
    return central_box(augment, width, height);
}

/* Scales the whole picture so that its short side is SIDE; the long side is rounded down, the
 * window's position to the even neighbour, as by torchvision's Resize and CenterCrop. */
static void plan_center(const struct augment *augment, int width, int height, int side,
                        struct augment_plan *plan) {
    plan->source = (struct rect){0, 0, width, height};
    int64_t longer = width > height ? width : height;
    int64_t shorter = width > height ? height : width;
    int scaled = (int)(longer * side / shorter);
    plan->width = width > height ? scaled : side;
    plan->height = width > height ? side : scaled;
    plan->left = (int)lrint((plan->width - augment->image_size) / 2.0);
    plan->top = (int)lrint((plan->height - augment->image_size) / 2.0);
}

void augment_draw(const struct augment *augment, int width, int height, uint64_t seed,
                  uint32_t epoch, uint64_t sample, struct augment_plan *ret_plan) {
    struct random random = random_stream(seed, epoch, sample);
    struct augment_plan *plan = ret_plan;
    *plan = (struct augment_plan){.width = augment->image_size, .height = augment->image_size};
    switch (augment->mode) {
    case AUGMENT_CENTER_CROP:
        plan_center(augment, width, height, augment->resize_side, plan);
        break;
    case AUGMENT_RANDOM_RESIZED_CROP:
        plan->source = random_box(augment, width, height, &random);
        break;
    case AUGMENT_PAD_CROP:
        plan_center(augment, width, height, augment->image_size, plan);
        plan->left += (int)random_below(&random, (uint32_t)(2 * augment->pad + 1)) - augment->pad;
        plan->top += (int)random_below(&random, (uint32_t)(2 * augment->pad + 1)) - augment->pad;
        break;
    }
    if (augment->flip)
        plan->flip = random_u32(&random) >> 31;
}

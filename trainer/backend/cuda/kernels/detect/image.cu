/* Resizing of pictures to the size in which they are used: one thread per pixel of the canvas. */
#include "trainer/backend/cuda/kernels/detect/launch_roi.h"
#include "trainer/backend/cuda/kernels/vec.cuh"
#include "trainer/math/bilinear.h"
#include "trainer/math/image_size.h"

/* The normalised value of channel C of a pixel of the source. */
static __device__ __forceinline__ float source_at(const struct image_resize_args &args,
                                                  const uint8_t *row, int32_t column, int c) {
    float level = row[3 * static_cast<size_t>(column) + (args.bgr ? 2 - c : c)];
    return ((args.bgr ? level : level / 255.0f) - args.mean[c]) / args.std[c];
}

template <typename T>
static __device__ void resize_pixel(const struct image_resize_args &args, const uint8_t *image,
                                    const int32_t *size, int32_t i, int32_t j, T *y) {
    int32_t height = size[IMAGE_SIZE_SOURCE_H], width = size[IMAGE_SIZE_SOURCE_W];
    struct bilinear_tap v = bilinear_source(i, bilinear_scale(height, size[IMAGE_SIZE_H]), height);
    struct bilinear_tap u = bilinear_source(j, bilinear_scale(width, size[IMAGE_SIZE_W]), width);
    bool flip = size[IMAGE_SIZE_FLIP] != 0;
    int32_t left = flip ? width - 1 - u.low : u.low, right = flip ? width - 1 - u.high : u.high;
    const uint8_t *low = image + 3 * static_cast<size_t>(v.low) * width;
    const uint8_t *high = image + 3 * static_cast<size_t>(v.high) * width;
    for (int c = 0; c < 3; c++) {
        float above = (1 - u.fraction) * source_at(args, low, left, c) +
                      u.fraction * source_at(args, low, right, c);
        float below = (1 - u.fraction) * source_at(args, high, left, c) +
                      u.fraction * source_at(args, high, right, c);
        y[c] = narrow<T>((1 - v.fraction) * above + v.fraction * below);
    }
}

/* Bytes moved: the pictures' pixels once (neighbours share them in the caches), and y. */
template <typename T>
static __global__ void resize_kernel(const __grid_constant__ struct image_resize_args args, T *y) {
    size_t pixels = static_cast<size_t>(args.height) * args.width;
    FOR_EACH_ITEM(at, pixels * args.images) {
        size_t n = at / pixels;
        int i = static_cast<int>(at % pixels / args.width);
        int j = static_cast<int>(at % args.width);
        const int32_t *size = args.size + n * IMAGE_SIZE_FIELDS;
        T *to = y + at * args.channels;
        for (int c = 0; c < args.channels; c++)
            to[c] = narrow<T>(0);
        if (size[IMAGE_SIZE_VALID] != 0 && i < size[IMAGE_SIZE_H] && j < size[IMAGE_SIZE_W])
            resize_pixel(args, args.image + n * args.bytes, size, i, j, to);
    }
}

cudaError_t launch_image_resize(cudaStream_t stream, enum dtype type,
                                const struct image_resize_args *args) {
    size_t pixels = static_cast<size_t>(args->images) * args->height * args->width;
    return with_type(type, [=](auto tag) {
        using T = typename decltype(tag)::type;
        enqueue(resize_kernel<T>, blocks_for(pixels), THREADS, stream, *args,
                static_cast<T *>(args->y));
        return launch_status();
    });
}

/* Boxes and squares of any bits: a byte each of rule, side, height and width, four floats of a box,
 * then logits as floats, repeated until the square is full. The mask is the bitmap's. */
#include "tests/fuzz/check.h"
#include "tests/support/paste_bitmap.h"
#include "trainer/eval/mask_paste.h"
#include "trainer/eval/rle_text.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HEAD = 4 + 4 * sizeof(float), SIDE_MAX = 32 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static float logits[SIDE_MAX * SIDE_MAX];
    static uint8_t bytes[256 * 256];
    cleanup_mask_paster struct mask_paster paster = {0};
    cleanup_rle struct rle mask = {0}, wanted = {0};
    struct error err = {0};
    if (size < HEAD + sizeof(float))
        return 0;
    struct mask_paste paste = {.rule = data[0] % 2 == 0 ? MASK_PASTE_TV : MASK_PASTE_D2,
                               .logits = logits,
                               .side = 1 + data[1] % SIDE_MAX,
                               .height = 1 + (uint32_t)data[2],
                               .width = 1 + (uint32_t)data[3]};
    memcpy(paste.box, data + 4, sizeof(paste.box));
    size_t given = (size - HEAD) / sizeof(float);
    for (size_t i = 0; i < (size_t)paste.side * (size_t)paste.side; i++)
        memcpy(&logits[i], data + HEAD + i % given * sizeof(float), sizeof(float));
    CHECK(mask_paste(&mask, &paster, &paste, &err) == 0);
    CHECK(rle_end(&mask, &err) == 0);
    struct rle_pixels pixels = {bytes, paste.height, paste.width, paste.width, 1};
    paste_bitmap(&paste, bytes);
    CHECK(rle_encode(&wanted, &pixels, &err) == 0);
    CHECK(mask.count == wanted.count);
    CHECK(memcmp(mask.runs, wanted.runs, mask.count * sizeof(*mask.runs)) == 0);
    return 0;
}

/* A page of a listing, as any server may send it: what is taken has a key and a size. */
#include "entrypoint/transfer/s3/objects.h"
#include "tests/fuzz/check.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct objects l = {0};
    struct error err = {0};
    if (objects_add_page(&l, (const char *)data, size, &err) != 0)
        CHECK(strstr(err.text, "the listing") != NULL);
    for (size_t i = 0; i < l.count; i++)
        CHECK(l.items[i].key[0] != '\0' && l.items[i].size >= 0);
    CHECK(strlen(l.token) < OBJECTS_TOKEN_MAX);
    objects_done(&l);
    return 0;
}

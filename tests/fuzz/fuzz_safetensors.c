/* Checkpoint files. What was opened holds its promises: every tensor lies within the file, and
 * reading it back gives its bytes. */
#include "tests/fuzz/check.h"
#include "trainer/checkpoint/safetensors.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_entry(const struct safetensors *file, const struct safetensors_entry *entry,
                        const uint8_t *data) {
    struct error err = {0};
    struct array array = {.name = entry->name, .type = entry->type, .rank = entry->rank};
    memcpy(array.shape, entry->shape, sizeof(array.shape));
    CHECK(array_bytes(&array) == (int64_t)entry->size);
    CHECK(entry->begin <= file->data_size && entry->size <= file->data_size - entry->begin);
    array.data = malloc(entry->size + 1);
    CHECK(array.data != NULL);
    if (safetensors_read(file, &array, &err) == 0)
        CHECK(memcmp(array.data, data + file->data_at + entry->begin, entry->size) == 0);
    else
        CHECK(entry->checked && err.text[0] != '\0');
    array.ohwi = true;
    (void)safetensors_read(file, &array, &err);
    free(array.data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct safetensors file;
    struct error err = {0};
    if (safetensors_parse(&file, data, size, "file", &err) != 0) {
        CHECK(err.code == EXIT_CODE_DATA && err.text[0] != '\0');
        return 0;
    }
    CHECK(file.data_at + file.data_size == size);
    for (size_t i = 0; i < file.count; i++)
        check_entry(&file, &file.entries[i], data);
    (void)safetensors_verify(&file, &err);
    safetensors_done(&file);
    return 0;
}

/* Prices of machines, and the times of all-reduces, from files of others. */
#include "common/json/json.h"
#include "common/scaling/comm_reading.h"
#include "common/scaling/price_table.h"
#include "tests/fuzz/check.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct error err = {0};
    struct price_table table;
    struct scaling_reduce list[8];
    json_t *root = NULL;
    char *text = malloc(size + 1);
    if (text == NULL)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    if (json_parse(text, size, "prices", &root, &err) == 0) {
        if (price_table_parse(&table, root, "prices", &err) == 0)
            CHECK(table.count >= 1 && table.count <= PRICES_MAX && table.list[0].ranks >= 1);
        json_decref(root);
    }
    const int count = comm_reading_parse(text, "check", list, 8, &err);
    CHECK(count <= 8);
    for (int i = 0; i < count; i++)
        CHECK(list[i].ranks > 1 && list[i].seconds > 0);
    free(text);
    return 0;
}

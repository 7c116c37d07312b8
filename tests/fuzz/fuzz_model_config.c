/* Descriptions of models, config.json: one that is read can be written, and what was written is
 * read as the same. */
#include "common/json/json.h"
#include "tests/fuzz/check.h"
#include "trainer/checkpoint/config_seal.h"
#include "trainer/checkpoint/model_config.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Returns 0 and fills RET, if the text is a description. */
static int read_text(const char *text, size_t size, struct model_config *ret, struct error *err) {
    json_t *root = NULL;
    bool sealed = false;
    if (json_parse(text, size, "config", &root, err) != 0) {
        err->code = EXIT_CODE_DATA; /* as model_dir.c does */
        return -1;
    }
    const int result = config_seal_check(text, size, "config", &sealed, err) != 0
                           ? -1
                           : model_config_read(root, "config", ret, err);
    json_decref(root);
    return result;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    cleanup_model_config struct model_config config = {0};
    cleanup_model_config struct model_config again = {0};
    char *text = NULL, *second = NULL;
    struct error err = {0};
    if (read_text((const char *)data, size, &config, &err) != 0) {
        CHECK(err.code == EXIT_CODE_DATA && err.text[0] != '\0');
        return 0;
    }
    CHECK(model_config_text(&config, config.weights, "config", &text, &err) == 0);
    CHECK(read_text(text, strlen(text), &again, &err) == 0);
    CHECK(model_config_text(&again, again.weights, "config", &second, &err) == 0);
    CHECK(strcmp(text, second) == 0);
    free(text);
    free(second);
    return 0;
}

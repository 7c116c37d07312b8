#include "trainer/app/serve/serve_pass.h"

#include "common/cleanup.h"
#include "common/table.h"

#include <stdlib.h>

static const void *find(const struct serve_input *inputs, int count, const char *name) {
    const struct serve_input *input = TABLE_FIND_IN(inputs, (size_t)count, name, name);
    return input != NULL ? input->values : NULL;
}

static int feed(struct pass *pass, const struct pass_input *input, const void *values,
                struct error *err) {
    struct backend *backend = pass->program.backend;
    cleanup_free void *zeros = values == NULL ? calloc(1, input->bytes) : NULL;
    if (values == NULL && zeros == NULL)
        return error_no_memory(err, "a network's input");
    return backend->table->copy_in(backend, input->address, values != NULL ? values : zeros,
                                   input->bytes, err);
}

int serve_pass_run(struct pass *pass, const struct serve_input *inputs, int count,
                   struct error *err) {
    for (int i = 0; i < pass->input_count; i++) {
        const struct pass_input *input = &pass->inputs[i];
        const char *name = pass->graph.tensors[input->tensor].name;
        if (feed(pass, input, find(inputs, count, name), err) != 0)
            return -1;
    }
    return program_run(&pass->program, NULL, err);
}

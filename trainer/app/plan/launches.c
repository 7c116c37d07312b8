#include "trainer/app/plan/launches.h"

#include <string.h>

struct counting {
    const struct program *program;
    struct device_launches before; /* number of the operator that runs next */
    struct kind_launches *of;
};

struct device_launches launches_since(const struct backend *backend,
                                      const struct device_launches *before) {
    const struct device_launches now = device_launches(backend);
    return (struct device_launches){now.kernels - before->kernels, now.early - before->early,
                                    now.products - before->products, now.copies - before->copies};
}

static int note(void *user, int step, struct error *err) {
    struct counting *c = user;
    (void)err;
    const struct device_launches own = launches_since(c->program->backend, &c->before);
    struct kind_launches *kind = &c->of[c->program->graph->ops[step].kind];
    kind->operators++;
    kind->launches.kernels += own.kernels;
    kind->launches.early += own.early;
    kind->launches.products += own.products;
    kind->launches.copies += own.copies;
    c->before = device_launches(c->program->backend);
    return 0;
}

int launches_by_kind(struct program *program, struct kind_launches *of, struct error *err) {
    struct counting c = {.program = program, .of = of};
    const struct program_hooks hooks = {.user = &c, .after_step = note};
    memset(of, 0, OP_KINDS * sizeof(*of));
    if (program_run(program, NULL, err) != 0)
        return -1;
    c.before = device_launches(program->backend);
    return program_run(program, &hooks, err);
}

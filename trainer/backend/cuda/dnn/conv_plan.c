#include "trainer/backend/cuda/dnn/conv_plan.h"

#include "trainer/backend/cuda/dnn/conv_tune.h"
#include "trainer/backend/cuda/dnn/plan_cache.h"

#include <stdlib.h>
#include <string.h>

/* A choice belongs to a pass: pattern, type and shape. It is made when the first operator of that
 * kind is queried (conv_choice_get) and holds the plans that may run it; its workspace is that of
 * the largest, as the memory plan is fixed before one is chosen. When an operator is bound,
 * conv_choice_settle() picks one plan: from the cache, by timing, or the heuristics' first. Both
 * the graph and the plans live as long as the backend. */

static cudnnDataType_t dnn_type(enum dtype type) {
    switch (type) {
    case DTYPE_F16:
        return CUDNN_DATA_HALF;
    case DTYPE_BF16:
        return CUDNN_DATA_BFLOAT16;
    default:
        return CUDNN_DATA_FLOAT;
    }
}

/* A linear search by bytes: the struct has no padding, since all its members are 64 bits wide. */
static struct conv_choice *find(const struct convs *convs, enum dnn_pattern pattern,
                                enum dtype type, const struct dnn_conv *conv) {
    struct conv_choice *c = convs->choices;
    while (c != NULL &&
           (c->pattern != pattern || c->type != type || memcmp(&c->conv, conv, sizeof(*conv)) != 0))
        c = c->next;
    return c;
}

static void choice_free(struct conv_choice *choice) {
    dnn_plan_list_done(&choice->plans);
    dnn_graph_done(&choice->graph);
    free(choice);
}

/* Only precompiled plans: a network has hundreds of passes, and compiling takes up to a second per
 * candidate. Every plain convolution has a precompiled plan (tests/plans); a fused one without
 * falls back to separate operators. */
static int search(struct cuda *cuda, struct conv_choice *c, struct error *err) {
    const struct cuda_options *o = &cuda->options;
    struct dnn_plan_query query = {.device = &cuda->convs->device,
                                   .workspace_max = CONV_WORKSPACE_MAX,
                                   .most = o->tune || o->plan_cache != NULL ? CONV_CANDIDATES : 1,
                                   .precompiled = true,
                                   .deterministic = o->deterministic,
                                   .exact = c->type == DTYPE_F32 && !o->tf32};
    if (dnn_graph_build(&c->graph, c->pattern, &c->conv, dnn_type(c->type), err) != 0 ||
        dnn_plan_list_find(&c->plans, &c->graph, &query, err) != 0)
        return -1;
    for (int i = 0; i < c->plans.count; i++)
        if (c->plans.plans[i].workspace > c->workspace)
            c->workspace = c->plans.plans[i].workspace;
    return 0;
}

/* A pass without plans is cached as well, so that it is not queried again for each operator. */
static int check_found(const struct conv_choice *c, struct error *err) {
    if (c->plans.count > 0)
        return 0;
    return error_set(err, EXIT_CODE_DEVICE, "cuDNN has no plan for %s in %s",
                     dnn_pattern_name(c->pattern), dtype_name(c->type));
}

int conv_choice_get(struct cuda *cuda, enum dnn_pattern pattern, enum dtype type,
                    const struct dnn_conv *conv, struct conv_choice **ret, struct error *err) {
    *ret = find(cuda->convs, pattern, type, conv);
    if (*ret != NULL)
        return check_found(*ret, err);
    struct conv_choice *c = calloc(1, sizeof(*c));
    if (c == NULL)
        return error_no_memory(err, "convolution plan");
    c->pattern = pattern;
    c->type = type;
    c->conv = *conv;
    c->chosen = -1;
    if (search(cuda, c, err) != 0) {
        choice_free(c);
        return -1;
    }
    c->next = cuda->convs->choices;
    cuda->convs->choices = c;
    *ret = c;
    return check_found(c, err);
}

void conv_choices_done(struct convs *convs) {
    while (convs->choices != NULL) {
        struct conv_choice *next = convs->choices->next;
        choice_free(convs->choices);
        convs->choices = next;
    }
}

/* On a simulated GPU nothing can be timed. A plan from the cache is not timed again, and one that
 * was timed is added to it. */
int conv_choice_settle(struct cuda *cuda, struct conv_choice *choice,
                       const struct conv_operands *operands, struct error *err) {
    if (choice->chosen >= 0)
        return 0;
    choice->chosen = plan_cache_find(cuda, choice, &choice->ms);
    if (choice->chosen >= 0)
        return 0;
    if (!cuda->options.tune || cuda->counted != NULL) {
        choice->chosen = 0;
        return 0;
    }
    if (conv_tune(cuda, choice, operands, &choice->ms, err) != 0)
        return -1;
    return plan_cache_add(cuda, choice, err);
}

/* Compiled ResNet on the reference backend.
 *
 * It is for tests of what a compile makes. Every step asserts (CUnit) that it worked. Zeroed, then
 * net_init, then net_done. */
#ifndef TESTS_SUPPORT_NET_H
#define TESTS_SUPPORT_NET_H

#include "trainer/graph/program/program.h"
#include "trainer/models/resnet.h"

struct net {
    struct backend *backend; /* owned */
    struct graph graph;
    struct store store;
    struct program program;
    struct resnet_tensors tensors;
    struct resnet_config config;
};

/* MODEL is one of models/resnet.h, or "bottleneck": two stages of two small bottleneck blocks, for
 * what ResNet-50 would show at a hundred times the cost; "wide": the same with channels that fused
 * convolutions of a GPU take. What tests mostly want: BATCH pictures of
 * SIZE px, 10 classes, f32. */
struct resnet_config net_config(const char *model, int batch, int size, bool training);
/* Describes the graph and no more. Takes BACKEND, or opens the reference if it is NULL. */
void net_build(struct net *net, struct backend *backend, struct resnet_config config);
/* And compiles it. */
void net_init(struct net *net, struct backend *backend, struct resnet_config config,
              struct compile_options options);
/* Start values of seed 1. */
void net_start(struct net *net);
/* One update of every parameter by SGD with Nesterov's momentum, on the host, from gradients that
 * were computed times SCALE. */
void net_update(struct net *net, float rate, float scale);
void net_done(struct net *net);
/* Fills image, label and weight with seeded values, all weights 1. */
void net_fill(struct net *net, uint64_t seed);
void net_run(struct net *net, const struct program_hooks *hooks);
/* Mean loss of the last run. */
double net_loss(struct net *net);
/* How many operators of KIND the compiled graph has. */
int net_count(const struct net *net, enum op_kind kind);

#endif

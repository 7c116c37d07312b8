/* Wrapper of oneDNN's C API: statuses become errors, and a bound primitive with its memories is a
 * struct that runs and is freed. Private to trainer/backend/cpu.
 *
 * Scratchpads are the caller's (dnn_attr); a bound call does not allocate. Memory descriptors have
 * oneDNN's logical order (NCHW, OIHW) with strides of NHWC and OHWI. */
#ifndef TRAINER_BACKEND_CPU_BASE_DNN_H
#define TRAINER_BACKEND_CPU_BASE_DNN_H

#include "common/error.h"
#include "trainer/backend/cpu/base/context.h"

#include <oneapi/dnnl/dnnl.h>

enum { DNN_ARGS_MAX = 8 };

/* An argument in bf16 and its values in f32, on which the primitive works; without `half` a result
 * that is rounded to bf16 in place. */
struct dnn_widened {
    void *half;
    float *wide;
    size_t count;
    bool is_result;
};

struct dnn_call {
    dnnl_primitive_t primitive;
    dnnl_exec_arg_t args[DNN_ARGS_MAX];
    struct dnn_widened widened[DNN_ARGS_MAX];
    int count, widened_count;
};

/* Returns 0, or -1 with "WHAT: oneDNN error: ..." in ERR. */
int dnn_check(dnnl_status_t status, const char *what, struct error *err);

/* Returns true if values of TYPE are computed in f32, because oneDNN has no (or only a slow) bf16
 * here. */
bool dnn_widens(const struct cpu *cpu, enum dtype type);
/* Returns the type in which oneDNN computes with values of TYPE. */
dnnl_data_type_t dnn_type(const struct cpu *cpu, enum dtype type);
/* Returns the bytes of scratch for dnn_call_tensor(): 0 unless TENSOR is bf16 and oneDNN computes
 * in f32. */
size_t dnn_wide_bytes(const struct cpu *cpu, const struct tensor *tensor);

/* RET is a descriptor of the 4 dimensions in oneDNN's order, dense as NHWC (or OHWI); of CHANNELS
 * stored values per pixel only the first dims[1] are used. */
int dnn_desc_channels_last(dnnl_memory_desc_t *ret, const dnnl_dims_t dims, dnnl_data_type_t type,
                           int64_t channels, struct error *err);
/* Descriptors of convolution weights [O,KH,KW,I] in GROUPS groups, of which each output reads I
 * channels: as they are in memory, or as the primitive chooses. */
int dnn_desc_weights(dnnl_memory_desc_t *ret, const struct shape *w, int groups,
                     dnnl_data_type_t type, struct error *err);
int dnn_desc_weights_any(dnnl_memory_desc_t *ret, const struct shape *w, int groups,
                         dnnl_data_type_t type, struct error *err);
/* The primitive chooses the layout. */
int dnn_desc_any(dnnl_memory_desc_t *ret, int rank, const dnnl_dims_t dims, dnnl_data_type_t type,
                 struct error *err);
/* Free RET with dnnl_primitive_attr_destroy. */
int dnn_attr(dnnl_primitive_attr_t *ret, struct error *err);
/* Epilogue of a primitive: adds a tensor like ADDED (argument DNN_ARG_ADDED) unless that is NULL,
 * then applies a ReLU if RELU. */
enum { DNN_ARG_ADDED = DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1 };
int dnn_attr_epilogue(dnnl_primitive_attr_t attr, const_dnnl_memory_desc_t added, bool relu,
                      struct error *err);

/* Returns the descriptor that PRIMITIVE chose; owned by it. */
const_dnnl_memory_desc_t dnn_chosen(const_dnnl_primitive_desc_t primitive, dnnl_query_t what);
size_t dnn_chosen_bytes(const_dnnl_primitive_desc_t primitive, dnnl_query_t what);

int dnn_call_init(struct dnn_call *call, const_dnnl_primitive_desc_t primitive, struct error *err);
int dnn_call_arg(struct dnn_call *call, const struct cpu *cpu, int arg,
                 const_dnnl_memory_desc_t desc, void *address, struct error *err);
/* Adds the values of TENSOR as an argument, in the type of dnn_type(), dense with DESC's strides.
 * If that type is wider than the tensor's, values are converted to f32 before the primitive runs,
 * or back after it, in *SCRATCH, which is advanced. */
int dnn_call_tensor(struct dnn_call *call, const struct cpu *cpu, int arg,
                    const_dnnl_memory_desc_t desc, const struct tensor *tensor, void *address,
                    char **scratch, struct error *err);
/* The same without an argument: returns the address of the values, for calls in parts. */
void *dnn_call_values(struct dnn_call *call, const struct cpu *cpu, const struct tensor *tensor,
                      void *address, bool is_result, char **scratch);
/* Makes a reorder from one descriptor to the other. */
int dnn_call_reorder(struct dnn_call *call, const struct cpu *cpu, const_dnnl_memory_desc_t from,
                     void *from_address, const_dnnl_memory_desc_t to, void *to_address,
                     struct error *err);
/* Makes a reorder of f32 master weights into a primitive's layout, with the values of TYPE: if
 * that is widened, each value is still rounded to bf16. */
int dnn_call_pack(struct dnn_call *call, const struct cpu *cpu, enum dtype type,
                  const_dnnl_memory_desc_t master, void *master_address,
                  const_dnnl_memory_desc_t packed, void *packed_address, struct error *err);
int dnn_call_run(const struct dnn_call *call, const struct cpu *cpu, struct error *err);
void dnn_call_done(struct dnn_call *call);
/* The conversions before and after the primitive: for a call without one. */
void dnn_call_widen(const struct dnn_call *call, const struct cpu *cpu);
void dnn_call_narrow(const struct dnn_call *call, const struct cpu *cpu);

/* Concurrent calls, each on one thread: the order in which a primitive sums depends on the number
 * of threads that it was described for. So results do not depend on the real number. */
enum { DNN_PARTS_MOST = 32 };

struct dnn_parts {
    const struct cpu *cpu;
    struct dnn_part {
        struct dnn_call call;
        struct error err;
        int result;
    } part[DNN_PARTS_MOST];
    size_t count;
};

/* Between these two calls, primitives are described and made for one thread: oneDNN's cache
 * distinguishes them by that. */
void dnn_parts_begin(void);
void dnn_parts_end(const struct cpu *cpu);
int dnn_parts_run(struct dnn_parts *parts, struct error *err);
void dnn_parts_done(struct dnn_parts *parts);

#endif

#include "trainer/backend/cuda/steps/matmul.h"

/* An algorithm is chosen by cuBLASLt's heuristic when a product is made, for the workspace and
 * alignment that every call has; nothing is timed. Products of f32 stay f32 unless TF32 was
 * allowed, and sums are f32 in all types. C is D in each call, as beta is 0. */

static cudaDataType_t type_of(enum dtype type) {
    switch (type) {
    case DTYPE_F16:
        return CUDA_R_16F;
    case DTYPE_BF16:
        return CUDA_R_16BF;
    default:
        return CUDA_R_32F;
    }
}

/* WHAT is the part of the product that failed. */
static int check(cublasStatus_t status, const char *what, struct error *err) {
    if (status == CUBLAS_STATUS_SUCCESS)
        return 0;
    return error_set(err, EXIT_CODE_DEVICE, "cuBLASLt: %s: %s", what,
                     cublasLtGetStatusString(status));
}

void matmul_done(struct matmul *m) {
    if (m->operation != NULL)
        (void)cublasLtMatmulDescDestroy(m->operation);
    if (m->a != NULL)
        (void)cublasLtMatrixLayoutDestroy(m->a);
    if (m->b != NULL)
        (void)cublasLtMatrixLayoutDestroy(m->b);
    if (m->d != NULL)
        (void)cublasLtMatrixLayoutDestroy(m->d);
    *m = (struct matmul){0};
}

/* A row-major [rows, columns] matrix is the column-major [columns, rows] one. */
static int layout(cublasLtMatrixLayout_t *ret, enum dtype type, int rows, int columns,
                  struct error *err) {
    return check(
        cublasLtMatrixLayoutCreate(ret, type_of(type), (uint64_t)columns, (uint64_t)rows, columns),
        "layout", err);
}

/* In column-major terms D' = B' A', so the library's first operand is B. */
static int describe(struct matmul *m, const struct matmul_shape *s, struct error *err) {
    cublasOperation_t first = s->transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N;
    cublasOperation_t second = s->transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N;
    cublasComputeType_t compute =
        s->type == DTYPE_F32 && s->tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
    if (check(cublasLtMatmulDescCreate(&m->operation, compute, CUDA_R_32F), "operation", err) != 0)
        return -1;
    cublasStatus_t status = cublasLtMatmulDescSetAttribute(
        m->operation, CUBLASLT_MATMUL_DESC_TRANSA, &first, sizeof(first));
    if (status == CUBLAS_STATUS_SUCCESS)
        status = cublasLtMatmulDescSetAttribute(m->operation, CUBLASLT_MATMUL_DESC_TRANSB, &second,
                                                sizeof(second));
    if (status == CUBLAS_STATUS_SUCCESS && s->bias != NULL) {
        cublasLtEpilogue_t epilogue =
            s->relu ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_BIAS;
        cudaDataType_t bias_type = type_of(s->d_type);
        const struct {
            cublasLtMatmulDescAttributes_t name;
            const void *value;
            size_t size;
        } attributes[] = {
            {CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof(epilogue)},
            {CUBLASLT_MATMUL_DESC_BIAS_POINTER, &s->bias, sizeof(s->bias)},
            {CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, &bias_type, sizeof(bias_type)},
        };
        for (size_t i = 0; i < 3 && status == CUBLAS_STATUS_SUCCESS; i++)
            status = cublasLtMatmulDescSetAttribute(m->operation, attributes[i].name,
                                                    attributes[i].value, attributes[i].size);
    }
    return check(status, "operation", err);
}

/* Without this the library assumes addresses aligned to 256. */
static cublasStatus_t prefer(cublasLtMatmulPreference_t preference) {
    static const cublasLtMatmulPreferenceAttributes_t operands[] = {
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES};
    size_t workspace = MATMUL_WORKSPACE;
    uint32_t alignment = MATMUL_ALIGNMENT;
    cublasStatus_t status = cublasLtMatmulPreferenceSetAttribute(
        preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace, sizeof(workspace));
    for (size_t i = 0; i < 4 && status == CUBLAS_STATUS_SUCCESS; i++)
        status = cublasLtMatmulPreferenceSetAttribute(preference, operands[i], &alignment,
                                                      sizeof(alignment));
    return status;
}

/* The heuristic's first answer is taken. */
static int choose(struct matmul *m, cublasLtHandle_t handle, struct error *err) {
    cublasLtMatmulPreference_t preference = NULL;
    if (check(cublasLtMatmulPreferenceCreate(&preference), "preference", err) != 0)
        return -1;
    cublasLtMatmulHeuristicResult_t result;
    int found = 0;
    cublasStatus_t status = prefer(preference);
    if (status == CUBLAS_STATUS_SUCCESS)
        status = cublasLtMatmulAlgoGetHeuristic(handle, m->operation, m->b, m->a, m->d, m->d,
                                                preference, 1, &result, &found);
    (void)cublasLtMatmulPreferenceDestroy(preference);
    if (check(status, "heuristic", err) != 0)
        return -1;
    if (found == 0)
        return error_set(err, EXIT_CODE_DEVICE, "cuBLASLt: no algorithm for this product");
    m->algorithm = result.algo;
    return 0;
}

int matmul_init(struct matmul *m, cublasLtHandle_t handle, const struct matmul_shape *s,
                struct error *err) {
    *m = (struct matmul){0};
    int a_rows = s->transpose_a ? s->inner : s->rows;
    int a_columns = s->transpose_a ? s->rows : s->inner;
    int b_rows = s->transpose_b ? s->columns : s->inner;
    int b_columns = s->transpose_b ? s->inner : s->columns;
    if (describe(m, s, err) != 0 || layout(&m->a, s->type, a_rows, a_columns, err) != 0 ||
        layout(&m->b, s->type, b_rows, b_columns, err) != 0 ||
        layout(&m->d, s->d_type, s->rows, s->columns, err) != 0 ||
        (handle != NULL && choose(m, handle, err) != 0)) {
        matmul_done(m);
        return -1;
    }
    return 0;
}

/* STREAM is given per call, so the handle has no stream of its own. */
int matmul_run(const struct matmul *m, cublasLtHandle_t handle, cudaStream_t stream, const void *a,
               const void *b, void *d, void *workspace, struct error *err) {
    float one = 1, zero = 0;
    return check(cublasLtMatmul(handle, m->operation, &one, b, m->b, a, m->a, &zero, d, m->d, d,
                                m->d, &m->algorithm, workspace, MATMUL_WORKSPACE, stream),
                 "product", err);
}

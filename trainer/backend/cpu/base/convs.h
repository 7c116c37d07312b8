/* Which convolutions a user of the CPU backend asks for. */
#ifndef TRAINER_BACKEND_CPU_BASE_CONVS_H
#define TRAINER_BACKEND_CPU_BASE_CONVS_H

/* Whose convolutions: the fastest ones by measured rules; the same but for Winograd's, which round
 * otherwise than plain sums; or those of one kind wherever it has one, and oneDNN's elsewhere. */
enum cpu_convs {
    CPU_CONVS_AUTO,
    CPU_CONVS_DIRECT,
    CPU_CONVS_ONEDNN,
    CPU_CONVS_OWN, /* bf16 */
    CPU_CONVS_GEMM,
    CPU_CONVS_WINOGRAD
};

#endif

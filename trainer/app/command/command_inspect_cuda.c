/* `ringtrain inspect --cuda`: what training on a GPU needs, what is there, and whether it is
 * enough. */
#include "trainer/app/command/command.h"
#include "trainer/app/command/output/output.h"
#include "trainer/app/device/locality.h"
#ifdef RINGMASTER_HAVE_CUDA
#include "trainer/backend/cuda/device_info.h"
#endif
#ifdef RINGMASTER_HAVE_NCCL
#include "trainer/comm/nccl/comm_nccl.h"
#endif

#ifdef RINGMASTER_HAVE_CUDA
enum { REPORT_MAX = 64 * 1024 };

static void print_nccl(void) {
#ifdef RINGMASTER_HAVE_NCCL
    printf("library    made with %s, found %s\n", comm_nccl_text(), comm_nccl_loaded());
#else
    printf("no NCCL    not in this build: gradients go through host memory\n");
#endif
}

static void print_gpu(int number, const struct cuda_gpu *gpu) {
    cleanup_locality struct locality l = {0};
    char node[32] = "unknown";
    if (locality_read(&l, LOCALITY_SYSFS, gpu->address, NULL) == 0 && l.node >= 0)
        (void)snprintf(node, sizeof(node), "%d", l.node);
    printf("GPU %-6d %s, sm_%d%d, %.0f MiB, %d multiprocessors, at %s, NUMA node %s%s\n", number,
           gpu->name, gpu->major, gpu->minor, (double)gpu->memory / 1048576, gpu->multiprocessors,
           gpu->address, node, gpu->fits ? "" : "; no code for it in this build");
}

int command_inspect_cuda(struct error *err) {
    cleanup_buf struct buf text = {0};
    static struct cuda_gpu gpus[CUDA_GPUS_MAX];
    int count = 0;
    buf_init(&text, REPORT_MAX);
    if (cuda_device_info_libraries(&text, err) != 0)
        return -1;
    fputs(buf_text(&text), stdout);
    print_nccl();
    int result = cuda_device_info_gpus(gpus, &count, err);
    for (int i = 0; i < count && result == 0; i++)
        print_gpu(i, &gpus[i]);
    if (result != 0 || cuda_device_info_verdict(gpus, count, err) != 0)
        return error_wrap(err, "this host cannot train on GPUs");
    return output_text("this host can train on GPUs\n", err);
}
#else
int command_inspect_cuda(struct error *err) {
    return error_set(err, EXIT_CODE_DEVICE,
                     "this host cannot train on GPUs: this build has no backend cuda (it was made "
                     "without RINGMASTER_CUDA)");
}
#endif

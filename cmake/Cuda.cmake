# The CUDA toolkit and cuDNN, found where they usually lie, so that nvcc need not be on PATH.
# Sets RINGMASTER_HAVE_CUDA, RINGMASTER_HAVE_NCCL (target ringmaster_nccl) and the target ringmaster_cuda (headers and libraries: runtime, cuDNN, cuBLASLt).
set(RINGMASTER_CUDA_ARCHITECTURES "80;89;90;100" CACHE STRING "GPU architectures to compile for")

find_program(RINGMASTER_NVCC nvcc HINTS $ENV{CUDA_HOME}/bin /usr/local/cuda/bin /opt/cuda/bin)
if(RINGMASTER_NVCC)
    get_filename_component(cuda_root ${RINGMASTER_NVCC} REALPATH)
    get_filename_component(cuda_root ${cuda_root} DIRECTORY)
    get_filename_component(cuda_root ${cuda_root} DIRECTORY)
    find_path(CUDNN_INCLUDE cudnn.h HINTS ${cuda_root}/include ${cuda_root}/targets/x86_64-linux/include)
    find_library(CUDNN_LIBRARY cudnn HINTS ${cuda_root}/lib64 ${cuda_root}/lib)
    find_library(CUDART_LIBRARY cudart HINTS ${cuda_root}/lib64 ${cuda_root}/lib)
    find_library(CUBLASLT_LIBRARY cublasLt HINTS ${cuda_root}/lib64 ${cuda_root}/lib)
endif()

if(RINGMASTER_NVCC AND CUDNN_INCLUDE AND CUDNN_LIBRARY AND CUDART_LIBRARY)
    set(RINGMASTER_HAVE_CUDA TRUE)
    add_library(ringmaster_cuda INTERFACE)
    target_include_directories(ringmaster_cuda SYSTEM INTERFACE ${CUDNN_INCLUDE}
        ${cuda_root}/include)
    # cuDNN loads its engines by dlopen beside itself; the CUDA driver is never linked.
    target_link_libraries(ringmaster_cuda INTERFACE ${CUDNN_LIBRARY} ${CUBLASLT_LIBRARY}
        ${CUDART_LIBRARY})
    find_path(NCCL_INCLUDE nccl.h HINTS ${cuda_root}/include)
    find_library(NCCL_LIBRARY nccl HINTS ${cuda_root}/lib64 ${cuda_root}/lib)
    if(RINGMASTER_NCCL AND NCCL_INCLUDE AND NCCL_LIBRARY)
        set(RINGMASTER_HAVE_NCCL TRUE)
        add_library(ringmaster_nccl INTERFACE)
        target_include_directories(ringmaster_nccl SYSTEM INTERFACE ${NCCL_INCLUDE})
        target_link_libraries(ringmaster_nccl INTERFACE ${NCCL_LIBRARY} ringmaster_cuda)
    endif()
    message(STATUS "CUDA: ${RINGMASTER_NVCC}, cuDNN ${CUDNN_LIBRARY}")
else()
    set(RINGMASTER_HAVE_CUDA FALSE)
    message(STATUS "CUDA: no toolkit or no cuDNN found; its parts and tests are left out")
endif()

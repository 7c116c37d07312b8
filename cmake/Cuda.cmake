# Finds the CUDA toolkit, cuDNN and NCCL in their usual places, so that nvcc need not be on PATH:
# with the toolkit, or in the Python packages that PyTorch installs (nvidia-cudnn-cu13 and others).
# Targets: ringmaster_cuda (headers, runtime, cuBLASLt), ringmaster_cudnn, ringmaster_nccl.
set(RINGMASTER_CUDA_ARCHITECTURES "80;89;90;100" CACHE STRING "GPU architectures to compile for")
part(CUDNN AUTO "cuDNN, for convolutions on GPUs")
part(NCCL AUTO "NCCL, for sums between GPUs")

find_program(RINGMASTER_NVCC nvcc HINTS $ENV{CUDA_HOME}/bin /usr/local/cuda/bin /opt/cuda/bin)
if(RINGMASTER_NVCC)
    get_filename_component(cuda_root ${RINGMASTER_NVCC} REALPATH)
    get_filename_component(cuda_root ${cuda_root} DIRECTORY)
    get_filename_component(cuda_root ${cuda_root} DIRECTORY)
    set(cuda_headers ${cuda_root}/include ${cuda_root}/targets/x86_64-linux/include)
    set(cuda_libraries ${cuda_root}/lib64 ${cuda_root}/lib)
    if(NOT DEFINED RINGMASTER_NVIDIA_PACKAGES)
        find_program(RINGMASTER_PYTHON python3)
        if(RINGMASTER_PYTHON)
            execute_process(COMMAND ${RINGMASTER_PYTHON} -c
                "import nvidia; print(list(nvidia.__path__)[0])"
                OUTPUT_VARIABLE packages OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
        endif()
        set(RINGMASTER_NVIDIA_PACKAGES "${packages}" CACHE PATH
            "the folder nvidia of a Python's packages, for cuDNN and NCCL that the toolkit lacks")
    endif()
    set(python ${RINGMASTER_NVIDIA_PACKAGES})
    # Libraries in Python's packages have no names without a version. Packages for CUDA 13 share a
    # folder, those for CUDA 12 have one each.
    find_library(CUDART_LIBRARY cudart HINTS ${cuda_libraries})
    find_library(CUBLASLT_LIBRARY NAMES cublasLt libcublasLt.so.13 libcublasLt.so.12
        HINTS ${cuda_libraries} PATHS ${python}/cu13/lib ${python}/cublas/lib)
    find_path(CUBLASLT_INCLUDE cublasLt.h HINTS ${cuda_headers}
        PATHS ${python}/cu13/include ${python}/cublas/include)
    find_path(CUDNN_INCLUDE cudnn.h HINTS ${cuda_headers} PATHS ${python}/cudnn/include)
    find_library(CUDNN_LIBRARY NAMES cudnn libcudnn.so.9 HINTS ${cuda_libraries}
        PATHS ${python}/cudnn/lib)
    find_path(NCCL_INCLUDE nccl.h HINTS ${cuda_headers} PATHS ${python}/nccl/include)
    find_library(NCCL_LIBRARY NAMES nccl libnccl.so.2 HINTS ${cuda_libraries}
        PATHS ${python}/nccl/lib)
endif()

set(found OFF)
if(RINGMASTER_NVCC AND CUDART_LIBRARY AND CUBLASLT_LIBRARY AND CUBLASLT_INCLUDE)
    set(found ON)
endif()
part_settle(CUDA "${found}" "nvcc, the CUDA runtime and cuBLASLt")
if(NOT RINGMASTER_HAVE_CUDA)
    return()
endif()

set(found OFF)
if(CUDNN_INCLUDE AND CUDNN_LIBRARY)
    set(found ON)
endif()
part_settle(CUDNN "${found}" "cudnn.h and libcudnn of cuDNN 9")

set(found OFF)
if(NCCL_INCLUDE AND NCCL_LIBRARY)
    set(found ON)
endif()
part_settle(NCCL "${found}" "nccl.h and libnccl")

# The CUDA driver is never linked.
add_library(ringmaster_cuda INTERFACE)
target_include_directories(ringmaster_cuda SYSTEM INTERFACE ${cuda_root}/include
    ${CUBLASLT_INCLUDE})
target_link_libraries(ringmaster_cuda INTERFACE ${CUBLASLT_LIBRARY} ${CUDART_LIBRARY})
if(RINGMASTER_HAVE_CUDNN)
    # cuDNN opens its engines with dlopen, from its own folder.
    add_library(ringmaster_cudnn INTERFACE)
    target_include_directories(ringmaster_cudnn SYSTEM INTERFACE ${CUDNN_INCLUDE})
    target_link_libraries(ringmaster_cudnn INTERFACE ${CUDNN_LIBRARY} ringmaster_cuda)
endif()
if(RINGMASTER_HAVE_NCCL)
    add_library(ringmaster_nccl INTERFACE)
    target_include_directories(ringmaster_nccl SYSTEM INTERFACE ${NCCL_INCLUDE})
    target_link_libraries(ringmaster_nccl INTERFACE ${NCCL_LIBRARY} ringmaster_cuda)
endif()
message(STATUS
    "CUDA: ${RINGMASTER_NVCC}, cuDNN: ${RINGMASTER_HAVE_CUDNN}, NCCL: ${RINGMASTER_HAVE_NCCL}")

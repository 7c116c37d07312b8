# The CUDA backend: host code in C, kernels in .cu. It is left out if no toolkit is found; without
# cuDNN it has no convolutions.
part(CUDA OFF "the CUDA backend")
if(RINGMASTER_CUDA)
    include(Cuda)
endif()
if(NOT RINGMASTER_HAVE_CUDA)
    return()
endif()

set(CMAKE_CUDA_COMPILER ${RINGMASTER_NVCC})
set(CMAKE_CUDA_ARCHITECTURES ${RINGMASTER_CUDA_ARCHITECTURES})
set(CMAKE_CUDA_STANDARD 17)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
set(CMAKE_CUDA_RUNTIME_LIBRARY Shared)
enable_language(CUDA)

# From the bottom up: kernels and their launchers, which do not use a backend; the base of all
# steps; convolutions by cuDNN and steps with own kernels, which do not use each other; what no
# default turns on, with kernels of its own; and the backend.
set(cuda_out no_cudnn.c)
if(NOT RINGMASTER_HAVE_CUDNN)
    file(GLOB cuda_out CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_LIST_DIR}/dnn
        ${CMAKE_CURRENT_LIST_DIR}/dnn/*.c)
    list(REMOVE_ITEM cuda_out no_cudnn.c)
endif()
room(trainer/backend/cuda/kernels USES trainer/graph trainer/math)
room(trainer/backend/cuda/kernels/detect USES trainer/graph trainer/math
    trainer/backend/cuda/kernels)
room(trainer/backend/cuda/optional/kernels USES trainer/graph trainer/math
    trainer/backend/cuda/kernels)
room(trainer/backend/cuda/base USES common/* trainer/graph
    trainer/backend/cuda/kernels trainer/backend/cuda/optional/kernels)
room(trainer/backend/cuda/dnn USES common/* trainer/graph trainer/backend/cuda/kernels
    trainer/backend/cuda/base EXCLUDE ${cuda_out})
room(trainer/backend/cuda/steps USES common/* trainer/graph trainer/backend/cuda/kernels
    trainer/backend/cuda/kernels/detect trainer/backend/cuda/base)
room(trainer/backend/cuda/optional USES common/* trainer/graph trainer/backend/cuda/base
    trainer/backend/cuda/optional/kernels trainer/backend/cuda/dnn)
room(trainer/backend/cuda USES common/* trainer/graph trainer/backend/cuda/kernels
    trainer/backend/cuda/base trainer/backend/cuda/dnn trainer/backend/cuda/steps
    trainer/backend/cuda/optional)
string(REPLACE ";" " " sm "${RINGMASTER_CUDA_ARCHITECTURES}")
set_source_files_properties(${CMAKE_CURRENT_LIST_DIR}/base/architectures.c
    PROPERTIES COMPILE_DEFINITIONS "RINGMASTER_CUDA_SM=\"${sm}\"")
# The kinds of GPU that have reports (bench/resnet_cuda.sh).
file(GLOB results CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}/bench/results
    ${CMAKE_SOURCE_DIR}/bench/results/*.md)
string(REPLACE ";" ":" results "${results}")
set_source_files_properties(${CMAKE_CURRENT_LIST_DIR}/probe_gpu.c
    PROPERTIES COMPILE_DEFINITIONS
    "RINGMASTER_CUDA_RESULTS=\"${results}\";RINGMASTER_CUDA_CONVS=$<BOOL:${RINGMASTER_HAVE_CUDNN}>")
# Headers use cuDNN's descriptors and CUDA's streams, so tests need both libraries as well.
target_link_libraries(trainer_backend_cuda_kernels INTERFACE ringmaster_cuda)
if(RINGMASTER_HAVE_CUDNN)
    target_link_libraries(trainer_backend_cuda_dnn PUBLIC ringmaster_cudnn)
endif()

file(GLOB kernels CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/kernels/*.cu
    ${CMAKE_CURRENT_LIST_DIR}/kernels/detect/*.cu ${CMAKE_CURRENT_LIST_DIR}/optional/kernels/*.cu)
# These kernels use instructions of compute capability 9.0, and are only launched there.
set(kernels_90a ${CMAKE_CURRENT_LIST_DIR}/optional/kernels/conv_backward.cu)
list(REMOVE_ITEM kernels ${kernels_90a})
add_library(cuda_code STATIC ${kernels})
add_library(cuda_code_90a STATIC ${kernels_90a})
set_target_properties(cuda_code_90a PROPERTIES CUDA_ARCHITECTURES 90a-real)
foreach(library cuda_code cuda_code_90a)
    target_link_libraries(${library} PUBLIC trainer_backend_cuda_kernels_detect
        trainer_backend_cuda_optional_kernels)
    target_compile_options(${library} PRIVATE
        $<$<COMPILE_LANGUAGE:CUDA>:-Xptxas=-v,-warn-spills;-Werror=all-warnings;-Xcompiler=-Wall,-Wextra>)
endforeach()
# Code shared with the host has to give the same results: no contraction to fused multiply-adds.
foreach(exact optimizer detect/detections detect/mask detect/nms detect/proposals detect/roi_align
        detect/roi_targets detect/targets)
    set_source_files_properties(${CMAKE_CURRENT_LIST_DIR}/kernels/${exact}.cu
        PROPERTIES COMPILE_OPTIONS -fmad=false)
endforeach()
foreach(launching trainer_backend_cuda_base trainer_backend_cuda_dnn trainer_backend_cuda_steps
        trainer_backend_cuda_optional trainer_backend_cuda)
    target_link_libraries(${launching} PRIVATE cuda_code cuda_code_90a)
endforeach()

# kernels.txt in the build folder lists registers, shared memory, stack and spills of every kernel,
# as the assembler reports them, and the bytes that the kernel must move.
set(report ${CMAKE_SOURCE_DIR}/cmake/kernel_report.sh)
set_target_properties(cuda_code cuda_code_90a PROPERTIES
    CUDA_COMPILER_LAUNCHER "sh;${report};compile;${CMAKE_BINARY_DIR}/kernels")
add_dependencies(cuda_code cuda_code_90a)
add_custom_command(TARGET cuda_code POST_BUILD
    COMMAND sh ${report} table ${CMAKE_BINARY_DIR}/kernels ${CMAKE_BINARY_DIR}/kernels.txt
        ${kernels} ${kernels_90a})

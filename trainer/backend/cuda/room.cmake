# The CUDA backend: host code in C, kernels in .cu. Left out where no toolkit is found; without
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

set(other_convs convs_absent.c)
if(NOT RINGMASTER_HAVE_CUDNN)
    file(GLOB other_convs CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_LIST_DIR}
        ${CMAKE_CURRENT_LIST_DIR}/dnn*.c ${CMAKE_CURRENT_LIST_DIR}/conv_*.c)
    list(APPEND other_convs convs.c plan_cache.c step_conv.c)
endif()
room(cuda trainer/backend/cuda USES common graph backend kernels EXCLUDE ${other_convs})
# Its headers speak in cuDNN's descriptors and CUDA's streams, so its tests see those too.
target_link_libraries(cuda PUBLIC ringmaster_cuda)
string(REPLACE ";" " " sm "${RINGMASTER_CUDA_ARCHITECTURES}")
set_source_files_properties(${CMAKE_CURRENT_LIST_DIR}/architectures.c
    PROPERTIES COMPILE_DEFINITIONS "RINGMASTER_CUDA_SM=\"${sm}\"")
# Which kinds of GPU there are reports on (bench/resnet_cuda.sh).
file(GLOB results CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}/bench/results
    ${CMAKE_SOURCE_DIR}/bench/results/*.md)
string(REPLACE ";" ":" results "${results}")
set_source_files_properties(${CMAKE_CURRENT_LIST_DIR}/usable.c
    PROPERTIES COMPILE_DEFINITIONS
    "RINGMASTER_CUDA_RESULTS=\"${results}\";RINGMASTER_CUDA_CONVS=$<BOOL:${RINGMASTER_HAVE_CUDNN}>")
if(RINGMASTER_HAVE_CUDNN)
    target_link_libraries(cuda PUBLIC ringmaster_cudnn)
endif()

file(GLOB kernels CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/trainer/backend/cuda/*.cu)
# What only compute capability 9.0 has instructions for, and is launched nowhere else.
set(kernels_90a ${CMAKE_SOURCE_DIR}/trainer/backend/cuda/conv_backward.cu)
list(REMOVE_ITEM kernels ${kernels_90a})
add_library(cuda_kernels STATIC ${kernels})
add_library(cuda_kernels_90a STATIC ${kernels_90a})
set_target_properties(cuda_kernels_90a PROPERTIES CUDA_ARCHITECTURES 90a-real)
foreach(library cuda_kernels cuda_kernels_90a)
    target_link_libraries(${library} PUBLIC graph kernels ringmaster_cuda)
    target_include_directories(${library} PRIVATE ${ROOM_INCLUDES}/cuda)
    target_compile_options(${library} PRIVATE
        $<$<COMPILE_LANGUAGE:CUDA>:-Xptxas=-v,-warn-spills;-Werror=all-warnings;-Xcompiler=-Wall,-Wextra>)
endforeach()
# A body that the host shares computes the same there: no contraction to fused multiply-adds.
foreach(exact detections mask nms optimizer proposals roi_align roi_targets targets)
    set_source_files_properties(${CMAKE_SOURCE_DIR}/trainer/backend/cuda/${exact}.cu
        PROPERTIES COMPILE_OPTIONS -fmad=false)
endforeach()
target_link_libraries(cuda PRIVATE cuda_kernels cuda_kernels_90a)

# Registers, shared memory, stack and spills of every kernel, as the assembler reports them, and what
# it must move: kernels.txt of the build folder.
set(report ${CMAKE_SOURCE_DIR}/cmake/kernel_report.sh)
set_target_properties(cuda_kernels cuda_kernels_90a PROPERTIES
    CUDA_COMPILER_LAUNCHER "sh;${report};compile;${CMAKE_BINARY_DIR}/kernels")
add_dependencies(cuda_kernels cuda_kernels_90a)
add_custom_command(TARGET cuda_kernels POST_BUILD
    COMMAND sh ${report} table ${CMAKE_BINARY_DIR}/kernels ${CMAKE_BINARY_DIR}/kernels.txt
        ${kernels} ${kernels_90a})

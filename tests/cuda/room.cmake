# Tests of the CUDA backend that need no GPU.
room_tests(trainer/backend/cuda)
foreach(cuda_room base optional)
    room_tests(trainer/backend/cuda/${cuda_room} USES trainer_backend_cuda trainer_graph_build)
endforeach()
if(RINGMASTER_HAVE_CUDNN)
    room_tests(trainer/backend/cuda/dnn USES trainer_backend_cuda)
    room_tests(trainer/backend/cuda FROM plans NAME plans_cuda USES trainer_models
        trainer_app_plan ops_harness)
    foreach(target unit_backend_cuda_dnn plans_cuda)
        target_compile_definitions(${target} PRIVATE
            RINGMASTER_CUDA_DEVICES="${CMAKE_SOURCE_DIR}/trainer/backend/cuda/devices")
    endforeach()
    # Thousands of plans take a minute on an idle machine, but these tests run at a low priority
    # (.ci/run).
    set_tests_properties(plans_cuda_resnet plans_cuda_cases plans_cuda_described plans_cuda_maskrcnn
        PROPERTIES TIMEOUT 1500)
endif()

if(RINGMASTER_HAVE_NCCL)
    room_tests(trainer/comm/nccl ALONE guard)
    target_link_libraries(unit_comm_nccl_guard PRIVATE ringmaster_nccl)
endif()

# The kernels, compiled for the host, are tested under the real steps: they are linked before the
# room's own, which the linker then leaves out.
file(GLOB kernels CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/trainer/backend/cuda/kernels/*.cu
    ${CMAKE_SOURCE_DIR}/trainer/backend/cuda/kernels/detect/*.cu
    ${CMAKE_SOURCE_DIR}/trainer/backend/cuda/optional/kernels/*.cu)
set(on_host)
enable_language(CXX)
foreach(kernel IN LISTS kernels)
    get_filename_component(stem ${kernel} NAME_WE)
    set(source ${CMAKE_BINARY_DIR}/on_host/${stem}.cpp)
    file(CONFIGURE OUTPUT ${source}
        CONTENT "#include \"tests/cuda/on_host.hpp\"\n#include \"@kernel@\"\n" @ONLY)
    list(APPEND on_host ${source})
endforeach()
add_library(cuda_on_host OBJECT ${on_host} tests/cuda/emulated.c tests/cuda/streams_emulated.c
    tests/cuda/shadow.c)
target_link_libraries(cuda_on_host PUBLIC trainer_backend_cuda trainer_graph trainer_math
    trainer_backend_ref PRIVATE ringmaster_flags)
target_include_directories(cuda_on_host PRIVATE ${TEST_INCLUDES})
set_target_properties(cuda_on_host PROPERTIES CXX_STANDARD 17 CXX_STANDARD_REQUIRED ON)
target_compile_options(cuda_on_host PRIVATE -ffp-contract=off
    $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Werror;-Wno-unknown-pragmas;-Wno-psabi>)
add_library(cuda_training STATIC tests/cuda/training.c)
target_link_libraries(cuda_training PUBLIC trainer_app_run test_support PRIVATE ringmaster_flags)
set(source_maskrcnn tests/golden/test_maskrcnn.c)
foreach(stem detector finalize folds gradients half kernels rows sums training)
    set(source_${stem} tests/cuda/test_${stem}.c)
endforeach()
foreach(stem detector finalize folds gradients half kernels maskrcnn rows sums training)
    set(target ops_cuda_${stem})
    add_executable(${target} ${source_${stem}} $<TARGET_OBJECTS:cuda_on_host>)
    target_link_libraries(${target} PRIVATE cuda_training test_net ops_harness trainer_app_run
        trainer_backend_cuda ringmaster_flags)
    target_include_directories(${target} PRIVATE ${TEST_INCLUDES})
    set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
    add_test(NAME ${target} COMMAND ${computing} $<TARGET_FILE:${target}>)
    computes(${target})
    set_tests_properties(${target} PROPERTIES LABELS ops TIMEOUT 1500)
endforeach()
target_compile_definitions(ops_cuda_maskrcnn PRIVATE RINGMASTER_EMULATED)
foreach(stem half maskrcnn)
    target_compile_definitions(ops_cuda_${stem} PRIVATE
        RINGMASTER_TEST_DATA="${CMAKE_SOURCE_DIR}/tests/data")
endforeach()

# Tests that need a device. Without one they say so and count as skipped; they are built wherever
# the backend is.
add_library(test_gpu STATIC tests/gpu/gpu.c)
target_link_libraries(test_gpu PUBLIC test_support trainer_backend_cuda PRIVATE ringmaster_flags)
room_tests(trainer/backend/cuda FROM gpu NAME gpu_cuda ALONE backward network parity step USES
    test_gpu cuda_training ops_harness)
file(GLOB gpu_scripts CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/gpu/test_*.sh)
foreach(script IN LISTS gpu_scripts)
    get_filename_component(stem ${script} NAME_WE)
    string(REPLACE "test_" "gpu_" name ${stem})
    add_test(NAME ${name} COMMAND sh ${script})
    set_tests_properties(${name} PROPERTIES LABELS gpu TIMEOUT 600 RUN_SERIAL ON
        SKIP_RETURN_CODE 77 ENVIRONMENT RINGMASTER_BIN=${CMAKE_BINARY_DIR}/bin)
endforeach()

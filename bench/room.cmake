# Programs of bench/, which its scripts measure. They are not installed.
if(RINGMASTER_HAVE_CPU)
    add_executable(bench_resnet_step bench/resnet_step.c)
    set_target_properties(bench_resnet_step PROPERTIES
        RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bench)
    target_link_libraries(bench_resnet_step PRIVATE trainer_backend_cpu trainer_graph_program
        trainer_models trainer_optim common_log
        OpenMP::OpenMP_C ringmaster_flags)
    add_executable(bench_conv_layers bench/conv_layers.c)
    set_target_properties(bench_conv_layers PROPERTIES
        RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bench)
    target_link_libraries(bench_conv_layers PRIVATE trainer_backend_cpu trainer_graph_gradient
        common_log OneDNN::OneDNN
        OpenMP::OpenMP_C ringmaster_flags)
endif()
# A stand-in for Open MPI, with two names.
add_executable(bench_standin bench/standin.c)
set_target_properties(bench_standin PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bench/standin)
target_link_libraries(bench_standin PRIVATE common_log ringmaster_flags)
foreach(name mpirun orted)
    add_custom_command(TARGET bench_standin POST_BUILD
        COMMAND ${CMAKE_COMMAND} -E create_symlink bench_standin
            ${CMAKE_BINARY_DIR}/bench/standin/${name})
endforeach()
foreach(program decode crops coco_index)
    add_executable(bench_${program} bench/${program}.c)
    set_target_properties(bench_${program} PROPERTIES
        RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bench)
    target_link_libraries(bench_${program} PRIVATE trainer_data_dataset trainer_data_coco
        trainer_data_shapes common_log ringmaster_flags)
endforeach()
add_executable(bench_sum bench/sum.c)
set_target_properties(bench_sum PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bench)
target_link_libraries(bench_sum PRIVATE trainer_app_device common_log ringmaster_flags)
add_executable(bench_wire bench/wire.c)
set_target_properties(bench_wire PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bench)
target_link_libraries(bench_wire PRIVATE trainer_app_device common_log ringmaster_flags)
add_executable(bench_sampler_epoch bench/sampler_epoch.c)
set_target_properties(bench_sampler_epoch PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bench)
target_link_libraries(bench_sampler_epoch PRIVATE trainer_data_detect common_log ringmaster_flags)
if(TARGET trainer_backend_cuda)
    foreach(program gpu_step gpu_ceilings gpu_kernels)
        add_executable(bench_${program} bench/${program}.c)
        set_target_properties(bench_${program} PROPERTIES
            RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bench)
        target_link_libraries(bench_${program} PRIVATE trainer_app_run trainer_backend_cuda
            cuda_code ringmaster_flags)
    endforeach()
endif()

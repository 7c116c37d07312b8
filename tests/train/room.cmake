# Tests of the trainer as users start it, on small data: as one process and as ranks under mpirun.
add_executable(weights_compare ${CMAKE_CURRENT_LIST_DIR}/weights_compare.c)
set_target_properties(weights_compare PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
target_link_libraries(weights_compare PRIVATE trainer_checkpoint m ringmaster_flags)

add_executable(halving_keep ${CMAKE_CURRENT_LIST_DIR}/halving_keep.c)
set_target_properties(halving_keep PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
target_link_libraries(halving_keep PRIVATE common_trials ringmaster_flags)

file(GLOB train_tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/test_*.sh)
foreach(script IN LISTS train_tests)
    get_filename_component(stem ${script} NAME_WE)
    string(REPLACE "test_" "train_" name ${stem})
    add_test(NAME ${name} COMMAND ${computing} sh ${script})
    computes(${name})
    # An mpirun that hangs takes up to eight minutes (lib.sh), packages from PyPI seven.
    set_tests_properties(${name} PROPERTIES LABELS system TIMEOUT 900 COST 320
        SKIP_RETURN_CODE 77 ENVIRONMENT RINGMASTER_BIN=${CMAKE_BINARY_DIR}/bin)
endforeach()
if(RINGMASTER_HAVE_MPI)
    add_executable(gather_ranks ${CMAKE_CURRENT_LIST_DIR}/gather_ranks.c)
    set_target_properties(gather_ranks PROPERTIES RUNTIME_OUTPUT_DIRECTORY
        ${CMAKE_BINARY_DIR}/tests)
    target_link_libraries(gather_ranks PRIVATE trainer_comm trainer_comm_mpi common_log
        ringmaster_flags)
    add_executable(index_ranks ${CMAKE_CURRENT_LIST_DIR}/index_ranks.c)
    set_target_properties(index_ranks PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
    target_link_libraries(index_ranks PRIVATE trainer_app_task trainer_app_hosts
        trainer_data_dataset trainer_data_coco trainer_comm
        trainer_comm_mpi common_log ringmaster_flags)
endif()

# Finds oneDNN 3 with its C API: OneDNN::OneDNN, OneDNN_VERSION.
#
# It looks, in this order, in -DONEDNN_ROOT=PREFIX, $ONEDNN_ROOT, .cache/onednn in the source folder
# (where docker/fetch_onednn.sh unpacks the wheels), and the system (libdnnl-dev since Debian 13).
# Version 2, as in Debian 12, has other primitive descriptors and is not accepted.
set(_onednn_hints ${ONEDNN_ROOT} $ENV{ONEDNN_ROOT} ${CMAKE_SOURCE_DIR}/.cache/onednn)

find_path(OneDNN_INCLUDE_DIR oneapi/dnnl/dnnl_version.h HINTS ${_onednn_hints}
    PATH_SUFFIXES include)
find_library(OneDNN_LIBRARY NAMES dnnl libdnnl.so.3 HINTS ${_onednn_hints} PATH_SUFFIXES lib lib64)

set(OneDNN_VERSION "")
if(OneDNN_INCLUDE_DIR)
    set(_onednn_numbers)
    foreach(_onednn_header dnnl_version.h dnnl_version_hash.h)
        set(_onednn_file ${OneDNN_INCLUDE_DIR}/oneapi/dnnl/${_onednn_header})
        if(EXISTS ${_onednn_file})
            file(STRINGS ${_onednn_file} _onednn_lines
                REGEX "define DNNL_VERSION_(MAJOR|MINOR|PATCH)")
            list(APPEND _onednn_numbers ${_onednn_lines})
        endif()
    endforeach()
    foreach(_onednn_part MAJOR MINOR PATCH)
        if("${_onednn_numbers}" MATCHES "DNNL_VERSION_${_onednn_part} +([0-9]+)")
            list(APPEND OneDNN_VERSION ${CMAKE_MATCH_1})
        endif()
    endforeach()
    list(JOIN OneDNN_VERSION "." OneDNN_VERSION)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(OneDNN REQUIRED_VARS OneDNN_LIBRARY OneDNN_INCLUDE_DIR
    VERSION_VAR OneDNN_VERSION)
mark_as_advanced(OneDNN_INCLUDE_DIR OneDNN_LIBRARY)

if(OneDNN_FOUND AND NOT TARGET OneDNN::OneDNN)
    add_library(OneDNN::OneDNN UNKNOWN IMPORTED)
    set_target_properties(OneDNN::OneDNN PROPERTIES
        IMPORTED_LOCATION ${OneDNN_LIBRARY}
        INTERFACE_INCLUDE_DIRECTORIES ${OneDNN_INCLUDE_DIR}
        INTERFACE_SYSTEM_INCLUDE_DIRECTORIES ${OneDNN_INCLUDE_DIR})
endif()

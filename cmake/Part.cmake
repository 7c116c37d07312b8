# Optional parts of a build. RINGMASTER_<NAME> is AUTO (used if found), ON (required) or OFF; the
# result is RINGMASTER_HAVE_<NAME>.

# part(NAME DEFAULT HELP)
function(part NAME DEFAULT HELP)
    set(RINGMASTER_${NAME} ${DEFAULT} CACHE STRING "${HELP}: AUTO, ON or OFF")
    set_property(CACHE RINGMASTER_${NAME} PROPERTY STRINGS AUTO ON OFF)
    set(RINGMASTER_HAVE_${NAME} OFF PARENT_SCOPE)
endfunction()

# part_settle(NAME FOUND NEEDS): FOUND is ON if it was found, NEEDS names what it needs.
function(part_settle NAME FOUND NEEDS)
    if(RINGMASTER_${NAME} AND FOUND)
        set(RINGMASTER_HAVE_${NAME} ON PARENT_SCOPE)
    elseif(RINGMASTER_${NAME} AND NOT RINGMASTER_${NAME} STREQUAL "AUTO")
        message(FATAL_ERROR
            "RINGMASTER_${NAME}=${RINGMASTER_${NAME}}, but it was not found: ${NEEDS}")
    elseif(RINGMASTER_${NAME})
        message(STATUS "Left out: ${NAME} (${NEEDS})")
    endif()
endfunction()

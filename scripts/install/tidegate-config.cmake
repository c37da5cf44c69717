# find_package(tidegate): the imported targets tidegate::tidegate (shared) and tidegate::static.

# Found from where this file lies, so that the folder can be moved; /lib may be a link to /usr/lib.
get_filename_component(_tidegate_prefix "${CMAKE_CURRENT_LIST_DIR}" REALPATH)
get_filename_component(_tidegate_prefix "${_tidegate_prefix}/../../.." ABSOLUTE)

function(_tidegate_import target kind file)
    if(TARGET ${target} OR NOT EXISTS "${_tidegate_prefix}/lib/${file}")
        return()
    endif()
    add_library(${target} ${kind} IMPORTED)
    set_target_properties(${target} PROPERTIES
        IMPORTED_LOCATION "${_tidegate_prefix}/lib/${file}"
        INTERFACE_INCLUDE_DIRECTORIES "${_tidegate_prefix}/include")
endfunction()

_tidegate_import(tidegate::tidegate SHARED libtidegate.so.1)
_tidegate_import(tidegate::static STATIC libtidegate.a)
if(TARGET tidegate::tidegate)
    set_target_properties(tidegate::tidegate PROPERTIES IMPORTED_SONAME libtidegate.so.1)
endif()
if(TARGET tidegate::static)
    set_target_properties(tidegate::static PROPERTIES INTERFACE_LINK_LIBRARIES "-pthread;util;rt;m;dl")
endif()
if(NOT TARGET tidegate::tidegate AND NOT TARGET tidegate::static)
    set(tidegate_FOUND FALSE)
    set(tidegate_NOT_FOUND_MESSAGE "neither libtidegate.so.1 nor libtidegate.a is in ${_tidegate_prefix}/lib")
endif()
unset(_tidegate_prefix)

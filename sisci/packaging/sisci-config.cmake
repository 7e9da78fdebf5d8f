# find_package(sisci) defines the target sisci::sisci, and the variables SISCI_INCLUDE_DIRS and SISCI_LIBRARIES.
get_filename_component(_sisci_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
set(SISCI_INCLUDE_DIRS "${_sisci_prefix}/include" "${_sisci_prefix}/include/dis")
set(SISCI_LIBRARIES "${_sisci_prefix}/lib/libsisci.so")
if(NOT TARGET sisci::sisci)
  add_library(sisci::sisci SHARED IMPORTED)
  set_target_properties(sisci::sisci PROPERTIES
    IMPORTED_LOCATION "${SISCI_LIBRARIES}"
    IMPORTED_SONAME libsisci.so
    INTERFACE_COMPILE_DEFINITIONS _REENTRANT
    INTERFACE_INCLUDE_DIRECTORIES "${SISCI_INCLUDE_DIRS}")
endif()
unset(_sisci_prefix)

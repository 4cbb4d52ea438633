# What `cmake --install` puts in place: headers, libraries, the command, pkg-config files and the CMake package.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(DIRECTORY include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(TARGETS millrace EXPORT millrace LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS tensorflow tensorflow_framework LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES ${STATIC} DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET millrace_command)
    install(TARGETS millrace_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

foreach(name IN ITEMS millrace tensorflow)
    configure_file(cmake/${name}.pc.in ${name}.pc @ONLY)
    install(FILES ${CMAKE_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()

set(PACKAGE ${CMAKE_INSTALL_LIBDIR}/cmake/millrace)
install(EXPORT millrace NAMESPACE millrace:: FILE millrace-targets.cmake DESTINATION ${PACKAGE})
configure_package_config_file(cmake/millrace-config.cmake.in millrace-config.cmake INSTALL_DESTINATION ${PACKAGE}
    PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file(millrace-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/millrace-config.cmake ${CMAKE_BINARY_DIR}/millrace-config-version.cmake
    DESTINATION ${PACKAGE})

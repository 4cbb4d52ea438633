# What `cmake --install` puts in place: headers, libraries, the command with its pages and completions, pkg-config files and the
# CMake package; 3.5 MB. The static library is twice as large and comes by `cmake --install build --component static`.
# `./run deb` makes a Debian package.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# A release is installed without what debuggers read.
if(CMAKE_BUILD_TYPE STREQUAL "Release")
    install(CODE "set(CMAKE_INSTALL_DO_STRIP TRUE)")
endif()
install(DIRECTORY include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(TARGETS millrace EXPORT millrace LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS ${OTHER_NAMES} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET millrace_command)
    install(TARGETS millrace_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

if(TARGET millrace_told)
    install(DIRECTORY ${TOLD}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 FILES_MATCHING PATTERN "*.1")
    install(FILES ${TOLD}/millrace.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME millrace)
    install(FILES ${TOLD}/_millrace DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
    install(FILES ${TOLD}/millrace.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endif()

install(FILES ${STATIC} DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT static EXCLUDE_FROM_ALL)
install(CODE "execute_process(COMMAND \"${CMAKE_STRIP}\" -g
    \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/libmillrace.a\")" COMPONENT static EXCLUDE_FROM_ALL)

# What pkg-config says finds the library when the program is linked and when it starts: the loader looks into /usr by itself.
# The prefix is known when it is installed. There no path is needed in our own files either.
set(PKG_CONFIG_LIBDIR ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
foreach(name IN ITEMS millrace tensorflow)
    install(CODE "
        set(RUN_PATH \" -Wl,-rpath,\\\${libdir}\")
        if(CMAKE_INSTALL_PREFIX STREQUAL \"/usr\")
            set(RUN_PATH \"\")
        endif()
        set(PROJECT_VERSION ${PROJECT_VERSION})
        set(CMAKE_INSTALL_LIBDIR ${CMAKE_INSTALL_LIBDIR})
        set(CMAKE_INSTALL_INCLUDEDIR ${CMAKE_INSTALL_INCLUDEDIR})
        configure_file(\"${PROJECT_SOURCE_DIR}/cmake/${name}.pc.in\" \"${PROJECT_BINARY_DIR}/${name}.pc\" @ONLY)")
    install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${PKG_CONFIG_LIBDIR})
endforeach()
set(WITH_RUN_PATH millrace_command ${OTHER_NAMES})
foreach(target IN LISTS WITH_RUN_PATH)
    if(TARGET ${target})
        set(where ${CMAKE_INSTALL_LIBDIR})
        if(target STREQUAL millrace_command)
            set(where ${CMAKE_INSTALL_BINDIR})
        endif()
        install(CODE "
            if(CMAKE_INSTALL_PREFIX STREQUAL \"/usr\")
                file(RPATH_REMOVE FILE \"\$ENV{DESTDIR}/usr/${where}/$<TARGET_FILE_NAME:${target}>\")
            endif()")
    endif()
endforeach()

set(PACKAGE ${CMAKE_INSTALL_LIBDIR}/cmake/millrace)
install(EXPORT millrace NAMESPACE millrace:: FILE millrace-targets.cmake DESTINATION ${PACKAGE})
configure_package_config_file(cmake/millrace-config.cmake.in millrace-config.cmake INSTALL_DESTINATION ${PACKAGE}
    PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file(millrace-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/millrace-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/millrace-config-version.cmake
    DESTINATION ${PACKAGE})

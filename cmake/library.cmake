# The objects of src/ and the libraries made of them.
#
# Everything is compiled once, except src/loops/level/*.c: these hold the inner loops, are compiled once per CPU level
# with LOOPS_LEVEL set to it, and are chosen between at run time.
file(GLOB_RECURSE SOURCES CONFIGURE_DEPENDS src/*.c)
file(GLOB LEVEL_SOURCES CONFIGURE_DEPENDS src/loops/level/*.c)
list(FILTER SOURCES EXCLUDE REGEX "_test\\.c$|/src/loops/level/")
list(FILTER LEVEL_SOURCES EXCLUDE REGEX "_test\\.c$")

# The signatures of ops without kernel go into the library packed: the assembler takes them in (known_ops.c).
find_program(GZIP gzip REQUIRED)
set(KNOWN_OPS ${PROJECT_BINARY_DIR}/data/known_ops.sig.gz)
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/data)
add_custom_command(OUTPUT ${KNOWN_OPS}
    COMMAND ${GZIP} -9nc ${PROJECT_SOURCE_DIR}/src/graph/known_ops.sig > ${KNOWN_OPS}
    DEPENDS src/graph/known_ops.sig VERBATIM)
set_source_files_properties(src/graph/known_ops.c PROPERTIES
    OBJECT_DEPENDS "${KNOWN_OPS};${PROJECT_SOURCE_DIR}/src/graph/construction.rules" INCLUDE_DIRECTORIES ${PROJECT_BINARY_DIR}/data)

# What no step waits for is compiled for size: a tenth less of it.
set(SMALL ${SOURCES})
string(CONCAT SMALL_OPS "array/(diag|ragged|unique)|data|flow|image/(decode|distorted_box|draw_boxes|encode|suppression)|io|linalg"
       "|math/(bincount|einsum|special)|nn/(ctc|dilation|geometry)|quantize|queue|random|rewrite|signal/audio|sparse|state|string")
set(SMALL_FOLDERS "api|autodiff|cluster|data|device/pjrt|eager|file|formula|graph|hlo|job|plan|proto|resource|rpc|train")
list(FILTER SMALL INCLUDE REGEX "/src/(${SMALL_FOLDERS}|ops/(${SMALL_OPS}))[/._]")
list(FILTER SMALL EXCLUDE REGEX "/sparse/matmul|/file/(crc32c|snappy)")
if(NOT MILLRACE_SANITIZE)
    set_source_files_properties(${SMALL} PROPERTIES COMPILE_OPTIONS -Os)
endif()

add_library(millrace_objects OBJECT ${SOURCES})
target_include_directories(millrace_objects PRIVATE src include)
target_link_libraries(millrace_objects PRIVATE millrace_flags)
set(OBJECTS $<TARGET_OBJECTS:millrace_objects>)

if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    set(LEVELS 1 3 4)
else()
    set(LEVELS 1)
endif()
# -O3 doubles the size of the loops (unswitching, peeling, complete unrolling) and gains nothing measurable on them.
set(LOOPS_OPTIMISED -O2 $<$<C_COMPILER_ID:GNU>:-ftree-vectorize> $<$<C_COMPILER_ID:GNU>:-fvect-cost-model=dynamic>)
if(MILLRACE_SANITIZE)
    set(LOOPS_OPTIMISED -O1)  # sanitizers make these files slow to compile
    if(MILLRACE_SANITIZE MATCHES address)  # gcc's frames on the heap are aligned to less than a vector of AVX-512
        list(APPEND LOOPS_OPTIMISED $<$<C_COMPILER_ID:GNU>:--param=asan-use-after-return=0>)
    endif()
endif()
set(LOOPS_FLAGS millrace_flags)
if(MILLRACE_FUZZ)
    set(LOOPS_FLAGS millrace_plain)  # the fuzz targets look elsewhere
endif()
set(MARCH_1 x86-64)
set(MARCH_3 x86-64-v3)
set(MARCH_4 x86-64-v4)
foreach(level IN LISTS LEVELS)
    if(LEVEL_SOURCES)
        set(target millrace_loops_${level})
        set(own_sources ${LEVEL_SOURCES})
        if(level GREATER 1)
            list(FILTER own_sources EXCLUDE REGEX "_complex\\.c$")
        endif()
        if(level GREATER 3)
            list(FILTER own_sources EXCLUDE REGEX "(_integer|/cast|/elementwise_double)\\.c$")
        endif()
        add_library(${target} OBJECT ${own_sources})
        target_include_directories(${target} PRIVATE src include)
        target_compile_definitions(${target} PRIVATE LOOPS_LEVEL=${level})
        set(optimised ${LOOPS_OPTIMISED})
        if(level EQUAL 1 AND 4 IN_LIST LEVELS)
            # For processors without AVX2, before 2015: small. What is compiled at this level alone is as fast as elsewhere.
            set(optimised -Os)
            set(only_here ${own_sources})
            list(FILTER only_here INCLUDE REGEX "_complex\\.c$")
            set_source_files_properties(${only_here} PROPERTIES COMPILE_OPTIONS "${LOOPS_OPTIMISED}")
        endif()
        target_compile_options(${target} PRIVATE ${optimised}
            $<$<C_COMPILER_ID:Clang>:-Wno-pass-failed>)  # a loop over calls of libm stays a loop
        if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
            target_compile_options(${target} PRIVATE -march=${MARCH_${level}})
            if(level GREATER 1)  # a short loop across a line of code runs at half speed
                target_compile_options(${target} PRIVATE $<$<C_COMPILER_ID:GNU>:-falign-loops=32>)
            endif()
        endif()
        target_link_libraries(${target} PRIVATE ${LOOPS_FLAGS})
        list(APPEND OBJECTS $<TARGET_OBJECTS:${target}>)
    endif()
endforeach()

find_package(Threads REQUIRED)
find_package(ZLIB REQUIRED)
find_library(NGHTTP2 nghttp2 REQUIRED)
set(MILLRACE_NEEDS m Threads::Threads ${CMAKE_DL_LIBS} ZLIB::ZLIB ${NGHTTP2})

# How often peers may reset streams can be set since 1.57, and where security fixes brought it to releases before that.
include(CheckSymbolExists)
set(CMAKE_REQUIRED_LIBRARIES ${NGHTTP2})
check_symbol_exists(nghttp2_option_set_stream_reset_rate_limit nghttp2/nghttp2.h MILLRACE_NGHTTP2_LIMITS_RESETS)
unset(CMAKE_REQUIRED_LIBRARIES)
if(MILLRACE_NGHTTP2_LIMITS_RESETS)
    set_source_files_properties(src/rpc/http.c src/rpc/http_test.c PROPERTIES COMPILE_DEFINITIONS HAVE_NGHTTP2_RESET_LIMIT)
endif()

set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)

# The shared libraries. Nothing leaves them but TF_*, TFE_* and mr_*, and nothing unloads them: threads may be inside.
function(millrace_shared name exports)
    add_library(${name} SHARED ${ARGN})
    set_target_properties(${name} PROPERTIES LINKER_LANGUAGE C LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/${exports})
    target_link_options(${name} PRIVATE -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/${exports} -Wl,-z,nodelete)
    target_link_libraries(${name} PRIVATE millrace_flags)
    if(NOT MILLRACE_SANITIZE)
        target_link_options(${name} PRIVATE -Wl,-z,defs)
    endif()
    target_include_directories(${name} INTERFACE
        $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>)
endfunction()

millrace_shared(millrace exports.map ${OBJECTS})
target_link_libraries(millrace PRIVATE ${MILLRACE_NEEDS})
set_target_properties(millrace PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
add_library(millrace::millrace ALIAS millrace)  # the same word where Millrace is a part of another project

# The same code under TensorFlow's names, of which libmillrace is the only copy:
#   libtensorflow.so.2            a filter: its names are found in libmillrace.so.0, which must lie beside it
#   libtensorflow_cc.so.2         for bindings that come as binaries (Java): the same names with the version `tensorflow`
#   libtensorflow_framework.so.2  empty: some programs ask for it
set(ALIASES ${PROJECT_BINARY_DIR}/names/aliases.c)
set(JUMPS ${PROJECT_BINARY_DIR}/names/jumps.c)
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/names)
add_custom_command(OUTPUT ${ALIASES} ${JUMPS}
    COMMAND ${CMAKE_COMMAND} -DNM=${CMAKE_NM} -DLIBRARY=$<TARGET_FILE:millrace> -DALIASES=${ALIASES} -DJUMPS=${JUMPS}
            -P ${PROJECT_SOURCE_DIR}/cmake/other_names.cmake
    DEPENDS millrace ${PROJECT_SOURCE_DIR}/cmake/other_names.cmake VERBATIM)
add_custom_target(millrace_names DEPENDS ${ALIASES} ${JUMPS})

include(CheckSymbolExists)
check_symbol_exists(__GLIBC__ features.h MILLRACE_FILTERS)  # other loaders don't know filters: a copy of the code there
set(OTHER_NAMES "")
function(millrace_other_name name exports)
    set(target millrace_as_${name})
    if(exports)
        millrace_shared(${target} ${exports} ${ARGN})
    else()
        add_library(${target} SHARED ${ARGN})
    endif()
    set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name} VERSION 2 SOVERSION 2
        INSTALL_RPATH "$ORIGIN" BUILD_RPATH_USE_ORIGIN ON EXCLUDE_FROM_ALL ${MILLRACE_IS_PART})
    add_dependencies(${target} millrace_names)
    set(OTHER_NAMES ${OTHER_NAMES} ${target} PARENT_SCOPE)
endfunction()

if(MILLRACE_FILTERS)
    millrace_other_name(tensorflow exports.map ${ALIASES})
    target_link_options(millrace_as_tensorflow PRIVATE -Wl,--filter=$<TARGET_SONAME_FILE_NAME:millrace>)
    target_link_libraries(millrace_as_tensorflow PRIVATE -Wl,--no-as-needed millrace)
else()
    millrace_other_name(tensorflow exports.map ${OBJECTS})
    target_link_libraries(millrace_as_tensorflow PRIVATE ${MILLRACE_NEEDS})
endif()
file(CONFIGURE OUTPUT names/empty.c CONTENT "// Nothing: all of TensorFlow's C interface is in libtensorflow.\n")
millrace_other_name(tensorflow_framework "" ${PROJECT_BINARY_DIR}/names/empty.c)
target_link_libraries(millrace_as_tensorflow_framework PRIVATE -Wl,--no-as-needed)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64|aarch64")
    millrace_other_name(tensorflow_cc exports_cc.map ${JUMPS})
    target_link_libraries(millrace_as_tensorflow_cc PRIVATE -Wl,--no-as-needed millrace)
endif()

# The static library is one object in which every other name has become local, so that ours never meet a program's.
set(IN_ALL ALL)
if(MILLRACE_IS_PART)
    set(IN_ALL "")
endif()
set(STATIC ${PROJECT_BINARY_DIR}/lib/libmillrace.a)
file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/objects.rsp CONTENT "$<JOIN:${OBJECTS},\n>\n")
add_custom_command(OUTPUT ${STATIC}
    COMMAND ${CMAKE_LINKER} -r -o ${PROJECT_BINARY_DIR}/millrace.o @${PROJECT_BINARY_DIR}/objects.rsp
    COMMAND ${CMAKE_OBJCOPY} -w --keep-global-symbol=TF_* --keep-global-symbol=TFE_* --keep-global-symbol=mr_*
            ${PROJECT_BINARY_DIR}/millrace.o
    COMMAND ${CMAKE_COMMAND} -E rm -f ${STATIC}
    COMMAND ${CMAKE_AR} rcs ${STATIC} ${PROJECT_BINARY_DIR}/millrace.o
    DEPENDS ${OBJECTS} ${PROJECT_BINARY_DIR}/objects.rsp
    COMMENT "Linking C static library lib/libmillrace.a" VERBATIM)
add_custom_target(millrace_static ${IN_ALL} DEPENDS ${STATIC})

# What unit tests and fuzz targets link: the same objects with every name in reach.
add_library(millrace_open STATIC EXCLUDE_FROM_ALL ${OBJECTS})
set_target_properties(millrace_open PROPERTIES LINKER_LANGUAGE C)
target_include_directories(millrace_open PUBLIC src include)
target_link_libraries(millrace_open PUBLIC millrace_flags ${MILLRACE_NEEDS})

# millrace::static, for projects that Millrace is a part of.
add_library(millrace_archive STATIC IMPORTED GLOBAL)
set_target_properties(millrace_archive PROPERTIES IMPORTED_LOCATION ${STATIC})
target_include_directories(millrace_archive INTERFACE ${PROJECT_SOURCE_DIR}/include)
target_link_libraries(millrace_archive INTERFACE m pthread ${CMAKE_DL_LIBS} z nghttp2)  # ZLIB::ZLIB is not known outside
add_dependencies(millrace_archive millrace_static)
add_library(millrace::static ALIAS millrace_archive)

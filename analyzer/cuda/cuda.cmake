# The CUDA front end. Two parts: `tmemlint_cuda`, which needs nothing, and a module that needs Clang 22 and is loaded only
# when a CUDA source is given. Without Clang 22 the module is not built, and the command says what to install.

tmemlint_layer(cuda analyzer/cuda tmemlint_engine nlohmann_json::nlohmann_json)
target_link_libraries(tmemlint_cuda PUBLIC ${CMAKE_DL_LIBS})

option(TMEMLINT_CUDA "Build the CUDA front end and the clang-tidy module, if Clang 22 is installed" ON)
set(TMEMLINT_HAS_CLANG FALSE)
if(TMEMLINT_CUDA AND TMEMLINT_SANITIZE)
  message(STATUS "CUDA front end: not built with sanitizers, whose runtime the programs that load it do not have")
elseif(TMEMLINT_CUDA)
  # Named by its folder: a plain search finds any version, and a search for version 22 rejects 22.1.
  find_package(Clang CONFIG QUIET PATHS ${Clang_DIR} /usr/lib/llvm-22/lib/cmake/clang NO_DEFAULT_PATH)
  if(Clang_FOUND AND LLVM_VERSION_MAJOR EQUAL 22)
    set(TMEMLINT_HAS_CLANG TRUE)
    message(STATUS "CUDA front end: with Clang ${LLVM_PACKAGE_VERSION}")
  else()
    message(STATUS "CUDA front end: not built (clang-22, libclang-22-dev or llvm-22-dev is not installed)")
  endif()
endif()

if(TMEMLINT_HAS_CLANG)
  separate_arguments(llvm_definitions NATIVE_COMMAND ${LLVM_DEFINITIONS})
  list(TRANSFORM llvm_definitions REPLACE "^-D" "")

  set(bundled_headers ${CMAKE_BINARY_DIR}/bundled_headers.cpp)
  set(embed_headers ${CMAKE_SOURCE_DIR}/analyzer/cuda/embed_headers.cmake)
  file(GLOB_RECURSE bundled_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/analyzer/cuda/bundled/*)
  add_custom_command(
    OUTPUT ${bundled_headers}
    COMMAND ${CMAKE_COMMAND} -DHEADERS=${CMAKE_SOURCE_DIR}/analyzer/cuda/bundled -DOUTPUT=${bundled_headers} -P ${embed_headers}
    DEPENDS ${bundled_sources} ${embed_headers}
    VERBATIM)

  # Shared by the module and the clang-tidy checks.
  add_library(tmemlint_translate OBJECT
    analyzer/cuda/clang/asm_statement.cpp analyzer/cuda/clang/generate.cpp analyzer/cuda/clang/ir_facts.cpp
    analyzer/cuda/clang/launch.cpp analyzer/cuda/clang/libdevice.cpp analyzer/cuda/clang/origins.cpp
    analyzer/cuda/clang/passes.cpp analyzer/cuda/clang/places.cpp analyzer/cuda/clang/scan.cpp
    analyzer/cuda/clang/source_facts.cpp)
  add_library(tmemlint_clang MODULE analyzer/cuda/clang/parse.cpp analyzer/cuda/clang/tolerant_files.cpp ${bundled_headers})
  target_link_libraries(tmemlint_clang PRIVATE tmemlint_translate clang-cpp LLVM)
  set_target_properties(tmemlint_clang PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})

  # The checks for clang-tidy: no LLVM library is linked, its symbols come from the clang-tidy that loads the module.
  add_library(tmemlint_tidy MODULE analyzer/tidy/tidy.cpp)
  target_link_libraries(tmemlint_tidy PRIVATE tmemlint_translate tmemlint_cuda)
  set_target_properties(tmemlint_tidy PROPERTIES PREFIX "" OUTPUT_NAME TmemTidy LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})

  foreach(target tmemlint_translate tmemlint_clang tmemlint_tidy)
    target_link_libraries(${target} PRIVATE tmemlint_options)
    target_include_directories(${target} SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS} ${CLANG_INCLUDE_DIRS})
    target_compile_definitions(${target} PRIVATE ${llvm_definitions}
      TMEMLINT_CLANG_RESOURCES="${LLVM_LIBRARY_DIR}/clang/${LLVM_VERSION_MAJOR}")
    # Optimising these would take longer than it saves: the time goes into Clang itself.
    target_compile_options(${target} PRIVATE -O1 -Wno-nonnull)  # -Wnonnull: in Clang's headers
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  endforeach()
endif()

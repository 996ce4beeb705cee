# Shared by the scripts: installing packages and building. Meant to be sourced; says nothing unless something fails.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# Progress, for a person who waits; scripts and logs are spared it.
say() { if [ -t 2 ]; then echo "$*" >&2; fi; }

# Installs the Debian packages that are named, with what apt prints on standard error only if it fails.
install_packages() {
  local log sudo=()
  if ! command -v apt-get >/dev/null; then
    echo "missing: $*; this script can install them on Debian only" >&2
    return 1
  fi
  if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
      echo "missing: $*; install them as root (apt-get install $*)" >&2
      return 1
    fi
    sudo=(sudo)
  fi
  log=$(mktemp)
  say "installing $*"
  if ! { "${sudo[@]}" apt-get update && "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive \
      apt-get install -y --no-install-recommends "$@"; } >"$log" 2>&1 </dev/null; then
    cat "$log" >&2
    rm -f "$log"
    return 1
  fi
  rm -f "$log"
}

have_header() { [ -e "/usr/include/$1" ] || [ -e "/usr/local/include/$1" ]; }

# What the build needs and this machine lacks, one package a line.
missing_build_packages() {
  command -v cmake >/dev/null || echo cmake
  command -v ninja >/dev/null || echo ninja-build
  { command -v "${CXX:-g++}" || command -v c++; } >/dev/null || echo g++
  have_header nlohmann/json.hpp || echo nlohmann-json3-dev
  have_header CLI/CLI.hpp || echo libcli11-dev
}

# The same for the CUDA front end.
missing_cuda_packages() {
  [ -e /usr/lib/llvm-22/lib/cmake/clang/ClangConfig.cmake ] || echo clang-22
  [ -e /usr/lib/llvm-22/include/clang/AST/ASTContext.h ] || echo libclang-22-dev
  [ -e /usr/lib/llvm-22/lib/cmake/llvm/LLVMConfig.cmake ] || echo llvm-22-dev
}

# The same for the tests.
missing_test_packages() {
  missing_build_packages
  have_header gtest/gtest.h || echo libgtest-dev
  have_header gmock/gmock.h || echo libgmock-dev
}

# Runs a command; its output goes to the log named first and is shown only if the command fails.
quietly() {
  local log=$1
  shift
  if ! "$@" >>"$log" 2>&1 </dev/null; then
    cat "$log" >&2
    return 1
  fi
}

#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Build the libraries that regbench needs and package managers other than Debian's may lack: NIfTI-2, GIFTI, libcyaml, libmd. Static, into PREFIX.
#   scripts/packaging/libraries.sh SOURCES PREFIX
# SOURCES has their unpacked sources in folders nifti_clib, gifticlib, libcyaml and libmd (versions that were tried: 3.0.1, 1.0.9, 1.4.2, 1.0.4). expat, zlib and libyaml are looked for in
# CMAKE_PREFIX_PATH and PKG_CONFIG_PATH.
set -euo pipefail
sources=$(realpath "${1:?usage: libraries.sh SOURCES PREFIX}")
mkdir -p "${2:?usage: libraries.sh SOURCES PREFIX}"
prefix=$(realpath "$2")
for folder in nifti_clib gifticlib libcyaml libmd; do
  [ -d "$sources/$folder" ] || { echo "libraries: no folder $sources/$folder" >&2; exit 2; }
done
export CFLAGS="${CFLAGS:--O2} -fPIC"
jobs=$(nproc)
with_cmake() { # FOLDER [OPTION...]
  local folder=$1
  shift
  # both ask for a CMake older than today's takes
  cmake -S "$sources/$folder" -B "$sources/$folder/build" -DCMAKE_BUILD_TYPE=Release -DCMAKE_POLICY_VERSION_MINIMUM=3.5 -DCMAKE_INSTALL_PREFIX="$prefix" \
    -DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_PREFIX_PATH="$prefix${CMAKE_PREFIX_PATH:+;$CMAKE_PREFIX_PATH}" "$@"
  cmake --build "$sources/$folder/build" --parallel "$jobs"
  cmake --install "$sources/$folder/build"
}
with_cmake nifti_clib -DBUILD_SHARED_LIBS=OFF -DBUILD_TESTING=OFF -DNIFTI_BUILD_APPLICATIONS=OFF -DUSE_NIFTICDF_CODE=OFF -DUSE_NIFTI2_CODE=ON
with_cmake gifticlib
(cd "$sources/libmd" && ./configure --prefix="$prefix" --libdir="$prefix/lib" --disable-shared && make -j "$jobs" && make install)
(cd "$sources/libcyaml" && make -j "$jobs" VARIANT=release && make VARIANT=release PREFIX="$prefix" install)
# shared ones are not wanted: what is static needs no path at run time
rm -f "$prefix"/lib/libcyaml.so* "$prefix"/lib/libgiftiio.so*

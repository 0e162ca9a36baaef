#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# By rattler-build, in the folder that the sources of recipe.yaml were unpacked to: PREFIX is where the package goes.
set -euo pipefail
libraries=$PWD/libraries/installed
export CMAKE_PREFIX_PATH=$PREFIX PKG_CONFIG_PATH=$libraries/lib/pkgconfig:$PREFIX/lib/pkgconfig:$PREFIX/share/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
regbench/scripts/packaging/libraries.sh libraries "$libraries"
cmake -S regbench -B build -G Ninja -DCMAKE_BUILD_TYPE=Release -DRB_CUDA=OFF -DCMAKE_INSTALL_PREFIX="$PREFIX" -DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_PREFIX_PATH="$libraries;$PREFIX"
cmake --build build
cmake --install build

# SPDX-License-Identifier: BSD-3-Clause
from pathlib import Path

from spack_repo.builtin.build_systems.cmake import CMakePackage, generator
from spack_repo.builtin.build_systems.cuda import CudaPackage

from spack.package import *


class Regbench(CMakePackage, CudaPackage):
    """Benchmark and validation suite for GPU diffeomorphic image registration: the systems of
    five papers on the CPU and in CUDA, and experiments that regenerate their tables and figures.
    """

    # the checkout that this recipe lies in
    git = Path(__file__).resolve().parents[7].as_uri()

    license("BSD-3-Clause")

    version("main", branch="main")

    generator("ninja")

    depends_on("c", type="build")
    depends_on("cxx", type="build", when="+cuda")
    depends_on("cmake@3.25:", type="build")
    depends_on("gmake", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("git", type="build")
    depends_on("mpi")
    depends_on("petsc@3.18: ~complex+mpi")
    depends_on("lapack")
    depends_on("fftw@3: precision=float,double +openmp")
    depends_on("jansson")
    depends_on("libyaml")
    depends_on("libpng")
    depends_on("zlib-api")
    depends_on("expat")
    depends_on("gts")
    depends_on("cmocka", type=("build", "link"))
    depends_on("gnuplot", type="run")
    depends_on("cuda@12:", when="+cuda")

    # What Spack was not known to have, from Debian's archive of sources by their hashes.
    resource(
        name="nifti_clib",
        url="https://snapshot.debian.org/file/0005c0b8dfbb2bd9e6ac0a768b36e8f35725a20e",
        sha256="868b611b5f8a3a73809436c9072db50db4975615905f0bd5fb7b1432e6d24b37",
        extension="tar.gz",
        destination="libraries",
        placement="nifti_clib",
    )
    resource(
        name="gifticlib",
        url="https://snapshot.debian.org/file/7cd15459e15afb4cd4e0379132bb3b510ec8feb9",
        sha256="95a0318625c0b97accf80f0bbf895276e4dbb94aeaac88aea60825c06748b1db",
        extension="tar.gz",
        destination="libraries",
        placement="gifticlib",
    )
    resource(
        name="libcyaml",
        url="https://snapshot.debian.org/file/526bcc338889be21753e38edac8e4785e1ae2775",
        sha256="3211b2a0589ebfe02c563c96adce9246c0787be2af30353becbbd362998d16dc",
        extension="tar.gz",
        destination="libraries",
        placement="libcyaml",
    )
    resource(
        name="libmd",
        url="https://snapshot.debian.org/file/c412a6cb3792e00927127b85cb99b46f493eecce",
        sha256="f51c921042e34beddeded4b75557656559cf5b1f2448033b4c1eec11c07e530f",
        extension="tar.xz",
        destination="libraries",
        placement="libmd",
    )

    @property
    def libraries(self):
        """Where those are installed, static, for the build alone."""
        return join_path(self.stage.source_path, "libraries", "installed")

    def setup_build_environment(self, env):
        env.prepend_path("PKG_CONFIG_PATH", join_path(self.libraries, "lib", "pkgconfig"))

    @run_before("cmake")
    def build_libraries(self):
        bash = which("bash", required=True)
        bash(
            join_path(self.stage.source_path, "scripts", "packaging", "libraries.sh"),
            join_path(self.stage.source_path, "libraries"),
            self.libraries,
        )

    def cmake_args(self):
        args = [
            self.define("CMAKE_PREFIX_PATH", self.libraries),
            self.define("RB_CUDA", "ON" if self.spec.satisfies("+cuda") else "OFF"),
        ]
        architectures = self.spec.variants["cuda_arch"].value if "+cuda" in self.spec else ()
        if architectures and "none" not in architectures:
            args.append(self.define("CMAKE_CUDA_ARCHITECTURES", list(architectures)))
        return args

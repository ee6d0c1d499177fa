"""The Conan 2 recipe of sinter. LLVM, fmt and Boost are those of the system (system_requirements)."""
import pathlib
import re

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load
from conan.tools.system.package_manager import Apt


class Sinter(ConanFile):
    name = "sinter"
    description = "Kernel fusion for CUDA, recorded from C++"
    license = "Apache-2.0"
    topics = ("cuda", "jit", "compiler", "kernel-fusion")
    test_package_folder = "tests/consumer/conan"
    package_type = "shared-library"
    settings = "os", "arch", "compiler", "build_type"
    exports = "CMakeLists.txt"  # has the version
    exports_sources = ("CMakeLists.txt", "LICENSE", "README.md", "cmake/*", "codegen/*", "compiler/*", "ir/*",
                       "runtime/*", "!*.pyc")

    def set_version(self):
        text = load(self, pathlib.Path(self.recipe_folder) / "CMakeLists.txt")
        self.version = re.search(r"project\(sinter VERSION ([0-9.]+)", text).group(1)

    def system_requirements(self):
        apt = Apt(self)
        apt.install(["libfmt-dev", "libboost-context-dev", "nlohmann-json3-dev", "libzstd-dev", "zlib1g-dev"],
                    check=True)
        apt.install_substitutes(*([f"llvm-{version}-dev"] for version in [19, *range(30, 15, -1)]), check=True)

    def layout(self):
        cmake_layout(self)

    @property
    def _prebuilt(self):
        """A prefix with an installed sinter of the same settings, which is packed instead of a new build."""
        return self.conf.get("user.sinter:prebuilt", check_type=str)

    def generate(self):
        toolchain = CMakeToolchain(self)
        for part in ("BENCH", "EXAMPLES", "TESTS", "TOOLS"):
            toolchain.cache_variables[f"SINTER_BUILD_{part}"] = False
        toolchain.cache_variables["CMAKE_DISABLE_FIND_PACKAGE_MPI"] = True
        toolchain.cache_variables["CMAKE_INSTALL_LIBDIR"] = "lib"
        toolchain.cache_variables["SINTER_CCACHE"] = ""  # first builds are faster without it
        toolchain.user_presets_path = False
        toolchain.generate()

    def build(self):
        if not self._prebuilt:
            cmake = CMake(self)
            cmake.configure()
            cmake.build()

    def package(self):
        copy(self, "LICENSE", self.source_folder, pathlib.Path(self.package_folder) / "licenses")
        if self._prebuilt:
            copy(self, "*", self._prebuilt, self.package_folder, excludes="*mpi*")
        else:
            CMake(self).install(component="sinter")

    def package_info(self):
        # The installed CMake package and sinter.pc are used as they are.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.set_property("pkg_config_name", "sinter")
        self.cpp_info.builddirs = ["lib/cmake/sinter"]
        self.cpp_info.libs = ["sinter"]

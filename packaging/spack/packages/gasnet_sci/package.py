"""Spack's recipe for gasnet-sci. docs/packages.md says how to use it."""

import os

from spack_repo.builtin.build_systems.generic import Package

from spack.package import *


class GasnetSci(Package):
    """GASNet-1 and GASNet-EX over software SCI: a conduit with a launcher of its own, on one host and on several."""

    homepage = "https://gasnet.lbl.gov"
    # The source tarball, which ci/package makes and which holds every crate: put it where `spack install` is called.
    url = f"file://{os.getcwd()}/gasnet-sci-0.3.0-source.tar.xz"
    manual_download = True

    license("BSD-3-Clause")

    # `ci/package` writes the sum into SHA256SUMS; it differs from commit to commit.
    version("0.3.0")

    variant("timed", default=True, description="The library for timing mode, too, which imitates cards for SCI")
    variant(
        "conduits",
        values=any_combination_of("smp", "udp", "mpi", "ibv", "ofi"),
        description="Install under the file names of these conduits, too, for clients that know a fixed list",
    )

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("rust@1.88:", type="build")
    depends_on("binutils", type="build")

    conflicts("platform=darwin", msg="it needs Linux: memfd_create, futexes")
    conflicts("platform=windows", msg="it needs Linux: memfd_create, futexes")

    sanity_check_is_file = [
        join_path("include", "gasnet.h"),
        join_path("include", "gasnetex.h"),
        join_path("lib", "libgasnet_sci.a"),
        join_path("bin", "gasnetrun_sci"),
    ]

    def install(self, spec, prefix):
        # Make fragments and pkg-config's files name the compilers: Spack's wrappers work in builds of Spack alone.
        options = ["--prefix", prefix, "--cc", self["c"].cc, "--cxx", self["cxx"].cxx]
        if spec.satisfies("~timed"):
            options.append("--no-timed")
        for conduit in spec.variants["conduits"].value:
            if conduit != "none":
                options += ["--as", conduit]
        Executable(join_path("ci", "install"))(*options)

    def setup_run_environment(self, env):
        env.set("GASNET_SCI_ROOT", self.prefix)

    def test_hello(self):
        """a program of two nodes, compiled as a client would"""
        source = join_path(self.prefix.share.doc.gasnet.examples, "hello.c")
        flags = ["-DGASNET_PAR", f"-I{self.prefix.include}", f"-I{self.prefix.include}/sci-conduit"]
        libraries = [f"-L{self.prefix.lib}", "-lgasnet-sci-par", "-lpthread", "-ldl", "-lm"]
        cc = which("cc") or which("gcc")
        cc(*flags, source, "-o", "hello", *libraries)
        out = Executable(self.prefix.bin.gasnetrun_sci)("-n", "2", "./hello", output=str)
        assert "hello: node 1 of 2" in out, out

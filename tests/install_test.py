"""Install — the library as its users meet it: installed, found by pkg-config and CMake, put in TensorFlow's place."""

import ctypes
import os
import pathlib
import re
import shutil
import subprocess

import pytest

BUILD = pathlib.Path(os.environ["MILLRACE_BUILD"])
HERE = pathlib.Path(__file__).parent / "install"
README = pathlib.Path(__file__).parent.parent / "README.md"
EXAMPLES = README.parent / "examples"
VERSION = "2.21.0"
OPTIMISED = "CMAKE_BUILD_TYPE:STRING=Release" in (BUILD / "CMakeCache.txt").read_text()


def run(*command, **env):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, env={**os.environ, **env})
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout.strip()


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    there = tmp_path_factory.mktemp("prefix")
    run("cmake", "--install", BUILD, "--prefix", there)
    return there


@pytest.fixture(scope="module")
def with_static(prefix, tmp_path_factory):
    """the same, and the static library"""
    there = tmp_path_factory.mktemp("static") / "prefix"
    shutil.copytree(prefix, there, symlinks=True)
    run("cmake", "--install", BUILD, "--prefix", there, "--component", "static")
    return there


def library_folder(prefix):
    return next(prefix.rglob("libmillrace.so")).parent


def flags(prefix, name, *options):
    there = library_folder(prefix)
    return run("pkg-config", "--cflags", "--libs", *options, name, PKG_CONFIG_PATH=str(there / "pkgconfig")).split()


@pytest.mark.parametrize("name", ["millrace", "tensorflow"])
def test_a_program_finds_the_library_by_pkg_config(prefix, tmp_path, name):
    program = tmp_path / "program"
    run("cc", HERE / "program.c", "-o", program, *flags(prefix, name))
    assert run(program) == VERSION


def test_what_the_readme_says_works_as_it_stands(tmp_path):
    """Its programs are the examples, and its lines make them and start them, installed where no loader looks by itself."""
    text = README.read_text()
    programs = re.findall(r"```c\n(.*?)```", text, re.S)
    assert programs == [(EXAMPLES / name).read_text().split("\n", 1)[1] for name in ("first_graph.c", "first_network.c")]
    lines = re.search(r"```\n(cmake --install build.*?)```", text, re.S)[1]
    for folder in "examples", "include":
        (tmp_path / folder).symlink_to(README.parent / folder)
    (tmp_path / "build").symlink_to(BUILD)
    home = tmp_path / "home"
    out = run("bash", "-ec", f"cd {tmp_path}\n{lines}", HOME=str(home), LD_LIBRARY_PATH="")
    assert "the slope of x * x at 3 is 6" in out and "0 xor 1: 1.00" in out


def test_a_program_finds_the_library_by_cmake(with_static, tmp_path):
    run("cmake", "-G", "Ninja", "-S", HERE, "-B", tmp_path, f"-DCMAKE_PREFIX_PATH={with_static}")
    run("cmake", "--build", tmp_path)
    assert run(tmp_path / "shared") == VERSION
    assert run(tmp_path / "static") == VERSION
    assert "libmillrace" not in run("readelf", "-d", tmp_path / "static")


def test_the_headers_are_valid_cpp(prefix, tmp_path):
    program = tmp_path / "program"
    run("c++", "-std=c++11", "-Wall", "-Wextra", "-Werror", HERE / "program.cc", "-o", program,
        *flags(prefix, "tensorflow"))
    assert run(program, LD_LIBRARY_PATH=str(library_folder(prefix))) == VERSION


def test_a_stripped_release_has_no_more_than_4_2_megabytes(prefix, tmp_path):
    """gcc 13 and later add 0.2 to what gcc 12 makes: they vectorise the rests of loops too."""
    run("strip", "-o", tmp_path / "stripped", library_folder(prefix) / "libmillrace.so")
    size = (tmp_path / "stripped").stat().st_size
    assert 500_000 < size < (4_200_000 if OPTIMISED else 10_000_000)


def test_the_installation_has_no_more_than_5_megabytes(prefix):
    """The library, the command, TensorFlow's names and headers: 0.4 MB more than the library, half a megabyte to grow."""
    if OPTIMISED:
        assert sum(file.lstat().st_size for file in prefix.rglob("*") if not file.is_dir()) < 4_700_000
        assert "not stripped" not in run("file", library_folder(prefix) / "libmillrace.so.0") if shutil.which("file") else True


def test_the_other_names_hold_no_second_copy(prefix):
    for name in "libtensorflow.so.2", "libtensorflow_cc.so.2", "libtensorflow_framework.so.2":
        library = library_folder(prefix) / name
        assert library.stat().st_size < 200_000
        assert "framework" in name or "Shared library: [libmillrace.so.0]" in run("readelf", "-d", library)


def test_pages_and_completions_are_installed(prefix):
    for name in ("man/man1/millrace.1", "man/man1/millrace-inspect.1", "bash-completion/completions/millrace",
                 "zsh/site-functions/_millrace", "fish/vendor_completions.d/millrace.fish"):
        assert (prefix / "share" / name).stat().st_size > 500


def test_every_header_compiles_alone_as_c99(prefix):
    for header in (prefix / "include").rglob("*.h"):
        run("cc", "-std=c99", "-Wall", "-Wextra", "-Wstrict-prototypes", "-Werror", "-fsyntax-only", "-x", "c",
            "-I", prefix / "include", header)


@pytest.mark.parametrize("name, version", [("libtensorflow.so.2", "VERS_1.0"), ("libtensorflow_cc.so.2", "tensorflow")])
def test_a_program_linked_against_tensorflow_runs_on_ours(name, version, prefix, tmp_path):
    stub, script = tmp_path / name, tmp_path / "stub.map"
    script.write_text("%s { global: TF_*; local: *; };" % version)
    run("cc", "-shared", "-fPIC", HERE / "tensorflow_stub.c", "-o", stub, f"-Wl,-soname,{name}",
        f"-Wl,--version-script={script}")
    program = tmp_path / "program"
    run("cc", HERE / "program.c", "-o", program, "-I", prefix / "include", stub)
    assert f"TF_Version@{version}" in run("nm", "-D", program)
    assert run(program, LD_LIBRARY_PATH=str(tmp_path)) == "the stub"
    for bound in "", "1":
        assert run(program, LD_LIBRARY_PATH=str(library_folder(prefix)), LD_BIND_NOW=bound) == VERSION


def test_a_program_linked_against_ours_runs_on_tensorflow(prefix, tmp_path):
    run("cc", "-shared", "-fPIC", HERE / "tensorflow_stub.c", "-o", tmp_path / "libtensorflow.so.2",
        "-Wl,-soname,libtensorflow.so.2", f"-Wl,--version-script={HERE / 'tensorflow_stub.map'}")
    run("cc", HERE / "program.c", "-o", tmp_path / "program", *flags(prefix, "tensorflow"))
    assert run(tmp_path / "program") == VERSION
    assert run(tmp_path / "program", LD_LIBRARY_PATH=str(tmp_path)) == "the stub"


def test_every_name_is_served_under_each_library(prefix):
    folder = library_folder(prefix)
    names = set(re.findall(r"\bTFE?_\w+", run("nm", "-D", "--defined-only", folder / "libmillrace.so")))
    assert len(names) > 500
    for name, version in ("libtensorflow.so.2", "VERS_1.0"), ("libtensorflow_cc.so.2", "tensorflow"):
        table = run("nm", "-D", "--defined-only", folder / name)
        assert names == set(re.findall(r"\b(TFE?_\w+)@@?" + version, table))
    ours, theirs = (ctypes.CDLL(str(folder / name)) for name in ("libmillrace.so", "libtensorflow.so.2"))
    for name in names:  # the same functions, not copies
        assert ctypes.cast(ours[name], ctypes.c_void_p).value == ctypes.cast(theirs[name], ctypes.c_void_p).value


def test_a_language_loads_the_library_at_run_time(prefix):
    for name in "libmillrace.so", "libtensorflow.so.2", "libtensorflow_cc.so.2", "libtensorflow_framework.so.2":
        ctypes.CDLL(str(library_folder(prefix) / name), mode=os.RTLD_NOW | os.RTLD_LOCAL)


def test_the_static_library_keeps_its_names_to_itself(with_static):
    names = [line.split()[-1] for line in run("nm", "-g", "--defined-only", library_folder(with_static) / "libmillrace.a")
             .splitlines() if len(line.split()) == 3]
    assert "TF_Version" in names
    assert [name for name in names if not name.startswith(("TF_", "TFE_", "mr_"))] == []


@pytest.mark.parametrize("way", ["add_subdirectory", "FetchContent"])
def test_a_project_takes_millrace_in(way, tmp_path):
    """Only what it needs is made, under its own options; that it links is told by its commands: a build takes minutes."""
    (tmp_path / "main").mkdir()
    (tmp_path / "main/CMakeLists.txt").write_text((HERE / "part/CMakeLists.txt").read_text())
    (tmp_path / "main/program.c").write_text((HERE / "program.c").read_text())
    run("cmake", "-G", "Ninja", "-S", tmp_path / "main", "-B", tmp_path / "out", f"-DMILLRACE={README.parent}", f"-DWAY={way}")
    made = run("ninja", "-C", tmp_path / "out", "-t", "commands", "all")
    assert "_test.c" not in made and "cli/main.c" not in made and "-o shared" in made and "-o static" in made
    assert "libtensorflow" not in made
    assert "pkgconfig" not in (tmp_path / "out/millrace/cmake_install.cmake").read_text() if way == "add_subdirectory" else True
    objects = [line for line in made.splitlines() if "program.c" in line and " -c " in line]
    assert objects
    for line in objects:
        run("bash", "-c", f"cd {tmp_path / 'out'} && mkdir -p CMakeFiles/shared.dir CMakeFiles/static.dir && {line}")


def test_the_debian_package_comes_and_goes(tmp_path):
    if not OPTIMISED or not shutil.which("dpkg-shlibdeps") or os.geteuid() != 0:
        pytest.skip("a release, dpkg-dev and root are needed")
    package = run(README.parent / "tools/debian_package", BUILD, tmp_path)
    fields = dict(line.split(": ", 1) for line in run("dpkg-deb", "-f", package).splitlines() if ": " in line)
    assert fields["Package"] == "millrace" and "libc6 (>= 2." in fields["Depends"] and int(fields["Installed-Size"]) < 4700
    root = tmp_path / "root"
    (root / "var/lib/dpkg").mkdir(parents=True)
    (root / "var/lib/dpkg/status").touch()
    def dpkg(*words):
        return run("dpkg", f"--root={root}", "--force-depends", "--force-script-chrootless", *words)
    def left():
        return sorted(str(file.relative_to(root)) for file in (root / "usr").rglob("*"))
    dpkg("-i", package)
    assert "usr/bin/millrace" in left() and "usr/lib/libtensorflow.so.2" in left()
    assert VERSION in run(root / "usr/bin/millrace", "--version", LD_LIBRARY_PATH=str(root / "usr/lib"))
    assert "RUNPATH" not in run("readelf", "-d", root / "usr/bin/millrace", root / "usr/lib/libtensorflow.so.2")
    assert "rpath" not in (root / "usr/lib/pkgconfig/millrace.pc").read_text()
    dpkg("-r", "millrace")
    assert left() == [] or not (root / "usr").exists()

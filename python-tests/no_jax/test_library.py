"""Where the plugin is looked for, in a process that has not loaded it."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import tpu_emu
from tpu_emu import library


@pytest.fixture
def elsewhere(tmp_path, monkeypatch) -> Path:
    """A copy of the package far from any build, with nothing in the environment or loaded."""
    package = tmp_path / "site" / "a" / "b" / "tpu_emu"
    shutil.copytree(Path(tpu_emu.__file__).parent, package)
    monkeypatch.delenv("TPU_EMU_LIBRARY", raising=False)
    monkeypatch.delenv("CARGO_TARGET_DIR", raising=False)
    monkeypatch.setattr(library, "__file__", str(package / "library.py"))
    monkeypatch.setattr(library, "_MAPS", tmp_path / "maps")
    return package


def test_without_a_library_the_error_says_where_it_looked(elsewhere):
    with pytest.raises(FileNotFoundError) as caught:
        tpu_emu.library_path()
    text = str(caught.value)
    assert "TPU_EMU_LIBRARY is not set" in text
    assert "this process has none loaded" in text
    assert text.splitlines()[1:] == [f"  {elsewhere / library.FILE_NAME}"]


def test_the_variable_wins(elsewhere, tmp_path, monkeypatch):
    (elsewhere / library.FILE_NAME).touch()
    named = tmp_path / "mine.so"
    named.touch()
    monkeypatch.setenv("TPU_EMU_LIBRARY", str(named))
    assert tpu_emu.library_path() == named


def test_a_variable_that_names_no_file_is_an_error(elsewhere, monkeypatch):
    (elsewhere / library.FILE_NAME).touch()
    monkeypatch.setenv("TPU_EMU_LIBRARY", "/nothing/here.so")
    with pytest.raises(FileNotFoundError, match=r"TPU_EMU_LIBRARY=/nothing/here\.so is no file"):
        tpu_emu.library_path()


def test_the_library_that_is_loaded_comes_before_the_one_beside_the_package(elsewhere, tmp_path):
    (elsewhere / library.FILE_NAME).touch()
    loaded = tmp_path / "my libs" / "libpjrt_tpu_emu-2.so"
    loaded.parent.mkdir()
    loaded.touch()
    (tmp_path / "maps").write_text(
        "7f00-7f10 r-xp 00000000 08:01 12 /usr/lib/libc.so.6\n"
        f"7f10-7f20 r--p 00000000 08:01 13                    {loaded}\n"
        f"7f20-7f30 r-xp 00001000 08:01 13                    {loaded}\n"
        "7f30-7f40 rw-p 00000000 00:00 0\n"
        "7f40-7f50 rw-p 00000000 00:00 0                      [heap]\n"
    )
    assert tpu_emu.library_path() == loaded


def test_a_library_that_was_loaded_and_is_gone_is_told(elsewhere, tmp_path):
    gone = tmp_path / "libpjrt_tpu_emu.so"
    (tmp_path / "maps").write_text(f"7f10-7f20 r-xp 0 08:01 13 {gone} (deleted)\n")
    with pytest.raises(FileNotFoundError) as caught:
        tpu_emu.library_path()
    assert "the library loaded here is gone" in str(caught.value)
    assert str(caught.value).splitlines()[1] == f"  {gone}"
    assert str(elsewhere) in str(caught.value)


def test_a_library_beside_the_package_is_found(elsewhere):
    (elsewhere / library.FILE_NAME).touch()
    assert tpu_emu.library_path() == elsewhere / library.FILE_NAME


@pytest.mark.parametrize("target", [None, "elsewhere/target"])
def test_in_a_checkout_it_is_the_release_build(elsewhere, monkeypatch, target):
    checkout = elsewhere.parents[2]
    (checkout / "pjrt-plugin").mkdir()
    (checkout / "pjrt-plugin" / "Cargo.toml").touch()
    if target is not None:
        monkeypatch.setenv("CARGO_TARGET_DIR", target)
    built = checkout / (target or "target") / "release" / library.FILE_NAME
    built.parent.mkdir(parents=True)
    built.touch()
    assert tpu_emu.library_path() == built


def test_a_snapshot_needs_the_library_in_the_process():
    program = "import tpu_emu; tpu_emu.snapshot()"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60
    )
    error = done.stderr.splitlines()[-1]
    assert error.startswith("RuntimeError: libpjrt_tpu_emu.so is not loaded in this process")

"""Sizes, tolerances and the file of budgets of the pytest plugin."""

import pytest

from tpu_emu import budgets, sizes
from tpu_emu.budgets import Collected, Line


@pytest.mark.parametrize(
    ("given", "size"),
    [
        (0, 0),
        ("0 B", 0),
        ("2 GiB", 2 << 30),
        ("200MB", 200_000_000),
        ("1.5 KiB", 1536),
        ("7", 7),
        ("1 TiB", 1 << 40),
    ],
)
def test_sizes_are_numbers_or_texts_with_a_unit(given, size):
    assert sizes.size(given) == size


@pytest.mark.parametrize("given", ["2 Gb ram", "", "-1", -1, 1.5, None, True, "1 PiB"])
def test_what_is_no_size_is_refused(given):
    with pytest.raises(ValueError, match="is no size"):
        sizes.size(given)


def test_a_tolerance_is_a_size_or_hundredths():
    assert budgets.tolerance("1 KiB").above(1000) == 2024
    assert budgets.tolerance("2.5 %").above(1000) == 1025


def test_what_is_written_is_read_back_sorted(tmp_path):
    file = tmp_path / "budgets.txt"
    for name in ("a.py", "b.py"):
        (tmp_path / name).touch()
    seen = {"b.py::test[x y]": Line(5, 1, "b.py:1 f"), "a.py::test": Line(7, 0, "")}
    told = budgets.update(file, {}, seen, Collected(tmp_path, set(seen), whole=True))
    assert told == "budgets.txt: 2 tests, 2 changed, 0 gone"
    assert budgets.read(file) == seen
    assert [line[:4] for line in file.read_text().splitlines()[1:]] == ["a.py", "b.py"]


def test_a_lost_test_loses_its_line_by_an_update_of_its_whole_file(tmp_path):
    file = tmp_path / "budgets.txt"
    (tmp_path / "a.py").touch()
    (tmp_path / "b.py").touch()
    old = {name: Line(5, 1, "") for name in ("a.py::one", "a.py::lost", "b.py::other", "c.py::x")}
    seen = {"a.py::one": Line(6, 1, "")}
    budgets.update(file, old, seen, Collected(tmp_path, {"a.py::one"}, whole=False))
    assert set(budgets.read(file)) == {"a.py::one", "a.py::lost", "b.py::other"}
    budgets.update(file, old, seen, Collected(tmp_path, {"a.py::one"}, whole=True))
    assert set(budgets.read(file)) == {"a.py::one", "b.py::other"}


def test_a_budget_file_in_a_folder_of_its_own_keeps_the_tests_that_were_not_run(tmp_path):
    file = tmp_path / "budgets" / "hbm.txt"
    (tmp_path / "a.py").touch()
    (tmp_path / "b.py").touch()
    old = {"a.py::one": Line(5, 1, ""), "b.py::two": Line(5, 1, "")}
    seen = {"a.py::one": Line(6, 1, "")}
    told = budgets.update(file, old, seen, Collected(tmp_path, {"a.py::one"}, whole=True))
    assert told == "hbm.txt: 2 tests, 1 changed, 0 gone"
    assert budgets.read(file) == old | seen


def test_a_line_whose_origin_only_moved_in_its_file_stays(tmp_path):
    file = tmp_path / "budgets.txt"
    (tmp_path / "a.py").touch()
    old = {"a.py::one": Line(5, 1, "a.py:3 f"), "a.py::two": Line(5, 1, "a.py:3 f")}
    seen = {"a.py::one": Line(5, 1, "a.py:4 f"), "a.py::two": Line(5, 1, "a.py:4 g")}
    told = budgets.update(file, old, seen, Collected(tmp_path, set(seen), whole=True))
    assert told == "budgets.txt: 2 tests, 1 changed, 0 gone"
    assert budgets.read(file) == {"a.py::one": old["a.py::one"], "a.py::two": seen["a.py::two"]}


def test_a_file_that_is_no_text_is_named(tmp_path):
    file = tmp_path / "budgets.txt"
    file.write_bytes(b"a\xff")
    with pytest.raises(ValueError, match=r"budgets\.txt is no text of UTF-8, at byte 1"):
        budgets.read(file)


def test_a_merge_conflict_is_named_and_an_update_takes_the_larger_line(tmp_path):
    file = tmp_path / "budgets.txt"
    file.write_text(
        "<<<<<<< ours\na.py::t\t5\t0\tx\n=======\na.py::t\t7\t0\ty\n>>>>>>> theirs\n",
    )
    with pytest.raises(ValueError, match=r"budgets\.txt:1 has a merge that is not resolved"):
        budgets.read(file)
    assert budgets.read(file, conflicts=True) == {"a.py::t": Line(7, 0, "y")}


@pytest.mark.parametrize("line", ["a.py::t", "a.py::t\t5", "a.py::t\tfive\t0\tx"])
def test_a_line_that_is_none_is_named(tmp_path, line):
    file = tmp_path / "budgets.txt"
    file.write_text(f"# head\n{line}\n")
    with pytest.raises(ValueError, match=r"budgets\.txt:2 is no line of a budget"):
        budgets.read(file)


def test_a_test_may_take_its_budget_and_the_tolerance():
    budget, allowed = Line(1000, 0, "a"), budgets.tolerance("1 %")
    assert budgets.compare(Line(1010, 0, "a"), budget, allowed, "f") is None
    problem = budgets.compare(Line(1100, 9, "b"), budget, allowed, "f")
    assert problem is not None
    assert "100 (10.0 %) more than the 1,000 of f, of which at most 1,010 pass" in problem
    assert "largest origin b, which was a" in problem

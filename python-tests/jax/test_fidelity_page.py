"""The page of memory predictions is read back for what libtpu said, and written with new sizes."""

import compare

PAGE = """# A page

<!-- programs -->
By libtpu 0.0.51 and jax 0.10.2, for v5e.

| programs | how many |
|---|---|
| models | 2 |

| program | ours, MB | libtpu, MB | ours ÷ libtpu |
|---|---|---|---|
| mlp 4096 f32 | 772 | 1,738 | 0.44 |
| mlp 4096 bf16 | 436 | refused |  |
<!-- end of programs -->

The end.
"""


def test_what_libtpu_said_is_read_from_the_page():
    sizes, libtpu = compare.told(PAGE)
    assert sizes == {"mlp 4096 f32": {"peak": 1_738_000_000}}
    assert libtpu == "libtpu 0.0.51"


def test_new_sizes_here_stand_beside_what_libtpu_said():
    real, libtpu = compare.told(PAGE)
    ours: dict[str, compare.Sizes] = {
        "mlp 4096 f32": {"peak": 869_000_000},
        "mlp 4096 bf16": {"peak": 403_000_000},
    }
    page = compare.written(PAGE, compare.table({"ours": ours, "real": real}, libtpu))
    assert "| mlp 4096 f32 | 869 | 1,738 | 0.50 |" in page
    assert "| mlp 4096 bf16 | 403 | refused |  |" in page
    assert "| models | 1 | 0 | 0 | 1 | 0.50 | 0.50 | 0.50 |" in page
    assert page.startswith("# A page")
    assert page.endswith("The end.\n")


def test_the_page_itself_is_read():
    sizes, libtpu = compare.told(compare.PAGE.read_text())
    assert libtpu.startswith("libtpu ")
    assert set(sizes) <= set(compare.EVERYTHING)
    assert len(sizes) >= len(compare.EVERYTHING) - 5

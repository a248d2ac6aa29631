"""What torch_xla sees of the devices."""

import pytest
import torch
import torch_xla.core.xla_model as xm
import torch_xla.debug.metrics as met
import torch_xla.runtime as xr

import torch_xla


def test_devices_are_those_of_the_topology(chips):
    assert torch_xla.device_count() == chips
    assert torch_xla.real_devices() == [f"TPU:{index}" for index in range(chips)]
    assert xr.global_runtime_device_count() == chips
    assert xr.process_count() == 1
    assert xm.xla_device_hw(torch_xla.device()) == "TPU"
    assert xr.device_type() == "TPU"


def test_devices_have_coordinates_and_memory(chips):
    attributes = xr.global_runtime_device_attributes()
    assert len({tuple(one["coords"]) for one in attributes}) == chips
    assert {one["name"] for one in attributes} == set(torch_xla.real_devices())


def test_memory_that_is_taken_is_counted():
    device = torch_xla.device()
    before = xm.get_memory_info(device)["bytes_used"]
    x = torch.ones(1024, 1024, device=device)
    torch_xla.sync(wait=True)
    info = xm.get_memory_info(device)
    assert info["bytes_used"] - before == 4 << 20
    assert info["bytes_limit"] > info["peak_bytes_used"] >= info["bytes_used"]
    del x


@pytest.mark.parametrize("index", [0, 1, 7])
def test_each_device_computes_by_itself(chips, index):
    if index >= chips:
        pytest.skip(f"{chips} chips")
    device = torch_xla.devices()[index]
    x = torch.arange(6.0).to(device).requires_grad_()
    (x.sin() * index).sum().backward()
    torch.testing.assert_close(x.grad.cpu(), torch.arange(6.0).cos() * index)
    assert x.grad.device == device


def test_an_array_moves_from_device_to_device(chips):
    here, there = torch_xla.devices()[0], torch_xla.devices()[chips - 1]
    x = torch.arange(5.0, device=here) + 1
    assert x.to(there).tolist() == [1, 2, 3, 4, 5]


def test_metrics_are_reported():
    (torch.ones(2, device=torch_xla.device()) + 1).cpu()
    assert "ExecuteTime" in met.metrics_report()
    assert "CompileTime" in met.short_metrics_report()


def test_seeds_decide_what_is_drawn():
    device = torch_xla.device()

    def draw(seed):
        torch_xla.manual_seed(seed)
        torch_xla.sync()
        return [torch.rand(4, device=device).tolist(), torch.randn(3, device=device).tolist()]

    first = draw(5)
    assert draw(5) == first
    assert draw(6) != first
    again = [torch.rand(4, device=device).tolist() for _ in range(2)]
    assert again[0] != again[1]


def test_random_permutations_are_permutations():
    drawn = torch.randperm(10, device=torch_xla.device())
    assert sorted(drawn.tolist()) == list(range(10))


def test_dropout_keeps_the_mean():
    x = torch.ones(10_000, device=torch_xla.device())
    kept = torch.nn.functional.dropout(x, 0.25).cpu()
    torch.testing.assert_close(kept.unique(), torch.tensor([0.0, 4 / 3]))
    assert kept.mean().item() == pytest.approx(1, abs=0.05)


def test_a_state_is_saved_and_loaded(tmp_path):
    model = torch.nn.Linear(3, 2).to(torch_xla.device())
    xm.save(model.state_dict(), tmp_path / "state.pt")
    loaded = torch.load(tmp_path / "state.pt")
    for name, value in model.state_dict().items():
        torch.testing.assert_close(loaded[name], value.cpu())

"""Operations of torch on the emulated device, against torch on the CPU."""

import pytest
import torch
import torch.nn.functional as F

import torch_xla

DTYPES = [
    torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64,
    torch.float16, torch.bfloat16, torch.float32, torch.float64,
]  # fmt: skip
X = torch.linspace(-2, 3, 24).reshape(4, 6)
IDS = torch.tensor([3, 0, 2])
IMAGE = torch.linspace(-1, 1, 2 * 3 * 8 * 8).reshape(2, 3, 8, 8)

OPERATIONS = {
    "add, mul, pow": lambda x: (x + 1) * x**2,
    "exp, log1p, tanh, erf": lambda x: x.exp() + (x * x).log1p() + x.tanh() + x.erf(),
    "where, clamp": lambda x: torch.where(x > 0, x, x.clamp(min=-1)),
    "floor, round, sign, fmod": lambda x: x.floor() + x.round() + x.sign() + torch.fmod(x, 0.7),
    "matmul": lambda x: x @ x.T,
    "bmm, einsum": lambda x: torch.einsum("bij,bkj->bik", x.reshape(2, 2, 6), x.reshape(2, 2, 6)),
    "sums": lambda x: x.sum() + x.mean(0).sum() + x.var(1).sum() + x.prod(1).sum(),
    "amax, argmax": lambda x: x.amax(1) + x.argmax(1),
    "sort": lambda x: x.sin().sort(dim=1, descending=True),
    "topk": lambda x: x.cos().topk(3, dim=1),
    "cumsum, cumprod": lambda x: x.cumsum(1) + x.cumprod(0),
    "gather": lambda x: x.gather(1, (x.argsort(1))),
    "scatter": lambda x: torch.zeros_like(x).scatter(1, x.argsort(1), x),
    "scatter_add": lambda x: torch.zeros_like(x).scatter_add(0, (x * 0).long(), x),
    "index_select": lambda x: x.index_select(0, IDS.to(x.device)),
    "slices": lambda x: x[1:3, ::2] + x[:2, 1::2],
    "negative steps": lambda x: x.flip(0, 1),
    "advanced indices": lambda x: x[IDS.to(x.device)][:, IDS.to(x.device)],
    "empty slices": lambda x: x[2:2].sum(0) + x[:, :0].sum(),
    "cat, stack, split": lambda x: torch.cat([*x.split(2), torch.stack([x[0], x[1]])]),
    "permute, expand": lambda x: x.T[:, None].expand(6, 2, 4).permute(2, 0, 1).contiguous(),
    "tril, diag": lambda x: x.tril() + x.triu(1) + torch.diag(x[:, 0]) @ x,
    "roll, pad": lambda x: F.pad(x.roll(1, 1), (1, 2, 0, 1), value=3.0),
    "softmax, logsumexp": lambda x: x.softmax(1) + x.log_softmax(0) + x.logsumexp(1)[:, None],
    "layer_norm": lambda x: F.layer_norm(x, (6,)),
    "gelu, silu": lambda x: F.gelu(x) + F.silu(x) + F.softplus(x) + F.leaky_relu(x),
    "cross_entropy": lambda x: F.cross_entropy(x, torch.tensor([1, 0, 5, 2], device=x.device)),
    "embedding": lambda x: F.embedding(IDS.to(x.device), x),
    "one_hot": lambda x: F.one_hot(IDS.to(x.device), 5),
    "masked_fill": lambda x: x.masked_fill(x > 1, 0.0),
    "nonzero": lambda x: (x > 1).nonzero(),
    "masked_select": lambda x: x[x > 1],
    "linalg": lambda x: torch.linalg.inv(x @ x.T + torch.eye(4, device=x.device)),
    "cholesky": lambda x: torch.linalg.cholesky(x @ x.T + torch.eye(4, device=x.device)),
    "norm": lambda x: torch.linalg.vector_norm(x, dim=1),
    "fft": lambda x: torch.view_as_real(torch.fft.rfft(x)),
    "attention": lambda x: F.scaled_dot_product_attention(
        *[x.reshape(2, 2, 6)] * 3, is_causal=True
    ),
}

INTEGERS = {
    "division and rest": lambda x: x // 4 + x % 4,
    # torch_xla shifts a negative number to the right by a division, on every device.
    "shifts": lambda x: (x << 2) + (x.abs() >> 1),
    "bits": lambda x: (x & 3) + (x | 4) + (x ^ 7) + ~x,
    "absolute values and signs": lambda x: x.abs() * x.sign(),
    "sums and products": lambda x: x.sum() + x[:5].prod(),
    "comparisons": lambda x: (x > 2) ^ (x != -3),
    "extremes": lambda x: torch.stack([x.max(), x.min(), x.clamp(-2, 3)[0]]),
}

IMAGES = {
    "conv2d": lambda x, w: F.conv2d(x, w, padding=1),
    "conv2d, strides": lambda x, w: F.conv2d(x, w, stride=2, dilation=2, padding=2),
    "conv2d, groups": lambda x, w: F.conv2d(x, w[:3, :1], groups=3),
    "conv_transpose2d": lambda x, w: F.conv_transpose2d(x, w.transpose(0, 1), stride=2),
    "max_pool2d": lambda x, _: F.max_pool2d(x, 3, 2, padding=1),
    "avg_pool2d": lambda x, _: F.avg_pool2d(x, 2),
    "adaptive": lambda x, _: F.adaptive_avg_pool2d(x, 1),
    "batch_norm": lambda x, _: F.batch_norm(x, None, None, training=True),
    "group_norm": lambda x, _: F.group_norm(x, 3),
    "interpolate": lambda x, _: F.interpolate(x, scale_factor=2, mode="nearest"),
}


def close(got, want, **bounds):
    pairs = zip(got, want, strict=True) if isinstance(want, tuple) else [(got, want)]
    for mine, theirs in pairs:
        torch.testing.assert_close(mine.cpu(), theirs, **bounds)


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_gives_what_the_cpu_gives(name):
    operation = OPERATIONS[name]
    got = operation(X.to(torch_xla.device()))
    close(tuple(got) if isinstance(got, tuple) else got, operation(X), rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_has_the_gradient_that_the_cpu_has(name):
    grads = []
    for device in ("cpu", torch_xla.device()):
        x = X.to(device).clone().requires_grad_()
        result = OPERATIONS[name](x)
        result = result[0] if isinstance(result, tuple) else result
        if not result.requires_grad:
            pytest.skip("it has none")
        (result.float() ** 2).sum().backward()
        grads.append(x.grad)
    close(grads[1], grads[0], rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize("dtype", [torch.int8, torch.int32, torch.int64], ids=str)
@pytest.mark.parametrize("name", INTEGERS)
def test_integers_are_those_of_the_cpu(name, dtype):
    x = torch.arange(-6, 7, dtype=dtype)
    close(INTEGERS[name](x.to(torch_xla.device())), INTEGERS[name](x))


@pytest.mark.parametrize("name", IMAGES)
def test_an_operation_on_images_gives_what_the_cpu_gives(name):
    results = []
    for device in ("cpu", torch_xla.device()):
        x = IMAGE.to(device).clone().requires_grad_()
        w = torch.linspace(-1, 1, 4 * 3 * 9).reshape(4, 3, 3, 3).to(device)
        result = IMAGES[name](x, w)
        (result * result).sum().backward()
        results.append((result.detach(), x.grad))
    close(results[1], results[0], rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(), (0,), (1,), (3, 0, 2), (2, 1, 3)], ids=str)
def test_every_type_goes_there_and_back_in_every_shape(dtype, shape):
    data = torch.arange(torch.Size(shape).numel()).reshape(shape).to(dtype)
    there = data.to(torch_xla.device())
    assert there.dtype == dtype
    assert there.shape == shape
    torch.testing.assert_close(there.cpu(), data)
    doubled = there + there if dtype != torch.bool else there | there
    torch.testing.assert_close(doubled.cpu(), data + data if dtype != torch.bool else data)


@pytest.mark.parametrize("dtype", DTYPES[1:], ids=str)
def test_every_type_converts_to_every_other(dtype):
    there = torch.arange(5).to(torch_xla.device()).to(dtype)
    for other in DTYPES:
        torch.testing.assert_close(there.to(other).cpu(), torch.arange(5).to(dtype).to(other))


def test_a_view_sees_what_is_written_through_another():
    want = torch.zeros(4, 6)
    got = torch.zeros(4, 6, device=torch_xla.device())
    for base in (want, got):
        row, column = base[1], base[:, 2]
        row.add_(3)
        column.mul_(2)
        base.view(24)[5:9] = 7
        base[base > 6] -= 1
        base[[0, 3], [1, 1]] = torch.tensor([8.0, 9.0], device=base.device)
        base.T[5].fill_(-1)
    torch.testing.assert_close(got.cpu(), want)


def test_index_put_adds_up_where_it_is_told_to():
    want = torch.zeros(4)
    got = torch.zeros(4, device=torch_xla.device())
    for base in (want, got):
        where = torch.tensor([1, 1, 3], device=base.device)
        base.index_put_((where,), torch.ones(3, device=base.device), accumulate=True)
        base.index_add_(0, where, base[where])
    torch.testing.assert_close(got.cpu(), want)


def test_a_program_without_parameters_runs():
    got = torch.arange(6, device=torch_xla.device()).reshape(2, 3) * 2
    assert got.tolist() == [[0, 2, 4], [6, 8, 10]]


def test_many_steps_reuse_one_program():
    import torch_xla.debug.metrics as met  # noqa: PLC0415

    x = torch.ones(3, device=torch_xla.device())
    torch_xla.sync()
    for _ in range(2):
        x = x * 1.5
        torch_xla.sync()
    before = met.metric_data("CompileTime")[0]
    for _ in range(10):
        x = x * 1.5
        torch_xla.sync()
    assert met.metric_data("CompileTime")[0] == before
    torch.testing.assert_close(x.cpu(), torch.full((3,), 1.5**12))


def test_a_program_that_is_wrong_is_an_error_and_the_next_one_runs():
    x = torch.ones(2, 3, device=torch_xla.device())
    with pytest.raises(RuntimeError, match=r"dim|shape|size"):
        (x @ x).cpu()
    close(x + 1, torch.full((2, 3), 2.0))


def test_a_graph_is_told_as_hlo_before_it_is_compiled():
    x = torch.ones(2, 3, device=torch_xla.device()) * 2
    text = torch_xla._XLAC._get_xla_tensors_hlo([x])
    assert "ENTRY" in text
    assert "f32[2,3]" in text

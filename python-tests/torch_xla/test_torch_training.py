"""Models of torch trained on the emulated device, step by step as on the CPU."""

import copy

import pytest
import torch
import torch.nn.functional as F
import torch_xla.core.xla_model as xm
from torch import nn
from torch_xla.experimental.scan import scan
from torch_xla.utils.checkpoint import checkpoint

import torch_xla
from torch_xla import stablehlo


class Cnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm = nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4)
        self.second, self.out = nn.Conv2d(4, 8, 3, padding=1), nn.Linear(8 * 4, 3)

    def forward(self, x):
        x = F.max_pool2d(self.norm(self.first(x)).relu(), 2)
        return self.out(F.avg_pool2d(self.second(x).relu(), 2).flatten(1))


def transformer():
    return nn.TransformerEncoderLayer(16, 4, 32, dropout=0.0, batch_first=True)


def steps(model, make, data, count=4, wrap=lambda function: function):
    """Trains and gives the losses and the weights at the end."""
    device = next(model.parameters()).device
    optimizer = make(model.parameters())
    x, y = (one.to(device) for one in data)

    @wrap
    def step(x, y):
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        return loss.detach()

    losses = []
    for _ in range(count):
        losses.append(step(x, y))
        if device.type == "xla":
            torch_xla.sync()
    return torch.stack(losses).cpu(), {k: v.cpu() for k, v in model.state_dict().items()}


OPTIMIZERS = {
    "sgd": lambda weights: torch.optim.SGD(weights, lr=0.05, momentum=0.9),
    "adam": lambda weights: torch.optim.Adam(weights, lr=0.01),
    "adamw": lambda weights: torch.optim.AdamW(weights, lr=0.01),
}
MODELS = {
    "cnn": (Cnn, lambda: (torch.randn(5, 1, 8, 8), torch.randn(5, 3))),
    "transformer": (transformer, lambda: (torch.randn(2, 5, 16), torch.randn(2, 5, 16))),
    "embedding": (
        lambda: nn.Sequential(nn.Embedding(7, 6), nn.Flatten(), nn.Linear(24, 3), nn.LayerNorm(3)),
        lambda: (torch.randint(7, (5, 4)), torch.randn(5, 3)),
    ),
}


def assert_trained_alike(mine, theirs, bound=2e-4, *, weights=True):
    torch.testing.assert_close(mine[0], theirs[0], rtol=bound, atol=bound)
    for name, value in theirs[1].items() if weights else ():
        torch.testing.assert_close(mine[1][name], value, rtol=10 * bound, atol=10 * bound)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("kind", MODELS)
def test_a_model_trains_as_on_the_cpu(kind, optimizer):
    make, draw = MODELS[kind]
    model, data = make(), draw()
    copied = copy.deepcopy(model).to(torch_xla.device())
    theirs = steps(model, OPTIMIZERS[optimizer], data)
    mine = steps(copied, OPTIMIZERS[optimizer], data)
    # Biases before a normalization have no gradient but rounding, which Adam scales to its rate.
    assert_trained_alike(mine, theirs, weights=optimizer == "sgd")


def test_a_compiled_step_trains_as_on_the_cpu():
    model, data = Cnn(), (torch.randn(5, 1, 8, 8), torch.randn(5, 3))
    copied = copy.deepcopy(model).to(torch_xla.device())
    theirs = steps(model, OPTIMIZERS["sgd"], data)
    wrap = torch_xla.compile
    assert_trained_alike(steps(copied, OPTIMIZERS["sgd"], data, wrap=wrap), theirs)


def test_dynamo_infers_as_on_the_cpu():
    model = transformer().eval()
    x = torch.randn(2, 5, 16)
    copied = copy.deepcopy(model).to(torch_xla.device())
    compiled = torch.compile(copied, backend="openxla")
    with torch.no_grad():
        for _ in range(3):
            got = compiled(x.to(torch_xla.device())).cpu()
            torch.testing.assert_close(got, model(x), rtol=1e-4, atol=1e-4)


def test_dynamo_trains_as_on_the_cpu():
    model, data = Cnn(), (torch.randn(5, 1, 8, 8), torch.randn(5, 3))
    copied = copy.deepcopy(model).to(torch_xla.device())
    theirs = steps(model, OPTIMIZERS["sgd"], data)
    compiled = torch.compile(copied, backend="openxla")
    mine = steps(compiled, OPTIMIZERS["sgd"], data)
    torch.testing.assert_close(mine[0], theirs[0], rtol=2e-4, atol=2e-4)


def test_a_scan_and_its_gradient_are_those_of_the_loop():
    device = torch_xla.device()
    xs = torch.randn(5, 3, device=device, requires_grad=True)
    start = torch.zeros(3, device=device, requires_grad=True)
    end, ys = scan(lambda carry, x: ((carry + x).tanh(), carry * x), start, xs)
    (end.sum() + ys.sum()).backward()

    theirs = xs.detach().cpu().requires_grad_()
    carry, total = torch.zeros(3), 0.0
    for x in theirs:
        total = total + (carry * x).sum()
        carry = (carry + x).tanh()
    (carry.sum() + total).backward()
    torch.testing.assert_close(end.cpu(), carry, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(xs.grad.cpu(), theirs.grad, rtol=1e-4, atol=1e-4)


def test_checkpointed_layers_have_the_same_gradients():
    layer = nn.Linear(4, 4)
    x = torch.randn(3, 4)
    copied = copy.deepcopy(layer).to(torch_xla.device())
    for one, data in ((layer, x), (copied, x.to(torch_xla.device()))):
        inner = data.clone().requires_grad_()
        checkpoint(lambda v, one=one: one(v).tanh(), inner).sum().backward()
    torch.testing.assert_close(copied.weight.grad.cpu(), layer.weight.grad)


def test_autocast_computes_in_bf16():
    layer = nn.Linear(8, 4).to(torch_xla.device())
    x = torch.randn(2, 8, device=torch_xla.device())
    with torch.autocast("xla", dtype=torch.bfloat16):
        y = layer(x)
    assert y.dtype == torch.bfloat16
    torch.testing.assert_close(y.float().cpu(), layer(x).cpu(), rtol=2e-2, atol=2e-2)


def test_clipped_gradients_and_a_schedule_train_as_on_the_cpu():
    model = nn.Linear(4, 2)
    copied = copy.deepcopy(model).to(torch_xla.device())
    x = torch.randn(6, 4)
    for one, data in ((model, x), (copied, x.to(torch_xla.device()))):
        optimizer = torch.optim.SGD(one.parameters(), lr=0.5)
        schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.5)
        for _ in range(3):
            optimizer.zero_grad()
            (one(data) ** 2).sum().backward()
            nn.utils.clip_grad_norm_(one.parameters(), 0.1)
            xm.optimizer_step(optimizer, barrier=True)
            schedule.step()
    torch.testing.assert_close(copied.weight.cpu(), model.weight, rtol=1e-4, atol=1e-5)


def test_a_model_is_exported_as_stablehlo():
    model = nn.Linear(3, 2).eval()
    exported = torch.export.export(model, (torch.ones(1, 3),))
    program = stablehlo.exported_program_to_stablehlo(exported)
    assert "stablehlo.dot_general" in program.get_stablehlo_text()
    got = program(torch.ones(1, 3))
    torch.testing.assert_close(got.cpu(), model(torch.ones(1, 3)), rtol=1e-5, atol=1e-5)


def test_an_lstm_gives_what_the_cpu_gives():
    model, x = nn.LSTM(3, 4, num_layers=2, batch_first=True), torch.randn(2, 5, 3)
    got, (hidden, _) = copy.deepcopy(model).to(torch_xla.device())(x.to(torch_xla.device()))
    want, (last, _) = model(x)
    torch.testing.assert_close(got.cpu(), want, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(hidden.cpu(), last, rtol=1e-4, atol=1e-5)

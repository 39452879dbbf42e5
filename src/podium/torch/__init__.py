"""Losses of podium for torch models: `as_torch` returns a loss that supports autograd.

Importing this module does not import torch; `as_torch` does. It needs the extra ``podium[torch]``.
"""

from __future__ import annotations

from podium import _check
from podium.losses import Loss, as_loss
from podium.torch._losses import TorchLoss, torch_module

__all__ = ["as_torch"]


def as_torch(loss: Loss | str, *, one_group: bool = False) -> TorchLoss:
    """Return a loss of torch scores that supports autograd.

    Parameters
    ----------
    loss : Loss or str
        A loss, or its name, such as ``"listmle@10"``.
    one_group : bool
        Whether all rows form one group if neither qid nor lists are given. By default this
        raises.

    Returns
    -------
    TorchLoss
        A callable of scores and relevances. If the relevances stay the same, call its method
        `prepare` once, and call the result many times.

    Raises
    ------
    ArgumentError
        If loss is not a loss, or its name is unknown.
    MissingExtraError
        If the extra ``podium[torch]`` is not installed.

    Notes
    -----
    Scores may have any floating type and be on any device. The loss is computed in float64 on the
    CPU, in one thread. Its gradient has the type and the device of the scores. A value has the
    type of the scores, but at least float32. Only first derivatives are supported.

    Examples
    --------
    Two lists of three and two rows, in one tensor each:

    >>> import torch
    >>> loss = as_torch("pap-ramp@1")
    >>> scores = torch.tensor([0.5, 0.0, 2.0, 3.0, 0.0], requires_grad=True)
    >>> value = loss(scores, torch.tensor([1, 0, 0, 1, 0]), qid=[7, 7, 7, 8, 8])
    >>> value.backward()
    >>> value.item(), scores.grad.tolist()
    (1.25, [-0.5, 0.0, 0.5, 0.0, 0.0])

    The same lists, padded, with a mask of the real rows. Padding gets no gradient, whatever its
    score:

    >>> scores = torch.tensor([[0.5, 0.0, 2.0], [3.0, 0.0, 99.0]])
    >>> mask = torch.tensor([[True, True, True], [True, True, False]])
    >>> loss(scores, torch.tensor([[1, 0, 0], [1, 0, 0]]), mask=mask).item()
    1.25
    """
    torch_module()
    return TorchLoss(as_loss(loss), _check.flag(one_group, "one_group"))

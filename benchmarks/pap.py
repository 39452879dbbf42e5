"""pap@10 compared with RecTools' PAP, which runs in a separate environment (with numpy < 2)."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from benchmarks import _harness
from benchmarks._harness import Timing
from benchmarks.workload import make_lists

SMALL = ("--users=50",)
PYTHON = os.environ.get("PODIUM_RECTOOLS_PYTHON") or ".venv-rectools/bin/python"


def podium_entry(n_users: int) -> Timing:
    """Time podium.measure for pap@10 only."""
    import podium

    lists = make_lists(n_users)
    return _harness.time_call(
        "podium, pap@10", lambda: podium.measure(lists.truth, lists.run, "pap@10").means, 7
    )


def rectools_entry(n_users: int) -> Timing | str:
    """Time RecTools' PAP(10) on the same rows, with the interpreter of its environment."""
    if not Path(PYTHON).exists():
        return f"no RecTools environment at {PYTHON}; make bench creates it"
    lists = make_lists(n_users)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "lists.npz"
        rank = np.tile(np.arange(1, lists.depth + 1), n_users)
        np.savez(
            path,
            run_user=lists.run["user"],
            run_item=lists.run["item"],
            run_rank=rank,
            truth_user=lists.truth["user"],
            truth_item=lists.truth["item"],
        )
        script = Path(__file__).with_name("_rectools_pap.py")
        process = subprocess.run(
            [PYTHON, "-W", "ignore", str(script), str(path)],
            capture_output=True,
            text=True,
            check=False,
        )
    if process.returncode:
        raise SystemExit(f"RecTools PAP: {process.stderr.strip().splitlines()[-1]}")
    return Timing(**json.loads(process.stdout))


def main(argv: list[str] | None = None) -> None:
    """Compare the means, then print the figures and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--users", type=int, default=50_000)
    parser.add_argument("--entry")
    args = parser.parse_args(argv)
    if args.entry:
        _harness.report(podium_entry(args.users))
        return
    podium_timing = _harness.in_process("benchmarks.pap", "podium", ["--users", str(args.users)])
    if isinstance(podium_timing, str):
        raise SystemExit(podium_timing)
    rows = [(podium_timing.name, podium_timing.cpu_s, 1.0, podium_timing.values["pap@10"])]
    peer = rectools_entry(args.users)
    if isinstance(peer, str):
        print(f"left out: RecTools PAP: {peer}")
    else:
        differences = _harness.differing(podium_timing.values, peer.values)
        if differences:
            raise SystemExit(f"RecTools' values differ from podium's: {differences}")
        rows.append(
            (peer.name, peer.cpu_s, peer.cpu_s / podium_timing.cpu_s, peer.values["pap@10"])
        )
    _harness.table(
        f"pap@10, {args.users:,} users x 100 items", ("entry", "CPU s", "x podium", "value"), rows
    )


if __name__ == "__main__":
    main()

"""Time RecTools' PAP(10) on saved lists, in RecTools' environment without podium."""

import json
import sys
import time

import numpy as np
import pandas as pd
from rectools.metrics import PAP

lists = np.load(sys.argv[1])
run = pd.DataFrame(
    {"user_id": lists["run_user"], "item_id": lists["run_item"], "rank": lists["run_rank"]}
)
truth = pd.DataFrame({"user_id": lists["truth_user"], "item_id": lists["truth_item"]})

cpu, wall = time.process_time(), time.perf_counter()
value = PAP(10).calc(run, truth)
print(
    json.dumps(
        {
            "name": "RecTools PAP(10)",
            "cpu_s": time.process_time() - cpu,
            "wall_s": time.perf_counter() - wall,
            "first_s": time.perf_counter() - wall,
            "extra_mib": 0.0,
            "values": {"pap@10": float(value)},
        }
    )
)

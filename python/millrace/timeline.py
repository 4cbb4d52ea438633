"""timeline — the timings of a run as chrome://tracing reads them."""
import json


class Timeline:
    """StepStats as events of Chrome's trace format."""

    def __init__(self, step_stats, graph=None):
        self._step_stats = step_stats

    def generate_chrome_trace_format(self, show_dataflow=True, show_memory=False):
        events, first = [], None
        for device in self._step_stats.dev_stats:
            for node in device.node_stats:
                first = node.all_start_micros if first is None else min(first, node.all_start_micros)
        for pid, device in enumerate(self._step_stats.dev_stats):
            events.append({"name": "process_name", "ph": "M", "pid": pid, "args": {"name": device.device + " Compute"}})
            ends = []
            for node in sorted(device.node_stats, key=lambda n: n.all_start_micros):
                start, length = node.all_start_micros, node.all_end_rel_micros
                row = next((i for i, end in enumerate(ends) if end <= start), len(ends))
                ends[row:row + 1] = [start + length]
                op = node.timeline_label.partition(" = ")[2].partition("(")[0] or node.node_name
                events.append({"ph": "X", "cat": "Op", "name": op, "pid": pid, "tid": row, "ts": start - first,
                               "dur": max(1, length), "args": {"name": node.node_name, "op": op}})
        return json.dumps({"traceEvents": events}, indent=4)


class AllocationMaximum:
    def __init__(self, timestamp=0, num_bytes=0, tensors=()):
        self.timestamp, self.num_bytes, self.tensors = timestamp, num_bytes, tensors

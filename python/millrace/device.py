"""device — DeviceSpec: the name of a device in parts, parsed, merged and written."""
import re


class DeviceSpec:
    """`/job:ps/replica:0/task:1/device:GPU:0` in parts; a part that is None is left open."""

    def __init__(self, job=None, replica=None, task=None, device_type=None, device_index=None):
        self.job, self.replica, self.task = job, replica, task
        self.device_type = {"cpu": "CPU", "gpu": "GPU"}.get(device_type, device_type)
        self.device_index = device_index

    def parse_from_string(self, spec):
        self.__init__()
        for part in (spec or "").split("/"):
            if not part:
                continue
            words = part.split(":")
            key = words[0]
            try:
                if key == "job" and len(words) == 2:
                    self.job = words[1]
                elif key in ("replica", "task") and len(words) == 2:
                    setattr(self, key, int(words[1]))
                elif key.lower() in ("cpu", "gpu") and len(words) <= 2:
                    self._take_type(spec, key.upper(), words[1] if len(words) == 2 else "*")
                elif key == "device" and len(words) in (2, 3):
                    self._take_type(spec, words[1], words[2] if len(words) == 3 else "*")
                else:
                    raise ValueError
            except ValueError as error:
                raise error if str(error).startswith("Cannot") else ValueError(
                    "Unknown attribute %r is encountered while parsing the device spec: '%s'." % (key, spec)) from None
        return self

    def _take_type(self, spec, kind, index):
        if self.device_type is not None:
            raise ValueError("Cannot specify multiple device types: %s" % spec)
        self.device_type = kind.upper() if kind.lower() in ("cpu", "gpu") else kind
        self.device_index = None if index == "*" else int(index)

    @classmethod
    def from_string(cls, spec):
        return cls().parse_from_string(spec)

    def merge_from(self, dev):
        """Takes the parts that `dev` has."""
        for part in ("job", "replica", "task", "device_type", "device_index"):
            if getattr(dev, part) is not None:
                setattr(self, part, getattr(dev, part))

    def make_merged_spec(self, dev):
        new = DeviceSpec(self.job, self.replica, self.task, self.device_type, self.device_index)
        new.merge_from(dev)
        return new

    def replace(self, **parts):
        new = DeviceSpec(self.job, self.replica, self.task, self.device_type, self.device_index)
        for part, value in parts.items():
            setattr(new, part, value)
        return new

    def to_string(self):
        text = ""
        for key in ("job", "replica", "task"):
            if getattr(self, key) is not None:
                text += "/%s:%s" % (key, getattr(self, key))
        if self.device_type is not None:
            text += "/device:%s:%s" % (self.device_type, "*" if self.device_index is None else self.device_index)
        return text

    def __eq__(self, other):
        return isinstance(other, DeviceSpec) and self.to_string() == other.to_string()

    def __hash__(self):
        return hash(self.to_string())

    def __repr__(self):
        return "DeviceSpec(%r)" % self.to_string()


DeviceSpecV2 = DeviceSpecV1 = DeviceSpec


def canonical_name(device):
    if device is None:
        return ""
    return device.to_string() if isinstance(device, DeviceSpec) else DeviceSpec.from_string(device).to_string()


def check_valid(spec):
    DeviceSpec.from_string(spec)


def merge_device(spec):
    """A device function that fills in what an operation's device leaves open."""
    if not isinstance(spec, DeviceSpec):
        spec = DeviceSpec.from_string(spec or "")

    def function(node_def):
        current = DeviceSpec.from_string(node_def.device or "")
        return spec.make_merged_spec(current)
    return function

"""devices — which devices there are, as programs of TensorFlow 2 ask."""
import collections

PhysicalDevice = collections.namedtuple("PhysicalDevice", ["name", "device_type"])
LogicalDevice = collections.namedtuple("LogicalDevice", ["name", "device_type"])


def list_physical_devices(device_type=None):
    """[PhysicalDevice]: eager mode computes on this machine's processor."""
    found = [PhysicalDevice("/physical_device:CPU:0", "CPU")]
    return [d for d in found if device_type in (None, d.device_type)]


def list_logical_devices(device_type=None):
    found = [LogicalDevice("/device:CPU:0", "CPU")]
    return [d for d in found if device_type in (None, d.device_type)]


def set_visible_devices(devices, device_type=None):
    """The processor is always visible."""


def set_memory_growth(device, enable):
    """Memory is taken as it is needed."""

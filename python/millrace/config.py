"""config — the devices of this process, and switches that other machines have."""


class PhysicalDevice:
    """A device: `name`, `device_type`."""

    def __init__(self, name, device_type):
        self.name, self.device_type = name, device_type

    def __repr__(self):
        return "PhysicalDevice(name=%r, device_type=%r)" % (self.name, self.device_type)

    def __eq__(self, other):
        return isinstance(other, PhysicalDevice) and self.name == other.name

    def __hash__(self):
        return hash(self.name)


LogicalDevice = PhysicalDevice


class VirtualDeviceConfiguration:
    def __init__(self, memory_limit=None, experimental_priority=None):
        self.memory_limit, self.experimental_priority = memory_limit, experimental_priority


def _devices():
    from .graph import Graph
    from .session import Session
    with Session(graph=Graph()) as session:
        return session.list_devices()


def list_physical_devices(device_type=None):
    found = [PhysicalDevice("/physical_device:%s" % d.name.rpartition("/device:")[2], d.device_type) for d in _devices()]
    return [d for d in found if device_type is None or d.device_type == device_type]


def list_logical_devices(device_type=None):
    found = [PhysicalDevice("/device:%s" % d.name.rpartition("/device:")[2], d.device_type) for d in _devices()]
    return [d for d in found if device_type is None or d.device_type == device_type]


get_visible_devices = list_physical_devices


class _LocalDevice:
    def __init__(self, device):
        self.name, self.device_type = device.name.replace("/job:localhost/replica:0/task:0", ""), device.device_type
        self.memory_limit, self.incarnation = device.memory_limit_bytes, device.incarnation
        self.physical_device_desc = ""

    def __repr__(self):
        return 'name: "%s"\ndevice_type: "%s"\nmemory_limit: %d\nincarnation: %d\n' % (
            self.name, self.device_type, self.memory_limit, self.incarnation)


def list_local_devices(session_config=None):
    return [_LocalDevice(d) for d in _devices()]


_switches = {}


def set_soft_device_placement(enabled):
    _switches["soft_device_placement"] = bool(enabled)


def get_soft_device_placement():
    return _switches.get("soft_device_placement", True)


def set_memory_growth(device, enable):
    """Memory grows as it is needed on every device."""


def get_memory_growth(device):
    return True


def set_visible_devices(devices, device_type=None):
    """All devices are visible."""


def set_virtual_device_configuration(device, virtual_devices):
    raise NotImplementedError("tf.config.experimental.set_virtual_device_configuration is not part of Millrace")


def experimental_list_devices():
    return [d.name for d in _devices()]


class _Optimizer:
    """tf.config.optimizer: hints that change nothing here."""

    def set_jit(self, enabled):
        _switches["jit"] = enabled

    def get_jit(self):
        return _switches.get("jit", "")

    def set_experimental_options(self, options):
        _switches["options"] = dict(options)

    def get_experimental_options(self):
        return _switches.get("options", {})


optimizer = _Optimizer()

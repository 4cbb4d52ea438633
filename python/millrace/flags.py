"""flags — tf.flags: absl's where absl is installed, else a parser of the same surface."""
import sys

try:
    from absl.flags import *  # noqa: F401,F403
    from absl.flags import FLAGS as _FLAGS

    class _Lazy:
        """absl's flags, parsed by the first use as TensorFlow 1 does it."""

        def __getattr__(self, name):
            if not _FLAGS.is_parsed():
                _FLAGS(sys.argv, known_only=True)
            return getattr(_FLAGS, name)

        def __setattr__(self, name, value):
            if not _FLAGS.is_parsed():
                _FLAGS(sys.argv, known_only=True)
            setattr(_FLAGS, name, value)

        def __getitem__(self, name):
            return _FLAGS[name]

        def __contains__(self, name):
            return name in _FLAGS

        def __iter__(self):
            return iter(_FLAGS)

        def __call__(self, *args, **kwargs):
            return _FLAGS(*args, **kwargs)

    FLAGS = _Lazy()
except ImportError:
    class Error(Exception):
        """What is wrong with a flag."""

    class IllegalFlagValueError(Error):
        """A value that a flag does not take."""

    class UnrecognizedFlagError(Error, AttributeError):
        """A flag that nobody defined."""

    class Flag:
        """One flag: name, value, default, help."""

        def __init__(self, name, default, help, parse, is_bool=False):
            self.name, self.default, self.help, self.parse, self.is_bool = name, default, help, parse, is_bool
            self.value, self.present = default, 0

        def set(self, text):
            try:
                self.value = self.parse(text)
            except ValueError as error:
                raise IllegalFlagValueError("flag --%s=%s: %s" % (self.name, text, error)) from None
            self.present += 1

    class FlagValues:
        """All flags of the program; the first use of one parses the command line."""

        def __init__(self):
            self.__dict__.update(_flags={}, _parsed=False, _required=[])

        def is_parsed(self):
            return self._parsed

        def mark_as_parsed(self):
            self.__dict__["_parsed"] = True

        def __call__(self, argv=None, known_only=False):
            self.__dict__["_parsed"] = True
            argv = list(sys.argv if argv is None else argv)
            rest, i = argv[:1], 1
            while i < len(argv):
                i = self._take(argv, i, rest, known_only)
                if i < 0:
                    rest += argv[-i:]
                    break
            for name in self._required:
                if self._flags[name].value is None:
                    raise IllegalFlagValueError("flag --%s=None: Flag --%s must have a value other than None." % (name,
                                                                                                                 name))
            return rest

        def _take(self, argv, i, rest, known_only):
            word = argv[i]
            if word == "--":
                return -(i + 1)
            if not word.startswith("-") or word == "-":
                rest.append(word)
                return i + 1
            name, eq, value = word.lstrip("-").partition("=")
            flag = self._flags.get(name)
            if flag is None and name.startswith("no") and name[2:] in self._flags and self._flags[name[2:]].is_bool:
                self._flags[name[2:]].set("false")
                return i + 1
            if flag is None:
                if not known_only:
                    raise UnrecognizedFlagError("Unknown command line flag '%s'" % name)
                rest.append(word)
                return i + 1
            if eq:
                flag.set(value)
            elif flag.is_bool:
                flag.set("true")
            elif i + 1 < len(argv):
                flag.set(argv[i + 1])
                return i + 2
            else:
                raise Error("Missing value for flag --%s" % name)
            return i + 1

        def __getattr__(self, name):
            flags = self.__dict__["_flags"]
            if name not in flags:
                raise UnrecognizedFlagError("Unknown command line flag '%s'" % name)
            if not self._parsed:
                self(sys.argv, known_only=True)
            return flags[name].value

        def __setattr__(self, name, value):
            if name not in self._flags:
                raise UnrecognizedFlagError("Unknown command line flag '%s'" % name)
            if not self._parsed:
                self(sys.argv, known_only=True)
            self._flags[name].value = value

        def __delattr__(self, name):
            self._flags.pop(name, None)

        def __contains__(self, name):
            return name in self._flags

        def __iter__(self):
            return iter(sorted(self._flags))

        def __getitem__(self, name):
            return self._flags[name]

        def __len__(self):
            return len(self._flags)

        def flag_values_dict(self):
            return {n: f.value for n, f in self._flags.items()}

        @property
        def __flags(self):
            return self.flag_values_dict()

    FLAGS = FlagValues()

    def _define(flag):
        FLAGS._flags[flag.name] = flag
        return flag

    def _boolean(text):
        if isinstance(text, bool):
            return text
        if text.lower() in ("true", "t", "1", "yes", "y"):
            return True
        if text.lower() in ("false", "f", "0", "no", "n"):
            return False
        raise ValueError("Non-boolean argument to boolean flag")

    def DEFINE_string(name, default, help=None, *args, **kwargs):
        return _define(Flag(name, default, help, str))

    def DEFINE_integer(name, default, help=None, *args, **kwargs):
        return _define(Flag(name, default, help, lambda t: int(t, 0)))

    def DEFINE_float(name, default, help=None, *args, **kwargs):
        return _define(Flag(name, None if default is None else float(default), help, float))

    def DEFINE_boolean(name, default, help=None, *args, **kwargs):
        default = _boolean(default) if isinstance(default, str) else None if default is None else bool(default)
        return _define(Flag(name, default, help, _boolean, True))

    DEFINE_bool = DEFINE_boolean

    def DEFINE_enum(name, default, enum_values, help=None, *args, **kwargs):
        def parse(text):
            if text not in enum_values:
                raise ValueError("value should be one of <%s>" % "|".join(enum_values))
            return text
        return _define(Flag(name, default, help, parse))

    def DEFINE_list(name, default, help=None, *args, **kwargs):
        split = lambda t: [p.strip() for p in t.split(",")] if t else []
        return _define(Flag(name, split(default) if isinstance(default, str) else default, help, split))

    def DEFINE_multi_string(name, default, help=None, *args, **kwargs):
        flag = Flag(name, [default] if isinstance(default, str) else default, help, str)

        def parse(text):
            return (flag.value if flag.present and flag.value else []) + [text]
        flag.parse = parse
        return _define(flag)

    def DEFINE_multi_integer(name, default, help=None, *args, **kwargs):
        flag = DEFINE_multi_string(name, default, help)
        flag.parse = lambda t: (flag.value if flag.present and flag.value else []) + [int(t)]
        return flag

    def DEFINE_alias(name, original_name, *args, **kwargs):
        FLAGS._flags[name] = FLAGS._flags[original_name]

    def mark_flag_as_required(flag_name, flag_values=None):
        FLAGS._required.append(flag_name)

    def mark_flags_as_required(flag_names, flag_values=None):
        FLAGS._required.extend(flag_names)

    def register_validator(*args, **kwargs):
        """Kept for programs that call it: values are taken as they are."""

    def validator(*args, **kwargs):
        return lambda f: f

    def adopt_module_key_flags(*args, **kwargs):
        """Kept for programs that call it: all flags are everybody's."""

    declare_key_flag = adopt_module_key_flags

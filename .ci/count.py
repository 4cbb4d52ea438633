"""count — the tests that passed and failed in the logs of a run: "PASSED FAILED".

A program of tests counts as the tests in it, as far as its last lines tell: Check's, pytest's, "N passed, N failed", or
those of parity, "N cases, N disagree (...), N agree ..." and "N kinds, N wrong".
"""

import pathlib
import re
import sys
import xml.etree.ElementTree as xml

CHECK = re.compile(r"\d+%: Checks: (\d+), Failures: (\d+), Errors: (\d+)")
WORDS = re.compile(r"(\d+) (passed|failed|errors?)\b")
CASES = re.compile(r"^\d+ cases, (\d+) disagree \([^)]*\), (\d+) agree", re.M)
KINDS = re.compile(r"^(\d+) kinds, (\d+) wrong", re.M)


def count_parity(text):
    """(agreeing, disagreeing)"""
    passed = failed = 0
    for wrong, right in CASES.findall(text):
        passed, failed = passed + int(right), failed + int(wrong)
    for kinds, wrong in KINDS.findall(text):
        passed, failed = passed + int(kinds) - int(wrong), failed + int(wrong)
    return passed, failed


def count(text):
    """(passed, failed) told by the text of one program"""
    passed = failed = 0
    for checks, failures, errors in CHECK.findall(text):
        wrong = int(failures) + int(errors)
        passed, failed = passed + int(checks) - wrong, failed + wrong
    if passed + failed == 0:
        for line in reversed(text.splitlines()):
            found = {word.rstrip("s"): int(number) for number, word in WORDS.findall(line)}
            if found:
                return found.get("passed", 0), found.get("failed", 0) + found.get("error", 0)
    return passed, failed


def main():
    logs, passed, failed = pathlib.Path(sys.argv[1]), 0, 0
    for report in logs.rglob("*.xml"):
        for case in xml.parse(report).getroot().iter("testcase"):
            good, bad = count(case.findtext("system-out") or "")
            # ctest writes a status, pytest what went wrong.
            if (case.get("status", "run") != "run" or case.find("failure") is not None or case.find("error") is not None) and bad == 0:
                bad = 1
            passed, failed = passed + max(good, int(good + bad == 0)), failed + bad
    parity = logs / "parity.log"
    if parity.exists():
        good, bad = count_parity(parity.read_text(errors="replace"))
        passed, failed = passed + good, failed + bad
    print(passed, failed)


if __name__ == "__main__":
    main()

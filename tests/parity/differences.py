# differences — where Millrace answers otherwise than TensorFlow on purpose, or not yet: each with the reason.
#
# A case that matches a row is counted as listed, not as a disagreement. (op, variant and case, message, reason), all
# regular expressions. A row that matches nothing any more is reported, so that the table can't outlive its reasons.
import re

BFLOAT16 = "TensorFlow adds bfloat16 in bfloat16; Millrace in float, rounded once"

ROWS = [
    ("SoftmaxCrossEntropyWithLogits|BiasAddGrad|Cumsum", ".* bfloat16", "instead of", BFLOAT16),
    (".*CenteredRMSProp", ".* float16", "instead of", "TensorFlow squares half in half; Millrace in float, rounded once"),
]


class Differences:
    def __init__(self):
        self.met = [0] * len(ROWS)

    def reason(self, op, variant, label, text):
        for i, (ops, case, message, why) in enumerate(ROWS):
            if re.fullmatch(ops, op) and re.match(case, "%s, %s" % (variant, label)) and re.search(message, text):
                self.met[i] += 1
                return why
        return None

    def table(self):
        return [(n, ops, why) for n, (ops, _, _, why) in zip(self.met, ROWS)]

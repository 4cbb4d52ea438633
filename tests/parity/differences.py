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


# The same for shapes that are inferred (shapes_parity.py): (op, how, reason). How: less, more (known here than there), other,
# refused (here alone), accepted (here alone).
SHAPES = [
    ("Enter", "more", "a value that enters a frame keeps its shape"),
    ("TensorListGather", "other|more", "TensorFlow gives the element's shape, without the extent of the indices"),
    ("MaxPoolGradGrad", ".*", "the result has the shape of the pool's output; TensorFlow says the input's"),
    ("(Block)?LSTM.*|GRUBlockCell.*", "more|other", "any input tells the batch and the number of cells"),
    ("AccumulateNV2", ".*", "the inputs tell the shape, not the attribute"),
    ("TensorList(Stack|GetItem|Gather|PopBack|Concat)", "accepted", "a scalar -1 for the element's shape may be fed"),
    ("ResourceCountUpTo|RaggedTensorFromVariant", "accepted", "TensorFlow asks for the dtype behind a handle, here the step does"),
    ("(Resource)?Scatter(Nd)?(Add|Sub|Mul|Div|Min|Max|Update)", "refused", "a value of more than 8 dimensions is refused"),
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

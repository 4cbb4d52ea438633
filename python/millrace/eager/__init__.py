"""eager — ops that run as they are called: tensors with values, variables, gradients by a tape, functions that become graphs.

What computes is the library's eager context; a call is worked out once for each choice of op, types and attributes.
"""

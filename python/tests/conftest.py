"""One process runs the tests of both modes: it is graph mode that is on, and a test of eager mode asks for it."""
from millrace import graph

graph.decide_eager(False)

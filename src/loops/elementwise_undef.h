// Undoes the row macros of the elementwise .def files; included after each reading of them.
#undef UNARY
#undef UNARY_LONG
#undef UNARY_TO_BOOL
#undef UNARY_TO_REAL
#undef UNARY_GUARDED
#undef UNARY_ALSO
#undef BINARY
#undef BINARY_HOT
#undef BINARY_HOT_ALSO
#undef BINARY_LONG
#undef BINARY_ALSO
#undef COMPARE
#undef COMPARE_ALSO
#undef TWIN

// IF_<kinds>(text) keeps the text where the kind being compiled, KIND_F, KIND_I, KIND_U, KIND_C or KIND_B, is among
// them.
#undef IF_F
#undef IF_I
#undef IF_U
#undef IF_C
#undef IF_B
#undef IF_FC
#undef IF_FU
#undef IF_IU
#undef IF_FIU
#undef IF_FUCB
#if defined(KIND_F)
#define IF_F(...) __VA_ARGS__
#define IF_I(...)
#define IF_U(...)
#define IF_C(...)
#define IF_B(...)
#define IF_FC(...) __VA_ARGS__
#define IF_FU(...) __VA_ARGS__
#define IF_IU(...)
#define IF_FIU(...) __VA_ARGS__
#define IF_FUCB(...) __VA_ARGS__
#elif defined(KIND_I)
#define IF_F(...)
#define IF_I(...) __VA_ARGS__
#define IF_U(...)
#define IF_C(...)
#define IF_B(...)
#define IF_FC(...)
#define IF_FU(...)
#define IF_IU(...) __VA_ARGS__
#define IF_FIU(...) __VA_ARGS__
#define IF_FUCB(...)
#elif defined(KIND_U)
#define IF_F(...)
#define IF_I(...)
#define IF_U(...) __VA_ARGS__
#define IF_C(...)
#define IF_B(...)
#define IF_FC(...)
#define IF_FU(...) __VA_ARGS__
#define IF_IU(...) __VA_ARGS__
#define IF_FIU(...) __VA_ARGS__
#define IF_FUCB(...) __VA_ARGS__
#elif defined(KIND_C)
#define IF_F(...)
#define IF_I(...)
#define IF_U(...)
#define IF_C(...) __VA_ARGS__
#define IF_B(...)
#define IF_FC(...) __VA_ARGS__
#define IF_FU(...)
#define IF_IU(...)
#define IF_FIU(...)
#define IF_FUCB(...) __VA_ARGS__
#elif defined(KIND_B)
#define IF_F(...)
#define IF_I(...)
#define IF_U(...)
#define IF_C(...)
#define IF_B(...) __VA_ARGS__
#define IF_FC(...)
#define IF_FU(...)
#define IF_IU(...)
#define IF_FIU(...)
#define IF_FUCB(...) __VA_ARGS__
#endif

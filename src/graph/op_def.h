// OpDef, NodeDef, AttrValue — how ops, nodes and attributes are written in protos, to and from our own forms.
#pragma once
#include "graph/graph.h"
#include "proto/messages.h"

// Everything in the arena, nothing views the proto. Tensors are pushed on `tensors`; what they take beyond the bytes of
// their proto is taken from `budget` (proto/tensor_proto.h). INVALID_ARGUMENT, RESOURCE_EXHAUSTED.
FALLIBLE Status *attr_from_proto(const AttrValueProto *proto, Arena *arena, TensorList *tensors, size_t *budget,
                                 AttrValue *out);
// `text` is the serialized AttrValue.
FALLIBLE Status *attr_from_bytes(Str bytes, Arena *arena, TensorList *tensors, AttrValue *out);
// These three make views into what they are given, which must live as long as the proto is used.
FALLIBLE Status *attr_to_proto(const AttrValue *value, Arena *arena, AttrValueProto *out);
FALLIBLE Status *node_to_proto(const Node *node, Arena *arena, NodeDef *out);
FALLIBLE Status *signature_to_op_def(const Signature *signature, Arena *arena, OpDef *out);

// Checks what TensorFlow checks of an OpDef: names, known types, attributes that arguments name. INVALID_ARGUMENT.
FALLIBLE Status *signature_from_op_def(const OpDef *def, Arena *arena, TensorList *tensors, Signature *out);

// Whether clients may name a node so: letters, digits and _.-/ , not beginning with one of _-/ ; parts are joined by
// '>'.
bool node_name_is_valid(Str name);

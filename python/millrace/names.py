"""names — which module of the package has what stands at tf.train.AdamOptimizer and so on: tables, no code."""

# namespace: {module: names}. "new=old" gives a name another than the module's own; "*" takes every public name.
TABLE = {
    "": {
        "graph": "get_seed Graph Operation Tensor GraphKeys name_scope op_scope device colocate_with control_dependencies container "
                 "add_to_collection add_to_collections get_collection get_collection_ref get_default_graph "
                 "reset_default_graph set_random_seed executing_eagerly init_scope",
        "dtypes": "DType as_dtype float16 half float32 float64 double int8 int16 int32 int64 uint8 uint16 uint32 uint64 "
                  "bool string complex64 complex128 bfloat16 qint8 qint16 qint32 quint8 quint16 resource variant "
                  "QUANTIZED_DTYPES",
        "tensor_shape": "Dimension TensorShape dimension_value dimension_at_index",
        "device": "DeviceSpec",
        "indexed": "IndexedSlices SparseTensor SparseTensorValue convert_to_tensor_or_sparse_tensor",
        "constant": "constant make_tensor_proto make_ndarray get_static_value=constant_value is_tensor",
        "convert": "convert_to_tensor convert_to_tensor_or_indexed_slices register_tensor_conversion_function",
        "session": "Session InteractiveSession get_default_session",
        "array_ops": "newaxis placeholder placeholder_with_default sparse_placeholder identity shape shape_n size rank "
                     "reshape expand_dims squeeze transpose matrix_transpose concat stack parallel_stack unstack split "
                     "slice strided_slice zeros ones fill zeros_like ones_like tile pad gather batch_gather gather_nd "
                     "boolean_mask where where_v2 one_hot sequence_mask reverse reverse_v2=reverse reverse_sequence "
                     "meshgrid unique unique_with_counts setdiff1d broadcast_static_shape broadcast_dynamic_shape "
                     "space_to_batch batch_to_space matrix_diag matrix_diag_part matrix_set_diag guarantee_const roll "
                     "searchsorted repeat edit_distance stop_gradient sparse_mask extract_image_patches quantize_v2 dequantize "
                     "required_space_to_batch_paddings",
        "math_ops": "cast saturate_cast to_float to_double to_int32 to_int64 to_bfloat16 to_complex64 to_complex128 add "
                    "subtract multiply maximum minimum pow divide truediv div div_no_nan floordiv floor_div mod floormod abs "
                    "negative square sqrt sign erf tanh exp log log1p expm1 sigmoid floor reciprocal rsqrt round ceil "
                    "log_sigmoid scalar_mul complex real imag angle conj equal not_equal logical_xor lbeta range linspace "
                    "lin_space reduce_sum reduce_mean reduce_prod reduce_max reduce_min reduce_all reduce_any "
                    "count_nonzero reduce_logsumexp trace argmax argmin cumsum cumprod add_n accumulate_n bincount matmul "
                    "sparse_matmul tensordot einsum unsorted_segment_mean unsorted_segment_sqrt_n sparse_segment_sum "
                    "sparse_segment_mean sparse_segment_sqrt_n argsort sort clip_by_value clip_by_norm global_norm "
                    "clip_by_global_norm clip_by_average_norm norm batch_matmul",
        "random_ops": "random_normal truncated_normal random_uniform random_shuffle random_crop multinomial random_gamma "
                      "random_poisson",
        "init_ops": "zeros_initializer ones_initializer constant_initializer random_uniform_initializer "
                    "random_normal_initializer truncated_normal_initializer uniform_unit_scaling_initializer "
                    "variance_scaling_initializer orthogonal_initializer glorot_uniform_initializer "
                    "glorot_normal_initializer",
        "variables": "Variable VariableSynchronization VariableAggregation global_variables local_variables "
                     "model_variables trainable_variables moving_average_variables all_variables variables_initializer "
                     "initialize_variables global_variables_initializer local_variables_initializer "
                     "initialize_all_variables initialize_local_variables is_variable_initialized "
                     "assert_variables_initialized report_uninitialized_variables assign assign_add assign_sub "
                     "count_up_to scatter_update scatter_add scatter_sub scatter_mul scatter_div scatter_min scatter_max "
                     "scatter_nd_update scatter_nd_add scatter_nd_sub",
        "variable_scope": "AUTO_REUSE VariableScope variable_scope variable_op_scope get_variable get_local_variable "
                          "get_variable_scope make_template fixed_size_partitioner variable_axis_size_partitioner "
                          "min_max_variable_partitioner variable_creator_scope no_regularizer enable_resource_variables "
                          "disable_resource_variables resource_variables_enabled",
        "gradients": "gradients hessians RegisterGradient NoGradient NotDifferentiable no_gradient custom_gradient "
                     "grad_pass_through AggregationMethod UnconnectedGradients recompute_grad",
        "control_flow": "group tuple no_op cond case switch_case while_loop Assert",
        "checks": "assert_equal assert_less assert_less_equal assert_greater assert_greater_equal assert_positive "
                  "assert_negative assert_non_negative assert_non_positive assert_near assert_none_equal assert_integer "
                  "assert_rank assert_rank_at_least assert_rank_in assert_scalar assert_type assert_same_float_dtype "
                  "assert_proper_iterable is_numeric_tensor is_non_decreasing is_strictly_increasing verify_tensor_all_finite "
                  "add_check_numerics_ops Print print=print_v2 ensure_shape",
        "functional_ops": "map_fn foldl foldr scan",
        "tensor_array": "TensorArray",
        "py_func": "py_func numpy_function py_function",
        "linalg": "eye trace diag diag_part matrix_inverse matrix_determinant matrix_solve cholesky cholesky_solve "
                  "matrix_triangular_solve matrix_band_part svd qr self_adjoint_eig self_adjoint_eigvals matrix_solve_ls",
        "sparse_ops": "sparse_to_dense sparse_tensor_to_dense sparse_tensor_dense_matmul sparse_reshape sparse_reorder "
                      "sparse_concat sparse_add sparse_reduce_sum sparse_retain sparse_slice sparse_fill_empty_rows "
                      "sparse_softmax sparse_transpose sparse_split sparse_to_indicator sparse_merge sparse_reset_shape sparse_maximum sparse_minimum sparse_reduce_max "
                      "sparse_reduce_max_sparse sparse_reduce_sum_sparse",
        "data_flow": "FIFOQueue PaddingFIFOQueue RandomShuffleQueue PriorityQueue QueueBase ConditionalAccumulator "
                     "ConditionalAccumulatorBase SparseConditionalAccumulator dynamic_stitch dynamic_partition "
                     "parallel_dynamic_stitch=dynamic_stitch",
        "lookup_ops": "tables_initializer initialize_all_tables",
        "string_ops": "string_split string_join regex_replace reduce_join substr string_strip as_string "
                      "string_to_number string_to_hash_bucket string_to_hash_bucket_fast string_to_hash_bucket_strong "
                      "decode_base64 encode_base64",
        "train.meta_graph": "import_graph_def",
        "parsing": "FixedLenFeature VarLenFeature SparseFeature FixedLenSequenceFeature parse_example parse_single_example "
                   "parse_single_sequence_example decode_raw decode_csv parse_tensor serialize_tensor decode_json_example",
        "readers": "ReaderBase TFRecordReader TextLineReader WholeFileReader IdentityReader FixedLengthRecordReader",
        "file_io": "read_file write_file matching_files",
        "messages": "ConfigProto GraphDef NodeDef NameAttrList AttrValue OptimizerOptions GraphOptions GPUOptions "
                    "RunOptions RunMetadata MetaGraphDef Event Summary SummaryMetadata HistogramProto SessionLog LogMessage "
                    "TensorInfo=TensorInfo",
        "defun": "Defun", "tensor_spec": "TensorSpec SparseTensorSpec TypeSpec", "metrics": "confusion_matrix",
        "summary": "scalar_summary histogram_summary image_summary merge_summary merge_all_summaries",
        "image_boxes": "extract_image_patches", "ragged": "RaggedTensor",
        "train.inputs": "string_input_producer", "train.monitored": "MonitoredTrainingSession",
        "errors": "OpError", "eager.tape": "GradientTape", "eager.function": "function", "eager.module": "Module",
        "version": "__version__ VERSION __git_version__ GIT_VERSION __compiler_version__ COMPILER_VERSION GRAPH_DEF_VERSION "
                   "GRAPH_DEF_VERSION_MIN_CONSUMER GRAPH_DEF_VERSION_MIN_PRODUCER CXX11_ABI_FLAG MONOLITHIC_BUILD "
                   "__cxx11_abi_flag__ __monolithic_build__ disable_v2_behavior enable_v2_behavior "
                   "disable_eager_execution enable_eager_execution disable_v2_tensorshape enable_v2_tensorshape "
                   "control_flow_v2_enabled disable_control_flow_v2 enable_control_flow_v2 disable_tensor_equality "
                   "enable_tensor_equality get_logger load_op_library load_library load_file_system_library",
    },
    "nn": {
        "nn": "*", "math_ops": "sigmoid tanh",
        "rnn": "dynamic_rnn bidirectional_dynamic_rnn static_rnn static_bidirectional_rnn",
    },
    "nn.rnn_cell": {"rnn_cell": "RNNCell BasicRNNCell BasicLSTMCell LSTMCell GRUCell MultiRNNCell DropoutWrapper "
                                "ResidualWrapper DeviceWrapper LSTMStateTuple"},
    "layers": {"layers": "Layer Dense dense Dropout dropout Flatten flatten BatchNormalization batch_normalization Conv1D "
                         "Conv2D Conv3D conv1d conv2d conv3d Conv2DTranspose Conv3DTranspose conv2d_transpose "
                         "conv3d_transpose SeparableConv1D SeparableConv2D separable_conv1d separable_conv2d MaxPooling1D "
                         "MaxPooling2D MaxPooling3D max_pooling1d max_pooling2d max_pooling3d AveragePooling1D "
                         "AveragePooling2D AveragePooling3D average_pooling1d average_pooling2d average_pooling3d InputSpec"},
    "losses": {"losses": "Reduction add_loss get_losses get_regularization_losses get_regularization_loss get_total_loss "
                         "compute_weighted_loss mean_squared_error absolute_difference log_loss huber_loss hinge_loss "
                         "cosine_distance mean_pairwise_squared_error sigmoid_cross_entropy softmax_cross_entropy "
                         "sparse_softmax_cross_entropy"},
    "metrics": {"metrics": "*"},
    "train": {
        "train.optimizer": "Optimizer GradientDescentOptimizer MomentumOptimizer AdagradOptimizer AdadeltaOptimizer "
                           "RMSPropOptimizer AdamOptimizer FtrlOptimizer ProximalGradientDescentOptimizer "
                           "ProximalAdagradOptimizer AdagradDAOptimizer",
        "train.schedules": "exponential_decay natural_exp_decay inverse_time_decay polynomial_decay cosine_decay "
                           "cosine_decay_restarts linear_cosine_decay noisy_linear_cosine_decay piecewise_constant "
                           "piecewise_constant_decay ExponentialMovingAverage",
        "train.saver": "Saver CheckpointState generate_checkpoint_state_proto update_checkpoint_state get_checkpoint_state "
                       "latest_checkpoint checkpoint_exists get_checkpoint_mtimes remove_checkpoint NewCheckpointReader "
                       "load_checkpoint load_variable list_variables init_from_checkpoint import_meta_graph "
                       "export_meta_graph checkpoints_iterator",
        "train.steps": "get_global_step create_global_step get_or_create_global_step global_step assert_global_step",
        "train.coordinator": "Coordinator LooperThread",
        "train.queue_runner": "QueueRunner add_queue_runner start_queue_runners",
        "train.hooks": "SessionRunHook SessionRunArgs SessionRunContext SessionRunValues LoggingTensorHook StopAtStepHook "
                       "CheckpointSaverHook CheckpointSaverListener StepCounterHook NanTensorHook SummarySaverHook "
                       "GlobalStepWaiterHook FinalOpsHook FeedFnHook ProfilerHook SecondOrStepTimer NanLossDuringTrainingError",
        "train.monitored": "Scaffold SessionCreator ChiefSessionCreator WorkerSessionCreator MonitoredSession "
                           "SingularMonitoredSession MonitoredTrainingSession",
        "train.ready_session": "SessionManager", "train.supervisor": "Supervisor",
        "train.inputs": "string_input_producer input_producer range_input_producer slice_input_producer limit_epochs batch "
                        "batch_join shuffle_batch shuffle_batch_join maybe_batch maybe_shuffle_batch match_filenames_once",
        "train.server": "Server ClusterSpec replica_device_setter", "train.sync_replicas": "SyncReplicasOptimizer",
        "train.checkpointable": "Checkpoint CheckpointManager",
        "train.files": "write_graph summary_iterator",
        "messages": "Example Features Feature FeatureList FeatureLists SequenceExample BytesList FloatList Int64List "
                    "ClusterDef JobDef ServerDef SaverDef QueueRunnerDef",
        "session": "", "math_ops": "global_norm",
    },
    "summary": {"summary": "scalar histogram image audio text tensor_summary merge merge_all FileWriter FileWriterCache "
                           "get_summary_description initialize all_v2_summary_ops",
                "messages": "Summary Event SessionLog TaggedRunMetadata SummaryDescription=SummaryMetadata"},
    "errors": {"errors": "*"},
    "gfile": {"file_io": "GFile FastGFile Open=GFile Exists Remove Glob IsDirectory ListDirectory MkDir MakeDirs "
                         "DeleteRecursively Rename Copy Stat Walk"},
    "io": {"file_io": "read_file write_file matching_files TFRecordWriter TFRecordOptions TFRecordCompressionType "
                      "tf_record_iterator",
           "parsing": "FixedLenFeature VarLenFeature SparseFeature FixedLenSequenceFeature parse_example "
                      "parse_single_example parse_single_sequence_example decode_raw decode_csv parse_tensor "
                      "serialize_tensor decode_json_example", "train.files": "write_graph",
           "data_flow": "QueueBase FIFOQueue PaddingFIFOQueue PriorityQueue RandomShuffleQueue",
           "string_ops": "decode_base64 encode_base64"},
    "io.gfile": {"file_io": "GFile exists=Exists remove=Remove glob=Glob isdir=IsDirectory listdir=ListDirectory mkdir=MkDir "
                            "makedirs=MakeDirs rmtree=DeleteRecursively rename=Rename copy=Copy stat=Stat walk=walk_v2"},
    "python_io": {"file_io": "TFRecordWriter TFRecordOptions TFRecordCompressionType tf_record_iterator"},
    "saved_model.constants": {"saved_model": "*"},
    "saved_model": {"saved_model": "Builder simple_save load loader_load=load builder loader signature_constants "
                                   "signature_def_utils tag_constants main_op utils maybe_saved_model_directory "
                                   "contains_saved_model build_signature_def predict_signature_def "
                                   "classification_signature_def regression_signature_def build_tensor_info "
                                   "get_tensor_from_tensor_info is_valid_signature save main_op_with_restore "
                                   "ASSETS_DIRECTORY ASSETS_KEY CLASSIFY_INPUTS CLASSIFY_METHOD_NAME CLASSIFY_OUTPUT_CLASSES "
                                   "CLASSIFY_OUTPUT_SCORES DEFAULT_SERVING_SIGNATURE_DEF_KEY GPU LEGACY_INIT_OP_KEY "
                                   "MAIN_OP_KEY PREDICT_INPUTS PREDICT_METHOD_NAME PREDICT_OUTPUTS REGRESS_INPUTS "
                                   "REGRESS_METHOD_NAME REGRESS_OUTPUTS SAVED_MODEL_FILENAME_PB SAVED_MODEL_FILENAME_PBTXT "
                                   "SAVED_MODEL_SCHEMA_VERSION SERVING TPU TRAINING VARIABLES_DIRECTORY VARIABLES_FILENAME"},
    "initializers": {"init_ops": "zeros=Zeros ones=Ones constant=Constant random_uniform=RandomUniform "
                                 "random_normal=RandomNormal truncated_normal=TruncatedNormal "
                                 "uniform_unit_scaling=UniformUnitScaling variance_scaling=VarianceScaling "
                                 "orthogonal=Orthogonal identity=Identity glorot_uniform=GlorotUniform "
                                 "glorot_normal=GlorotNormal he_normal he_uniform lecun_normal lecun_uniform",
                     "variables": "global_variables=global_variables_initializer local_variables=local_variables_initializer "
                                  "variables=variables_initializer", "lookup_ops": "tables_initializer"},
    "math": {"math_ops": "*", "metrics": "confusion_matrix", "checks": "is_non_decreasing is_strictly_increasing", "nn": "l2_normalize zero_fraction in_top_k top_k"},
    "linalg": {"linalg": "*", "math_ops": "norm trace matmul tensordot einsum global_norm matvec",
               "array_ops": "matrix_transpose set_diag=matrix_set_diag transpose=matrix_transpose",
               "nn": "l2_normalize"},
    "random": {"random_ops": "normal=random_normal uniform=random_uniform truncated_normal shuffle=random_shuffle "
                             "categorical multinomial gamma=random_gamma poisson=random_poisson stateless_normal="
                             "stateless_random_normal stateless_uniform=stateless_random_uniform stateless_truncated_normal "
                             "stateless_categorical stateless_multinomial",
               "graph": "set_random_seed get_seed", "nn": "all_candidate_sampler uniform_candidate_sampler "
               "log_uniform_candidate_sampler learned_unigram_candidate_sampler fixed_unigram_candidate_sampler"},
    "strings": {"string_ops": "split=string_split_v2 join=string_join regex_replace reduce_join substr strip=string_strip "
                              "as_string to_number=string_to_number to_hash_bucket=string_to_hash_bucket "
                              "to_hash_bucket_fast=string_to_hash_bucket_fast to_hash_bucket_strong="
                              "string_to_hash_bucket_strong length=string_length format=string_format "
                              "lower=string_lower upper=string_upper regex_full_match"},
    "sparse": {"indexed": "SparseTensor", "array_ops": "placeholder=sparse_placeholder mask=sparse_mask",
               "sparse_ops": "to_dense=sparse_tensor_to_dense sparse_dense_matmul=sparse_tensor_dense_matmul matmul="
                             "sparse_tensor_dense_matmul reshape=sparse_reshape reorder=sparse_reorder concat=sparse_concat "
                             "add=sparse_add reduce_sum=sparse_reduce_sum retain=sparse_retain slice=sparse_slice "
                             "fill_empty_rows=sparse_fill_empty_rows softmax=sparse_softmax transpose=sparse_transpose "
                             "split=sparse_split to_indicator=sparse_to_indicator merge=sparse_merge "
                             "reset_shape=sparse_reset_shape from_dense eye=sparse_eye reduce_max=sparse_reduce_max "
                             "reduce_max_sparse=sparse_reduce_max_sparse reduce_sum_sparse=sparse_reduce_sum_sparse "
                             "maximum=sparse_maximum minimum=sparse_minimum",
               "data_flow": "SparseConditionalAccumulator",
               "math_ops": "segment_sum=sparse_segment_sum segment_mean=sparse_segment_mean segment_sqrt_n="
                           "sparse_segment_sqrt_n"},
    "debugging": {"checks": "*", "control_flow": "Assert", "constant": ""},
    "queue": {"data_flow": "QueueBase FIFOQueue PaddingFIFOQueue PriorityQueue RandomShuffleQueue"},
    "lookup": {"lookup_ops": "*"},
    "app": {"platform": "run"}, "flags": {"flags": "*"}, "app.flags": {"flags": "*"},
    "logging": {"logging": "*"}, "test": {"test": "*"}, "sysconfig": {"version": "get_include get_lib get_compile_flags "
                                                                                  "get_link_flags"},
    "compat": {"compat_strings": "*", "tensor_shape": "dimension_value dimension_at_index"}, "resource_loader": {"platform": "get_data_files_path load_resource get_path_to_datafile"},
    "graph_util": {"frozen": "*"}, "nest": {"nest": "*"},
    "autograph": {}, "autograph.experimental": {"shims": "do_not_convert"},
    "raw_ops": {}, "bitwise": {}, "image": {"image_ops": "*", "image_boxes": "*"}, "sets": {"sets": "*"}, "signal": {"signal": "*"}, "quantization": {}, "audio": {},
    "manip": {"array_ops": "roll reshape reverse tile gather_nd batch_to_space_nd=batch_to_space"},
    "spectral": {"signal": "*"}, "dtypes": {"dtypes": "as_dtype DType QUANTIZED_DTYPES bfloat16 bool complex128 complex64 double float16 float32 float64 half "
                                    "int16 int32 int64 int8 qint16 qint32 qint8 quint16 quint8 resource string uint16 uint32 "
                                    "uint64 uint8 variant", "array_ops": "", "math_ops": "cast complex saturate_cast"},
    "regularizers": {"regularizers": "*"},
    "contrib": {},
    "contrib.layers": {"contrib.layers": "*", "contrib.normalization": "*", "contrib.optimizers": "*",
                       "contrib.summaries": "*", "regularizers": "*", "contrib.collections_of": "*",
                       "contrib.feature_columns": "*"},
    "contrib.layers.utils": {"contrib.collections_of": "*"}, "contrib.layers.summaries": {"contrib.summaries": "*"},
    "contrib.framework": {"contrib.arg_scope": "*", "contrib.variables": "*", "contrib.pieces": "*"},
    "contrib.framework.nest": {"nest": "*"}, "contrib.framework.arg_scope": {"contrib.arg_scope": "*"},
    "contrib.slim": {"contrib.slim": "*", "contrib.layers": "*", "contrib.normalization": "*", "contrib.arg_scope": "*",
                     "contrib.variables": "*", "contrib.summaries": "*", "regularizers": "*"},
    "contrib.slim.losses": {"contrib.losses": "*"}, "contrib.slim.learning": {"contrib.slim_learning": "*"},
    "contrib.slim.evaluation": {"contrib.slim_evaluation": "*"}, "contrib.slim.metrics": {"contrib.metrics": "*"},
    "contrib.slim.queues": {"contrib.slim": "QueueRunners"}, "contrib.slim.utils": {"contrib.collections_of": "*"},
    "contrib.slim.dataset": {"contrib.slim_data": "*"}, "contrib.slim.tfexample_decoder": {"contrib.slim_data": "*"},
    "contrib.slim.dataset_data_provider": {"contrib.slim_data": "*"},
    "contrib.slim.data_decoder": {"contrib.slim_data": "*"}, "contrib.slim.parallel_reader": {"contrib.slim_data": "*"},
    "contrib.slim.prefetch_queue": {"contrib.slim_data": "*"},
    "contrib.slim.nets": {}, "contrib.slim.nets.resnet_utils": {"contrib.slim_resnet": "*"},
    "contrib.slim.initializers": {"contrib.layers": "xavier_initializer xavier_initializer_conv2d "
                                                    "variance_scaling_initializer"},
    "contrib.slim.regularizers": {"regularizers": "*"},
    "contrib.rnn": {"rnn_cell": "*", "contrib.rnn": "*",
                    "rnn": "static_rnn static_bidirectional_rnn"},
    "contrib.seq2seq": {"contrib.seq2seq": "*", "contrib.attention": "*", "contrib.beam_search": "*"},
    "contrib.training": {"contrib.hparam": "*", "contrib.training": "*", "train.saver": "checkpoints_iterator "
                         "wait_for_new_checkpoint", "train.server": "GreedyLoadBalancingStrategy byte_size_load_fn"},
    "contrib.losses": {"contrib.losses": "*"}, "contrib.metrics": {"contrib.metrics": "*"},
    "contrib.nn": {"contrib.nn": "*"}, "contrib.predictor": {"contrib.predictor": "*"},
    "contrib.tensorboard": {}, "contrib.tensorboard.plugins": {},
    "contrib.tensorboard.plugins.projector": {"contrib.projector": "*"},
    "contrib.crf": {"contrib.crf": "*"}, "contrib.opt": {"contrib.opt": "*"},
    "contrib.data": {"data.experimental": "*", "data.dataset": "Dataset TFRecordDataset TextLineDataset "
                     "FixedLengthRecordDataset", "data.iterator": "Iterator"},
    "contrib.lookup": {"lookup_ops": "*"}, "contrib.image": {"contrib.image": "*"},
    "contrib.distributions": {"contrib.distributions": "*"},
    "contrib.distributions.bijectors": {"contrib.bijectors": "*"},
    "contrib.summary": {"contrib.summary": "*"}, "contrib.graph_editor": {"contrib.graph_editor": "*"},
    "contrib.learn": {"contrib.learn": "*"}, "contrib.learn.preprocessing": {"contrib.learn_text": "*"},
    "contrib.tpu": {"contrib.tpu": "*"}, "contrib.cluster_resolver": {"contrib.cluster_resolver": "*"},
    "contrib.eager": {"contrib.eager": "*"}, "contrib.distribute": {"shims": "*"},
    "contrib.signal": {"signal": "*"}, "contrib.util": {"constant": "constant_value make_tensor_proto make_ndarray"},
    "contrib.saved_model": {"saved_model": "*"}, "contrib.estimator": {"estimator": "*"},
    "contrib.ffmpeg": {}, "examples.tutorials.mnist": {"contrib.mnist": "*"},
    "examples.tutorials.mnist.input_data": {"contrib.mnist": "*"}, "contrib.keras": {"keras": "*"},
    "config": {"config": "*"}, "config.experimental": {"config": "*"},
    "config.optimizer": {"config_optimizer": "*"},
    "data": {"data.dataset": "*", "data.iterator": "Iterator"}, "data.experimental": {"data.experimental": "*"},
    "distributions": {"contrib.distributions": "*"}, "distribute": {"shims": "*", "train.server": "Server"},
    "distribute.experimental": {}, "distribute.cluster_resolver": {"contrib.cluster_resolver": "*"},
    "estimator": {"estimator": "*"}, "keras": {"keras": "*"},
    "estimator.export": {"estimator.export": "*"}, "estimator.inputs": {"estimator.inputs": "*"},
    "estimator.tpu": {"contrib.tpu": "*"}, "estimator.experimental": {"estimator": ""},
    "feature_column": {"feature_column": "*"}, "tpu": {"contrib.tpu": "*"}, "tpu.experimental": {"contrib.tpu": ""},
    "train.experimental": {"train.checkpointable": ""}, "train.queue_runner": {"train.queue_runner": "*"},
    "lookup.experimental": {"lookup_ops": "DenseHashTable"}, "profiler": {"profiler": "*"}, "ragged": {"ragged": "*"},
    "types": {}, "experimental": {}, "version": {"version": "*"},
    "user_ops": {}, "tools": {},
}
# Namespaces whose names are also ops', by snake_case.
WITH_OPS = {"", "nn", "math", "linalg", "random", "image", "strings", "io", "sparse", "bitwise", "sets", "signal",
            "quantization", "audio", "spectral", "manip", "debugging", "train", "lookup", "data", "dtypes"}
OP_NAMES = {  # where a public name differs from the op's
    "fft": "FFT", "ifft": "IFFT", "fft2d": "FFT2D", "ifft2d": "IFFT2D", "fft3d": "FFT3D", "ifft3d": "IFFT3D",
    "is_nan": "IsNan", "is_inf": "IsInf", "is_finite": "IsFinite", "erf": "Erf", "betainc": "Betainc",
    "matrix_determinant": "MatrixDeterminant", "det": "MatrixDeterminant", "inv": "MatrixInverse",
    "invert_permutation": "InvertPermutation", "diag": "Diag", "diag_part": "DiagPart", "band_part": "MatrixBandPart",
    "tensor_scatter_update": "TensorScatterUpdate", "tensor_scatter_nd_update": "TensorScatterUpdate",
    "tensor_scatter_add": "TensorScatterAdd", "tensor_scatter_nd_add": "TensorScatterAdd",
    "tensor_scatter_nd_sub": "TensorScatterSub", "tensor_scatter_sub": "TensorScatterSub",
    "depth_to_space": "DepthToSpace", "space_to_depth": "SpaceToDepth", "space_to_batch_nd": "SpaceToBatchND",
    "batch_to_space_nd": "BatchToSpaceND", "non_max_suppression": "NonMaxSuppressionV3", "xdivy": "Xdivy",
    "multiply_no_nan": "MulNoNan", "log_determinant": "LogMatrixDeterminant", "cross": "Cross",
    "confusion_matrix": None, "bessel_i0e": "BesselI0e", "bessel_i1e": "BesselI1e", "rint": "Rint", "lgamma": "Lgamma",
    "unravel_index": "UnravelIndex", "check_numerics": "CheckNumerics", "decode_compressed": "DecodeCompressed",
    "conj": "Conj", "zeta": "Zeta", "igamma": "Igamma", "igammac": "Igammac", "polygamma": "Polygamma",
    "truncatediv": "TruncateDiv", "truncatemod": "TruncateMod", "squared_difference": "SquaredDifference",
    "adjust_contrast": "AdjustContrastv2", "rgb_to_hsv": "RGBToHSV", "hsv_to_rgb": "HSVToRGB",
    "local_response_normalization": "LRN",
}
# Public names of 1.15 that are not here: they may be touched, and fail when they are called.
ABSENT = {
    "": "CriticalSection IndexedSlicesSpec LMDBReader OptionalSpec RaggedTensor RaggedTensorSpec TensorArraySpec "
        "batch_scatter_update create_partitioned_variables histogram_fixed_width_bins lite nondifferentiable_batch_function "
        "quantize realdiv vectorized_map wrap_function xla",
    "autograph": "set_verbosity to_code to_graph trace",
    "autograph.experimental": "Feature set_loop_options",
    "config": "experimental_connect_to_cluster experimental_connect_to_host experimental_run_functions_eagerly threading",
    "config.experimental": "get_device_policy get_synchronous_execution get_virtual_device_configuration set_device_policy "
                           "set_synchronous_execution",
    "config.optimizer": "get_experimental_options get_jit set_experimental_options set_jit",
    "data": "DatasetSpec",
    "data.experimental": "DatasetStructure DistributeOptions MapVectorizationOptions OptimizationOptions Optional "
                         "OptionalStructure RaggedTensorStructure Reducer SparseTensorStructure SqlDataset StatsAggregator "
                         "StatsOptions Structure TFRecordWriter TensorArrayStructure TensorStructure ThreadingOptions "
                         "bytes_produced_stats dense_to_sparse_batch from_variant get_next_as_optional group_by_reducer "
                         "latency_stats make_batched_features_dataset make_saveable_from_iterator parse_example_dataset "
                         "to_variant unique",
    "debugging": "assert_shapes get_log_device_placement set_log_device_placement",
    "distribute": "CrossDeviceOps HierarchicalCopyAllReduce InputContext InputReplicationMode NcclAllReduce "
                  "ReductionToOneDevice StrategyExtended experimental_set_strategy get_loss_reduction",
    "distribute.cluster_resolver": "GCEClusterResolver KubernetesClusterResolver SlurmClusterResolver UnionResolver",
    "distribute.experimental": "CentralStorageStrategy CollectiveCommunication MultiWorkerMirroredStrategy "
                               "ParameterServerStrategy TPUStrategy",
    "distributions": "Dirichlet DirichletMultinomial Gamma Laplace Multinomial StudentT",
    "estimator": "BaselineClassifier BaselineEstimator BaselineRegressor BinaryClassHead BoostedTreesClassifier "
                 "BoostedTreesEstimator BoostedTreesRegressor DNNLinearCombinedClassifier DNNLinearCombinedEstimator "
                 "DNNLinearCombinedRegressor Head LogisticRegressionHead MultiClassHead MultiHead MultiLabelHead "
                 "PoissonRegressionHead RegressionHead",
    "estimator.experimental": "InMemoryEvaluatorHook KMeans LinearSDCA build_raw_supervised_input_receiver_fn call_logit_fn "
                              "dnn_logit_fn_builder linear_logit_fn_builder make_early_stopping_hook "
                              "make_stop_at_checkpoint_step_hook stop_if_higher_hook stop_if_lower_hook "
                              "stop_if_no_decrease_hook stop_if_no_increase_hook",
    "experimental": "function_executor_type output_all_intermediates",
    "feature_column": "crossed_column sequence_categorical_column_with_hash_bucket sequence_categorical_column_with_identity "
                      "sequence_categorical_column_with_vocabulary_file sequence_categorical_column_with_vocabulary_list "
                      "sequence_numeric_column shared_embedding_columns weighted_categorical_column",
    "graph_util": "import_graph_def",
    "image": "ssim_multiscale",
    "io": "decode_proto is_jpeg match_filenames_once",
    "keras": "applications estimator experimental mixed_precision wrappers",
    "keras.callbacks": "BaseLogger RemoteMonitor",
    "keras.constraints": "RadialConstraint deserialize radial_constraint",
    "keras.initializers": "normal uniform",
    "keras.layers": "AbstractRNNCell ActivityRegularization AlphaDropout Conv3DTranspose ConvLSTM2D Convolution2DTranspose "
                    "Convolution3DTranspose Cropping1D Cropping3D CuDNNGRU CuDNNLSTM DenseFeatures GaussianDropout "
                    "GlobalAvgPool3D GlobalMaxPool3D LocallyConnected1D LocallyConnected2D SeparableConv1D "
                    "SeparableConvolution1D SeparableConvolution2D SpatialDropout3D ThresholdedReLU UpSampling3D Wrapper "
                    "ZeroPadding3D",
    "keras.losses": "cosine cosine_proximity deserialize kullback_leibler_divergence logcosh serialize",
    "keras.metrics": "KLD MAE MAPE MSE MSLE MeanRelativeError MeanTensor SensitivityAtSpecificity SpecificityAtSensitivity "
                     "binary_crossentropy categorical_crossentropy cosine cosine_proximity deserialize hinge kld "
                     "kullback_leibler_divergence mae mape mean_absolute_error mean_absolute_percentage_error "
                     "mean_squared_error mean_squared_logarithmic_error mse msle poisson serialize "
                     "sparse_categorical_crossentropy squared_hinge",
    "keras.optimizers": "deserialize",
    "keras.optimizers.schedules": "deserialize serialize",
    "keras.regularizers": "deserialize",
    "layers": "experimental",
    "linalg": "LinearOperator LinearOperatorAdjoint LinearOperatorBlockDiag LinearOperatorCirculant LinearOperatorCirculant2D "
              "LinearOperatorCirculant3D LinearOperatorComposition LinearOperatorDiag LinearOperatorFullMatrix "
              "LinearOperatorHouseholder LinearOperatorIdentity LinearOperatorInversion LinearOperatorKronecker "
              "LinearOperatorLowRankUpdate LinearOperatorLowerTriangular LinearOperatorScaledIdentity LinearOperatorToeplitz "
              "LinearOperatorZeros expm logm matrix_rank normalize pinv sqrtm tridiagonal_matmul",
    "math": "divide_no_nan reciprocal_no_nan",
    "nn": "avg_pool_v2 collapse_repeated compute_average_loss conv3d_backprop_filter conv3d_backprop_filter_v2 conv_transpose "
          "ctc_beam_search_decoder_v2 ctc_unique_labels depthwise_conv2d_backprop_filter depthwise_conv2d_backprop_input "
          "erosion2d quantized_conv2d raw_rnn scale_regularization_loss static_state_saving_rnn with_space_to_batch",
    "profiler": "AdviceProto GraphNodeProto MultiGraphNodeProto OpLogProto ProfileOptionBuilder Profiler advise profile "
                "write_op_log",
    "quantization": "quantize",
    "ragged": "RaggedTensorValue boolean_mask constant constant_value map_flat_values placeholder range "
              "row_splits_to_segment_ids segment_ids_to_row_splits stack stack_dynamic_partitions",
    "random": "experimental",
    "saved_model": "experimental load_v2",
    "sparse": "cross_hashed",
    "strings": "bytes_split ngrams unicode_split unicode_split_with_offsets",
    "test": "Benchmark StubOutForTesting assert_equal_graph_def benchmark_config compute_gradient compute_gradient_error "
            "create_local_cluster is_built_with_gpu_support is_built_with_rocm",
    "tpu": "core",
    "tpu.experimental": "AdagradParameters AdamParameters DeviceAssignment StochasticGradientDescentParameters "
                        "embedding_column initialize_tpu_system shared_embedding_columns",
    "train": "Checkpoint CheckpointManager VocabInfo basic_train_loop do_quantize_training_on_graphdef maybe_batch_join "
             "maybe_shuffle_batch_join warm_start",
    "train.experimental": "DynamicLossScale FixedLossScale LossScale MixedPrecisionLossScaleOptimizer PythonState "
                          "disable_mixed_precision_graph_rewrite enable_mixed_precision_graph_rewrite",
}

// known_ops.sig — ops that TensorFlow has and we only know by their signature. Sorted; one op per line.
AccumulatorApplyGradient(handle: ref string, local_step: int64, gradient: dtype); dtype: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}
AccumulatorNumAccumulated(handle: ref string) -> num_accumulated: int32
AccumulatorSetGlobalStep(handle: ref string, new_global_step: int64)
AccumulatorTakeGradient(handle: ref string, num_required: int32) -> average: dtype; dtype: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}
AddManySparseToTensorsMap(sparse_indices: int64, sparse_values: T, sparse_shape: int64) -> sparse_handles: int64; T: type; container: string = ""; shared_name: string = ""; stateful
AddSparseToTensorsMap(sparse_indices: int64, sparse_values: T, sparse_shape: int64) -> sparse_handle: int64; T: type; container: string = ""; shared_name: string = ""; stateful
AdjustContrast(images: T, contrast_factor: float, min_value: float, max_value: float) -> output: float; T: {uint8, int8, int16, int32, int64, float, double}; deprecated(2, "use AdjustContrastv2")
AdjustContrastv2(images: T, contrast_factor: float) -> output: T; T: {half, float} = float
AdjustHue(images: T, delta: float) -> output: T; T: {half, float} = float
AdjustSaturation(images: T, scale: float) -> output: T; T: {half, float} = float
AllToAll(input: T, group_assignment: int32) -> output: T; T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64, bool}; concat_dimension: int; split_dimension: int; split_count: int; stateful
AnonymousIterator() -> handle: resource; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; stateful
AnonymousIteratorV2() -> handle: resource, deleter: variant; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; stateful
AnonymousIteratorV3() -> handle: resource; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; stateful
AnonymousMemoryCache() -> handle: resource, deleter: variant; stateful
AnonymousMultiDeviceIterator() -> handle: resource, deleter: variant; devices: list(string) >= 1; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; stateful
AnonymousMultiDeviceIteratorV3() -> handle: resource; devices: list(string) >= 1; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; stateful
AnonymousRandomSeedGenerator(seed: int64, seed2: int64) -> handle: resource, deleter: variant; stateful
AnonymousSeedGenerator(seed: int64, seed2: int64, reshuffle: bool) -> handle: resource, deleter: variant; stateful
ApproxTopK(input: T) -> values: T, indices: int32; k: int >= 0; reduction_dimension: int = -1; recall_target: float = 0.95; is_max_k: bool = true; reduction_input_size_override: int = -1; aggregate_to_topk: bool = true; T: {half, bfloat16, float}
AssertCardinalityDataset(input_dataset: variant, cardinality: int64) -> handle: variant; output_types: list(type) >= 1; output_shapes: list(shape) >= 1
AssertNextDataset(input_dataset: variant, transformations: string) -> handle: variant; output_types: list(type) >= 1; output_shapes: list(shape) >= 1
AssertPrevDataset(input_dataset: variant, transformations: string) -> handle: variant; output_types: list(type) >= 1; output_shapes: list(shape) >= 1
AssignVariableXlaConcatND(resource: resource, inputs: N * T); T: type; N: int >= 1; num_concats: list(int); paddings: list(int) = []; stateful
AudioSpectrogram(input: float) -> spectrogram: float; window_size: int; stride: int; magnitude_squared: bool = false
AudioSummary(tag: string, tensor: float) -> summary: string; sample_rate: float; max_outputs: int >= 1 = 3; deprecated(15, "use AudioSummaryV2")
AudioSummaryV2(tag: string, tensor: float, sample_rate: float) -> summary: string; max_outputs: int >= 1 = 3
AutoShardDataset(input_dataset: variant, num_workers: int64, index: int64) -> handle: variant; auto_shard_policy: int = 0; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; num_replicas: int = 0
BandedTriangularSolve(matrix: T, rhs: T) -> output: T; lower: bool = true; adjoint: bool = false; T: {double, float, half, complex64, complex128}
Barrier() -> handle: ref string; component_types: list(type) >= 1; shapes: list(shape) >= 0 = []; capacity: int = -1; container: string = ""; shared_name: string = ""; stateful
BarrierClose(handle: ref string); cancel_pending_enqueues: bool = false
BarrierIncompleteSize(handle: ref string) -> size: int32
BarrierInsertMany(handle: ref string, keys: string, values: T); T: type; component_index: int
BarrierReadySize(handle: ref string) -> size: int32
BarrierTakeMany(handle: ref string, num_elements: int32) -> indices: int64, keys: string, values: component_types; component_types: list(type) >= 1; allow_small_batch: bool = false; wait_for_incomplete: bool = false; timeout_ms: int = -1
Batch(in_tensors: T) -> batched_tensors: T, batch_index: int64, id: int64; num_batch_threads: int; max_batch_size: int; max_enqueued_batches: int = 10; batch_timeout_micros: int; allowed_batch_sizes: list(int) = []; grad_timeout_micros: int; container: string = ""; shared_name: string = ""; batching_queue: string = ""; T: list(type) >= 1; distributed
BatchCholesky(input: T) -> output: T; T: {double, float}; deprecated(13, "use Cholesky")
BatchCholeskyGrad(l: T, grad: T) -> output: T; T: {float, double}; deprecated(13, "use CholeskyGrad")
BatchDataset(input_dataset: variant, batch_size: int64) -> handle: variant; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; metadata: string = ""
BatchDatasetV2(input_dataset: variant, batch_size: int64, drop_remainder: bool) -> handle: variant; parallel_copy: bool = false; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; metadata: string = ""
BatchFFT(input: complex64) -> output: complex64; deprecated(15, "use FFT")
BatchFFT2D(input: complex64) -> output: complex64; deprecated(15, "use FFT2D")
BatchFFT3D(input: complex64) -> output: complex64; deprecated(15, "use FFT3D")
BatchFunction(in_tensors: Tin, captured_tensors: Tcaptured) -> out_tensors: Tout; f: func; num_batch_threads: int; max_batch_size: int; batch_timeout_micros: int; max_enqueued_batches: int = 10; allowed_batch_sizes: list(int) = []; container: string = ""; shared_name: string = ""; batching_queue: string = ""; low_priority_max_batch_size: int = 0; low_priority_batch_timeout_micros: int = 0; low_priority_allowed_batch_sizes: list(int) = []; low_priority_max_enqueued_batches: int = 0; mixed_priority_policy: {"low_priority_padding_with_max_batch_size", "low_priority_padding_with_next_allowed_batch_size", "priority_isolation", "priority_merge"} = "low_priority_padding_with_max_batch_size"; batch_padding_policy: {"PAD_UP", "BATCH_DOWN", "MINIMIZE_TPU_COST_PER_REQUEST"} = "PAD_UP"; Tin: list(type) >= 1; Tcaptured: list(type) >= 0; Tout: list(type) >= 1; enable_large_batch_splitting: bool = false; distributed
BatchIFFT(input: complex64) -> output: complex64; deprecated(15, "use IFFT")
BatchIFFT2D(input: complex64) -> output: complex64; deprecated(15, "use IFFT2D")
BatchIFFT3D(input: complex64) -> output: complex64; deprecated(15, "use IFFT3D")
BatchMatrixBandPart(input: T, num_lower: int64, num_upper: int64) -> band: T; T: type; deprecated(14, "use MatrixBandPart")
BatchMatrixDeterminant(input: T) -> output: T; T: {float, double, complex64, complex128}; deprecated(13, "use MatrixDeterminant")
BatchMatrixDiag(diagonal: T) -> output: T; T: type; deprecated(14, "use MatrixDiag")
BatchMatrixDiagPart(input: T) -> diagonal: T; T: type; deprecated(14, "use MatrixDiagPart")
BatchMatrixInverse(input: T) -> output: T; adjoint: bool = false; T: {double, float}; deprecated(13, "use MatrixInverse")
BatchMatrixSetDiag(input: T, diagonal: T) -> output: T; T: type; deprecated(14, "use MatrixSetDiag")
BatchMatrixSolve(matrix: T, rhs: T) -> output: T; adjoint: bool = false; T: {double, float}; deprecated(13, "use MatrixSolve")
BatchMatrixSolveLs(matrix: T, rhs: T, l2_regularizer: double) -> output: T; T: {double, float}; fast: bool = true; deprecated(13, "use MatrixSolveLs")
BatchMatrixTriangularSolve(matrix: T, rhs: T) -> output: T; lower: bool = true; adjoint: bool = false; T: {double, float}; deprecated(13, "use MatrixTriangularSolve")
BatchNormWithGlobalNormalization(t: T, m: T, v: T, beta: T, gamma: T) -> result: T; T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}; variance_epsilon: float; scale_after_normalization: bool; deprecated(9, "use FusedBatchNormV3")
BatchNormWithGlobalNormalizationGrad(t: T, m: T, v: T, gamma: T, backprop: T) -> dx: T, dm: T, dv: T, db: T, dg: T; T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}; variance_epsilon: float; scale_after_normalization: bool; deprecated(9, "use FusedBatchNormGradV3")
BatchSelfAdjointEig(input: T) -> output: T; T: {double, float}; deprecated(11, "use SelfAdjointEigV2")
BatchSelfAdjointEigV2(input: T) -> e: T, v: T; compute_v: bool = true; T: {double, float}; deprecated(13, "use SelfAdjointEigV2")
BatchSvd(input: T) -> s: T, u: T, v: T; compute_uv: bool = true; full_matrices: bool = false; T: {double, float, complex64, complex128}; deprecated(13, "use Svd")
BesselI0(x: T) -> y: T; T: {bfloat16, half, float, double}
BesselI1(x: T) -> y: T; T: {bfloat16, half, float, double}
BesselJ0(x: T) -> y: T; T: {bfloat16, half, float, double}
BesselJ1(x: T) -> y: T; T: {bfloat16, half, float, double}
BesselK0(x: T) -> y: T; T: {bfloat16, half, float, double}
BesselK0e(x: T) -> y: T; T: {bfloat16, half, float, double}
BesselK1(x: T) -> y: T; T: {bfloat16, half, float, double}
BesselK1e(x: T) -> y: T; T: {bfloat16, half, float, double}
BesselY0(x: T) -> y: T; T: {bfloat16, half, float, double}
BesselY1(x: T) -> y: T; T: {bfloat16, half, float, double}
BoostedTreesAggregateStats(node_ids: int32, gradients: float, hessians: float, feature: int32) -> stats_summary: float; max_splits: int >= 1; num_buckets: int >= 1
BoostedTreesBucketize(float_values: num_features * float, bucket_boundaries: num_features * float) -> buckets: num_features * int32; num_features: int >= 0
BoostedTreesCalculateBestFeatureSplit(node_id_range: int32, stats_summary: float, l1: float, l2: float, tree_complexity: float, min_node_weight: float) -> node_ids: int32, gains: float, feature_dimensions: int32, thresholds: int32, left_node_contribs: float, right_node_contribs: float, split_with_default_directions: string; logits_dimension: int >= 1; split_type: {"inequality", "equality"} = "inequality"
BoostedTreesCalculateBestFeatureSplitV2(node_id_range: int32, stats_summaries_list: num_features * float, split_types: string, candidate_feature_ids: int32, l1: float, l2: float, tree_complexity: float, min_node_weight: float) -> node_ids: int32, gains: float, feature_ids: int32, feature_dimensions: int32, thresholds: int32, left_node_contribs: float, right_node_contribs: float, split_with_default_directions: string; num_features: int >= 1; logits_dimension: int >= 1
BoostedTreesCalculateBestGainsPerFeature(node_id_range: int32, stats_summary_list: num_features * float, l1: float, l2: float, tree_complexity: float, min_node_weight: float) -> node_ids_list: num_features * int32, gains_list: num_features * float, thresholds_list: num_features * int32, left_node_contribs_list: num_features * float, right_node_contribs_list: num_features * float; max_splits: int >= 1; num_features: int >= 1
BoostedTreesCenterBias(tree_ensemble_handle: resource, mean_gradients: float, mean_hessians: float, l1: float, l2: float) -> continue_centering: bool; stateful
BoostedTreesCreateEnsemble(tree_ensemble_handle: resource, stamp_token: int64, tree_ensemble_serialized: string); stateful
BoostedTreesCreateQuantileStreamResource(quantile_stream_resource_handle: resource, epsilon: float, num_streams: int64); max_elements: int = 1099511627776; stateful
BoostedTreesDeserializeEnsemble(tree_ensemble_handle: resource, stamp_token: int64, tree_ensemble_serialized: string); stateful
BoostedTreesEnsembleResourceHandleOp() -> resource: resource; container: string = ""; shared_name: string = ""; stateful
BoostedTreesExampleDebugOutputs(tree_ensemble_handle: resource, bucketized_features: num_bucketized_features * int32) -> examples_debug_outputs_serialized: string; num_bucketized_features: int >= 1; logits_dimension: int; stateful
BoostedTreesFlushQuantileSummaries(quantile_stream_resource_handle: resource) -> summaries: num_features * float; num_features: int >= 0; stateful
BoostedTreesGetEnsembleStates(tree_ensemble_handle: resource) -> stamp_token: int64, num_trees: int32, num_finalized_trees: int32, num_attempted_layers: int32, last_layer_nodes_range: int32; stateful
BoostedTreesMakeQuantileSummaries(float_values: num_features * float, example_weights: float, epsilon: float) -> summaries: num_features * float; num_features: int >= 0
BoostedTreesMakeStatsSummary(node_ids: int32, gradients: float, hessians: float, bucketized_features_list: num_features * int32) -> stats_summary: float; max_splits: int >= 1; num_buckets: int >= 1; num_features: int >= 1
BoostedTreesPredict(tree_ensemble_handle: resource, bucketized_features: num_bucketized_features * int32) -> logits: float; num_bucketized_features: int >= 1; logits_dimension: int; stateful
BoostedTreesQuantileStreamResourceAddSummaries(quantile_stream_resource_handle: resource, summaries: num_features * float); num_features: int >= 0; stateful
BoostedTreesQuantileStreamResourceDeserialize(quantile_stream_resource_handle: resource, bucket_boundaries: num_streams * float); num_streams: int >= 1; stateful
BoostedTreesQuantileStreamResourceFlush(quantile_stream_resource_handle: resource, num_buckets: int64); generate_quantiles: bool = false; stateful
BoostedTreesQuantileStreamResourceGetBucketBoundaries(quantile_stream_resource_handle: resource) -> bucket_boundaries: num_features * float; num_features: int >= 0; stateful
BoostedTreesQuantileStreamResourceHandleOp() -> resource: resource; container: string = ""; shared_name: string = ""; stateful
BoostedTreesSerializeEnsemble(tree_ensemble_handle: resource) -> stamp_token: int64, tree_ensemble_serialized: string; stateful
BoostedTreesSparseAggregateStats(node_ids: int32, gradients: float, hessians: float, feature_indices: int32, feature_values: int32, feature_shape: int32) -> stats_summary_indices: int32, stats_summary_values: float, stats_summary_shape: int32; max_splits: int >= 1; num_buckets: int >= 1
BoostedTreesSparseCalculateBestFeatureSplit(node_id_range: int32, stats_summary_indices: int32, stats_summary_values: float, stats_summary_shape: int32, l1: float, l2: float, tree_complexity: float, min_node_weight: float) -> node_ids: int32, gains: float, feature_dimensions: int32, thresholds: int32, left_node_contribs: float, right_node_contribs: float, split_with_default_directions: string; logits_dimension: int >= 1; split_type: {"inequality"} = "inequality"
BoostedTreesTrainingPredict(tree_ensemble_handle: resource, cached_tree_ids: int32, cached_node_ids: int32, bucketized_features: num_bucketized_features * int32) -> partial_logits: float, tree_ids: int32, node_ids: int32; num_bucketized_features: int >= 1; logits_dimension: int; stateful
BoostedTreesUpdateEnsemble(tree_ensemble_handle: resource, feature_ids: int32, node_ids: num_features * int32, gains: num_features * float, thresholds: num_features * int32, left_node_contribs: num_features * float, right_node_contribs: num_features * float, max_depth: int32, learning_rate: float); pruning_mode: int >= 0; num_features: int >= 0; stateful
BoostedTreesUpdateEnsembleV2(tree_ensemble_handle: resource, feature_ids: num_groups * int32, dimension_ids: num_features * int32, node_ids: num_features * int32, gains: num_features * float, thresholds: num_features * int32, left_node_contribs: num_features * float, right_node_contribs: num_features * float, split_types: num_features * string, max_depth: int32, learning_rate: float, pruning_mode: int32); num_features: int >= 0; logits_dimension: int = 1; num_groups: int >= 1 = 1; stateful
BytesProducedStatsDataset(input_dataset: variant, tag: string) -> handle: variant; output_types: list(type) >= 1; output_shapes: list(shape) >= 1
CSRSparseMatrixComponents(csr_sparse_matrix: variant, index: int32) -> row_ptrs: int32, col_inds: int32, values: type; type: {float, double, complex64, complex128}
CSRSparseMatrixToDense(sparse_input: variant) -> dense_output: type; type: {float, double, complex64, complex128}
CSRSparseMatrixToSparseTensor(sparse_matrix: variant) -> indices: int64, values: type, dense_shape: int64; type: {float, double, complex64, complex128}
CSVDataset(filenames: string, compression_type: string, buffer_size: int64, header: bool, field_delim: string, use_quote_delim: bool, na_value: string, select_cols: int64, record_defaults: output_types) -> handle: variant; output_types: list({float, double, int32, int64, string}) >= 1; output_shapes: list(shape) >= 1; stateful
CSVDatasetV2(filenames: string, compression_type: string, buffer_size: int64, header: bool, field_delim: string, use_quote_delim: bool, na_value: string, select_cols: int64, record_defaults: output_types, exclude_cols: int64) -> handle: variant; output_types: list({float, double, int32, int64, string}) >= 1; output_shapes: list(shape) >= 1; stateful
CTCBeamSearchDecoder(inputs: T, sequence_length: int32) -> decoded_indices: top_paths * int64, decoded_values: top_paths * int64, decoded_shape: top_paths * int64, log_probability: T; beam_width: int >= 1; top_paths: int >= 1; merge_repeated: bool = true; T: {float, double} = float
CTCGreedyDecoder(inputs: T, sequence_length: int32) -> decoded_indices: int64, decoded_values: int64, decoded_shape: int64, log_probability: T; merge_repeated: bool = false; blank_index: int = -1; T: {float, double} = float
CTCLoss(inputs: T, labels_indices: int64, labels_values: int32, sequence_length: int32) -> loss: T, gradient: T; preprocess_collapse_repeated: bool = false; ctc_merge_repeated: bool = true; ignore_longer_outputs_than_inputs: bool = false; T: {float, double} = float
CTCLossV2(inputs: float, labels_indices: int64, labels_values: int32, sequence_length: int32) -> loss: float, gradient: float; preprocess_collapse_repeated: bool = false; ctc_merge_repeated: bool = true; ignore_longer_outputs_than_inputs: bool = false
CacheDataset(input_dataset: variant, filename: string) -> handle: variant; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; metadata: string = ""
CacheDatasetV2(input_dataset: variant, filename: string, cache: resource) -> handle: variant; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; metadata: string = ""; stateful
CalibrationStatisticsSaver(args: Tin); Tin: list(type) >= 0; ids: list(string) >= 1; calibration_methods: list(int) >= 1; output_file_path: string; stateful
Case(branch_index: int32, input: Tin) -> output: Tout; Tin: list(type) >= 0; Tout: list(type) >= 0; branches: list(func) >= 1; output_shapes: list(shape) = []; stateful
CheckPinned(tensor: T) -> output: T; T: type
Cholesky(input: T) -> output: T; T: {double, float, half, complex64, complex128}
CholeskyGrad(l: T, grad: T) -> output: T; T: {half, float, double}
ChooseFastestBranchDataset(input_dataset: variant, ratio_numerator: int64, ratio_denominator: int64, other_arguments: Targuments) -> handle: variant; Targuments: list(type) >= 0; num_elements_per_branch: int >= 1; branches: list(func) >= 1; other_arguments_lengths: list(int) >= 1; output_types: list(type) >= 1; output_shapes: list(shape) >= 1
ChooseFastestDataset(input_datasets: N * variant) -> handle: variant; N: int >= 2; num_experiments: int; output_types: list(type) >= 1; output_shapes: list(shape) >= 1
CloseSummaryWriter(writer: resource); stateful
CollateTPUEmbeddingMemory(memory_configs: N * string) -> merged_memory_config: string; N: int >= 1; stateful
CollectiveAllToAllV2(input: T, group_size: int32, group_key: int32, instance_key: int32, ordering_token: Nordering_token * resource) -> data: T; T: {bfloat16, float, half, double, int32, int64}; communication_hint: string = "auto"; timeout_seconds: float = 0; is_stateless: bool = false; Nordering_token: int >= 0 = 0; stateful; distributed
CollectiveAllToAllV3(input: T, communicator: resource, group_assignment: int32) -> data: T; T: {bfloat16, float, half, double, int32, int64}; timeout_seconds: float = 0; stateful; distributed
CollectiveAssignGroupV2(group_assignment: int32, device_index: int32, base_key: int32) -> group_size: int32, group_key: int32; stateful; distributed
CollectiveBcastRecv() -> data: T; T: {bool, float, half, double, int32, int64}; group_size: int; group_key: int; instance_key: int; shape: shape; communication_hint: string = "auto"; timeout_seconds: float = 0; stateful; distributed
CollectiveBcastRecvV2(group_size: int32, group_key: int32, instance_key: int32, shape: Tshape) -> data: T; T: {bool, float, half, double, int32, int64}; Tshape: {int32, int64} = int32; communication_hint: string = "auto"; timeout_seconds: float = 0; stateful; distributed
CollectiveBcastSend(input: T) -> data: T; T: {bool, float, half, double, int32, int64}; group_size: int; group_key: int; instance_key: int; shape: shape; communication_hint: string = "auto"; timeout_seconds: float = 0; stateful; distributed
CollectiveBcastSendV2(input: T, group_size: int32, group_key: int32, instance_key: int32) -> data: T; T: {bool, float, half, double, int32, int64}; communication_hint: string = "auto"; timeout_seconds: float = 0; stateful; distributed
CollectiveGather(input: T) -> data: T; T: {float, half, double, int32, int64}; group_size: int; group_key: int; instance_key: int; shape: shape; communication_hint: string = "auto"; timeout_seconds: float = 0; stateful; distributed
CollectiveGatherV2(input: T, group_size: int32, group_key: int32, instance_key: int32, ordering_token: Nordering_token * resource) -> data: T; T: {float, half, double, int32, int64}; communication_hint: string = "auto"; timeout_seconds: float = 0; is_stateless: bool = false; Nordering_token: int >= 0 = 0; stateful; distributed
CollectiveInitializeCommunicator(group_key: int32, rank: int32, group_size: int32) -> communicator: resource; communication_hint: string = "auto"; timeout_seconds: float = 0; stateful; distributed
CollectivePermute(input: T, source_target_pairs: int32) -> output: T; T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}; stateful
CollectiveReduce(input: T) -> data: T; T: {bfloat16, float, half, double, int32, int64}; group_size: int; group_key: int; instance_key: int; merge_op: {"Min", "Max", "Mul", "Add"}; final_op: {"Id", "Div"}; subdiv_offsets: list(int); wait_for: list(int) = []; communication_hint: string = "auto"; timeout_seconds: float = 0; stateful; distributed
CollectiveReduceScatterV2(input: T, group_size: int32, group_key: int32, instance_key: int32, ordering_token: Nordering_token * resource) -> data: T; T: {bfloat16, float, half, double, int32, int64}; merge_op: {"Min", "Max", "Mul", "Add"}; final_op: {"Id", "Div"}; communication_hint: string = "auto"; timeout_seconds: float = 0; is_stateless: bool = false; Nordering_token: int >= 0 = 0; max_subdivs_per_device: int = -1; stateful; distributed
CollectiveReduceV2(input: T, group_size: int32, group_key: int32, instance_key: int32, ordering_token: Nordering_token * resource) -> data: T; T: {bfloat16, float, half, double, int32, int64}; merge_op: {"Min", "Max", "Mul", "Add"}; final_op: {"Id", "Div"}; communication_hint: string = "auto"; timeout_seconds: float = 0; is_stateless: bool = false; Nordering_token: int >= 0 = 0; max_subdivs_per_device: int = -1; stateful; distributed
CollectiveReduceV3(input: T, communicator: resource, group_assignment: int32) -> data: T; T: {bfloat16, float, half, double, int32, int64}; reduction: {"Min", "Max", "Mul", "Add"}; timeout_seconds: float = 0; stateful; distributed
CombinedNonMaxSuppression(boxes: float, scores: float, max_output_size_per_class: int32, max_total_size: int32, iou_threshold: float, score_threshold: float) -> nmsed_boxes: float, nmsed_scores: float, nmsed_classes: float, valid_detections: int32; pad_per_class: bool = false; clip_boxes: bool = true
CompositeTensorVariantFromComponents(components: Tcomponents) -> encoded: variant; metadata: string; Tcomponents: list(type) >= 0
CompositeTensorVariantToComponents(encoded: variant) -> components: Tcomponents; metadata: string; Tcomponents: list(type) >= 0
CompressElement(components: input_types) -> compressed: variant; input_types: list(type) >= 1
ComputeBatchSize(input_dataset: variant) -> batch_size: int64
ComputeDedupDataSize() -> num_elements: int32; config: string; stateful
ComputeDedupDataSizeV2() -> num_elements: int32; config: string; embedding_partitions: string; hbm_buffers_config: string; tpu_topology: string; stateful
ComputeDedupDataTupleMask() -> output_shape: int32; config: string; stateful
ComputeDedupDataTupleMaskV2() -> output_shape: int32; config: string; embedding_partitions: string; hbm_buffers_config: string; tpu_topology: string; stateful
ConcatenateDataset(input_dataset: variant, another_dataset: variant) -> handle: variant; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; metadata: string = ""
ConditionalAccumulator() -> handle: ref string; dtype: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}; shape: shape; container: string = ""; shared_name: string = ""; reduction_type: {"MEAN", "SUM"} = "MEAN"; stateful
ConfigureAndInitializeGlobalTPU() -> output: int32; use_tfrt_host_runtime: bool = true; stateful
ConfigureDistributedTPU() -> topology: string; embedding_config: string = ""; tpu_embedding_config: string = ""; is_global_init: bool = false; enable_whole_mesh_compilations: bool = false; compilation_failure_closes_chips: bool = true; tpu_cancellation_closes_chips: int = 0; stateful
ConfigureTPUEmbedding(); config: string; stateful
ConfigureTPUEmbeddingHost(common_config: string, memory_config: string) -> network_config: string; config: string; stateful
ConfigureTPUEmbeddingMemory(common_config: string) -> memory_config: string; stateful
ConnectTPUEmbeddingHosts(network_configs: N * string); N: int >= 1; stateful
ConsumeMutexLock(mutex_lock: variant); stateful
Conv(input: T, filter: T) -> output: T; T: {half, bfloat16, float, double, int32}; strides: list(int); padding: {"SAME", "VALID", "EXPLICIT"}; explicit_paddings: list(int) = []; data_format: {"CHANNELS_FIRST", "CHANNELS_LAST"} = "CHANNELS_LAST"; dilations: list(int) = []; batch_dims: int = 1; groups: int = 1
Conv2DBackpropFilterV2(input: T, filter: T, out_backprop: T) -> output: T; T: {half, bfloat16, float, double}; strides: list(int); use_cudnn_on_gpu: bool = true; padding: {"SAME", "VALID", "EXPLICIT"}; explicit_paddings: list(int) = []; data_format: {"NHWC", "NCHW"} = "NHWC"; dilations: list(int) = [1, 1, 1, 1]
Conv2DBackpropInputV2(input: T, filter: T, out_backprop: T) -> output: T; T: {half, bfloat16, float, double, int32}; strides: list(int); use_cudnn_on_gpu: bool = true; padding: {"SAME", "VALID", "EXPLICIT"}; explicit_paddings: list(int) = []; data_format: {"NHWC", "NCHW"} = "NHWC"; dilations: list(int) = [1, 1, 1, 1]
ConvertToCooTensor(indices_or_row_splits: int32, values: int32, weights: float) -> row_ids: int32, col_ids: int32, gains: float; sample_count: int >= 1; combiner: string; stateful
ConvertToListOfSparseCoreCooTensors(indices_or_row_splits: int32, values: int32, weights: float) -> row_ids_list: num_sc_per_chip * int32, col_ids_list: num_sc_per_chip * int32, gains_list: num_sc_per_chip * float; sample_count: int >= 1; num_sc_per_chip: int >= 1; row_offset: int >= 0; col_offset: int >= 0; col_shift: int >= 0; num_sc_shards: int >= 1; stacked_table_sample_count: int >= 1; combiner: string
ConvertToSparseCoreCsrWrappedCooTensor(sorted_row_ids_list: num_sc_per_chip * int32, sorted_col_ids_list: num_sc_per_chip * int32, sorted_gains_list: num_sc_per_chip * float, id_counts_list: num_sc_per_chip * int32, splits: int64) -> row_pointers: int32, sorted_sample_ids: int32, sorted_token_ids: int32, sorted_gains: float, row_pointers_unpadded_size: int32, ids_unpadded_size: int32, num_minibatches_per_sc: int32; sample_count_per_sc: int >= 1; num_replica: int >= 1; max_minibatches_per_sc: int >= 1; max_ids_per_chip_per_sample: int >= 1; table_vocab_size: int >= 1; feature_width: int >= 1; num_sc_per_chip: int >= 1; table_name: string; allow_id_dropping: bool
Copy(input: T) -> output: T; T: type; tensor_name: string = ""; debug_ops_spec: list(string) = []; allows_uninitialized
CopyHost(input: T) -> output: T; T: type; tensor_name: string = ""; debug_ops_spec: list(string) = []; allows_uninitialized
CopyToMesh(input: T) -> output: T; mesh: string; T: type
CopyToMeshGrad(input: T, forward_input: T) -> output: T; T: type
CreateSummaryDbWriter(writer: resource, db_uri: string, experiment_name: string, run_name: string, user_name: string); stateful
CreateSummaryFileWriter(writer: resource, logdir: string, max_queue: int32, flush_millis: int32, filename_suffix: string); stateful
CropAndResize(image: T, boxes: float, box_ind: int32, crop_size: int32) -> crops: float; T: {uint8, uint16, int8, int16, int32, int64, half, float, double}; method: {"bilinear", "nearest"} = "bilinear"; extrapolation_value: float = 0
CropAndResizeGradBoxes(grads: float, image: T, boxes: float, box_ind: int32) -> output: float; T: {uint8, uint16, int8, int16, int32, int64, half, float, double}; method: {"bilinear"} = "bilinear"
CropAndResizeGradImage(grads: float, boxes: float, box_ind: int32, image_size: int32) -> output: T; T: {float, half, double}; method: {"bilinear", "nearest"} = "bilinear"
CrossReplicaSum(input: T, group_assignment: int32) -> output: T; T: {half, bfloat16, float, double, int32, uint32}; stateful
CudnnRNN(input: T, input_h: T, input_c: T, params: T) -> output: T, output_h: T, output_c: T, reserve_space: T; T: {bfloat16, half, float, double}; rnn_mode: {"rnn_relu", "rnn_tanh", "lstm", "gru"} = "lstm"; input_mode: {"linear_input", "skip_input", "auto_select"} = "linear_input"; direction: {"unidirectional", "bidirectional"} = "unidirectional"; dropout: float = 0; seed: int = 0; seed2: int = 0; is_training: bool = true; stateful
CudnnRNNBackprop(input: T, input_h: T, input_c: T, params: T, output: T, output_h: T, output_c: T, output_backprop: T, output_h_backprop: T, output_c_backprop: T, reserve_space: T) -> input_backprop: T, input_h_backprop: T, input_c_backprop: T, params_backprop: T; T: {bfloat16, half, float, double}; rnn_mode: {"rnn_relu", "rnn_tanh", "lstm", "gru"} = "lstm"; input_mode: {"linear_input", "skip_input", "auto_select"} = "linear_input"; direction: {"unidirectional", "bidirectional"} = "unidirectional"; dropout: float = 0; seed: int = 0; seed2: int = 0; stateful
CudnnRNNBackpropV2(input: T, input_h: T, input_c: T, params: T, output: T, output_h: T, output_c: T, output_backprop: T, output_h_backprop: T, output_c_backprop: T, reserve_space: T, host_reserved: int8) -> input_backprop: T, input_h_backprop: T, input_c_backprop: T, params_backprop: T; T: {bfloat16, half, float, double}; rnn_mode: {"rnn_relu", "rnn_tanh", "lstm", "gru"} = "lstm"; input_mode: {"linear_input", "skip_input", "auto_select"} = "linear_input"; direction: {"unidirectional", "bidirectional"} = "unidirectional"; dropout: float = 0; seed: int = 0; seed2: int = 0; stateful
CudnnRNNBackpropV3(input: T, input_h: T, input_c: T, params: T, sequence_lengths: int32, output: T, output_h: T, output_c: T, output_backprop: T, output_h_backprop: T, output_c_backprop: T, reserve_space: T, host_reserved: int8) -> input_backprop: T, input_h_backprop: T, input_c_backprop: T, params_backprop: T; T: {bfloat16, half, float, double}; rnn_mode: {"rnn_relu", "rnn_tanh", "lstm", "gru"} = "lstm"; input_mode: {"linear_input", "skip_input", "auto_select"} = "linear_input"; direction: {"unidirectional", "bidirectional"} = "unidirectional"; dropout: float = 0; seed: int = 0; seed2: int = 0; num_proj: int = 0; time_major: bool = true; stateful
CudnnRNNCanonicalToParams(num_layers: int32, num_units: int32, input_size: int32, weights: num_params * T, biases: num_params * T) -> params: T; T: {bfloat16, half, float, double}; num_params: int >= 1; rnn_mode: {"rnn_relu", "rnn_tanh", "lstm", "gru"} = "lstm"; input_mode: {"linear_input", "skip_input", "auto_select"} = "linear_input"; direction: {"unidirectional", "bidirectional"} = "unidirectional"; dropout: float = 0; seed: int = 0; seed2: int = 0
CudnnRNNCanonicalToParamsV2(num_layers: int32, num_units: int32, input_size: int32, weights: num_params_weights * T, biases: num_params_biases * T) -> params: T; T: {bfloat16, half, float, double}; num_params_weights: int >= 1; num_params_biases: int >= 1; rnn_mode: {"rnn_relu", "rnn_tanh", "lstm", "gru"} = "lstm"; input_mode: {"linear_input", "skip_input", "auto_select"} = "linear_input"; direction: {"unidirectional", "bidirectional"} = "unidirectional"; dropout: float = 0; seed: int = 0; seed2: int = 0; num_proj: int = 0
CudnnRNNParamsSize(num_layers: int32, num_units: int32, input_size: int32) -> params_size: S; T: {bfloat16, half, float, double}; S: {int32, int64}; rnn_mode: {"rnn_relu", "rnn_tanh", "lstm", "gru"} = "lstm"; input_mode: {"linear_input", "skip_input", "auto_select"} = "linear_input"; direction: {"unidirectional", "bidirectional"} = "unidirectional"; dropout: float = 0; seed: int = 0; seed2: int = 0; num_proj: int = 0
CudnnRNNParamsToCanonical(num_layers: int32, num_units: int32, input_size: int32, params: T) -> weights: num_params * T, biases: num_params * T; T: {bfloat16, half, float, double}; num_params: int >= 1; rnn_mode: {"rnn_relu", "rnn_tanh", "lstm", "gru"} = "lstm"; input_mode: {"linear_input", "skip_input", "auto_select"} = "linear_input"; direction: {"unidirectional", "bidirectional"} = "unidirectional"; dropout: float = 0; seed: int = 0; seed2: int = 0
CudnnRNNParamsToCanonicalV2(num_layers: int32, num_units: int32, input_size: int32, params: T) -> weights: num_params_weights * T, biases: num_params_biases * T; T: {bfloat16, half, float, double}; num_params_weights: int >= 1; num_params_biases: int >= 1; rnn_mode: {"rnn_relu", "rnn_tanh", "lstm", "gru"} = "lstm"; input_mode: {"linear_input", "skip_input", "auto_select"} = "linear_input"; direction: {"unidirectional", "bidirectional"} = "unidirectional"; dropout: float = 0; seed: int = 0; seed2: int = 0; num_proj: int = 0
CudnnRNNV2(input: T, input_h: T, input_c: T, params: T) -> output: T, output_h: T, output_c: T, reserve_space: T, host_reserved: int8; T: {bfloat16, half, float, double}; rnn_mode: {"rnn_relu", "rnn_tanh", "lstm", "gru"} = "lstm"; input_mode: {"linear_input", "skip_input", "auto_select"} = "linear_input"; direction: {"unidirectional", "bidirectional"} = "unidirectional"; dropout: float = 0; seed: int = 0; seed2: int = 0; is_training: bool = true; stateful
CudnnRNNV3(input: T, input_h: T, input_c: T, params: T, sequence_lengths: int32) -> output: T, output_h: T, output_c: T, reserve_space: T, host_reserved: int8; T: {bfloat16, half, float, double}; rnn_mode: {"rnn_relu", "rnn_tanh", "lstm", "gru"} = "lstm"; input_mode: {"linear_input", "skip_input", "auto_select"} = "linear_input"; direction: {"unidirectional", "bidirectional"} = "unidirectional"; dropout: float = 0; seed: int = 0; seed2: int = 0; num_proj: int = 0; is_training: bool = true; time_major: bool = true; stateful
CustomAggregator(input: float) -> output: float, min: float, max: float, histogram: int64; id: string; calibration_method: int = 0; num_bins: int = 0; min_percentile: float = 0; max_percentile: float = 0
DTensorAllGather(input: T) -> output: T; T: {half, bfloat16, float, double, int8, uint8, int32, uint32, int64, uint64, bool}; input_layout: string; output_layout: string
DTensorAllReduce(input: T, group_assignment: int32) -> output: T; T: {half, bfloat16, float, double, int8, uint8, int32, uint32, int64, uint64, bool}; reduce_op: {"Min", "Max", "Mul", "Add", "Mean", "Any", "All"}; device_type: string
DTensorAllScatter(input: T) -> output: T; T: {half, bfloat16, float, double, int8, uint8, int32, uint32, int64, uint64, bool, string}; input_layout: string; output_layout: string
DTensorAllToAll(input: T) -> output: T; T: {half, bfloat16, float, double, int32, uint32, int64, bool}; input_layout: string; output_layout: string
DTensorReduceScatter(input: T, group_assignment: int32, scatter_dimension: int32) -> output: T; T: {half, bfloat16, float, int32, uint32, int64, bool}; reduce_op: {"Min", "Max", "Mul", "Add", "Mean", "Any", "All"}; device_type: string
DTensorRestoreV2(prefix: string, tensor_names: string, shape_and_slices: string) -> tensors: dtypes; input_shapes: list(shape); input_layouts: list(string); dtypes: list(type) >= 1; stateful
DTensorSetGlobalTPUArray(topology: string); stateful
DataFormatDimMap(x: T) -> y: T; T: {int32, int64} = int32; src_format: string = "NHWC"; dst_format: string = "NCHW"
DataFormatVecPermute(x: T) -> y: T; T: {int32, int64} = int32; src_format: string = "NHWC"; dst_format: string = "NCHW"
DataServiceDataset(dataset_id: int64, processing_mode: string, address: string, protocol: string, job_name: string, max_outstanding_requests: int64, iteration_counter: resource) -> handle: variant; task_refresh_interval_hint_ms: int = -1; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; data_transfer_protocol: string = ""; target_workers: string = "AUTO"; cross_trainer_cache_options: string = ""; stateful
DataServiceDatasetV2(dataset_id: int64, processing_mode: string, address: string, protocol: string, job_name: string, consumer_index: int64, num_consumers: int64, max_outstanding_requests: int64, iteration_counter: resource) -> handle: variant; task_refresh_interval_hint_ms: int = -1; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; data_transfer_protocol: string = ""; target_workers: string = "AUTO"; cross_trainer_cache_options: string = ""; stateful
DataServiceDatasetV3(dataset_id: int64, processing_mode: string, address: string, protocol: string, job_name: string, consumer_index: int64, num_consumers: int64, max_outstanding_requests: int64, iteration_counter: resource) -> handle: variant; task_refresh_interval_hint_ms: int = -1; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; data_transfer_protocol: string = ""; target_workers: string = "AUTO"; uncompress: bool = false; uncompress_fn: func; cross_trainer_cache_options: string = ""; stateful
DataServiceDatasetV4(dataset_id: string, processing_mode: string, address: string, protocol: string, job_name: string, consumer_index: int64, num_consumers: int64, max_outstanding_requests: int64, iteration_counter: resource) -> handle: variant; task_refresh_interval_hint_ms: int = -1; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; data_transfer_protocol: string = ""; target_workers: string = "AUTO"; uncompress: bool = false; uncompress_fn: func; cross_trainer_cache_options: string = ""; stateful
DatasetCardinality(input_dataset: variant) -> cardinality: int64; cardinality_options: string = ""
DatasetFingerprint(input_dataset: variant) -> fingerprint: uint64
DatasetFromGraph(graph_def: string) -> handle: variant
DatasetToGraph(input_dataset: variant) -> graph: string; stateful_whitelist: list(string) >= 0 = []; allow_stateful: bool = false; strip_device_assignment: bool = false
DatasetToGraphV2(input_dataset: variant) -> graph: string; external_state_policy: int = 0; strip_device_assignment: bool = false
DatasetToSingleElement(dataset: variant) -> components: output_types; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; metadata: string = ""; stateful
DatasetToTFRecord(input_dataset: variant, filename: string, compression_type: string); stateful
Dawsn(x: T) -> y: T; T: {bfloat16, half, float, double}
DebugGradientIdentity(input: T) -> output: T; T: type; allows_uninitialized
DebugGradientRefIdentity(input: ref T) -> output: ref T; T: type; allows_uninitialized
DebugIdentity(input: T) -> output: T; T: type; device_name: string = ""; tensor_name: string = ""; debug_urls: list(string) = []; gated_grpc: bool = false; allows_uninitialized
DebugIdentityV2(input: T) -> output: T; T: type; tfdbg_context_id: string = ""; op_name: string = ""; output_slot: int = -1; tensor_debug_mode: int = -1; debug_urls: list(string) = []; circular_buffer_size: int = 1000; tfdbg_run_id: string = ""; stateful
DebugIdentityV3(input: T) -> output: T; T: type; device_name: string = ""; tensor_name: string = ""; io_of_node: string = ""; is_input: bool = false; io_index: int = -1; debug_urls: list(string) = []; gated_grpc: bool = false; stateful; allows_uninitialized
DebugNanCount(input: T) -> output: int64; T: type; device_name: string = ""; tensor_name: string = ""; debug_urls: list(string) = []; gated_grpc: bool = false; allows_uninitialized
DebugNumericSummary(input: T) -> output: double; T: type; device_name: string = ""; tensor_name: string = ""; debug_urls: list(string) = []; lower_bound: float = -inf; upper_bound: float = inf; mute_if_healthy: bool = false; gated_grpc: bool = false; allows_uninitialized
DebugNumericSummaryV2(input: T) -> output: output_dtype; output_dtype: {float, double} = float; T: type; tensor_debug_mode: int = -1; tensor_id: int = -1
DecodeAndCropJpeg(contents: string, crop_window: int32) -> image: uint8; channels: int = 0; ratio: int = 1; fancy_upscaling: bool = true; try_recover_truncated: bool = false; acceptable_fraction: float = 1; dct_method: string = ""
DecodeBmp(contents: string) -> image: uint8; channels: int = 0
DecodeCSV(records: string, record_defaults: OUT_TYPE) -> output: OUT_TYPE; OUT_TYPE: list({float, double, int32, int64, string}) >= 1; field_delim: string = ","; use_quote_delim: bool = true; na_value: string = ""; select_cols: list(int) = []
DecodeCompressed(bytes: string) -> output: string; compression_type: string = ""
DecodeGif(contents: string) -> image: uint8
DecodeImage(contents: string) -> image: dtype; channels: int = 0; dtype: {uint8, uint16, float} = uint8; expand_animations: bool = true
DecodeJSONExample(json_examples: string) -> binary_examples: string
DecodeJpeg(contents: string) -> image: uint8; channels: int = 0; ratio: int = 1; fancy_upscaling: bool = true; try_recover_truncated: bool = false; acceptable_fraction: float = 1; dct_method: string = ""
DecodeJxl(contents: string) -> image: dtype; channels: int = 0; dtype: {uint8} = uint8
DecodePaddedRaw(input_bytes: string, fixed_length: int32) -> output: out_type; out_type: {half, float, double, int32, uint16, uint8, int16, int8, int64, bfloat16}; little_endian: bool = true
DecodePng(contents: string) -> image: dtype; channels: int = 0; dtype: {uint8, uint16} = uint8
DecodeProtoV2(bytes: string) -> sizes: int32, values: output_types; message_type: string; field_names: list(string); output_types: list(type) >= 0; descriptor_source: string = "local://"; message_format: string = "binary"; sanitize: bool = false
DecodeWav(contents: string) -> audio: float, sample_rate: int32; desired_channels: int = -1; desired_samples: int = -1
DecodeWebP(contents: string) -> image: dtype; channels: int = 0; dtype: {uint8} = uint8
DeepCopy(x: T) -> y: T; T: type; stateful
DeleteIterator(handle: resource, deleter: variant); stateful
DeleteMemoryCache(handle: resource, deleter: variant); stateful
DeleteMultiDeviceIterator(multi_device_iterator: resource, iterators: N * resource, deleter: variant); N: int >= 0; stateful
DeleteRandomSeedGenerator(handle: resource, deleter: variant); stateful
DeleteRpcFutureResource(handle: resource, deleter: variant); stateful
DeleteSeedGenerator(handle: resource, deleter: variant); stateful
DeleteSessionTensor(handle: string); stateful
DenseCountSparseOutput(values: T, weights: output_type) -> output_indices: int64, output_values: output_type, output_dense_shape: int64; T: {int32, int64}; minlength: int >= -1 = -1; maxlength: int >= -1 = -1; binary_output: bool; output_type: {int32, int64, float, double}
DenseToCSRSparseMatrix(dense_input: T, indices: int64) -> sparse_output: variant; T: {float, double, complex64, complex128}
DenseToDenseSetOperation(set1: T, set2: T) -> result_indices: int64, result_values: T, result_shape: int64; set_operation: string; validate_indices: bool = true; T: {int8, int16, int32, int64, uint8, uint16, string}
DenseToSparseBatchDataset(input_dataset: variant, batch_size: int64, row_shape: int64) -> handle: variant; output_types: list(type) >= 1; output_shapes: list(shape) >= 1
DenseToSparseSetOperation(set1: T, set2_indices: int64, set2_values: T, set2_shape: int64) -> result_indices: int64, result_values: T, result_shape: int64; set_operation: string; validate_indices: bool = true; T: {int8, int16, int32, int64, uint8, uint16, string}
Dequantize(input: T, min_range: float, max_range: float) -> output: dtype; T: {qint8, quint8, qint32, qint16, quint16}; mode: {"MIN_COMBINED", "MIN_FIRST", "SCALED"} = "MIN_COMBINED"; narrow_range: bool = false; axis: int = -1; dtype: {bfloat16, float} = float
DeserializeIterator(resource_handle: resource, serialized: variant); stateful
DeserializeManySparse(serialized_sparse: string) -> sparse_indices: int64, sparse_values: dtype, sparse_shape: int64; dtype: type
DeserializeSparse(serialized_sparse: Tserialized) -> sparse_indices: int64, sparse_values: dtype, sparse_shape: int64; dtype: type; Tserialized: {string, variant} = string
DeviceIndex() -> index: int32; device_names: list(string); stateful
Dilation2D(input: T, filter: T) -> output: T; T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}; strides: list(int) >= 4; rates: list(int) >= 4; padding: {"SAME", "VALID"}
Dilation2DBackpropFilter(input: T, filter: T, out_backprop: T) -> filter_backprop: T; T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}; strides: list(int) >= 4; rates: list(int) >= 4; padding: {"SAME", "VALID"}
Dilation2DBackpropInput(input: T, filter: T, out_backprop: T) -> in_backprop: T; T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}; strides: list(int) >= 4; rates: list(int) >= 4; padding: {"SAME", "VALID"}
DirectedInterleaveDataset(selector_input_dataset: variant, data_input_datasets: N * variant) -> handle: variant; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; N: int >= 1; stop_on_empty_dataset: bool = false
DisableCopyOnRead(resource: resource); stateful
DistributedSave(dataset: variant, directory: string, address: string); metadata: string = ""; stateful
DrawBoundingBoxes(images: T, boxes: float) -> output: T; T: {float, half} = float
DrawBoundingBoxesV2(images: T, boxes: float, colors: float) -> output: T; T: {float, half} = float
DummyIterationCounter() -> handle: resource; stateful
DummyMemoryCache() -> handle: resource; stateful
DummySeedGenerator() -> handle: resource; stateful
DumpTensor(tensor_data: T); log_dir_path: string; file_name: string; T: type; enabled: bool; func_name: string; node_name: string; stateful
DynamicEnqueueTPUEmbeddingArbitraryTensorBatch(sample_indices_or_row_splits: N * T1, embedding_indices: N * T2, aggregation_weights: N * T3, mode_override: string, device_ordinal: int32); T1: {int32, int64} = int32; T2: {int32, int64} = int32; T3: {float, double} = float; N: int >= 1; combiners: list(string) = []; stateful
DynamicEnqueueTPUEmbeddingRaggedTensorBatch(sample_splits: N * T1, embedding_indices: N * T2, aggregation_weights: N * T3, mode_override: string, device_ordinal: int32); T1: {int32, int64} = int32; T2: {int32, int64} = int32; T3: {float, double} = float; N: int >= 1; combiners: list(string) = []; table_ids: list(int); max_sequence_lengths: list(int) = []; num_features: list(int) = []; stateful
EagerPyFunc(input: Tin) -> output: Tout; token: string; is_async: bool = false; Tin: list(type) >= 0; Tout: list(type) >= 0; stateful
EditDistance(hypothesis_indices: int64, hypothesis_values: T, hypothesis_shape: int64, truth_indices: int64, truth_values: T, truth_shape: int64) -> output: float; normalize: bool = true; T: type
Eig(input: T) -> e: Tout, v: Tout; compute_v: bool = true; T: {float, double, complex64, complex128}; Tout: {complex64, complex128}
Empty(shape: int32) -> output: dtype; dtype: type; init: bool = false; stateful
EmptyTensorMap() -> handle: variant
EncodeJpeg(image: uint8) -> contents: string; format: {"", "grayscale", "rgb"} = ""; quality: int = 95; progressive: bool = false; optimize_size: bool = false; chroma_downsampling: bool = true; density_unit: {"in", "cm"} = "in"; x_density: int = 300; y_density: int = 300; xmp_metadata: string = ""
EncodeJpegVariableQuality(images: uint8, quality: int32) -> contents: string
EncodePng(image: T) -> contents: string; compression: int = -1; T: {uint8, uint16} = uint8
EncodeProto(sizes: int32, values: Tinput_types) -> bytes: string; field_names: list(string); message_type: string; descriptor_source: string = "local://"; Tinput_types: list(type) >= 1
EncodeWav(audio: float, sample_rate: int32) -> contents: string
EnqueueTPUEmbeddingArbitraryTensorBatch(sample_indices_or_row_splits: N * T1, embedding_indices: N * T2, aggregation_weights: N * T3, mode_override: string); T1: {int32, int64} = int32; T2: {int32, int64} = int32; T3: {float, double} = float; N: int >= 1; device_ordinal: int = -1; combiners: list(string) = []; stateful
EnqueueTPUEmbeddingBatch(batch: N * string, mode_override: string); N: int >= 1; device_ordinal: int = -1; combiners: list(string) = []; stateful
EnqueueTPUEmbeddingIntegerBatch(batch: N * int32, mode_override: string); N: int >= 1; device_ordinal: int = -1; stateful
EnqueueTPUEmbeddingRaggedTensorBatch(sample_splits: N * T1, embedding_indices: N * T2, aggregation_weights: N * T3, mode_override: string); T1: {int32, int64} = int32; T2: {int32, int64} = int32; T3: {float, double} = float; N: int >= 1; device_ordinal: int = -1; combiners: list(string) = []; table_ids: list(int); max_sequence_lengths: list(int) = []; num_features: list(int) = []; stateful
EnqueueTPUEmbeddingSparseBatch(sample_indices: N * T1, embedding_indices: N * T2, aggregation_weights: N * T3, mode_override: string); T1: {int32, int64} = int32; T2: {int32, int64} = int32; T3: {float, double} = float; N: int >= 1; device_ordinal: int = -1; combiners: list(string) = []; stateful
EnqueueTPUEmbeddingSparseTensorBatch(sample_indices: N * T1, embedding_indices: N * T2, aggregation_weights: N * T3, mode_override: string); T1: {int32, int64} = int32; T2: {int32, int64} = int32; T3: {float, double} = float; N: int >= 1; device_ordinal: int = -1; combiners: list(string) = []; table_ids: list(int); max_sequence_lengths: list(int) = []; num_features: list(int) = []; stateful
ExecuteTPUEmbeddingPartitioner() -> common_config: string; config: string; stateful
ExperimentalAssertNextDataset(input_dataset: variant, transformations: string) -> handle: variant; output_types: list(type) >= 1; output_shapes: list(shape) >= 1
ExperimentalAutoShardDataset(input_dataset: variant, num_workers: int64, index: int64) -> handle: variant; auto_shard_policy: int = 0; output_types: list(type) >= 1; output_shapes: list(shape) >= 1
ExperimentalBytesProducedStatsDataset(input_dataset: variant, tag: string) -> handle: variant; output_types: list(type) >= 1; output_shapes: list(shape) >= 1
ExperimentalCSVDataset(filenames: string, compression_type: string, buffer_size: int64, header: bool, field_delim: string, use_quote_delim: bool, na_value: string, select_cols: int64, record_defaults: output_types) -> handle: variant; output_types: list({float, double, int32, int64, string}) >= 1; output_shapes: list(shape) >= 1; stateful
ExperimentalChooseFastestDataset(input_datasets: N * variant) -> handle: variant; N: int >= 2; num_experiments: int; output_types: list(type) >= 1; output_shapes: list(shape) >= 1
ExperimentalDatasetCardinality(input_dataset: variant) -> cardinality: int64
ExperimentalDatasetToTFRecord(input_dataset: variant, filename: string, compression_type: string); stateful
ExperimentalDenseToSparseBatchDataset(input_dataset: variant, batch_size: int64, row_shape: int64) -> handle: variant; output_types: list(type) >= 1; output_shapes: list(shape) >= 1
ExperimentalDirectedInterleaveDataset(selector_input_dataset: variant, data_input_datasets: N * variant) -> handle: variant; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; N: int >= 1
ExperimentalGroupByReducerDataset(input_dataset: variant, key_func_other_arguments: Tkey_func_other_arguments, init_func_other_arguments: Tinit_func_other_arguments, reduce_func_other_arguments: Treduce_func_other_arguments, finalize_func_other_arguments: Tfinalize_func_other_arguments) -> handle: variant; key_func: func; init_func: func; reduce_func: func; finalize_func: func; Tkey_func_other_arguments: list(type) >= 0; Tinit_func_other_arguments: list(type) >= 0; Treduce_func_other_arguments: list(type) >= 0; Tfinalize_func_other_arguments: list(type) >= 0; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; stateful
ExperimentalGroupByWindowDataset(input_dataset: variant, key_func_other_arguments: Tkey_func_other_arguments, reduce_func_other_arguments: Treduce_func_other_arguments, window_size_func_other_arguments: Twindow_size_func_other_arguments) -> handle: variant; key_func: func; reduce_func: func; window_size_func: func; Tkey_func_other_arguments: list(type) >= 0; Treduce_func_other_arguments: list(type) >= 0; Twindow_size_func_other_arguments: list(type) >= 0; output_types: list(type) >= 1; output_shapes: list(shape) >= 1
ExperimentalIgnoreErrorsDataset(input_dataset: variant) -> handle: variant; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; log_warning: bool = false
ExperimentalIteratorGetDevice(resource: resource) -> device: string; stateful
ExperimentalLMDBDataset(filenames: string) -> handle: variant; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; stateful
ExperimentalLatencyStatsDataset(input_dataset: variant, tag: string) -> handle: variant; output_types: list(type) >= 1; output_shapes: list(shape) >= 1
ExperimentalMapAndBatchDataset(input_dataset: variant, other_arguments: Targuments, batch_size: int64, num_parallel_calls: int64, drop_remainder: bool) -> handle: variant; f: func; Targuments: list(type) >= 0; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; preserve_cardinality: bool = false
ExperimentalMapDataset(input_dataset: variant, other_arguments: Targuments) -> handle: variant; f: func; Targuments: list(type) >= 0; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; use_inter_op_parallelism: bool = true; preserve_cardinality: bool = false; force_synchronous: bool = false
ExperimentalMatchingFilesDataset(patterns: string) -> handle: variant; stateful
ExperimentalMaxIntraOpParallelismDataset(input_dataset: variant, max_intra_op_parallelism: int64) -> handle: variant; output_types: list(type) >= 1; output_shapes: list(shape) >= 1
ExperimentalNonSerializableDataset(input_dataset: variant) -> handle: variant; output_types: list(type) >= 1; output_shapes: list(shape) >= 1
ExperimentalParallelInterleaveDataset(input_dataset: variant, other_arguments: Targuments, cycle_length: int64, block_length: int64, sloppy: bool, buffer_output_elements: int64, prefetch_input_elements: int64) -> handle: variant; f: func; Targuments: list(type) >= 0; output_types: list(type) >= 1; output_shapes: list(shape) >= 1
ExperimentalParseExampleDataset(input_dataset: variant, num_parallel_calls: int64, dense_defaults: Tdense) -> handle: variant; sparse_keys: list(string) >= 0; dense_keys: list(string) >= 0; sparse_types: list({float, int64, string}) >= 0; Tdense: list({float, int64, string}) >= 0; dense_shapes: list(shape) >= 0; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; sloppy: bool = false
ExperimentalPrivateThreadPoolDataset(input_dataset: variant, num_threads: int64) -> handle: variant; output_types: list(type) >= 1; output_shapes: list(shape) >= 1
ExperimentalRandomDataset(seed: int64, seed2: int64) -> handle: variant; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; stateful
ExperimentalRebatchDataset(input_dataset: variant, num_replicas: int64) -> handle: variant; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; use_fallback: bool = true
ExperimentalScanDataset(input_dataset: variant, initial_state: Tstate, other_arguments: Targuments) -> handle: variant; f: func; Tstate: list(type) >= 1; Targuments: list(type) >= 0; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; preserve_cardinality: bool = false
ExperimentalSetStatsAggregatorDataset(input_dataset: variant, stats_aggregator: resource, tag: string, counter_prefix: string) -> handle: variant; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; stateful
ExperimentalSleepDataset(input_dataset: variant, sleep_microseconds: int64) -> handle: variant; output_types: list(type) >= 1; output_shapes: list(shape) >= 1
ExperimentalSlidingWindowDataset(input_dataset: variant, window_size: int64, window_shift: int64, window_stride: int64) -> handle: variant; output_types: list(type) >= 1; output_shapes: list(shape) >= 1
ExperimentalSqlDataset(driver_name: string, data_source_name: string, query: string) -> handle: variant; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; stateful
ExperimentalStatsAggregatorHandle() -> handle: resource; container: string = ""; shared_name: string = ""; stateful
ExperimentalStatsAggregatorSummary(iterator: resource) -> summary: string; stateful
ExperimentalTakeWhileDataset(input_dataset: variant, other_arguments: Targuments) -> handle: variant; predicate: func; Targuments: list(type) >= 0; output_types: list(type) >= 1; output_shapes: list(shape) >= 1
ExperimentalThreadPoolDataset(input_dataset: variant, thread_pool: resource) -> handle: variant; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; stateful
ExperimentalThreadPoolHandle() -> handle: resource; num_threads: int; max_intra_op_parallelism: int = 1; display_name: string; container: string = ""; shared_name: string = ""; stateful
ExperimentalUnbatchDataset(input_dataset: variant) -> handle: variant; output_types: list(type) >= 1; output_shapes: list(shape) >= 1
ExperimentalUniqueDataset(input_dataset: variant) -> handle: variant; output_types: list(type) >= 1; output_shapes: list(shape) >= 1
Expint(x: T) -> y: T; T: {bfloat16, half, float, double}
ExtractGlimpse(input: float, size: int32, offsets: float) -> glimpse: float; centered: bool = true; normalized: bool = true; uniform_noise: bool = true; noise: string = "uniform"
ExtractGlimpseV2(input: float, size: int32, offsets: float) -> glimpse: float; centered: bool = true; normalized: bool = true; uniform_noise: bool = true; noise: string = "uniform"
ExtractImagePatches(images: T) -> patches: T; ksizes: list(int) >= 4; strides: list(int) >= 4; rates: list(int) >= 4; T: {bfloat16, half, float, double, int8, int16, int32, int64, uint8, uint16, uint32, uint64, complex64, complex128, bool}; padding: {"SAME", "VALID"}
ExtractJpegShape(contents: string) -> image_shape: output_type; output_type: {int32, int64} = int32
ExtractVolumePatches(input: T) -> patches: T; ksizes: list(int) >= 5; strides: list(int) >= 5; T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}; padding: {"SAME", "VALID"}
FFT(input: Tcomplex) -> output: Tcomplex; Tcomplex: {complex64, complex128} = complex64
FFT2D(input: Tcomplex) -> output: Tcomplex; Tcomplex: {complex64, complex128} = complex64
FFT3D(input: Tcomplex) -> output: Tcomplex; Tcomplex: {complex64, complex128} = complex64
FFTND(input: Tcomplex, fft_length: int32, axes: int32) -> output: Tcomplex; Tcomplex: {complex64, complex128} = complex64
Fact() -> fact: string
FakeParam() -> output: dtype; dtype: type; shape: shape
FakeQuantWithMinMaxArgs(inputs: float) -> outputs: float; min: float = -6; max: float = 6; num_bits: int = 8; narrow_range: bool = false
FakeQuantWithMinMaxArgsGradient(gradients: float, inputs: float) -> backprops: float; min: float = -6; max: float = 6; num_bits: int = 8; narrow_range: bool = false
FakeQuantWithMinMaxVars(inputs: float, min: float, max: float) -> outputs: float; num_bits: int = 8; narrow_range: bool = false
FakeQuantWithMinMaxVarsGradient(gradients: float, inputs: float, min: float, max: float) -> backprops_wrt_input: float, backprop_wrt_min: float, backprop_wrt_max: float; num_bits: int = 8; narrow_range: bool = false
FakeQuantWithMinMaxVarsPerChannel(inputs: float, min: float, max: float) -> outputs: float; num_bits: int = 8; narrow_range: bool = false
FakeQuantWithMinMaxVarsPerChannelGradient(gradients: float, inputs: float, min: float, max: float) -> backprops_wrt_input: float, backprop_wrt_min: float, backprop_wrt_max: float; num_bits: int = 8; narrow_range: bool = false
FakeQueue(resource: resource) -> handle: ref string; stateful
FileSystemSetConfiguration(scheme: string, key: string, value: string); stateful
FilterByLastComponentDataset(input_dataset: variant) -> output: variant; output_types: list(type) >= 1; output_shapes: list(shape) >= 1
FilterDataset(input_dataset: variant, other_arguments: Targuments) -> handle: variant; predicate: func; Targuments: list(type) >= 0; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; metadata: string = ""
FinalizeDataset(input_dataset: variant) -> handle: variant; has_captured_ref: bool = false; output_types: list(type) >= 1; output_shapes: list(shape) >= 1
FinalizeTPUEmbedding(common_config: string, memory_config: string); stateful
FinalizeTPUEmbeddingV2(common_config: string, memory_config: string) -> embedding_partitions: string, hbm_buffers_config: string; stateful
Fingerprint(data: T, method: string) -> fingerprint: uint8; T: type
FixedLengthRecordDataset(filenames: string, header_bytes: int64, record_bytes: int64, footer_bytes: int64, buffer_size: int64) -> handle: variant; metadata: string = ""; stateful
FixedLengthRecordDatasetV2(filenames: string, header_bytes: int64, record_bytes: int64, footer_bytes: int64, buffer_size: int64, compression_type: string) -> handle: variant; metadata: string = ""; stateful
FixedLengthRecordReader() -> reader_handle: ref string; header_bytes: int = 0; record_bytes: int; footer_bytes: int = 0; hop_bytes: int = 0; container: string = ""; shared_name: string = ""; stateful; deprecated(26, "use FixedLengthRecordReaderV2")
FixedLengthRecordReaderV2() -> reader_handle: resource; header_bytes: int = 0; record_bytes: int; footer_bytes: int = 0; hop_bytes: int = 0; container: string = ""; shared_name: string = ""; encoding: string = ""; stateful
FlatMapDataset(input_dataset: variant, other_arguments: Targuments) -> handle: variant; f: func; Targuments: list(type) >= 0; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; metadata: string = ""
FlushSummaryWriter(writer: resource); stateful
For(start: int32, limit: int32, delta: int32, input: T) -> output: T; T: list(type) >= 0; body: func
FractionalAvgPool(value: T) -> output: T, row_pooling_sequence: int64, col_pooling_sequence: int64; pooling_ratio: list(float) >= 4; pseudo_random: bool = false; overlapping: bool = false; deterministic: bool = false; seed: int = 0; seed2: int = 0; T: {float, double, int32, int64}
FractionalAvgPoolGrad(orig_input_tensor_shape: int64, out_backprop: T, row_pooling_sequence: int64, col_pooling_sequence: int64) -> output: T; overlapping: bool = false; T: {float, double, int32, int64}
FractionalMaxPool(value: T) -> output: T, row_pooling_sequence: int64, col_pooling_sequence: int64; pooling_ratio: list(float) >= 4; pseudo_random: bool = false; overlapping: bool = false; deterministic: bool = false; seed: int = 0; seed2: int = 0; T: {float, double, int32, int64}
FractionalMaxPoolGrad(orig_input: T, orig_output: T, out_backprop: T, row_pooling_sequence: int64, col_pooling_sequence: int64) -> output: T; overlapping: bool = false; T: {float, double, int32, int64}
FresnelCos(x: T) -> y: T; T: {bfloat16, half, float, double}
FresnelSin(x: T) -> y: T; T: {bfloat16, half, float, double}
FusedPadConv2D(input: T, paddings: int32, filter: T) -> output: T; T: {half, bfloat16, float, double}; mode: {"REFLECT", "SYMMETRIC"}; strides: list(int); padding: {"SAME", "VALID"}
FusedResizeAndPadConv2D(input: T, size: int32, paddings: int32, filter: T) -> output: T; T: {half, float, double}; resize_align_corners: bool = false; mode: {"REFLECT", "SYMMETRIC"}; strides: list(int); padding: {"SAME", "VALID"}
GenerateBoundingBoxProposals(scores: float, bbox_deltas: float, image_info: float, anchors: float, nms_threshold: float, pre_nms_topn: int32, min_size: float) -> rois: float, roi_probabilities: float; post_nms_topn: int = 300
GenerateVocabRemapping(new_vocab_file: string, old_vocab_file: string) -> remapping: int64, num_present: int32; new_vocab_offset: int >= 0; num_new_vocab: int >= 0; old_vocab_size: int >= -1 = -1
GeneratorDataset(init_func_other_args: Tinit_func_args, next_func_other_args: Tnext_func_args, finalize_func_other_args: Tfinalize_func_args) -> handle: variant; init_func: func; next_func: func; finalize_func: func; Tinit_func_args: list(type) >= 0; Tnext_func_args: list(type) >= 0; Tfinalize_func_args: list(type) >= 0; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; metadata: string = ""; stateful
GetElementAtIndex(dataset: variant, index: int64) -> components: output_types; output_types: list(type) >= 1; output_shapes: list(shape) >= 1
GetMinibatchSplitsWithPhysicalReplica(program_key: string, row_ids: int32, col_ids: int32, gains: float) -> sorted_row_ids: int32, sorted_col_ids: int32, sorted_gains: float, splits: int64, id_counts: int32, max_ids: int32, max_uniques: int32; sample_count: int >= 1; num_replica: int >= 1; table_vocab_size: int >= 1; feature_width: int >= 1; num_sc_per_chip: int >= 1; table_name: string; mini_batch_splits: string; stateful
GetMinibatchesInCsrWithPhysicalReplica(program_key: string, row_ids: int32, col_ids: int32, gains: float, splits: int64, id_counts: int32) -> row_pointers: int32, sorted_sample_ids: int32, sorted_token_ids: int32, sorted_gains: float, row_pointers_unpadded_size: int32, ids_unpadded_size: int32, num_minibatches_per_physical_sparse_core: int32; sample_count: int >= 1; num_replica: int >= 1; max_minibatches_per_sc: int >= 1; max_ids_per_chip_per_sample: int >= 1; table_vocab_size: int >= 1; feature_width: int >= 1; num_sc_per_chip: int >= 1; table_name: string; mini_batch_in_csr: string; stateful
GetOptions(input_dataset: variant) -> serialized_options: string
GetSessionHandle(value: T) -> handle: string; T: type; stateful
GetSessionHandleV2(value: T) -> handle: resource; T: type; stateful
GetSessionTensor(handle: string) -> value: dtype; dtype: type; stateful
GetStatsFromListOfSparseCoreCooTensors(row_ids_list: N * int32, col_ids_list: N * int32, gains_list: N * float) -> max_ids_per_sparse_core: int32, max_unique_ids_per_sparse_core: int32; sample_count_list: list(int); col_offset_list: list(int); num_replica: int >= 1; table_vocab_size: int >= 1; feature_width: int >= 1; num_sc_per_chip: int >= 1; table_name: string; N: int >= 1
GetTpuTaskId() -> tpu_task_id: int32
GlobalIterId() -> iter_id: int64; stateful
GlobalShuffleDataset(input_dataset: variant, seed: int64, seed2: int64, seed_generator: resource) -> handle: variant; reshuffle_each_iteration: bool = true; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; metadata: string = ""; stateful
GroupByReducerDataset(input_dataset: variant, key_func_other_arguments: Tkey_func_other_arguments, init_func_other_arguments: Tinit_func_other_arguments, reduce_func_other_arguments: Treduce_func_other_arguments, finalize_func_other_arguments: Tfinalize_func_other_arguments) -> handle: variant; key_func: func; init_func: func; reduce_func: func; finalize_func: func; Tkey_func_other_arguments: list(type) >= 0; Tinit_func_other_arguments: list(type) >= 0; Treduce_func_other_arguments: list(type) >= 0; Tfinalize_func_other_arguments: list(type) >= 0; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; stateful
GroupByWindowDataset(input_dataset: variant, key_func_other_arguments: Tkey_func_other_arguments, reduce_func_other_arguments: Treduce_func_other_arguments, window_size_func_other_arguments: Twindow_size_func_other_arguments) -> handle: variant; key_func: func; reduce_func: func; window_size_func: func; Tkey_func_other_arguments: list(type) >= 0; Treduce_func_other_arguments: list(type) >= 0; Twindow_size_func_other_arguments: list(type) >= 0; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; metadata: string = ""
HSVToRGB(images: T) -> output: T; T: {half, bfloat16, float, double} = float
HistogramSummary(tag: string, values: T) -> summary: string; T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64} = float
HostConst() -> output: dtype; value: tensor; dtype: type
IFFT(input: Tcomplex) -> output: Tcomplex; Tcomplex: {complex64, complex128} = complex64
IFFT2D(input: Tcomplex) -> output: Tcomplex; Tcomplex: {complex64, complex128} = complex64
IFFT3D(input: Tcomplex) -> output: Tcomplex; Tcomplex: {complex64, complex128} = complex64
IFFTND(input: Tcomplex, fft_length: int32, axes: int32) -> output: Tcomplex; Tcomplex: {complex64, complex128} = complex64
IRFFT(input: Tcomplex, fft_length: int32) -> output: Treal; Treal: {float, double} = float; Tcomplex: {complex64, complex128} = complex64
IRFFT2D(input: Tcomplex, fft_length: int32) -> output: Treal; Treal: {float, double} = float; Tcomplex: {complex64, complex128} = complex64
IRFFT3D(input: Tcomplex, fft_length: int32) -> output: Treal; Treal: {float, double} = float; Tcomplex: {complex64, complex128} = complex64
IRFFTND(input: Tcomplex, fft_length: int32, axes: int32) -> output: Treal; Treal: {float, double} = float; Tcomplex: {complex64, complex128} = complex64
IdentityReader() -> reader_handle: ref string; container: string = ""; shared_name: string = ""; stateful; deprecated(26, "use IdentityReaderV2")
IdentityReaderV2() -> reader_handle: resource; container: string = ""; shared_name: string = ""; stateful
IgnoreErrorsDataset(input_dataset: variant) -> handle: variant; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; log_warning: bool = false
ImageProjectiveTransformV2(images: dtype, transforms: float, output_shape: int32) -> transformed_images: dtype; dtype: {uint8, int32, int64, half, bfloat16, float, double}; interpolation: string; fill_mode: string = "CONSTANT"
ImageProjectiveTransformV3(images: dtype, transforms: float, output_shape: int32, fill_value: float) -> transformed_images: dtype; dtype: {uint8, int32, int64, half, bfloat16, float, double}; interpolation: string; fill_mode: string = "CONSTANT"
ImageSummary(tag: string, tensor: T) -> summary: string; max_images: int >= 1 = 3; T: {uint8, float, half, double} = float; bad_color: tensor = uint8[4] {255, 0, 0, 255}
ImmutableConst() -> tensor: dtype; dtype: type; shape: shape; memory_region_name: string
ImportEvent(writer: resource, event: string); stateful
IndexFlatMapDataset(input_dataset: variant, map_func_other_args: Tmap_func_args, index_map_func_other_args: Tindex_map_func_args, output_cardinality: int64) -> handle: variant; map_func: func; index_map_func: func; Tmap_func_args: list(type) >= 0; Tindex_map_func_args: list(type) >= 0; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; metadata: string = ""
InfeedDequeue() -> output: dtype; dtype: type; shape: shape; stateful
InfeedDequeueTuple() -> outputs: dtypes; dtypes: list(type) >= 1; shapes: list(shape); stateful
InfeedEnqueue(input: dtype); dtype: type; shape: shape = []; layout: list(int) = []; device_ordinal: int = -1; stateful
InfeedEnqueuePrelinearizedBuffer(input: variant); device_ordinal: int = -1
InfeedEnqueueTuple(inputs: dtypes); dtypes: list(type) >= 1; shapes: list(shape); layouts: list(int) = []; device_ordinal: int = -1; stateful
InitializeTableFromDataset(table_handle: resource, dataset: variant); stateful
InplaceAdd(x: T, i: int32, v: T) -> y: T; T: type
InplaceSub(x: T, i: int32, v: T) -> y: T; T: type
InplaceUpdate(x: T, i: int32, v: T) -> y: T; T: type
InterleaveDataset(input_dataset: variant, other_arguments: Targuments, cycle_length: int64, block_length: int64) -> handle: variant; f: func; Targuments: list(type) >= 0; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; metadata: string = ""
IsBoostedTreesEnsembleInitialized(tree_ensemble_handle: resource) -> is_initialized: bool; stateful
IsBoostedTreesQuantileStreamResourceInitialized(quantile_stream_resource_handle: resource) -> is_initialized: bool; stateful
IsTPUEmbeddingInitialized() -> is_tpu_embedding_initialized: bool; config: string = ""; stateful
IsotonicRegression(input: T) -> output: output_dtype, segments: int32; T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}; output_dtype: {half, bfloat16, float, double} = float
Iterator() -> handle: resource; shared_name: string; container: string; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; stateful
IteratorFromStringHandle(string_handle: string) -> resource_handle: resource; output_types: list(type) >= 0 = []; output_shapes: list(shape) >= 0 = []; stateful
IteratorFromStringHandleV2(string_handle: string) -> resource_handle: resource; output_types: list(type) >= 0 = []; output_shapes: list(shape) >= 0 = []; stateful
IteratorGetDevice(resource: resource) -> device: string; stateful
IteratorGetModelProto(iterator: resource) -> model_proto: string; stateful
IteratorGetNext(iterator: resource) -> components: output_types; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; stateful
IteratorGetNextAsOptional(iterator: resource) -> optional: variant; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; stateful
IteratorGetNextSync(iterator: resource) -> components: output_types; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; stateful
IteratorToStringHandle(resource_handle: resource) -> string_handle: string; stateful
IteratorV2() -> handle: resource; shared_name: string; container: string; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; stateful
KMC2ChainInitialization(distances: float, seed: int64) -> index: int64
KmeansPlusPlusInitialization(points: float, num_to_sample: int64, seed: int64, num_retries_per_sample: int64) -> samples: float
KthOrderStatistic(input: float) -> output: float; k: int
LMDBDataset(filenames: string) -> handle: variant; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; stateful
LMDBReader() -> reader_handle: ref string; container: string = ""; shared_name: string = ""; stateful
LatencyStatsDataset(input_dataset: variant, tag: string) -> handle: variant; output_types: list(type) >= 1; output_shapes: list(shape) >= 1
LegacyParallelInterleaveDatasetV2(input_dataset: variant, other_arguments: Targuments, cycle_length: int64, block_length: int64, buffer_output_elements: int64, prefetch_input_elements: int64) -> handle: variant; f: func; deterministic: string = "default"; Targuments: list(type) >= 0; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; metadata: string = ""
ListDataset(tensors: Tinput_types) -> handle: variant; Tinput_types: list(type) >= 1; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; metadata: string = ""; stateful
ListSnapshotChunksDataset(snapshot_path: string) -> handle: variant; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; stateful
LoadAllTPUEmbeddingParameters(parameters: NumTables * float, auxiliary1: NumTables * float, auxiliary2: NumTables * float, auxiliary3: NumTables * float, auxiliary4: NumTables * float, auxiliary5: NumTables * float, auxiliary6: NumTables * float, auxiliary7: NumTables * float); NumTables: int >= 1; config: string; num_shards: int; shard_id: int; stateful
LoadAndRemapMatrix(ckpt_path: string, old_tensor_name: string, row_remapping: int64, col_remapping: int64, initializing_values: float) -> output_matrix: float; num_rows: int >= 0; num_cols: int >= 1; max_rows_in_memory: int = -1; stateful
LoadDataset(path: string, reader_func_other_args: Treader_func_args) -> handle: variant; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; compression: string = ""; reader_func: func; Treader_func_args: list(type) >= 0; stateful
LoadTPUEmbeddingADAMParameters(parameters: float, momenta: float, velocities: float); table_id: int = -1; table_name: string = ""; num_shards: int; shard_id: int; config: string = ""; stateful
LoadTPUEmbeddingAdadeltaParameters(parameters: float, accumulators: float, updates: float); table_id: int = -1; table_name: string = ""; num_shards: int; shard_id: int; config: string = ""; stateful
LoadTPUEmbeddingAdagradMomentumParameters(parameters: float, accumulators: float, momenta: float); table_id: int = -1; table_name: string = ""; num_shards: int; shard_id: int; config: string = ""; stateful
LoadTPUEmbeddingAdagradParameters(parameters: float, accumulators: float); table_id: int = -1; table_name: string = ""; num_shards: int; shard_id: int; config: string = ""; stateful
LoadTPUEmbeddingCenteredRMSPropParameters(parameters: float, ms: float, mom: float, mg: float); table_id: int = -1; table_name: string = ""; num_shards: int; shard_id: int; config: string = ""; stateful
LoadTPUEmbeddingFTRLParameters(parameters: float, accumulators: float, linears: float); table_id: int = -1; table_name: string = ""; num_shards: int; shard_id: int; config: string = ""; stateful
LoadTPUEmbeddingFrequencyEstimatorParameters(parameters: float, last_hit_step: float); table_id: int = -1; table_name: string = ""; num_shards: int; shard_id: int; config: string = ""; stateful
LoadTPUEmbeddingMDLAdagradLightParameters(parameters: float, accumulators: float, weights: float, benefits: float); table_id: int = -1; table_name: string = ""; num_shards: int; shard_id: int; config: string = ""; stateful
LoadTPUEmbeddingMomentumParameters(parameters: float, momenta: float); table_id: int = -1; table_name: string = ""; num_shards: int; shard_id: int; config: string = ""; stateful
LoadTPUEmbeddingProximalAdagradParameters(parameters: float, accumulators: float); table_id: int = -1; table_name: string = ""; num_shards: int; shard_id: int; config: string = ""; stateful
LoadTPUEmbeddingProximalYogiParameters(parameters: float, v: float, m: float); table_id: int = -1; table_name: string = ""; num_shards: int; shard_id: int; config: string = ""; stateful
LoadTPUEmbeddingRMSPropParameters(parameters: float, ms: float, mom: float); table_id: int = -1; table_name: string = ""; num_shards: int; shard_id: int; config: string = ""; stateful
LoadTPUEmbeddingStochasticGradientDescentParameters(parameters: float); table_id: int = -1; table_name: string = ""; num_shards: int; shard_id: int; config: string = ""; stateful
LogMatrixDeterminant(input: T) -> sign: T, log_abs_determinant: T; T: {half, float, double, complex64, complex128}
Lu(input: T) -> lu: T, p: output_idx_type; T: {double, float, half, complex64, complex128}; output_idx_type: {int32, int64} = int32
MakeIterator(dataset: variant, iterator: resource); stateful
MakeUnique(input: float) -> output: float
MapAndBatchDataset(input_dataset: variant, other_arguments: Targuments, batch_size: int64, num_parallel_calls: int64, drop_remainder: bool) -> handle: variant; f: func; Targuments: list(type) >= 0; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; preserve_cardinality: bool = false; metadata: string = ""
MapClear(); capacity: int >= 0 = 0; memory_limit: int >= 0 = 0; dtypes: list(type); container: string = ""; shared_name: string = ""; stateful
MapDataset(input_dataset: variant, other_arguments: Targuments) -> handle: variant; f: func; Targuments: list(type) >= 0; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; use_inter_op_parallelism: bool = true; preserve_cardinality: bool = false; force_synchronous: bool = false; metadata: string = ""
MapDefun(arguments: Targuments, captured_inputs: Tcaptured) -> output: output_types; Targuments: list(type) >= 1; Tcaptured: list(type) >= 0 = []; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; f: func; max_intra_op_parallelism: int = 1
MapIncompleteSize() -> size: int32; capacity: int >= 0 = 0; memory_limit: int >= 0 = 0; dtypes: list(type); container: string = ""; shared_name: string = ""; stateful
MapPeek(key: int64, indices: int32) -> values: dtypes; capacity: int >= 0 = 0; memory_limit: int >= 0 = 0; dtypes: list(type) >= 1; container: string = ""; shared_name: string = ""; stateful
MapSize() -> size: int32; capacity: int >= 0 = 0; memory_limit: int >= 0 = 0; dtypes: list(type); container: string = ""; shared_name: string = ""; stateful
MapStage(key: int64, indices: int32, values: fake_dtypes); capacity: int >= 0 = 0; memory_limit: int >= 0 = 0; dtypes: list(type); fake_dtypes: list(type) >= 1; container: string = ""; shared_name: string = ""; stateful
MapUnstage(key: int64, indices: int32) -> values: dtypes; capacity: int >= 0 = 0; memory_limit: int >= 0 = 0; dtypes: list(type) >= 1; container: string = ""; shared_name: string = ""; stateful
MapUnstageNoKey(indices: int32) -> key: int64, values: dtypes; capacity: int >= 0 = 0; memory_limit: int >= 0 = 0; dtypes: list(type) >= 1; container: string = ""; shared_name: string = ""; stateful
MatchingFilesDataset(patterns: string) -> handle: variant; stateful
MatrixDeterminant(input: T) -> output: T; T: {half, float, double, complex64, complex128}
MatrixExponential(input: T) -> output: T; T: {double, float, half, complex64, complex128}; deprecated(27, "no op takes its place")
MatrixInverse(input: T) -> output: T; adjoint: bool = false; T: {double, float, half, complex64, complex128}
MatrixLogarithm(input: T) -> output: T; T: {complex64, complex128}
MatrixSolve(matrix: T, rhs: T) -> output: T; adjoint: bool = false; T: {double, float, half, complex64, complex128}
MatrixSolveLs(matrix: T, rhs: T, l2_regularizer: double) -> output: T; T: {double, float, half, complex64, complex128}; fast: bool = true
MatrixSquareRoot(input: T) -> output: T; T: {double, float, half, complex64, complex128}
MatrixTriangularSolve(matrix: T, rhs: T) -> output: T; lower: bool = true; adjoint: bool = false; T: {bfloat16, double, float, half, complex64, complex128}
MaxIntraOpParallelismDataset(input_dataset: variant, max_intra_op_parallelism: int64) -> handle: variant; output_types: list(type) >= 1; output_shapes: list(shape) >= 1
MergeDedupData(integer_tensor: integer_type, float_tensor: float_type) -> output: variant; tuple_mask: string; integer_type: {int32, int64, uint32, uint64}; float_type: {half, bfloat16, float}; config: string = ""
MergeSummary(inputs: N * string) -> summary: string; N: int >= 1
Mfcc(spectrogram: float, sample_rate: int32) -> output: float; upper_frequency_limit: float = 4000; lower_frequency_limit: float = 20; filterbank_channel_count: int = 40; dct_coefficient_count: int = 13
MlirPassthroughOp(inputs: Tinputs) -> outputs: Toutputs; mlir_module: string; Tinputs: list(type) >= 0; Toutputs: list(type) >= 0
ModelDataset(input_dataset: variant) -> handle: variant; algorithm: int = 0; cpu_budget: int = 0; ram_budget: int = 0; output_types: list(type) >= 1; output_shapes: list(shape) >= 1
MultiDeviceIterator() -> handle: resource; devices: list(string) >= 1; shared_name: string; container: string; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; stateful
MultiDeviceIteratorFromStringHandle(string_handle: string) -> multi_device_iterator: resource; output_types: list(type) >= 0 = []; output_shapes: list(shape) >= 0 = []; stateful
MultiDeviceIteratorGetNextFromShard(multi_device_iterator: resource, shard_num: int32, incarnation_id: int64) -> components: output_types; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; stateful
MultiDeviceIteratorInit(dataset: variant, multi_device_iterator: resource, max_buffer_size: int64) -> incarnation_id: int64; stateful
MultiDeviceIteratorToStringHandle(multi_device_iterator: resource) -> string_handle: string; stateful
MutexLock(mutex: resource) -> mutex_lock: variant; stateful
MutexV2() -> resource: resource; container: string = ""; shared_name: string = ""; stateful
NcclAllReduce(input: T) -> data: T; reduction: {"min", "max", "prod", "sum"}; T: {half, float, double, int32, int64}; num_devices: int; shared_name: string; stateful
NcclBroadcast(input: T) -> output: T; T: {half, float, double, int32, int64}; shape: shape; stateful
NcclReduce(input: num_devices * T) -> data: T; reduction: {"min", "max", "prod", "sum"}; T: {half, float, double, int32, int64}; num_devices: int >= 1; stateful
NearestNeighbors(points: float, centers: float, k: int64) -> nearest_center_indices: int64, nearest_center_distances: float
NegTrain(w_in: ref float, w_out: ref float, examples: int32, labels: int32, lr: float); vocab_count: list(int); num_negative_samples: int; stateful; deprecated(19, "no op takes its place")
NonDeterministicInts(shape: shape_dtype) -> output: dtype; dtype: type = int64; shape_dtype: type = int64; stateful
NonMaxSuppression(boxes: float, scores: float, max_output_size: int32) -> selected_indices: int32; iou_threshold: float = 0.5
NonMaxSuppressionV2(boxes: T, scores: T, max_output_size: int32, iou_threshold: T_threshold) -> selected_indices: int32; T: {half, float} = float; T_threshold: {half, float} = float
NonMaxSuppressionV3(boxes: T, scores: T, max_output_size: int32, iou_threshold: T_threshold, score_threshold: T_threshold) -> selected_indices: int32; T: {half, float} = float; T_threshold: {half, float} = float
NonMaxSuppressionV4(boxes: T, scores: T, max_output_size: int32, iou_threshold: T_threshold, score_threshold: T_threshold) -> selected_indices: int32, valid_outputs: int32; T: {half, float} = float; T_threshold: {half, float} = float; pad_to_max_output_size: bool = false
NonMaxSuppressionV5(boxes: T, scores: T, max_output_size: int32, iou_threshold: T, score_threshold: T, soft_nms_sigma: T) -> selected_indices: int32, selected_scores: T, valid_outputs: int32; T: {half, float} = float; pad_to_max_output_size: bool = false
NonMaxSuppressionWithOverlaps(overlaps: float, scores: float, max_output_size: int32, overlap_threshold: float, score_threshold: float) -> selected_indices: int32
NonSerializableDataset(input_dataset: variant) -> handle: variant; output_types: list(type) >= 1; output_shapes: list(shape) >= 1
OneShotIterator() -> handle: resource; dataset_factory: func; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; container: string = ""; shared_name: string = ""; stateful
OptimizeDataset(input_dataset: variant, optimizations: string) -> handle: variant; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; optimization_configs: list(string) = []
OptimizeDatasetV2(input_dataset: variant, optimizations_enabled: string, optimizations_disabled: string, optimizations_default: string) -> handle: variant; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; optimization_configs: list(string) = []
OptionalFromValue(components: Toutput_types) -> optional: variant; Toutput_types: list(type) >= 1
OptionalGetValue(optional: variant) -> components: output_types; output_types: list(type) >= 1; output_shapes: list(shape) >= 1
OptionalHasValue(optional: variant) -> has_value: bool
OptionalNone() -> optional: variant
OptionsDataset(input_dataset: variant) -> handle: variant; serialized_options: string; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; metadata: string = ""
OrderedMapClear(); capacity: int >= 0 = 0; memory_limit: int >= 0 = 0; dtypes: list(type); container: string = ""; shared_name: string = ""; stateful
OrderedMapIncompleteSize() -> size: int32; capacity: int >= 0 = 0; memory_limit: int >= 0 = 0; dtypes: list(type); container: string = ""; shared_name: string = ""; stateful
OrderedMapPeek(key: int64, indices: int32) -> values: dtypes; capacity: int >= 0 = 0; memory_limit: int >= 0 = 0; dtypes: list(type) >= 1; container: string = ""; shared_name: string = ""; stateful
OrderedMapSize() -> size: int32; capacity: int >= 0 = 0; memory_limit: int >= 0 = 0; dtypes: list(type); container: string = ""; shared_name: string = ""; stateful
OrderedMapStage(key: int64, indices: int32, values: fake_dtypes); capacity: int >= 0 = 0; memory_limit: int >= 0 = 0; dtypes: list(type); fake_dtypes: list(type) >= 1; container: string = ""; shared_name: string = ""; stateful
OrderedMapUnstage(key: int64, indices: int32) -> values: dtypes; capacity: int >= 0 = 0; memory_limit: int >= 0 = 0; dtypes: list(type) >= 1; container: string = ""; shared_name: string = ""; stateful
OrderedMapUnstageNoKey(indices: int32) -> key: int64, values: dtypes; capacity: int >= 0 = 0; memory_limit: int >= 0 = 0; dtypes: list(type) >= 1; container: string = ""; shared_name: string = ""; stateful
OutfeedDequeue() -> output: dtype; dtype: type; shape: shape; device_ordinal: int = -1; stateful
OutfeedDequeueTuple() -> outputs: dtypes; dtypes: list(type) >= 1; shapes: list(shape); device_ordinal: int = -1; stateful
OutfeedDequeueTupleV2(device_ordinal: int32) -> outputs: dtypes; dtypes: list(type) >= 1; shapes: list(shape); stateful
OutfeedDequeueV2(device_ordinal: int32) -> output: dtype; dtype: type; shape: shape; stateful
OutfeedEnqueue(input: dtype); dtype: type; stateful
OutfeedEnqueueTuple(inputs: dtypes); dtypes: list(type) >= 1; stateful
PaddedBatchDataset(input_dataset: variant, batch_size: int64, padded_shapes: N * int64, padding_values: Toutput_types) -> handle: variant; Toutput_types: list(type) >= 1; output_shapes: list(shape) >= 1; N: int >= 1; metadata: string = ""
PaddedBatchDatasetV2(input_dataset: variant, batch_size: int64, padded_shapes: N * int64, padding_values: Toutput_types, drop_remainder: bool) -> handle: variant; parallel_copy: bool = false; Toutput_types: list(type) >= 1; output_shapes: list(shape) >= 1; N: int >= 1; metadata: string = ""
ParallelBatchDataset(input_dataset: variant, batch_size: int64, num_parallel_calls: int64, drop_remainder: bool) -> handle: variant; parallel_copy: bool = false; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; deterministic: string = "default"; metadata: string = ""
ParallelConcat(values: N * T) -> output: T; N: int >= 1; T: type; shape: shape
ParallelFilterDataset(input_dataset: variant, other_arguments: Targuments, num_parallel_calls: int64) -> handle: variant; predicate: func; deterministic: string = "default"; Targuments: list(type) >= 0; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; metadata: string = ""
ParallelInterleaveDataset(input_dataset: variant, other_arguments: Targuments, cycle_length: int64, block_length: int64, sloppy: bool, buffer_output_elements: int64, prefetch_input_elements: int64) -> handle: variant; f: func; Targuments: list(type) >= 0; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; metadata: string = ""
ParallelInterleaveDatasetV2(input_dataset: variant, other_arguments: Targuments, cycle_length: int64, block_length: int64, num_parallel_calls: int64) -> handle: variant; f: func; Targuments: list(type) >= 0; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; sloppy: bool = false; metadata: string = ""
ParallelInterleaveDatasetV3(input_dataset: variant, other_arguments: Targuments, cycle_length: int64, block_length: int64, num_parallel_calls: int64) -> handle: variant; f: func; deterministic: string = "default"; Targuments: list(type) >= 0; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; metadata: string = ""
ParallelInterleaveDatasetV4(input_dataset: variant, other_arguments: Targuments, cycle_length: int64, block_length: int64, buffer_output_elements: int64, prefetch_input_elements: int64, num_parallel_calls: int64) -> handle: variant; f: func; deterministic: string = "default"; Targuments: list(type) >= 0; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; metadata: string = ""
ParallelMapDataset(input_dataset: variant, other_arguments: Targuments, num_parallel_calls: int32) -> handle: variant; f: func; Targuments: list(type) >= 0; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; use_inter_op_parallelism: bool = true; sloppy: bool = false; preserve_cardinality: bool = false; metadata: string = ""
ParallelMapDatasetV2(input_dataset: variant, other_arguments: Targuments, num_parallel_calls: int64) -> handle: variant; f: func; Targuments: list(type) >= 0; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; use_inter_op_parallelism: bool = true; deterministic: string = "default"; preserve_cardinality: bool = false; use_unbounded_threadpool: bool = false; metadata: string = ""
ParameterizedTruncatedNormal(shape: T, means: dtype, stdevs: dtype, minvals: dtype, maxvals: dtype) -> output: dtype; seed: int = 0; seed2: int = 0; dtype: {half, bfloat16, float, double}; T: {int32, int64}; stateful
ParseExample(serialized: string, names: string, sparse_keys: Nsparse * string, dense_keys: Ndense * string, dense_defaults: Tdense) -> sparse_indices: Nsparse * int64, sparse_values: sparse_types, sparse_shapes: Nsparse * int64, dense_values: Tdense; Nsparse: int >= 0; Ndense: int >= 0; sparse_types: list({float, int64, string}) >= 0; Tdense: list({float, int64, string}) >= 0; dense_shapes: list(shape) >= 0
ParseExampleDataset(input_dataset: variant, num_parallel_calls: int64, dense_defaults: Tdense) -> handle: variant; sparse_keys: list(string) >= 0; dense_keys: list(string) >= 0; sparse_types: list({float, int64, string}) >= 0; Tdense: list({float, int64, string}) >= 0; dense_shapes: list(shape) >= 0; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; sloppy: bool = false; ragged_keys: list(string) >= 0 = []; ragged_value_types: list({float, int64, string}) >= 0 = []; ragged_split_types: list({int32, int64}) >= 0 = []
ParseExampleDatasetV2(input_dataset: variant, num_parallel_calls: int64, dense_defaults: Tdense) -> handle: variant; sparse_keys: list(string) >= 0; dense_keys: list(string) >= 0; sparse_types: list({float, int64, string}) >= 0; Tdense: list({float, int64, string}) >= 0; dense_shapes: list(shape) >= 0; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; deterministic: string = "default"; ragged_keys: list(string) >= 0 = []; ragged_value_types: list({float, int64, string}) >= 0 = []; ragged_split_types: list({int32, int64}) >= 0 = []
ParseExampleV2(serialized: string, names: string, sparse_keys: string, dense_keys: string, ragged_keys: string, dense_defaults: Tdense) -> sparse_indices: num_sparse * int64, sparse_values: sparse_types, sparse_shapes: num_sparse * int64, dense_values: Tdense, ragged_values: ragged_value_types, ragged_row_splits: ragged_split_types; Tdense: list({float, int64, string}) >= 0; num_sparse: int >= 0; sparse_types: list({float, int64, string}) >= 0; ragged_value_types: list({float, int64, string}) >= 0; ragged_split_types: list({int32, int64}) >= 0; dense_shapes: list(shape) >= 0
ParseSequenceExample(serialized: string, debug_name: string, context_dense_defaults: Tcontext_dense) -> context_sparse_indices: Ncontext_sparse * int64, context_sparse_values: context_sparse_types, context_sparse_shapes: Ncontext_sparse * int64, context_dense_values: Tcontext_dense, feature_list_sparse_indices: Nfeature_list_sparse * int64, feature_list_sparse_values: feature_list_sparse_types, feature_list_sparse_shapes: Nfeature_list_sparse * int64, feature_list_dense_values: feature_list_dense_types, feature_list_dense_lengths: Nfeature_list_dense * int64; feature_list_dense_missing_assumed_empty: list(string) >= 0; context_sparse_keys: list(string) >= 0; context_dense_keys: list(string) >= 0; feature_list_sparse_keys: list(string) >= 0; feature_list_dense_keys: list(string) >= 0; Ncontext_sparse: int >= 0 = 0; Ncontext_dense: int >= 0 = 0; Nfeature_list_sparse: int >= 0 = 0; Nfeature_list_dense: int >= 0 = 0; context_sparse_types: list({float, int64, string}) >= 0 = []; Tcontext_dense: list({float, int64, string}) >= 0 = []; feature_list_dense_types: list({float, int64, string}) >= 0 = []; context_dense_shapes: list(shape) >= 0 = []; feature_list_sparse_types: list({float, int64, string}) >= 0 = []; feature_list_dense_shapes: list(shape) >= 0 = []
ParseSequenceExampleV2(serialized: string, debug_name: string, context_sparse_keys: string, context_dense_keys: string, context_ragged_keys: string, feature_list_sparse_keys: string, feature_list_dense_keys: string, feature_list_ragged_keys: string, feature_list_dense_missing_assumed_empty: bool, context_dense_defaults: Tcontext_dense) -> context_sparse_indices: Ncontext_sparse * int64, context_sparse_values: context_sparse_types, context_sparse_shapes: Ncontext_sparse * int64, context_dense_values: Tcontext_dense, context_ragged_values: context_ragged_value_types, context_ragged_row_splits: context_ragged_split_types, feature_list_sparse_indices: Nfeature_list_sparse * int64, feature_list_sparse_values: feature_list_sparse_types, feature_list_sparse_shapes: Nfeature_list_sparse * int64, feature_list_dense_values: feature_list_dense_types, feature_list_dense_lengths: Nfeature_list_dense * int64, feature_list_ragged_values: feature_list_ragged_value_types, feature_list_ragged_outer_splits: feature_list_ragged_split_types, feature_list_ragged_inner_splits: feature_list_ragged_split_types; Ncontext_sparse: int >= 0 = 0; Tcontext_dense: list({float, int64, string}) >= 0 = []; context_sparse_types: list({float, int64, string}) >= 0 = []; context_ragged_value_types: list({float, int64, string}) >= 0 = []; context_ragged_split_types: list({int32, int64}) >= 0 = []; context_dense_shapes: list(shape) >= 0 = []; Nfeature_list_sparse: int >= 0 = 0; Nfeature_list_dense: int >= 0 = 0; feature_list_dense_types: list({float, int64, string}) >= 0 = []; feature_list_sparse_types: list({float, int64, string}) >= 0 = []; feature_list_ragged_value_types: list({float, int64, string}) >= 0 = []; feature_list_ragged_split_types: list({int32, int64}) >= 0 = []; feature_list_dense_shapes: list(shape) >= 0 = []
ParseSingleExample(serialized: string, dense_defaults: Tdense) -> sparse_indices: num_sparse * int64, sparse_values: sparse_types, sparse_shapes: num_sparse * int64, dense_values: Tdense; num_sparse: int >= 0; sparse_keys: list(string) >= 0; dense_keys: list(string) >= 0; sparse_types: list({float, int64, string}) >= 0; Tdense: list({float, int64, string}) >= 0; dense_shapes: list(shape) >= 0
ParseSingleSequenceExample(serialized: string, feature_list_dense_missing_assumed_empty: string, context_sparse_keys: Ncontext_sparse * string, context_dense_keys: Ncontext_dense * string, feature_list_sparse_keys: Nfeature_list_sparse * string, feature_list_dense_keys: Nfeature_list_dense * string, context_dense_defaults: Tcontext_dense, debug_name: string) -> context_sparse_indices: Ncontext_sparse * int64, context_sparse_values: context_sparse_types, context_sparse_shapes: Ncontext_sparse * int64, context_dense_values: Tcontext_dense, feature_list_sparse_indices: Nfeature_list_sparse * int64, feature_list_sparse_values: feature_list_sparse_types, feature_list_sparse_shapes: Nfeature_list_sparse * int64, feature_list_dense_values: feature_list_dense_types; Ncontext_sparse: int >= 0 = 0; Ncontext_dense: int >= 0 = 0; Nfeature_list_sparse: int >= 0 = 0; Nfeature_list_dense: int >= 0 = 0; context_sparse_types: list({float, int64, string}) >= 0 = []; Tcontext_dense: list({float, int64, string}) >= 0 = []; feature_list_dense_types: list({float, int64, string}) >= 0 = []; context_dense_shapes: list(shape) >= 0 = []; feature_list_sparse_types: list({float, int64, string}) >= 0 = []; feature_list_dense_shapes: list(shape) >= 0 = []
ParseTensor(serialized: string) -> output: out_type; out_type: type
PlaceholderV2() -> output: dtype; dtype: type; shape: shape; deprecated(23, "use Placeholder")
PrefetchDataset(input_dataset: variant, buffer_size: int64) -> handle: variant; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; slack_period: int = 0; legacy_autotune: bool = true; buffer_size_min: int = 0; metadata: string = ""
Prelinearize(input: dtype) -> output: variant; dtype: type; shape: shape = []; layout: list(int) = []
PrelinearizeTuple(inputs: dtypes) -> output: variant; dtypes: list(type) >= 1; shapes: list(shape); layouts: list(int) = []
PrivateThreadPoolDataset(input_dataset: variant, num_threads: int64) -> handle: variant; output_types: list(type) >= 1; output_shapes: list(shape) >= 1
PyFunc(input: Tin) -> output: Tout; token: string; Tin: list(type) >= 0; Tout: list(type) >= 0; stateful
PyFuncStateless(input: Tin) -> output: Tout; token: string; Tin: list(type) >= 0; Tout: list(type) >= 0
Qr(input: T) -> q: T, r: T; full_matrices: bool = false; T: {double, float, half, complex64, complex128}
QuantizeAndDequantize(input: T) -> output: T; signed_input: bool = true; num_bits: int = 8; range_given: bool = false; input_min: float = 0; input_max: float = 0; T: {bfloat16, half, float, double}; deprecated(22, "use QuantizeAndDequantizeV2")
QuantizeAndDequantizeV2(input: T, input_min: T, input_max: T) -> output: T; signed_input: bool = true; num_bits: int = 8; range_given: bool = false; T: {bfloat16, half, float, double}; round_mode: {"HALF_TO_EVEN", "HALF_UP"} = "HALF_TO_EVEN"; narrow_range: bool = false; axis: int = -1
QuantizeAndDequantizeV3(input: T, input_min: T, input_max: T, num_bits: int32) -> output: T; signed_input: bool = true; range_given: bool = true; T: {bfloat16, half, float, double}; narrow_range: bool = false; axis: int = -1
QuantizeAndDequantizeV4(input: T, input_min: T, input_max: T) -> output: T; signed_input: bool = true; num_bits: int = 8; range_given: bool = false; T: {bfloat16, half, float, double}; round_mode: {"HALF_TO_EVEN", "HALF_UP"} = "HALF_TO_EVEN"; narrow_range: bool = false; axis: int = -1
QuantizeAndDequantizeV4Grad(gradients: T, input: T, input_min: T, input_max: T) -> input_backprop: T, input_min_backprop: T, input_max_backprop: T; T: {bfloat16, half, float, double}; axis: int = -1
QuantizeDownAndShrinkRange(input: Tinput, input_min: float, input_max: float) -> output: out_type, output_min: float, output_max: float; Tinput: {qint8, quint8, qint32, qint16, quint16}; out_type: {qint8, quint8, qint32, qint16, quint16}
QuantizeV2(input: float, min_range: float, max_range: float) -> output: T, output_min: float, output_max: float; T: {qint8, quint8, qint32, qint16, quint16}; mode: {"MIN_COMBINED", "MIN_FIRST", "SCALED"} = "MIN_COMBINED"; round_mode: {"HALF_AWAY_FROM_ZERO", "HALF_TO_EVEN"} = "HALF_AWAY_FROM_ZERO"; narrow_range: bool = false; axis: int = -1; ensure_minimum_range: float = 0.01
QuantizedAdd(x: T1, y: T2, min_x: float, max_x: float, min_y: float, max_y: float) -> z: Toutput, min_z: float, max_z: float; T1: {qint8, quint8, qint32, qint16, quint16}; T2: {qint8, quint8, qint32, qint16, quint16}; Toutput: {qint8, quint8, qint32, qint16, quint16} = qint32
QuantizedAvgPool(input: T, min_input: float, max_input: float) -> output: T, min_output: float, max_output: float; T: {qint8, quint8, qint32, qint16, quint16}; ksize: list(int); strides: list(int); padding: {"SAME", "VALID"}
QuantizedBatchNormWithGlobalNormalization(t: Tinput, t_min: float, t_max: float, m: Tinput, m_min: float, m_max: float, v: Tinput, v_min: float, v_max: float, beta: Tinput, beta_min: float, beta_max: float, gamma: Tinput, gamma_min: float, gamma_max: float) -> result: out_type, result_min: float, result_max: float; Tinput: {qint8, quint8, qint32, qint16, quint16}; out_type: {qint8, quint8, qint32, qint16, quint16}; variance_epsilon: float; scale_after_normalization: bool
QuantizedBiasAdd(input: T1, bias: T2, min_input: float, max_input: float, min_bias: float, max_bias: float) -> output: out_type, min_out: float, max_out: float; T1: {qint8, quint8, qint32, qint16, quint16}; T2: {qint8, quint8, qint32, qint16, quint16}; out_type: {qint8, quint8, qint32, qint16, quint16}
QuantizedConcat(concat_dim: int32, values: N * T, input_mins: N * float, input_maxes: N * float) -> output: T, output_min: float, output_max: float; N: int >= 2; T: type
QuantizedConcatV2(values: N * T, axis: Tidx, input_mins: N * float, input_maxes: N * float) -> output: T, output_min: float, output_max: float; N: int >= 2; T: type; Tidx: {int32, int64} = int32
QuantizedConv2D(input: Tinput, filter: Tfilter, min_input: float, max_input: float, min_filter: float, max_filter: float) -> output: out_type, min_output: float, max_output: float; Tinput: {qint8, quint8, qint32, qint16, quint16}; Tfilter: {qint8, quint8, qint32, qint16, quint16}; out_type: {qint8, quint8, qint32, qint16, quint16} = qint32; strides: list(int); padding: {"SAME", "VALID"}; dilations: list(int) = [1, 1, 1, 1]
QuantizedConv2DAndRelu(input: Tinput, filter: Tfilter, min_input: float, max_input: float, min_filter: float, max_filter: float) -> output: out_type, min_output: float, max_output: float; Tinput: {qint8, quint8, qint32, qint16, quint16}; Tfilter: {qint8, quint8, qint32, qint16, quint16}; out_type: {qint8, quint8, qint32, qint16, quint16} = qint32; strides: list(int); padding: {"SAME", "VALID"}; dilations: list(int) = [1, 1, 1, 1]; padding_list: list(int) = []
QuantizedConv2DAndReluAndRequantize(input: Tinput, filter: Tfilter, min_input: float, max_input: float, min_filter: float, max_filter: float, min_freezed_output: float, max_freezed_output: float) -> output: out_type, min_output: float, max_output: float; Tinput: {qint8, quint8, qint32, qint16, quint16}; Tfilter: {qint8, quint8, qint32, qint16, quint16}; out_type: {qint8, quint8, qint32, qint16, quint16} = quint8; strides: list(int); padding: {"SAME", "VALID"}; dilations: list(int) = [1, 1, 1, 1]; padding_list: list(int) = []
QuantizedConv2DAndRequantize(input: Tinput, filter: Tfilter, min_input: float, max_input: float, min_filter: float, max_filter: float, min_freezed_output: float, max_freezed_output: float) -> output: out_type, min_output: float, max_output: float; Tinput: {qint8, quint8, qint32, qint16, quint16}; Tfilter: {qint8, quint8, qint32, qint16, quint16}; out_type: {qint8, quint8, qint32, qint16, quint16} = qint8; strides: list(int); padding: {"SAME", "VALID"}; dilations: list(int) = [1, 1, 1, 1]; padding_list: list(int) = []
QuantizedConv2DPerChannel(input: Tinput, filter: Tfilter, min_input: float, max_input: float, min_filter: float, max_filter: float) -> output: out_type, min_output: float, max_output: float; Tinput: {qint8, quint8, qint32, qint16, quint16}; Tfilter: {qint8, quint8, qint32, qint16, quint16}; out_type: {qint8, quint8, qint32, qint16, quint16} = qint32; strides: list(int); padding: {"SAME", "VALID"}; dilations: list(int) = [1, 1, 1, 1]
QuantizedConv2DWithBias(input: Tinput, filter: Tfilter, bias: float, min_input: float, max_input: float, min_filter: float, max_filter: float) -> output: out_type, min_output: float, max_output: float; Tinput: {qint8, quint8, qint32, qint16, quint16}; Tfilter: {qint8, quint8, qint32, qint16, quint16}; out_type: {qint8, quint8, qint32, qint16, quint16} = qint32; strides: list(int); padding: {"SAME", "VALID"}; dilations: list(int) = [1, 1, 1, 1]; padding_list: list(int) = []
QuantizedConv2DWithBiasAndRelu(input: Tinput, filter: Tfilter, bias: float, min_input: float, max_input: float, min_filter: float, max_filter: float) -> output: out_type, min_output: float, max_output: float; Tinput: {qint8, quint8, qint32, qint16, quint16}; Tfilter: {qint8, quint8, qint32, qint16, quint16}; out_type: {qint8, quint8, qint32, qint16, quint16} = qint32; strides: list(int); padding: {"SAME", "VALID"}; dilations: list(int) = [1, 1, 1, 1]; padding_list: list(int) = []
QuantizedConv2DWithBiasAndReluAndRequantize(input: Tinput, filter: Tfilter, bias: Tbias, min_input: float, max_input: float, min_filter: float, max_filter: float, min_freezed_output: float, max_freezed_output: float) -> output: out_type, min_output: float, max_output: float; Tinput: {qint8, quint8, qint32, qint16, quint16}; Tfilter: {qint8, quint8, qint32, qint16, quint16}; Tbias: {float, qint32}; out_type: {qint8, quint8, qint32, qint16, quint16} = quint8; strides: list(int); padding: {"SAME", "VALID"}; dilations: list(int) = [1, 1, 1, 1]; padding_list: list(int) = []
QuantizedConv2DWithBiasAndRequantize(input: Tinput, filter: Tfilter, bias: Tbias, min_input: float, max_input: float, min_filter: float, max_filter: float, min_freezed_output: float, max_freezed_output: float) -> output: out_type, min_output: float, max_output: float; Tinput: {qint8, quint8, qint32, qint16, quint16}; Tfilter: {qint8, quint8, qint32, qint16, quint16}; Tbias: {float, qint32}; out_type: {qint8, quint8, qint32, qint16, quint16} = qint8; strides: list(int); padding: {"SAME", "VALID"}; dilations: list(int) = [1, 1, 1, 1]; padding_list: list(int) = []
QuantizedConv2DWithBiasSignedSumAndReluAndRequantize(input: Tinput, filter: Tfilter, bias: Tbias, min_input: float, max_input: float, min_filter: float, max_filter: float, min_freezed_output: float, max_freezed_output: float, summand: Tsummand, min_summand: float, max_summand: float) -> output: out_type, min_output: float, max_output: float; Tinput: {qint8, quint8, qint32, qint16, quint16}; Tfilter: {qint8, quint8, qint32, qint16, quint16}; Tbias: {float, qint32}; Tsummand: {qint8, quint8, qint32, qint16, quint16}; out_type: {qint8, quint8, qint32, qint16, quint16} = quint8; strides: list(int); padding: {"SAME", "VALID"}; dilations: list(int) = [1, 1, 1, 1]; padding_list: list(int) = []
QuantizedConv2DWithBiasSumAndRelu(input: Tinput, filter: Tfilter, bias: float, min_input: float, max_input: float, min_filter: float, max_filter: float, summand: float) -> output: out_type, min_output: float, max_output: float; Tinput: {qint8, quint8, qint32, qint16, quint16}; Tfilter: {qint8, quint8, qint32, qint16, quint16}; out_type: {qint8, quint8, qint32, qint16, quint16} = qint32; strides: list(int); padding: {"SAME", "VALID"}; dilations: list(int) = [1, 1, 1, 1]; padding_list: list(int) = []
QuantizedConv2DWithBiasSumAndReluAndRequantize(input: Tinput, filter: Tfilter, bias: Tbias, min_input: float, max_input: float, min_filter: float, max_filter: float, min_freezed_output: float, max_freezed_output: float, summand: Tsummand, min_summand: float, max_summand: float) -> output: out_type, min_output: float, max_output: float; Tinput: {qint8, quint8, qint32, qint16, quint16}; Tfilter: {qint8, quint8, qint32, qint16, quint16}; Tbias: {float, qint32}; Tsummand: {qint8, quint8, qint32, qint16, quint16}; out_type: {qint8, quint8, qint32, qint16, quint16} = quint8; strides: list(int); padding: {"SAME", "VALID"}; dilations: list(int) = [1, 1, 1, 1]; padding_list: list(int) = []
QuantizedDepthwiseConv2D(input: Tinput, filter: Tfilter, min_input: float, max_input: float, min_filter: float, max_filter: float) -> output: out_type, min_output: float, max_output: float; Tinput: {qint8, quint8, qint32, qint16, quint16}; Tfilter: {qint8, quint8, qint32, qint16, quint16}; out_type: {qint8, quint8, qint32, qint16, quint16} = qint32; strides: list(int); padding: {"SAME", "VALID"}; dilations: list(int) = [1, 1, 1, 1]
QuantizedDepthwiseConv2DWithBias(input: Tinput, filter: Tfilter, bias: float, min_input: float, max_input: float, min_filter: float, max_filter: float) -> output: out_type, min_output: float, max_output: float; Tinput: {qint8, quint8, qint32, qint16, quint16}; Tfilter: {qint8, quint8, qint32, qint16, quint16}; out_type: {qint8, quint8, qint32, qint16, quint16} = qint32; strides: list(int); padding: {"SAME", "VALID"}; dilations: list(int) = [1, 1, 1, 1]
QuantizedDepthwiseConv2DWithBiasAndRelu(input: Tinput, filter: Tfilter, bias: float, min_input: float, max_input: float, min_filter: float, max_filter: float) -> output: out_type, min_output: float, max_output: float; Tinput: {qint8, quint8, qint32, qint16, quint16}; Tfilter: {qint8, quint8, qint32, qint16, quint16}; out_type: {qint8, quint8, qint32, qint16, quint16} = qint32; strides: list(int); padding: {"SAME", "VALID"}; dilations: list(int) = [1, 1, 1, 1]; padding_list: list(int) = []
QuantizedDepthwiseConv2DWithBiasAndReluAndRequantize(input: Tinput, filter: Tfilter, bias: Tbias, min_input: float, max_input: float, min_filter: float, max_filter: float, min_freezed_output: float, max_freezed_output: float) -> output: out_type, min_output: float, max_output: float; Tinput: {qint8, quint8, qint32, qint16, quint16}; Tfilter: {qint8, quint8, qint32, qint16, quint16}; Tbias: {float, qint32}; out_type: {qint8, quint8, qint32, qint16, quint16} = quint8; strides: list(int); padding: {"SAME", "VALID"}; dilations: list(int) = [1, 1, 1, 1]; padding_list: list(int) = []
QuantizedInstanceNorm(x: T, x_min: float, x_max: float) -> y: T, y_min: float, y_max: float; T: {qint8, quint8, qint32, qint16, quint16}; output_range_given: bool = false; given_y_min: float = 0; given_y_max: float = 0; variance_epsilon: float = 1e-05; min_separation: float = 0.001
QuantizedMatMul(a: T1, b: T2, min_a: float, max_a: float, min_b: float, max_b: float) -> out: Toutput, min_out: float, max_out: float; T1: {qint8, quint8, qint32, qint16, quint16}; T2: {qint8, quint8, qint32, qint16, quint16}; Toutput: {qint8, quint8, qint32, qint16, quint16} = qint32; transpose_a: bool = false; transpose_b: bool = false; Tactivation: {qint8, quint8, qint32, qint16, quint16} = quint8
QuantizedMatMulWithBias(a: T1, b: T2, bias: Tbias, min_a: float, max_a: float, min_b: float, max_b: float) -> out: Toutput, min_out: float, max_out: float; T1: {qint8, quint8, qint32, qint16, quint16}; T2: {qint8, quint8, qint32, qint16, quint16}; Tbias: {float, qint32}; Toutput: {qint8, quint8, qint32, qint16, quint16} = qint32; transpose_a: bool = false; transpose_b: bool = false; input_quant_mode: {"MIN_FIRST", "SCALED"} = "MIN_FIRST"
QuantizedMatMulWithBiasAndDequantize(a: T1, b: T2, bias: Tbias, min_a: float, max_a: float, min_b: float, max_b: float, min_freezed_output: float, max_freezed_output: float) -> out: Toutput; T1: {qint8, quint8, qint32, qint16, quint16}; T2: {qint8, quint8, qint32, qint16, quint16}; Tbias: {float, qint32}; Toutput: {float}; transpose_a: bool = false; transpose_b: bool = false; input_quant_mode: {"MIN_FIRST", "SCALED"} = "MIN_FIRST"
QuantizedMatMulWithBiasAndRelu(a: T1, b: T2, bias: float, min_a: float, max_a: float, min_b: float, max_b: float) -> out: Toutput, min_out: float, max_out: float; T1: {qint8, quint8, qint32, qint16, quint16}; T2: {qint8, quint8, qint32, qint16, quint16}; Toutput: {qint8, quint8, qint32, qint16, quint16} = qint32; transpose_a: bool = false; transpose_b: bool = false; input_quant_mode: {"MIN_FIRST", "SCALED"} = "MIN_FIRST"
QuantizedMatMulWithBiasAndReluAndRequantize(a: T1, b: T2, bias: Tbias, min_a: float, max_a: float, min_b: float, max_b: float, min_freezed_output: float, max_freezed_output: float) -> out: Toutput, min_out: float, max_out: float; T1: {qint8, quint8, qint32, qint16, quint16}; T2: {qint8, quint8, qint32, qint16, quint16}; Tbias: {float, qint32}; Toutput: {qint8, quint8, qint32, qint16, quint16} = quint8; transpose_a: bool = false; transpose_b: bool = false; input_quant_mode: {"MIN_FIRST", "SCALED"} = "MIN_FIRST"
QuantizedMatMulWithBiasAndRequantize(a: T1, b: T2, bias: Tbias, min_a: float, max_a: float, min_b: float, max_b: float, min_freezed_output: float, max_freezed_output: float) -> out: Toutput, min_out: float, max_out: float; T1: {qint8, quint8, qint32, qint16, quint16}; T2: {qint8, quint8, qint32, qint16, quint16}; Tbias: {float, qint32}; Toutput: {qint8, quint8, qint32, qint16, quint16} = quint8; transpose_a: bool = false; transpose_b: bool = false; input_quant_mode: {"MIN_FIRST", "SCALED"} = "MIN_FIRST"
QuantizedMaxPool(input: T, min_input: float, max_input: float) -> output: T, min_output: float, max_output: float; T: {qint8, quint8, qint32, qint16, quint16}; ksize: list(int); strides: list(int); padding: {"SAME", "VALID"}
QuantizedMul(x: T1, y: T2, min_x: float, max_x: float, min_y: float, max_y: float) -> z: Toutput, min_z: float, max_z: float; T1: {qint8, quint8, qint32, qint16, quint16}; T2: {qint8, quint8, qint32, qint16, quint16}; Toutput: {qint8, quint8, qint32, qint16, quint16} = qint32
QuantizedRelu(features: Tinput, min_features: float, max_features: float) -> activations: out_type, min_activations: float, max_activations: float; Tinput: {qint8, quint8, qint32, qint16, quint16}; out_type: {qint8, quint8, qint32, qint16, quint16} = quint8
QuantizedRelu6(features: Tinput, min_features: float, max_features: float) -> activations: out_type, min_activations: float, max_activations: float; Tinput: {qint8, quint8, qint32, qint16, quint16}; out_type: {qint8, quint8, qint32, qint16, quint16} = quint8
QuantizedReluX(features: Tinput, max_value: float, min_features: float, max_features: float) -> activations: out_type, min_activations: float, max_activations: float; Tinput: {qint8, quint8, qint32, qint16, quint16}; out_type: {qint8, quint8, qint32, qint16, quint16} = quint8
QuantizedReshape(tensor: T, shape: Tshape, input_min: float, input_max: float) -> output: T, output_min: float, output_max: float; T: type; Tshape: {int32, int64} = int32
QuantizedResizeBilinear(images: T, size: int32, min: float, max: float) -> resized_images: T, out_min: float, out_max: float; T: {quint8, qint32, float}; align_corners: bool = false; half_pixel_centers: bool = false
RFFT(input: Treal, fft_length: int32) -> output: Tcomplex; Treal: {float, double} = float; Tcomplex: {complex64, complex128} = complex64
RFFT2D(input: Treal, fft_length: int32) -> output: Tcomplex; Treal: {float, double} = float; Tcomplex: {complex64, complex128} = complex64
RFFT3D(input: Treal, fft_length: int32) -> output: Tcomplex; Treal: {float, double} = float; Tcomplex: {complex64, complex128} = complex64
RFFTND(input: Treal, fft_length: int32, axes: int32) -> output: Tcomplex; Treal: {float, double} = float; Tcomplex: {complex64, complex128} = complex64
RGBToHSV(images: T) -> output: T; T: {half, bfloat16, float, double} = float
RaggedCountSparseOutput(splits: int64, values: T, weights: output_type) -> output_indices: int64, output_values: output_type, output_dense_shape: int64; T: {int32, int64}; minlength: int >= -1 = -1; maxlength: int >= -1 = -1; binary_output: bool; output_type: {int32, int64, float, double}
RaggedCross(ragged_values: ragged_values_types, ragged_row_splits: ragged_splits_types, sparse_indices: Nsparse * int64, sparse_values: sparse_values_types, sparse_shape: Nsparse * int64, dense_inputs: dense_types) -> output_values: out_values_type, output_row_splits: out_row_splits_type; Nsparse: int >= 0; input_order: string; hashed_output: bool; num_buckets: int >= 0; hash_key: int; ragged_values_types: list({int64, string}) >= 0; ragged_splits_types: list({int32, int64}) >= 0; sparse_values_types: list({int64, string}) >= 0; dense_types: list({int64, string}) >= 0; out_values_type: {int64, string}; out_row_splits_type: {int32, int64}
RaggedFillEmptyRows(value_rowids: int64, values: T, nrows: int64, default_value: T) -> output_value_rowids: int64, output_values: T, empty_row_indicator: bool, reverse_index_map: int64; T: type
RaggedFillEmptyRowsGrad(reverse_index_map: int64, grad_values: T) -> d_values: T, d_default_value: T; T: type
RaggedGather(params_nested_splits: PARAMS_RAGGED_RANK * Tsplits, params_dense_values: Tvalues, indices: Tindices) -> output_nested_splits: OUTPUT_RAGGED_RANK * Tsplits, output_dense_values: Tvalues; Tvalues: type; Tindices: {int32, int64}; Tsplits: {int32, int64} = int64; PARAMS_RAGGED_RANK: int >= 1; OUTPUT_RAGGED_RANK: int >= 0
RaggedRange(starts: T, limits: T, deltas: T) -> rt_nested_splits: Tsplits, rt_dense_values: T; T: {bfloat16, float, double, int32, int64} = int32; Tsplits: {int32, int64} = int64
RaggedTensorFromVariant(encoded_ragged: variant) -> output_nested_splits: output_ragged_rank * Tsplits, output_dense_values: Tvalues; input_ragged_rank: int >= -1; output_ragged_rank: int >= 0; Tvalues: type; Tsplits: {int32, int64} = int64
RaggedTensorToSparse(rt_nested_splits: RAGGED_RANK * Tsplits, rt_dense_values: T) -> sparse_indices: int64, sparse_values: T, sparse_dense_shape: int64; RAGGED_RANK: int >= 1; T: type; Tsplits: {int32, int64} = int64
RaggedTensorToVariant(rt_nested_splits: RAGGED_RANK * Tsplits, rt_dense_values: Tvalues) -> encoded_ragged: variant; RAGGED_RANK: int >= 0; Tvalues: type; Tsplits: {int32, int64} = int64; batched_input: bool
RaggedTensorToVariantGradient(encoded_ragged_grad: variant, row_splits: Tsplits, dense_values_shape: int32) -> dense_values_grad: Tvalues; Tvalues: type; Tsplits: {int32, int64} = int64
RandomCrop(image: T, size: int64) -> output: T; T: {uint8, int8, int16, int32, int64, float, double}; seed: int = 0; seed2: int = 0; stateful; deprecated(8, "use Slice at random offsets")
RandomDataset(seed: int64, seed2: int64) -> handle: variant; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; metadata: string = ""; stateful
RandomDatasetV2(seed: int64, seed2: int64, seed_generator: resource) -> handle: variant; rerandomize_each_iteration: bool = false; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; metadata: string = ""; stateful
RandomIndexShuffle(index: dtype, seed: Tseed, max_index: dtype) -> output: dtype; rounds: int = 4; dtype: {int32, uint32, int64, uint64}; Tseed: {int32, uint32, int64, uint64}
RangeDataset(start: int64, stop: int64, step: int64) -> handle: variant; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; metadata: string = ""; replicate_on_split: bool = false; stateful
ReadVariableXlaSplitND(resource: resource) -> outputs: N * T; T: type; N: int >= 1; num_splits: list(int); paddings: list(int) = []; stateful
ReaderNumRecordsProduced(reader_handle: ref string) -> records_produced: int64
ReaderNumRecordsProducedV2(reader_handle: resource) -> records_produced: int64; stateful
ReaderNumWorkUnitsCompleted(reader_handle: ref string) -> units_completed: int64
ReaderNumWorkUnitsCompletedV2(reader_handle: resource) -> units_completed: int64; stateful
ReaderRead(reader_handle: ref string, queue_handle: ref string) -> key: string, value: string
ReaderReadUpTo(reader_handle: ref string, queue_handle: ref string, num_records: int64) -> keys: string, values: string
ReaderReadUpToV2(reader_handle: resource, queue_handle: resource, num_records: int64) -> keys: string, values: string; stateful
ReaderReadV2(reader_handle: resource, queue_handle: resource) -> key: string, value: string; stateful
ReaderReset(reader_handle: ref string)
ReaderResetV2(reader_handle: resource); stateful
ReaderRestoreState(reader_handle: ref string, state: string)
ReaderRestoreStateV2(reader_handle: resource, state: string); stateful
ReaderSerializeState(reader_handle: ref string) -> state: string
ReaderSerializeStateV2(reader_handle: resource) -> state: string; stateful
RebatchDataset(input_dataset: variant, num_replicas: int64) -> handle: variant; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; use_fallback: bool = true
RebatchDatasetV2(input_dataset: variant, batch_sizes: int64, drop_remainder: bool) -> handle: variant; output_types: list(type) >= 1; output_shapes: list(shape) >= 1
RecordInput() -> records: string; file_pattern: string; file_random_seed: int = 301; file_shuffle_shift_ratio: float = 0; file_buffer_size: int = 10000; file_parallelism: int = 16; batch_size: int = 32; compression_type: string = ""; stateful
Recv() -> tensor: tensor_type; tensor_type: type; tensor_name: string; send_device: string; send_device_incarnation: int; recv_device: string; client_terminated: bool = false; stateful; distributed
RecvTPUEmbeddingActivations() -> outputs: num_outputs * float; num_outputs: int >= 1; config: string; stateful
ReduceDataset(input_dataset: variant, initial_state: Tstate, other_arguments: Targuments) -> components: output_types; f: func; Tstate: list(type) >= 1; Targuments: list(type) >= 0; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; use_inter_op_parallelism: bool = true; metadata: string = ""; stateful
RefIdentity(input: ref T) -> output: ref T; T: type; allows_uninitialized
RefSelect(index: int32, inputs: ref N * T) -> output: ref T; T: type; N: int >= 1
RegisterDataset(dataset: variant, address: string, protocol: string) -> dataset_id: int64; external_state_policy: int; element_spec: string = ""; metadata: string = ""
RegisterDatasetV2(dataset: variant, address: string, protocol: string) -> dataset_id: string; external_state_policy: int; element_spec: string = ""; requested_dataset_id: string = ""; metadata: string = ""
Relayout(input: T) -> output: T; layout: string; T: type
RelayoutLike(input: T, layout_input: U) -> output: T; T: type; U: type
RemoteCall(target: string, args: Tin) -> output: Tout; Tin: list(type) >= 1; Tout: list(type) >= 1; f: func; stateful
RepeatDataset(input_dataset: variant, count: int64) -> handle: variant; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; metadata: string = ""
RequantizationRange(input: Tinput, input_min: float, input_max: float) -> output_min: float, output_max: float; Tinput: {qint8, quint8, qint32, qint16, quint16}
RequantizationRangePerChannel(input: T, input_min: float, input_max: float) -> output_min: float, output_max: float; T: {qint8, quint8, qint32, qint16, quint16} = qint32; clip_value_max: float
Requantize(input: Tinput, input_min: float, input_max: float, requested_output_min: float, requested_output_max: float) -> output: out_type, output_min: float, output_max: float; Tinput: {qint8, quint8, qint32, qint16, quint16}; out_type: {qint8, quint8, qint32, qint16, quint16}
RequantizePerChannel(input: T, input_min: float, input_max: float, requested_output_min: float, requested_output_max: float) -> output: out_type, output_min: float, output_max: float; T: {qint8, quint8, qint32, qint16, quint16} = qint32; out_type: {qint8, quint8, qint32, qint16, quint16} = quint8
ResizeArea(images: T, size: int32) -> resized_images: float; T: {int8, uint8, int16, uint16, int32, int64, half, float, double, bfloat16}; align_corners: bool = false
ResizeBicubic(images: T, size: int32) -> resized_images: float; T: {int8, uint8, int16, uint16, int32, int64, half, float, double, bfloat16}; align_corners: bool = false; half_pixel_centers: bool = false
ResizeBicubicGrad(grads: float, original_image: T) -> output: T; T: {float, double}; align_corners: bool = false; half_pixel_centers: bool = false
ResizeBilinear(images: T, size: int32) -> resized_images: float; T: {int8, uint8, int16, uint16, int32, int64, bfloat16, half, float, double, bfloat16}; align_corners: bool = false; half_pixel_centers: bool = false
ResizeBilinearGrad(grads: float, original_image: T) -> output: T; T: {float, bfloat16, half, double}; align_corners: bool = false; half_pixel_centers: bool = false
ResizeNearestNeighbor(images: T, size: int32) -> resized_images: T; T: {int8, uint8, int16, uint16, int32, int64, half, float, double, bfloat16}; align_corners: bool = false; half_pixel_centers: bool = false
ResizeNearestNeighborGrad(grads: T, size: int32) -> output: T; T: {uint8, int8, int32, half, float, double, bfloat16}; align_corners: bool = false; half_pixel_centers: bool = false
ResourceAccumulatorApplyGradient(handle: resource, local_step: int64, gradient: dtype); dtype: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}; stateful
ResourceAccumulatorNumAccumulated(handle: resource) -> num_accumulated: int32; stateful
ResourceAccumulatorSetGlobalStep(handle: resource, new_global_step: int64); stateful
ResourceAccumulatorTakeGradient(handle: resource, num_required: int32) -> average: dtype; dtype: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}; stateful
ResourceConditionalAccumulator() -> handle: resource; dtype: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}; shape: shape; container: string = ""; shared_name: string = ""; reduction_type: {"MEAN", "SUM"} = "MEAN"; stateful
Restore(file_pattern: string, tensor_name: string) -> tensor: dt; dt: type; preferred_shard: int = -1; stateful
RestoreSlice(file_pattern: string, tensor_name: string, shape_and_slice: string) -> tensor: dt; dt: type; preferred_shard: int = -1; stateful
RetrieveAllTPUEmbeddingParameters() -> parameters: NumTables * float, auxiliary1: NumTables * float, auxiliary2: NumTables * float, auxiliary3: NumTables * float, auxiliary4: NumTables * float, auxiliary5: NumTables * float, auxiliary6: NumTables * float, auxiliary7: NumTables * float; NumTables: int >= 1; config: string; num_shards: int; shard_id: int; stateful
RetrieveTPUEmbeddingADAMParameters() -> parameters: float, momenta: float, velocities: float; table_id: int = -1; table_name: string = ""; num_shards: int; shard_id: int; config: string = ""; stateful
RetrieveTPUEmbeddingAdadeltaParameters() -> parameters: float, accumulators: float, updates: float; table_id: int = -1; table_name: string = ""; num_shards: int; shard_id: int; config: string = ""; stateful
RetrieveTPUEmbeddingAdagradMomentumParameters() -> parameters: float, accumulators: float, momenta: float; table_id: int = -1; table_name: string = ""; num_shards: int; shard_id: int; config: string = ""; stateful
RetrieveTPUEmbeddingAdagradParameters() -> parameters: float, accumulators: float; table_id: int = -1; table_name: string = ""; num_shards: int; shard_id: int; config: string = ""; stateful
RetrieveTPUEmbeddingCenteredRMSPropParameters() -> parameters: float, ms: float, mom: float, mg: float; table_id: int = -1; table_name: string = ""; num_shards: int; shard_id: int; config: string = ""; stateful
RetrieveTPUEmbeddingFTRLParameters() -> parameters: float, accumulators: float, linears: float; table_id: int = -1; table_name: string = ""; num_shards: int; shard_id: int; config: string = ""; stateful
RetrieveTPUEmbeddingFrequencyEstimatorParameters() -> parameters: float, last_hit_step: float; table_id: int = -1; table_name: string = ""; num_shards: int; shard_id: int; config: string = ""; stateful
RetrieveTPUEmbeddingMDLAdagradLightParameters() -> parameters: float, accumulators: float, weights: float, benefits: float; table_id: int = -1; table_name: string = ""; num_shards: int; shard_id: int; config: string = ""; stateful
RetrieveTPUEmbeddingMomentumParameters() -> parameters: float, momenta: float; table_id: int = -1; table_name: string = ""; num_shards: int; shard_id: int; config: string = ""; stateful
RetrieveTPUEmbeddingProximalAdagradParameters() -> parameters: float, accumulators: float; table_id: int = -1; table_name: string = ""; num_shards: int; shard_id: int; config: string = ""; stateful
RetrieveTPUEmbeddingProximalYogiParameters() -> parameters: float, v: float, m: float; table_id: int = -1; table_name: string = ""; num_shards: int; shard_id: int; config: string = ""; stateful
RetrieveTPUEmbeddingRMSPropParameters() -> parameters: float, ms: float, mom: float; table_id: int = -1; table_name: string = ""; num_shards: int; shard_id: int; config: string = ""; stateful
RetrieveTPUEmbeddingStochasticGradientDescentParameters() -> parameters: float; table_id: int = -1; table_name: string = ""; num_shards: int; shard_id: int; config: string = ""; stateful
RewriteDataset(input_dataset: variant, rewrite_name: string) -> handle: variant; output_types: list(type) >= 1; output_shapes: list(shape) >= 1
RiscAbs(x: T) -> y: T; T: {bfloat16, half, float, double}
RiscAdd(x: T, y: T) -> z: T; T: {bfloat16, half, float, double}; commutative; aggregate
RiscBinaryArithmetic(x: T, y: T) -> z: T; op_type: {"ADD", "SUB", "MUL", "DIV", "REM", "MIN", "POW"}; T: {bfloat16, half, float, double}
RiscBinaryComparison(x: T, y: T) -> z: bool; op_type: {"EQ", "NE", "GE", "GT", "LE", "LT"}; T: {bfloat16, half, float, double}
RiscBitcast(x: SrcT) -> y: DstT; SrcT: type; DstT: type
RiscBroadcast(input: T, shape: Tidx) -> output: T; T: type; Tidx: {int32, int64} = int32
RiscCast(x: SrcT) -> y: DstT; SrcT: type; DstT: type
RiscCeil(x: T) -> y: T; T: {bfloat16, half, float, double}
RiscCholesky(input: T) -> output: T; T: {bfloat16, half, float, double}
RiscConcat(values: N * T, axis: Tidx) -> output: T; N: int >= 2; T: type; Tidx: {int32, int64} = int32
RiscCondition(pred: bool, input_true: SrcT, input_false: SrcT) -> output: DstT; func_true: func; func_false: func; SrcT: {bfloat16, half, float, double}; DstT: {bfloat16, half, float, double}
RiscConv(input: T, filter: T) -> output: T; T: {bfloat16, half, float, double}; strides: list(int); data_format: {"NHWC", "NCHW"} = "NHWC"; dilations: list(int) = [1, 1, 1, 1]
RiscCos(x: T) -> y: T; T: {bfloat16, half, float, double}
RiscDiv(x: T, y: T) -> z: T; T: {bfloat16, half, float, double}
RiscDot(a: T, b: T) -> product: T; transpose_a: bool = false; transpose_b: bool = false; T: {bfloat16, half, float, double}
RiscExp(x: T) -> y: T; T: {bfloat16, half, float, double}
RiscFft(input: Tcomplex) -> output: Tcomplex; Tcomplex: {complex64, complex128} = complex64
RiscFloor(x: T) -> y: T; T: {bfloat16, half, float, double}
RiscGather(params: Tparams, indices: Tindices, axis: Taxis) -> output: Tparams; batch_dims: int = 0; Tparams: type; Tindices: {int32, int64}; Taxis: {int32, int64}
RiscImag(input: T) -> output: Tout; T: {complex64, complex128} = complex64; Tout: {float, double} = float
RiscIsFinite(x: T) -> y: bool; T: {bfloat16, half, float, double}
RiscLog(x: T) -> y: T; T: {bfloat16, half, float, double}
RiscLogicalAnd(x: bool, y: bool) -> z: bool
RiscLogicalNot(x: bool) -> z: bool
RiscLogicalOr(x: bool, y: bool) -> z: bool
RiscMax(x: T, y: T) -> max: T; T: {bfloat16, half, float, double}
RiscMin(x: T, y: T) -> z: T; T: {bfloat16, half, float, double}
RiscMul(x: T, y: T) -> z: T; T: {bfloat16, half, float, double}
RiscNeg(x: T) -> y: T; T: {bfloat16, half, float, double}
RiscPad(input: T, paddings: Tpaddings, constant_values: T) -> output: T; T: {bfloat16, half, float, double}; Tpaddings: {int32, int64} = int32
RiscPool(value: T) -> output: T; ksize: list(int) >= 4; strides: list(int) >= 4; pooling_type: {"AVG", "MAX"}; data_format: {"NHWC", "NCHW"} = "NHWC"; T: {bfloat16, half, float, double}
RiscPow(x: T, y: T) -> z: T; T: {bfloat16, half, float, double}
RiscRandomUniform(shape: T) -> output: float; seed: int = 0; T: {int32, int64}
RiscReal(input: T) -> output: Tout; T: {complex64, complex128} = complex64; Tout: {float, double} = float
RiscReduce(tensor: T, axis: Index) -> output: T; reduce_type: {"MEAN", "SUM"}; Index: {int32, int64} = int32; T: {bfloat16, half, float, double}
RiscRem(x: T, y: T) -> z: T; T: {bfloat16, half, float, double}
RiscReshape(tensor: T, shape: Tshape) -> output: T; T: {bfloat16, half, float, double}; Tshape: {int32, int64} = int32
RiscReverse(tensor: T, axis: Tidx) -> output: T; Tidx: {int32, int64} = int32; T: {bfloat16, half, float, double}
RiscScatter(indices: Tindices, updates: T, shape: Tindices) -> output: T; T: {bfloat16, half, float, double}; Tindices: {int32, int64}
RiscShape(input: T) -> output: out_type; T: {bfloat16, half, float, double}; out_type: {int32, int64} = int32
RiscSign(x: T) -> y: T; T: {bfloat16, half, float, double}
RiscSlice(input: T, begin: Index, size: Index) -> output: T; T: {bfloat16, half, float, double}; Index: {int32, int64}
RiscSort(input: T, axis: Index) -> output: T; Index: {int32, int64} = int32; T: {bfloat16, half, float, double}; direction: {"ASCENDING", "DESCENDING"}
RiscSqueeze(input: T) -> output: T; T: type; squeeze_dims: list(int) >= 0 = []
RiscSub(x: T, y: T) -> z: T; T: {bfloat16, half, float, double}
RiscTranspose(x: T, perm: Tperm) -> y: T; T: type; Tperm: {int32, int64} = int32
RiscTriangularSolve(matrix: T, rhs: T) -> output: T; lower: bool = true; adjoint: bool = false; T: {bfloat16, half, float, double}
RiscUnary(x: T) -> y: T; op_type: {"ABL", "CEIL", "COS", "EXP", "FLOOR", "IMAG", "LOG", "NEG", "REAL", "SIGN"}; T: {bfloat16, half, float, double}
RiscWhile(input: T) -> output: T; T: list(type) >= 0; cond: func; body: func; output_shapes: list(shape) = []; parallel_iterations: int = 10; stateful
RngReadAndSkip(resource: resource, alg: int32, delta: uint64) -> value: int64; stateful
RngSkip(resource: resource, algorithm: int64, delta: int64); stateful
RpcCall(client: resource, method_name: string, args: Tin, timeout_in_ms: int64) -> future: resource, deleter: variant; Tin: list(type) >= 0; stateful
RpcCheckStatus(status_or: resource) -> error_code: int64, error: string; stateful
RpcClient(server_address: string, timeout_in_ms: int64) -> client: resource, method_specs: string; shared_name: string = ""; list_registered_methods: bool = false; stateful
RpcGetValue(status_or: resource) -> output: Tout; Tout: list(type) >= 0; stateful
RpcServer(server_address: string) -> server: resource; stateful
RpcServerRegister(server: resource, method_name: string, captured_inputs: Tin); Tin: list(type) >= 0 = []; f: func; input_specs: string = ""; output_specs: string; stateful
RpcServerStart(server: resource); stateful
SampleDistortedBoundingBox(image_size: T, bounding_boxes: float) -> begin: T, size: T, bboxes: float; T: {uint8, int8, int16, int32, int64}; seed: int = 0; seed2: int = 0; min_object_covered: float = 0.1; aspect_ratio_range: list(float) = [0.75, 1.33]; area_range: list(float) = [0.05, 1]; max_attempts: int = 100; use_image_if_no_bounding_boxes: bool = false; stateful
SampleDistortedBoundingBoxV2(image_size: T, bounding_boxes: float, min_object_covered: float) -> begin: T, size: T, bboxes: float; T: {uint8, int8, int16, int32, int64}; seed: int = 0; seed2: int = 0; aspect_ratio_range: list(float) = [0.75, 1.33]; area_range: list(float) = [0.05, 1]; max_attempts: int = 100; use_image_if_no_bounding_boxes: bool = false; stateful
SamplingDataset(input_dataset: variant, rate: float, seed: int64, seed2: int64) -> handle: variant; output_types: list(type) >= 1; output_shapes: list(shape) >= 1
Save(filename: string, tensor_names: string, data: T); T: list(type) >= 1; stateful
SaveDataset(input_dataset: variant, path: string, shard_func_other_args: Tshard_func_args); compression: string = ""; shard_func: func; use_shard_func: bool = true; Tshard_func_args: list(type) >= 0; stateful
SaveDatasetV2(input_dataset: variant, path: string, shard_func_other_args: Tshard_func_args) -> handle: variant; compression: string = ""; shard_func: func; use_shard_func: bool = true; Tshard_func_args: list(type) >= 0; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; stateful
SaveSlices(filename: string, tensor_names: string, shapes_and_slices: string, data: T); T: list(type) >= 1; stateful
ScalarSummary(tags: string, values: T) -> summary: string; T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}
ScaleAndTranslate(images: T, size: int32, scale: float, translation: float) -> resized_images: float; T: {int8, uint8, int16, uint16, int32, int64, bfloat16, half, float, double}; kernel_type: string = "lanczos3"; antialias: bool = true
ScaleAndTranslateGrad(grads: T, original_image: T, scale: float, translation: float) -> output: T; T: {float}; kernel_type: string = "lanczos3"; antialias: bool = true
ScanDataset(input_dataset: variant, initial_state: Tstate, other_arguments: Targuments) -> handle: variant; f: func; Tstate: list(type) >= 1; Targuments: list(type) >= 0; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; preserve_cardinality: bool = false; use_default_device: bool = true; metadata: string = ""
ScatterNdNonAliasingAdd(input: T, indices: Tindices, updates: T) -> output: T; T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64, bool}; Tindices: {int32, int64}; bad_indices_policy: string = ""
SdcaFprint(input: string) -> output: int64
SdcaOptimizer(sparse_example_indices: num_sparse_features * int64, sparse_feature_indices: num_sparse_features * int64, sparse_feature_values: num_sparse_features_with_values * float, dense_features: num_dense_features * float, example_weights: float, example_labels: float, sparse_indices: num_sparse_features * int64, sparse_weights: num_sparse_features * float, dense_weights: num_dense_features * float, example_state_data: float) -> out_example_state_data: float, out_delta_sparse_weights: num_sparse_features * float, out_delta_dense_weights: num_dense_features * float; loss_type: {"logistic_loss", "squared_loss", "hinge_loss", "smooth_hinge_loss", "poisson_loss"}; adaptative: bool = false; num_sparse_features: int >= 0; num_sparse_features_with_values: int >= 0; num_dense_features: int >= 0; l1: float; l2: float; num_loss_partitions: int >= 1; num_inner_iterations: int >= 1
SdcaOptimizerV2(sparse_example_indices: num_sparse_features * int64, sparse_feature_indices: num_sparse_features * int64, sparse_feature_values: num_sparse_features_with_values * float, dense_features: num_dense_features * float, example_weights: float, example_labels: float, sparse_indices: num_sparse_features * int64, sparse_weights: num_sparse_features * float, dense_weights: num_dense_features * float, example_state_data: float) -> out_example_state_data: float, out_delta_sparse_weights: num_sparse_features * float, out_delta_dense_weights: num_dense_features * float; loss_type: {"logistic_loss", "squared_loss", "hinge_loss", "smooth_hinge_loss", "poisson_loss"}; adaptive: bool = false; num_sparse_features: int >= 0; num_sparse_features_with_values: int >= 0; num_dense_features: int >= 0; l1: float; l2: float; num_loss_partitions: int >= 1; num_inner_iterations: int >= 1
SdcaShrinkL1(weights: ref num_features * float); num_features: int >= 0; l1: float; l2: float
SegmentMaxV2(data: T, segment_ids: Tindices, num_segments: Tnumsegments) -> output: T; T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}; Tindices: {int32, int64}; Tnumsegments: {int32, int64} = int32
SegmentMinV2(data: T, segment_ids: Tindices, num_segments: Tnumsegments) -> output: T; T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}; Tindices: {int32, int64}; Tnumsegments: {int32, int64} = int32
SegmentProdV2(data: T, segment_ids: Tindices, num_segments: Tnumsegments) -> output: T; T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}; Tindices: {int32, int64}; Tnumsegments: {int32, int64} = int32
SegmentSumV2(data: T, segment_ids: Tindices, num_segments: Tnumsegments) -> output: T; T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}; Tindices: {int32, int64}; Tnumsegments: {int32, int64} = int32
SelfAdjointEig(input: T) -> output: T; T: {double, float, half}; deprecated(11, "use SelfAdjointEigV2")
SelfAdjointEigV2(input: T) -> e: T, v: T; compute_v: bool = true; T: {double, float, half, complex64, complex128}
Send(tensor: T); T: type; tensor_name: string; send_device: string; send_device_incarnation: int; recv_device: string; client_terminated: bool = false; stateful
SendTPUEmbeddingGradients(inputs: N * float, learning_rates: NN * float); N: int >= 1; NN: int >= 0 = 0; config: string; stateful
SerializeIterator(resource_handle: resource) -> serialized: variant; external_state_policy: int = 0; stateful
SerializeManySparse(sparse_indices: int64, sparse_values: T, sparse_shape: int64) -> serialized_sparse: out_type; T: type; out_type: {string, variant} = string
SerializeSparse(sparse_indices: int64, sparse_values: T, sparse_shape: int64) -> serialized_sparse: out_type; T: type; out_type: {string, variant} = string
SerializeTensor(tensor: T) -> serialized: string; T: type
SetSize(set_indices: int64, set_values: T, set_shape: int64) -> size: int32; validate_indices: bool = true; T: {int8, int16, int32, int64, uint8, uint16, string}
SetStatsAggregatorDataset(input_dataset: variant, stats_aggregator: resource, tag: string, counter_prefix: string) -> handle: variant; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; stateful
ShardDataset(input_dataset: variant, num_shards: int64, index: int64) -> handle: variant; require_non_empty: bool = false; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; metadata: string = ""
ShuffleAndRepeatDataset(input_dataset: variant, buffer_size: int64, seed: int64, seed2: int64, count: int64) -> handle: variant; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; reshuffle_each_iteration: bool = true; metadata: string = ""
ShuffleAndRepeatDatasetV2(input_dataset: variant, buffer_size: int64, seed: int64, seed2: int64, count: int64, seed_generator: resource) -> handle: variant; reshuffle_each_iteration: bool = true; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; metadata: string = ""; stateful
ShuffleDataset(input_dataset: variant, buffer_size: int64, seed: int64, seed2: int64) -> handle: variant; reshuffle_each_iteration: bool = true; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; metadata: string = ""
ShuffleDatasetV2(input_dataset: variant, buffer_size: int64, seed_generator: resource) -> handle: variant; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; metadata: string = ""; stateful
ShuffleDatasetV3(input_dataset: variant, buffer_size: int64, seed: int64, seed2: int64, seed_generator: resource) -> handle: variant; reshuffle_each_iteration: bool = true; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; metadata: string = ""; stateful
ShutdownDistributedTPU(); stateful
ShutdownTPUSystem() -> success: bool; stateful
SkipDataset(input_dataset: variant, count: int64) -> handle: variant; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; metadata: string = ""
Skipgram() -> vocab_word: string, vocab_freq: int32, words_per_epoch: int64, current_epoch: int32, total_words_processed: int64, examples: int32, labels: int32; filename: string; batch_size: int; window_size: int = 5; min_count: int = 5; subsample: float = 0.001; stateful; deprecated(19, "no op takes its place")
SleepDataset(input_dataset: variant, sleep_microseconds: int64) -> handle: variant; output_types: list(type) >= 1; output_shapes: list(shape) >= 1
SlidingWindowDataset(input_dataset: variant, window_size: int64, window_shift: int64, window_stride: int64) -> handle: variant; drop_remainder: bool = true; output_types: list(type) >= 1; output_shapes: list(shape) >= 1
SnapshotChunkDataset(chunk_file: string) -> handle: variant; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; compression: string = ""
SnapshotDataset(input_dataset: variant, path: string) -> handle: variant; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; compression: string = ""; reader_path_prefix: string = ""; writer_path_prefix: string = ""; shard_size_bytes: int = 10737418240; pending_snapshot_expiry_seconds: int = 86400; num_reader_threads: int = 1; reader_buffer_size: int = 1; num_writer_threads: int = 1; writer_buffer_size: int = 1; shuffle_on_read: bool = false; seed: int = 0; seed2: int = 0; mode: string = "auto"; snapshot_name: string = ""
SnapshotDatasetReader(shard_dir: string, start_index: int64) -> handle: variant; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; compression: string = ""; version: int
SnapshotDatasetV2(input_dataset: variant, path: string, reader_func_other_args: Treader_func_args, shard_func_other_args: Tshard_func_args) -> handle: variant; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; compression: string = ""; reader_prefix: string = ""; writer_prefix: string = ""; hash_valid: bool = false; hash: int = 0; reader_func: func; shard_func: func; Treader_func_args: list(type) >= 0; Tshard_func_args: list(type) >= 0; metadata: string = ""
SnapshotNestedDatasetReader(inputs: N * variant) -> handle: variant; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; N: int >= 1
SobolSample(dim: int32, num_results: int32, skip: int32) -> samples: dtype; dtype: {float, double} = float
SortListOfSparseCoreCooTensors(row_ids_list: N * int32, col_ids_list: N * int32, gains_list: N * float) -> sorted_row_ids: int32, sorted_col_ids: int32, sorted_gains: float, id_counts: int32; sample_count_list: list(int); col_offset_list: list(int); num_replica: int >= 1; table_vocab_size: int >= 1; feature_width: int >= 1; num_sc_per_chip: int >= 1; max_ids_per_sparse_core: int >= 1; max_unique_ids_per_sparse_core: int >= 1; table_name: string; N: int >= 1
SparseAccumulatorApplyGradient(handle: ref string, local_step: int64, gradient_indices: int64, gradient_values: dtype, gradient_shape: int64); dtype: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}; has_known_shape: bool
SparseAccumulatorTakeGradient(handle: ref string, num_required: int32) -> indices: int64, values: dtype, shape: int64; dtype: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}
SparseAdd(a_indices: int64, a_values: T, a_shape: int64, b_indices: int64, b_values: T, b_shape: int64, thresh: Treal) -> sum_indices: int64, sum_values: T, sum_shape: int64; T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}; Treal: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}
SparseAddGrad(backprop_val_grad: T, a_indices: int64, b_indices: int64, sum_indices: int64) -> a_val_grad: T, b_val_grad: T; T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}
SparseConcat(indices: N * int64, values: N * T, shapes: N * int64) -> output_indices: int64, output_values: T, output_shape: int64; concat_dim: int; N: int >= 2; T: type
SparseConditionalAccumulator() -> handle: ref string; dtype: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}; shape: shape; container: string = ""; shared_name: string = ""; reduction_type: {"MEAN", "SUM"} = "MEAN"; stateful
SparseCountSparseOutput(indices: int64, values: T, dense_shape: int64, weights: output_type) -> output_indices: int64, output_values: output_type, output_dense_shape: int64; T: {int32, int64}; minlength: int >= -1 = -1; maxlength: int >= -1 = -1; binary_output: bool; output_type: {int32, int64, float, double}
SparseCrossHashed(indices: N * int64, values: sparse_types, shapes: N * int64, dense_inputs: dense_types, num_buckets: int64, strong_hash: bool, salt: int64) -> output_indices: int64, output_values: int64, output_shape: int64; N: int >= 0; sparse_types: list({int64, string}) >= 0; dense_types: list({int64, string}) >= 0
SparseDenseCwiseAdd(sp_indices: int64, sp_values: T, sp_shape: int64, dense: T) -> output: T; T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}
SparseDenseCwiseDiv(sp_indices: int64, sp_values: T, sp_shape: int64, dense: T) -> output: T; T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}
SparseDenseCwiseMul(sp_indices: int64, sp_values: T, sp_shape: int64, dense: T) -> output: T; T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}
SparseFillEmptyRows(indices: int64, values: T, dense_shape: int64, default_value: T) -> output_indices: int64, output_values: T, empty_row_indicator: bool, reverse_index_map: int64; T: type
SparseFillEmptyRowsGrad(reverse_index_map: int64, grad_values: T) -> d_values: T, d_default_value: T; T: type
SparseMatMul(a: Ta, b: Tb) -> product: float; transpose_a: bool = false; transpose_b: bool = false; a_is_sparse: bool = false; b_is_sparse: bool = false; Ta: {float, bfloat16} = float; Tb: {float, bfloat16} = float
SparseMatrixAdd(a: variant, b: variant, alpha: T, beta: T) -> c: variant; T: {float, double, complex64, complex128}
SparseMatrixMatMul(a: variant, b: T) -> output: T; T: type; transpose_a: bool = false; transpose_b: bool = false; adjoint_a: bool = false; adjoint_b: bool = false; transpose_output: bool = false; conjugate_output: bool = false
SparseMatrixMul(a: variant, b: T) -> output: variant; T: type
SparseMatrixNNZ(sparse_matrix: variant) -> nnz: int32
SparseMatrixOrderingAMD(input: variant) -> output: int32
SparseMatrixSoftmax(logits: variant) -> softmax: variant; type: {float, double}
SparseMatrixSoftmaxGrad(softmax: variant, grad_softmax: variant) -> gradient: variant; type: {float, double}
SparseMatrixSparseCholesky(input: variant, permutation: int32) -> output: variant; type: {float, double, complex64, complex128}
SparseMatrixSparseMatMul(a: variant, b: variant) -> c: variant; type: {float, double, complex64, complex128}; transpose_a: bool = false; transpose_b: bool = false; adjoint_a: bool = false; adjoint_b: bool = false
SparseMatrixTranspose(input: variant) -> output: variant; conjugate: bool = false; type: {float, double, complex64, complex128}
SparseMatrixZeros(dense_shape: int64) -> sparse_matrix: variant; type: {float, double, complex64, complex128}
SparseReduceMax(input_indices: int64, input_values: T, input_shape: int64, reduction_axes: int32) -> output: T; keep_dims: bool = false; T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}
SparseReduceMaxSparse(input_indices: int64, input_values: T, input_shape: int64, reduction_axes: int32) -> output_indices: int64, output_values: T, output_shape: int64; keep_dims: bool = false; T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}
SparseReduceSum(input_indices: int64, input_values: T, input_shape: int64, reduction_axes: int32) -> output: T; keep_dims: bool = false; T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}
SparseReduceSumSparse(input_indices: int64, input_values: T, input_shape: int64, reduction_axes: int32) -> output_indices: int64, output_values: T, output_shape: int64; keep_dims: bool = false; T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}
SparseReorder(input_indices: int64, input_values: T, input_shape: int64) -> output_indices: int64, output_values: T; T: type
SparseReshape(input_indices: int64, input_shape: int64, new_shape: int64) -> output_indices: int64, output_shape: int64
SparseSegmentMeanGrad(grad: T, indices: Tidx, segment_ids: Tsegmentids, output_dim0: int32) -> output: T; T: {bfloat16, half, float, double}; Tidx: {int32, int64} = int32; Tsegmentids: {int32, int64} = int32
SparseSegmentMeanGradV2(grad: T, indices: Tidx, segment_ids: Tsegmentids, dense_output_dim0: int32) -> output: T, sorted_unique_indices: Tidx; T: {bfloat16, half, float, double}; Tidx: {int32, int64} = int32; Tsegmentids: {int32, int64} = int32
SparseSegmentMeanWithNumSegments(data: T, indices: Tidx, segment_ids: Tsegmentids, num_segments: Tnumsegments) -> output: T; T: {bfloat16, half, float, double}; Tidx: {int32, int64} = int32; Tnumsegments: {int32, int64} = int32; Tsegmentids: {int32, int64} = int32; sparse_gradient: bool = false
SparseSegmentSqrtNGrad(grad: T, indices: Tidx, segment_ids: Tsegmentids, output_dim0: int32) -> output: T; T: {bfloat16, half, float, double}; Tidx: {int32, int64} = int32; Tsegmentids: {int32, int64} = int32
SparseSegmentSqrtNGradV2(grad: T, indices: Tidx, segment_ids: Tsegmentids, dense_output_dim0: int32) -> output: T, sorted_unique_indices: Tidx; T: {bfloat16, half, float, double}; Tidx: {int32, int64} = int32; Tsegmentids: {int32, int64} = int32
SparseSegmentSqrtNWithNumSegments(data: T, indices: Tidx, segment_ids: Tsegmentids, num_segments: Tnumsegments) -> output: T; T: {bfloat16, half, float, double}; Tidx: {int32, int64} = int32; Tnumsegments: {int32, int64} = int32; Tsegmentids: {int32, int64} = int32; sparse_gradient: bool = false
SparseSegmentSumGrad(grad: T, indices: Tidx, segment_ids: Tsegmentids, output_dim0: int32) -> output: T; T: {bfloat16, half, float, double}; Tidx: {int32, int64} = int32; Tsegmentids: {int32, int64} = int32
SparseSegmentSumGradV2(grad: T, indices: Tidx, segment_ids: Tsegmentids, dense_output_dim0: int32) -> output: T, sorted_unique_indices: Tidx; T: {bfloat16, half, float, double}; Tidx: {int32, int64} = int32; Tsegmentids: {int32, int64} = int32
SparseSegmentSumWithNumSegments(data: T, indices: Tidx, segment_ids: Tsegmentids, num_segments: Tnumsegments) -> output: T; T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}; Tidx: {int32, int64} = int32; Tnumsegments: {int32, int64} = int32; Tsegmentids: {int32, int64} = int32; sparse_gradient: bool = false
SparseSlice(indices: int64, values: T, shape: int64, start: int64, size: int64) -> output_indices: int64, output_values: T, output_shape: int64; T: type
SparseSliceGrad(backprop_val_grad: T, input_indices: int64, input_start: int64, output_indices: int64) -> val_grad: T; T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}
SparseSoftmax(sp_indices: int64, sp_values: T, sp_shape: int64) -> output: T; T: {half, float, double}
SparseSparseMaximum(a_indices: int64, a_values: T, a_shape: int64, b_indices: int64, b_values: T, b_shape: int64) -> output_indices: int64, output_values: T; T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}
SparseSparseMinimum(a_indices: int64, a_values: T, a_shape: int64, b_indices: int64, b_values: T, b_shape: int64) -> output_indices: int64, output_values: T; T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}
SparseSplit(split_dim: int64, indices: int64, values: T, shape: int64) -> output_indices: num_split * int64, output_values: num_split * T, output_shape: num_split * int64; num_split: int >= 1; T: type
SparseTensorDenseAdd(a_indices: Tindices, a_values: T, a_shape: Tindices, b: T) -> output: T; T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}; Tindices: {int32, int64}
SparseTensorDenseMatMul(a_indices: Tindices, a_values: T, a_shape: int64, b: T) -> product: T; T: type; Tindices: {int32, int64} = int64; adjoint_a: bool = false; adjoint_b: bool = false
SparseTensorSliceDataset(indices: int64, values: Tvalues, dense_shape: int64) -> handle: variant; Tvalues: type; stateful
SparseTensorToCSRSparseMatrix(indices: int64, values: T, dense_shape: int64) -> sparse_matrix: variant; T: {float, double, complex64, complex128}
SparseToSparseSetOperation(set1_indices: int64, set1_values: T, set1_shape: int64, set2_indices: int64, set2_values: T, set2_shape: int64) -> result_indices: int64, result_values: T, result_shape: int64; set_operation: string; validate_indices: bool = true; T: {int8, int16, int32, int64, uint8, uint16, string}
Spence(x: T) -> y: T; T: {bfloat16, half, float, double}
SplitDedupData(input: variant) -> integer_tensor: integer_type, float_tensor: float_type; integer_type: {int32, int64, uint32, uint64}; float_type: {half, bfloat16, float}; tuple_mask: string; config: string = ""
SqlDataset(driver_name: string, data_source_name: string, query: string) -> handle: variant; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; stateful
Stage(values: dtypes); capacity: int >= 0 = 0; memory_limit: int >= 0 = 0; dtypes: list(type) >= 1; container: string = ""; shared_name: string = ""; stateful
StageClear(); capacity: int >= 0 = 0; memory_limit: int >= 0 = 0; dtypes: list(type); container: string = ""; shared_name: string = ""; stateful
StagePeek(index: int32) -> values: dtypes; capacity: int >= 0 = 0; memory_limit: int >= 0 = 0; dtypes: list(type) >= 1; container: string = ""; shared_name: string = ""; stateful
StageSize() -> size: int32; capacity: int >= 0 = 0; memory_limit: int >= 0 = 0; dtypes: list(type); container: string = ""; shared_name: string = ""; stateful
StatefulRandomBinomial(resource: resource, algorithm: int64, shape: S, counts: T, probs: T) -> output: dtype; S: {int32, int64}; T: {half, float, double, int32, int64} = double; dtype: {half, float, double, int32, int64} = int64; stateful
StatefulStandardNormal(resource: resource, shape: shape_dtype) -> output: dtype; dtype: type = float; shape_dtype: type = int64; stateful; deprecated(29, "use StatefulStandardNormalV2")
StatefulStandardNormalV2(resource: resource, algorithm: int64, shape: shape_dtype) -> output: dtype; dtype: type = float; shape_dtype: type = int64; stateful
StatefulTruncatedNormal(resource: resource, algorithm: int64, shape: shape_dtype) -> output: dtype; dtype: type = float; shape_dtype: type = int64; stateful
StatefulUniform(resource: resource, algorithm: int64, shape: shape_dtype) -> output: dtype; dtype: type = float; shape_dtype: type = int64; stateful
StatefulUniformFullInt(resource: resource, algorithm: int64, shape: shape_dtype) -> output: dtype; dtype: type = uint64; shape_dtype: type = int64; stateful
StatefulUniformInt(resource: resource, algorithm: int64, shape: shape_dtype, minval: dtype, maxval: dtype) -> output: dtype; dtype: type = int64; shape_dtype: type = int64; stateful
StatelessCase(branch_index: int32, input: Tin) -> output: Tout; Tin: list(type) >= 0; Tout: list(type) >= 0; branches: list(func) >= 1; output_shapes: list(shape) = []
StatelessParameterizedTruncatedNormal(shape: S, seed: Tseed, means: dtype, stddevs: dtype, minvals: dtype, maxvals: dtype) -> output: dtype; S: {int32, int64}; Tseed: {int32, int64} = int64; dtype: {half, float, double}
StatelessRandomBinomial(shape: S, seed: Tseed, counts: T, probs: T) -> output: dtype; S: {int32, int64}; Tseed: {int32, int64} = int64; T: {half, float, double, int32, int64} = double; dtype: {half, float, double, int32, int64} = int64
StatelessRandomGammaV2(shape: T, seed: Tseed, alpha: dtype) -> output: dtype; dtype: {half, float, double}; T: {int32, int64}; Tseed: {int32, int64} = int64
StatelessRandomGammaV3(shape: shape_dtype, key: uint64, counter: uint64, alg: int32, alpha: dtype) -> output: dtype; dtype: {half, float, double}; shape_dtype: {int32, int64} = int32
StatelessRandomPoisson(shape: T, seed: Tseed, lam: Rtype) -> output: dtype; Rtype: {half, float, double, int32, int64}; dtype: {half, float, double, int32, int64}; T: {int32, int64}; Tseed: {int32, int64} = int64
StatelessSampleDistortedBoundingBox(image_size: T, bounding_boxes: float, min_object_covered: float, seed: Tseed) -> begin: T, size: T, bboxes: float; T: {uint8, int8, int16, int32, int64}; Tseed: {int32, int64}; aspect_ratio_range: list(float) = [0.75, 1.33]; area_range: list(float) = [0.05, 1]; max_attempts: int = 100; use_image_if_no_bounding_boxes: bool = false
StatelessShuffle(value: T, key: uint64, counter: uint64, alg: int32) -> output: T; T: type
StatsAggregatorHandle() -> handle: resource; container: string = ""; shared_name: string = ""; stateful
StatsAggregatorHandleV2() -> handle: resource; container: string = ""; shared_name: string = ""; stateful
StatsAggregatorSetSummaryWriter(stats_aggregator: resource, summary: resource); stateful
StatsAggregatorSummary(iterator: resource) -> summary: string; stateful
StochasticCastToInt(input: Tin, key: uint64, counter: uint64, alg: int32) -> output: Tout; Tin: {half, bfloat16, float, double}; Tout: {int8, int16, int32}
StoreMinibatchStatisticsInFdo(program_key: string, max_ids: int32, max_uniques: int32); sample_count: int >= 1; num_replica: int >= 1; feature_width: int >= 1; num_sc_per_chip: int >= 1; table_name: string; mini_batch_splits: string; stateful
SummaryWriter() -> writer: resource; shared_name: string = ""; container: string = ""; stateful
Svd(input: T) -> s: T, u: T, v: T; compute_uv: bool = true; full_matrices: bool = false; T: {double, float, half, complex64, complex128}
SymbolicGradient(input: Tin) -> output: Tout; Tin: list(type) >= 1; Tout: list(type) >= 1; f: func
SyncDevice(); stateful
TFRecordDataset(filenames: string, compression_type: string, buffer_size: int64) -> handle: variant; metadata: string = ""; stateful
TFRecordDatasetV2(filenames: string, compression_type: string, buffer_size: int64, byte_offsets: int64) -> handle: variant; metadata: string = ""; stateful
TFRecordReader() -> reader_handle: ref string; container: string = ""; shared_name: string = ""; compression_type: string = ""; stateful; deprecated(26, "use TFRecordReaderV2")
TFRecordReaderV2() -> reader_handle: resource; container: string = ""; shared_name: string = ""; compression_type: string = ""; stateful
TPUAnnotateTensorsWithDynamicShape(tensors: T) -> tpu_tensors: T; T: list(type) >= 1; stateful
TPUCompilationResult() -> output: string
TPUCompile(dynamic_shapes: NumDynamicShapes * int64, guaranteed_constants: Tguaranteed_constants) -> compilation_status: string, program: num_computations * string, may_modify_variables: num_computations * bool; num_computations: int >= 0; function: func; metadata: string; NumDynamicShapes: int >= 0; Tguaranteed_constants: list(type) >= 0; stateful
TPUCompileSucceededAssert(compilation_status: string); stateful
TPUCopyWithDynamicShape(tensors: T, unpadded_sizes: N * int32) -> tpu_tensors: T; N: int >= 0; T: list(type) >= 1; stateful
TPUDummyInput() -> output: dtype; dtype: {float, bfloat16}; shape: shape; stateful
TPUEmbeddingActivations(embedding_variable: float, sliced_activations: float) -> output: float; table_id: int >= 0; lookup_id: int >= 0
TPUExecute(args: Targs, key: string) -> results: Tresults; Targs: list(type) >= 0; Tresults: list(type) >= 0; stateful; distributed
TPUExecuteAndUpdateVariables(args: Targs, key: string) -> results: Tresults; Targs: list(type) >= 0; Tresults: list(type) >= 0; device_var_reads_indices: list(int) >= 0; device_var_updates_indices: list(int) >= 0; stateful; distributed
TPUOrdinalSelector() -> device_ordinals: int32; stateful
TPUPartitionedCall(args: Tin, device_ordinal: int32) -> output: Tout; Tin: list(type) >= 0; Tout: list(type) >= 0; f: func; autotuner_thresh: int = 0
TPUPartitionedInput(inputs: N * T) -> output: T; N: int >= 1; T: type; partition_dim: int = 0
TPUPartitionedInputV2(inputs: N * T) -> output: T; N: int >= 1; T: type; partition_dims: list(int); is_packed: bool = false
TPUPartitionedOutput(inputs: T) -> output: num_splits * T; T: type; num_splits: int >= 1; partition_dim: int = 0
TPUPartitionedOutputV2(inputs: T) -> output: num_splits * T; T: type; num_splits: int >= 1; partition_dims: list(int)
TPUReplicateMetadata(); num_replicas: int >= 0; num_cores_per_replica: int = 1; topology: string = ""; use_tpu: bool = true; device_assignment: list(int) = []; computation_shape: list(int) = []; host_compute_core: list(string) = []; padding_map: list(string) = []; step_marker_location: string = "STEP_MARK_AT_ENTRY"; allow_soft_placement: bool = false; use_spmd_for_xla_partitioning: bool = false; use_shardy_partitioner: bool = false; tpu_compile_options_proto: string = ""
TPUReplicatedInput(inputs: N * T) -> output: T; N: int >= 1; T: type; is_mirrored_variable: bool = false; index: int = -1; is_packed: bool = false
TPUReplicatedOutput(input: T) -> outputs: num_replicas * T; num_replicas: int >= 1; T: type
TPUReshardVariables(vars: N * resource, new_format_key: string, format_state_var: resource); N: int >= 0; stateful
TPURoundRobin() -> device_ordinal: int32; stateful
TakeDataset(input_dataset: variant, count: int64) -> handle: variant; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; metadata: string = ""
TakeManySparseFromTensorsMap(sparse_handles: int64) -> sparse_indices: int64, sparse_values: dtype, sparse_shape: int64; dtype: type; container: string = ""; shared_name: string = ""; stateful
TakeWhileDataset(input_dataset: variant, other_arguments: Targuments) -> handle: variant; predicate: func; Targuments: list(type) >= 0; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; metadata: string = ""
TensorArray(size: int32) -> handle: ref string; dtype: type; dynamic_size: bool = false; clear_after_read: bool = true; tensor_array_name: string = ""; element_shape: shape = ?; stateful; deprecated(16, "use TensorArrayV3")
TensorArrayClose(handle: ref string); deprecated(16, "use TensorArrayCloseV3")
TensorArrayCloseV2(handle: string); deprecated(26, "use TensorArrayCloseV3")
TensorArrayConcat(handle: ref string, flow_in: float) -> value: dtype, lengths: int64; dtype: type; element_shape_except0: shape = ?; deprecated(16, "use TensorArrayGradV3")
TensorArrayConcatV2(handle: string, flow_in: float) -> value: dtype, lengths: int64; dtype: type; element_shape_except0: shape = ?
TensorArrayGather(handle: ref string, indices: int32, flow_in: float) -> value: dtype; dtype: type; element_shape: shape = ?; deprecated(16, "use TensorArrayGatherV3")
TensorArrayGatherV2(handle: string, indices: int32, flow_in: float) -> value: dtype; dtype: type; element_shape: shape = ?; deprecated(26, "use TensorArrayGatherV3")
TensorArrayGrad(handle: string, flow_in: float) -> grad_handle: ref string; source: string; stateful; deprecated(16, "use TensorArrayGradV3")
TensorArrayGradV2(handle: string, flow_in: float) -> grad_handle: string; source: string; stateful; deprecated(26, "use TensorArrayGradV3")
TensorArrayGradWithShape(handle: resource, flow_in: float, shape_to_prepend: int32) -> grad_handle: resource, flow_out: float; source: string; stateful
TensorArrayPack(handle: ref string, flow_in: float) -> value: dtype; dtype: type; element_shape: shape = ?; deprecated(16, "use TensorArrayGatherV3")
TensorArrayRead(handle: ref string, index: int32, flow_in: float) -> value: dtype; dtype: type; deprecated(16, "use TensorArrayReadV3")
TensorArrayReadV2(handle: string, index: int32, flow_in: float) -> value: dtype; dtype: type; deprecated(26, "use TensorArrayReadV3")
TensorArrayScatter(handle: ref string, indices: int32, value: T, flow_in: float) -> flow_out: float; T: type; deprecated(19, "use TensorArrayGradV3")
TensorArrayScatterV2(handle: string, indices: int32, value: T, flow_in: float) -> flow_out: float; T: type; deprecated(26, "use TensorArrayScatterV3")
TensorArraySize(handle: ref string, flow_in: float) -> size: int32; deprecated(16, "use TensorArraySizeV3")
TensorArraySizeV2(handle: string, flow_in: float) -> size: int32; deprecated(26, "use TensorArraySizeV3")
TensorArraySplit(handle: ref string, value: T, lengths: int64, flow_in: float) -> flow_out: float; T: type; deprecated(16, "use TensorArraySplitV3")
TensorArraySplitV2(handle: string, value: T, lengths: int64, flow_in: float) -> flow_out: float; T: type; deprecated(26, "use TensorArraySplitV3")
TensorArrayUnpack(handle: ref string, value: T, flow_in: float) -> flow_out: float; T: type; deprecated(20, "use TensorArrayScatterV3")
TensorArrayV2(size: int32) -> handle: string; dtype: type; element_shape: shape = ?; dynamic_size: bool = false; clear_after_read: bool = true; tensor_array_name: string = ""; stateful; deprecated(26, "use TensorArrayV3")
TensorArrayWrite(handle: ref string, index: int32, value: T, flow_in: float) -> flow_out: float; T: type; deprecated(16, "use TensorArrayWriteV3")
TensorArrayWriteV2(handle: string, index: int32, value: T, flow_in: float) -> flow_out: float; T: type; deprecated(26, "use TensorArrayWriteV3")
TensorDataset(components: Toutput_types) -> handle: variant; Toutput_types: list(type) >= 1; output_shapes: list(shape) >= 1; metadata: string = ""; stateful
TensorListPushBackBatch(input_handles: variant, tensor: element_dtype) -> output_handles: variant; element_dtype: type
TensorMapErase(input_handle: variant, key: key_dtype) -> output_handle: variant; key_dtype: type; value_dtype: type
TensorMapHasKey(input_handle: variant, key: key_dtype) -> has_key: bool; key_dtype: type
TensorMapInsert(input_handle: variant, key: key_dtype, value: value_dtype) -> output_handle: variant; key_dtype: type; value_dtype: type
TensorMapLookup(input_handle: variant, key: key_dtype) -> value: value_dtype; key_dtype: type; value_dtype: type
TensorMapSize(input_handle: variant) -> size: int32
TensorMapStackKeys(input_handle: variant) -> keys: key_dtype; key_dtype: type
TensorSliceDataset(components: Toutput_types) -> handle: variant; Toutput_types: list(type) >= 1; output_shapes: list(shape) >= 1; is_files: bool = false; metadata: string = ""; replicate_on_split: bool = false; stateful
TensorStridedSliceUpdate(input: T, begin: Index, end: Index, strides: Index, value: T) -> output: T; T: type; Index: {int32, int64}; begin_mask: int = 0; end_mask: int = 0; ellipsis_mask: int = 0; new_axis_mask: int = 0; shrink_axis_mask: int = 0
TensorSummary(tensor: T) -> summary: string; T: type; description: string = ""; labels: list(string) = []; display_name: string = ""
TensorSummaryV2(tag: string, tensor: T, serialized_summary_metadata: string) -> summary: string; T: type
TextLineDataset(filenames: string, compression_type: string, buffer_size: int64) -> handle: variant; metadata: string = ""; stateful
TextLineReader() -> reader_handle: ref string; skip_header_lines: int = 0; container: string = ""; shared_name: string = ""; stateful; deprecated(26, "use TextLineReaderV2")
TextLineReaderV2() -> reader_handle: resource; skip_header_lines: int = 0; container: string = ""; shared_name: string = ""; stateful
ThreadPoolDataset(input_dataset: variant, thread_pool: resource) -> handle: variant; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; stateful
ThreadPoolHandle() -> handle: resource; num_threads: int; max_intra_op_parallelism: int = 1; display_name: string; container: string = ""; shared_name: string = ""; stateful
TileGrad(input: T, multiples: int32) -> output: T; T: type; deprecated(3, "use Sum")
TopKUnique(input: float) -> topk: float, topk_indices: int32; k: int
TopKWithUnique(input: float) -> topk: float, topk_indices: int32; k: int
TpuHandleToProtoKey(uid: int64) -> proto_keys: string
TridiagonalMatMul(superdiag: T, maindiag: T, subdiag: T, rhs: T) -> output: T; T: {double, float, complex64, complex128}
TridiagonalSolve(diagonals: T, rhs: T) -> output: T; partial_pivoting: bool = true; perturb_singular: bool = false; T: {double, float, complex64, complex128}
Unbatch(batched_tensor: T, batch_index: int64, id: int64) -> unbatched_tensor: T; timeout_micros: int; container: string = ""; shared_name: string = ""; T: type
UnbatchDataset(input_dataset: variant) -> handle: variant; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; metadata: string = ""
UnbatchGrad(original_input: T, batch_index: int64, grad: T, id: int64) -> batched_grad: T; container: string = ""; shared_name: string = ""; T: type
UncompressElement(compressed: variant) -> components: output_types; output_types: list(type) >= 1; output_shapes: list(shape) >= 1
UnicodeScript(input: int32) -> output: int32
UniformDequantize(input: Tin, scales: float, zero_points: int32) -> output: Tout; Tin: {qint8, quint8, qint32}; Tout: {float}; quantization_axis: int = -1; quantization_min_val: int; quantization_max_val: int
UniformQuantize(input: Tin, scales: float, zero_points: int32) -> output: Tout; Tin: {float}; Tout: {qint8, quint8, qint32}; quantization_axis: int = -1; quantization_min_val: int; quantization_max_val: int
UniformQuantizedAdd(lhs: T, rhs: T, lhs_scales: float, lhs_zero_points: int32, rhs_scales: float, rhs_zero_points: int32, output_scales: float, output_zero_points: int32) -> output: T; lhs_quantization_axis: int = -1; lhs_quantization_min_val: int; lhs_quantization_max_val: int; rhs_quantization_axis: int = -1; rhs_quantization_min_val: int; rhs_quantization_max_val: int; output_quantization_axis: int = -1; output_quantization_min_val: int; output_quantization_max_val: int; T: {qint32}
UniformQuantizedClipByValue(operand: T, min: T, max: T, scales: float, zero_points: int32) -> output: T; T: {qint32}; quantization_axis: int = -1; quantization_min_val: int; quantization_max_val: int
UniformQuantizedConvolution(lhs: Tin, rhs: Tin, lhs_scales: float, lhs_zero_points: int32, rhs_scales: float, rhs_zero_points: int32, output_scales: float, output_zero_points: int32) -> output: Tout; Tin: {qint8}; Tout: {qint32}; window_strides: list(int) = []; padding: string; explicit_padding: list(int) = []; lhs_dilation: list(int) = []; rhs_dilation: list(int) = []; batch_group_count: int = 1; feature_group_count: int = 1; dimension_numbers: string = ""; lhs_quantization_axis: int = -1; lhs_quantization_min_val: int; lhs_quantization_max_val: int; rhs_quantization_axis: int = -1; rhs_quantization_min_val: int; rhs_quantization_max_val: int; output_quantization_axis: int = -1; output_quantization_min_val: int; output_quantization_max_val: int
UniformQuantizedConvolutionHybrid(lhs: Tlhs, rhs: Trhs, rhs_scales: float, rhs_zero_points: int32) -> output: Tout; Tlhs: {float}; Trhs: {qint8}; Tout: {float}; window_strides: list(int) = []; padding: string; explicit_padding: list(int) = []; lhs_dilation: list(int) = []; rhs_dilation: list(int) = []; batch_group_count: int = 1; feature_group_count: int = 1; dimension_numbers: string = ""; rhs_quantization_axis: int = -1; rhs_quantization_min_val: int; rhs_quantization_max_val: int
UniformQuantizedDot(lhs: Tin, rhs: Tin, lhs_scales: float, lhs_zero_points: int32, rhs_scales: float, rhs_zero_points: int32, output_scales: float, output_zero_points: int32) -> output: Tout; Tin: {qint8}; Tout: {qint32}; lhs_quantization_axis: int = -1; lhs_quantization_min_val: int; lhs_quantization_max_val: int; rhs_quantization_axis: int = -1; rhs_quantization_min_val: int; rhs_quantization_max_val: int; output_quantization_axis: int = -1; output_quantization_min_val: int; output_quantization_max_val: int
UniformQuantizedDotHybrid(lhs: Tlhs, rhs: Trhs, rhs_scales: float, rhs_zero_points: int32) -> output: Tout; Tlhs: {float}; Trhs: {qint8}; Tout: {float}; rhs_quantization_axis: int = -1; rhs_quantization_min_val: int; rhs_quantization_max_val: int
UniformRequantize(input: Tin, input_scales: float, input_zero_points: int32, output_scales: float, output_zero_points: int32) -> output: Tout; Tin: {qint8, qint32}; Tout: {qint8, qint32}; input_quantization_axis: int = -1; input_quantization_min_val: int; input_quantization_max_val: int; output_quantization_axis: int = -1; output_quantization_min_val: int; output_quantization_max_val: int
UniqueDataset(input_dataset: variant) -> handle: variant; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; metadata: string = ""
UnravelIndex(indices: Tidx, dims: Tidx) -> output: Tidx; Tidx: {int32, int64} = int32
UnsortedSegmentJoin(inputs: string, segment_ids: Tindices, num_segments: Tnumsegments) -> output: string; separator: string = ""; Tindices: {int32, int64}; Tnumsegments: {int32, int64} = int32
Unstage() -> values: dtypes; capacity: int >= 0 = 0; memory_limit: int >= 0 = 0; dtypes: list(type) >= 1; container: string = ""; shared_name: string = ""; stateful
UnwrapDatasetVariant(input_handle: variant) -> output_handle: variant
UpdateTaskIdAndGlobalCoreArray(tpu_task_id_to_shard_id: task_count * int32); task_count: int >= 1; stateful
WeightedFlatMapDataset(input_datasets: N * variant, weights: M * double) -> handle: variant; N: int >= 2; M: int >= 2; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; metadata: string = ""
WholeFileReader() -> reader_handle: ref string; container: string = ""; shared_name: string = ""; stateful
WholeFileReaderV2() -> reader_handle: resource; container: string = ""; shared_name: string = ""; stateful
WindowDataset(input_dataset: variant, size: int64, shift: int64, stride: int64, drop_remainder: bool) -> handle: variant; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; metadata: string = ""
WindowOp(inputs: Tinputs) -> handle: variant; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; Tinputs: list(type) >= 1
WorkerHeartbeat(request: string) -> response: string; stateful
WrapDatasetVariant(input_handle: variant) -> output_handle: variant
WriteAudioSummary(writer: resource, step: int64, tag: string, tensor: float, sample_rate: float); max_outputs: int >= 1 = 3; stateful
WriteGraphSummary(writer: resource, step: int64, tensor: string); stateful
WriteHistogramSummary(writer: resource, step: int64, tag: string, values: T); T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64, bool} = float; stateful
WriteImageSummary(writer: resource, step: int64, tag: string, tensor: T, bad_color: uint8); max_images: int >= 1 = 3; T: {uint8, double, float, half} = float; stateful
WriteRawProtoSummary(writer: resource, step: int64, tensor: string); stateful
WriteScalarSummary(writer: resource, step: int64, tag: string, value: T); T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}; stateful
WriteSummary(writer: resource, step: int64, tensor: T, tag: string, summary_metadata: string); T: type; stateful
XlaAllReduce(input: T, group_assignment: int32) -> output: T; T: {half, bfloat16, float, int32, uint32}; reduce_op: {"Min", "Max", "Mul", "Add", "Mean"}; mode: {"CrossReplica", "CrossReplicaAndPartition"}
XlaBroadcastHelper(lhs: T, rhs: T, broadcast_dims: Tindices) -> lhs_output: T, rhs_output: T; T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}; Tindices: {int32, int64}
XlaCallModule(args: Tin) -> output: Tout; version: int; module: string; Sout: list(shape) >= 0; Tout: list(type) >= 0; Tin: list(type) >= 0; dim_args_spec: list(string) = []; platforms: list(string) = []; function_list: list(func) = []; has_token_input_output: bool = false; disabled_checks: list(string) = []; use_shardy_partitioner: bool = false; stateful
XlaClusterOutput(input: T) -> outputs: T; T: type
XlaConcatND(inputs: N * T) -> output: T; T: type; N: int >= 1; num_concats: list(int); paddings: list(int) = []
XlaConv(lhs: T, rhs: T, window_strides: Tindices, padding: Tindices, lhs_dilation: Tindices, rhs_dilation: Tindices, feature_group_count: Tindices) -> output: T; T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}; Tindices: {int32, int64}; dimension_numbers: string; precision_config: string
XlaConvV2(lhs: LhsT, rhs: RhsT, window_strides: Tindices, padding: Tindices, lhs_dilation: Tindices, rhs_dilation: Tindices, feature_group_count: Tindices) -> output: preferred_element_type; LhsT: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}; RhsT: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}; Tindices: {int32, int64}; dimension_numbers: string; precision_config: string; preferred_element_type: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}; batch_group_count: int = 1
XlaCustomCall(args: T) -> output: dtype; target_name: string; backend_config: string; T: list(type) >= 0; dtype: type; shape: shape
XlaCustomCallV2(operands: operand_dtypes) -> results: result_dtypes; call_target_name: string; backend_config: string; has_side_effect: bool; operand_dtypes: list(type) >= 0; result_dtypes: list(type) >= 0; result_shapes: list(shape) >= 0
XlaDequantize(input: uint32) -> output: bfloat16; min_range: float; max_range: float; mode: string; transpose_output: bool; stateful
XlaDot(lhs: T, rhs: T) -> output: T; T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}; dimension_numbers: string; precision_config: string
XlaDotV2(lhs: LhsT, rhs: RhsT) -> output: preferred_element_type; LhsT: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}; RhsT: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}; dimension_numbers: string; precision_config: string; preferred_element_type: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}
XlaDynamicSlice(input: T, start_indices: Tindices, size_indices: Tindices) -> output: T; T: type; Tindices: {int32, int64}
XlaDynamicUpdateSlice(input: T, update: T, indices: Tindices) -> output: T; T: type; Tindices: {int32, int64}
XlaEinsum(a: T, b: T) -> product: T; equation: string; T: {complex64, bfloat16, float}
XlaGather(operand: T, start_indices: Tindices, slice_sizes: Tindices) -> output: T; dimension_numbers: string; indices_are_sorted: bool; T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64, bool}; Tindices: {int32, int64}
XlaHostCompute(inputs: Tinputs) -> outputs: Toutputs; Tinputs: list(type) >= 0; Toutputs: list(type) >= 0; ancestors: list(string) >= 0; shapes: list(shape) >= 0; shape_inference_graph: func; key: string; send_key: string = ""; recv_key: string = ""; cost_estimate_ns: int = 1000000; tpu_core: int = 0; stateful
XlaIf(cond: Tcond, inputs: Tin) -> output: Tout; Tcond: type; then_branch: func; else_branch: func; Tin: list(type) >= 0; Tout: list(type) >= 0; stateful
XlaKeyValueSort(keys: K, values: V) -> sorted_keys: K, sorted_values: V; K: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}; V: type
XlaLaunch(constants: Tconstants, args: Targs, resources: Nresources * resource) -> results: Tresults; Tconstants: list(type) >= 0; Targs: list(type) >= 0; Nresources: int >= 0; Tresults: list(type) >= 0; function: func; stateful
XlaLaunchV2(args: Targs) -> results: Tresults; Targs: list(type) >= 0; Tresults: list(type) >= 0; constants: list(int) >= 0; resources: list(int) >= 0; function: func
XlaOptimizationBarrier(input: T) -> output: T; T: list(type) >= 0
XlaPad(input: T, padding_value: T, padding_low: Tindices, padding_high: Tindices, padding_interior: Tindices) -> output: T; T: type; Tindices: {int32, int64}
XlaRecv() -> tensor: dtype; dtype: type; tensor_name: string; shape: shape; stateful
XlaRecvFromHost() -> output: Toutput; Toutput: type; shape: shape; key: string; stateful
XlaRecvTPUEmbeddingActivations(deduplication_data: variant) -> outputs: num_tables * float; num_tables: int >= 1; config: string; stateful
XlaRecvTPUEmbeddingActivationsV2(deduplication_data: variant) -> outputs: num_tables * float; num_tables: int >= 1; config: string; embedding_partitions: string; hbm_buffers_config: string; tpu_topology: string; stateful
XlaRecvTPUEmbeddingDeduplicationData() -> output: variant; config: string; stateful
XlaRecvTPUEmbeddingDeduplicationDataV2() -> output: variant; config: string; embedding_partitions: string; hbm_buffers_config: string; tpu_topology: string; stateful
XlaReduce(input: T, init_value: T) -> output: T; T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64, bool}; dimensions_to_reduce: list(int); reducer: func
XlaReducePrecision(operand: T) -> output: T; T: {bfloat16, half, float, double}; exponent_bits: int; mantissa_bits: int
XlaReduceScatter(input: T, group_assignment: int32, scatter_dimension: int32) -> output: T; T: {half, bfloat16, float, int32, uint32}; reduce_op: {"Min", "Max", "Mul", "Add", "Mean"}
XlaReduceWindow(input: T, init_value: T, window_dimensions: Tindices, window_strides: Tindices, base_dilations: Tindices, window_dilations: Tindices, padding: Tindices) -> output: T; T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64, bool}; Tindices: {int32, int64}; computation: func
XlaRemoveDynamicDimensionSize(input: T, dim_index: int32) -> output: T; T: type
XlaReplicaId() -> id: int32
XlaRngBitGenerator(algorithm: int32, initial_state: uint64, shape: Tshape) -> output_key: uint64, output: dtype; dtype: {uint8, int8, int32, int64, uint32, uint64} = uint64; Tshape: {int32, int64} = int32
XlaScatter(operand: T, scatter_indices: Tindices, updates: T) -> output: T; update_computation: func; dimension_numbers: string; indices_are_sorted: bool; T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64, bool}; Tindices: {int32, int64}
XlaSelectAndScatter(operand: T, window_dimensions: Tindices, window_strides: Tindices, padding: Tindices, source: T, init_value: T) -> output: T; T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}; Tindices: {int32, int64}; select: func; scatter: func
XlaSelfAdjointEig(a: T) -> w: T, v: T; lower: bool; max_iter: int; epsilon: float; T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}
XlaSend(tensor: T); T: type; tensor_name: string; stateful
XlaSendTPUEmbeddingGradients(gradients: NumTables * float, learning_rates: NumLearningRateTags * float, deduplication_data: variant); NumTables: int >= 1; NumLearningRateTags: int >= 0 = 0; config: string; stateful
XlaSendTPUEmbeddingGradientsV2(gradients: NumTables * float, learning_rates: NumLearningRateTags * float, deduplication_data: variant); NumTables: int >= 1; NumLearningRateTags: int >= 0 = 0; config: string; embedding_partitions: string; hbm_buffers_config: string; tpu_topology: string; stateful
XlaSendToHost(input: Tinput); Tinput: type; key: string; stateful
XlaSetBound(input: int32, bound: int32) -> output: int32
XlaSetDynamicDimensionSize(input: T, dim_index: int32, size: int32) -> output: T; T: type
XlaSharding(input: T) -> output: T; T: type; sharding: string = ""; unspecified_dims: list(int) = []
XlaSort(input: T) -> output: T; T: type
XlaSparseActivationsUnstack(stacked_activations: input_dtype) -> unstacked_activations: num_tables * dtype; num_tables: int >= 1; sample_counts: list(int) >= 1; features: list(int) >= 1; interleaved: bool; input_dtype: type; dtype: type
XlaSparseCoreAdagrad(indices: int32, gradient: float, learning_rate: float, accumulator: float, embedding_table: float) -> updated_embedding_table: float, updated_accumulator: float; feature_width: int; stateful
XlaSparseCoreAdagradMomentum(indices: int32, gradient: float, learning_rate: float, beta_1: float, epsilon: float, accumulator: float, momentum: float, embedding_table: float) -> updated_embedding_table: float, updated_accumulator: float, updated_momentum: float; feature_width: int; use_nesterov: bool; beta_2: float; exponent: float; stateful
XlaSparseCoreAdam(embedding_table: float, indices: int32, gradient: float, learning_rate: float, momentum: float, velocity: float, beta_1: float, beta_2: float, epsilon: float) -> updated_embedding_table: float, updated_velocity: float, updated_momentum: float; feature_width: int; use_sum_inside_sqrt: bool; stateful
XlaSparseCoreFtrl(embedding_table: float, accumulator: float, linear: float, learning_rate: float, indices: int32, gradient: float, beta: float, learning_rate_power: float, l2_regularization_strength: float) -> updated_embedding_table: float, updated_accumulator: float, updated_linear: float; feature_width: int; multiply_linear_by_learning_rate: bool; l1_regularization_strength: float; stateful
XlaSparseCoreSgd(indices: int32, gradient: float, learning_rate: float, embedding_table: float) -> updated_embedding_table: float; feature_width: int; stateful
XlaSparseDenseMatmul(row_ids: int32, col_ids: uint32, values: float, offsets: uint32, embedding_table: float) -> activations: float, row_pointers: int32, sorted_embedding_ids: int32, sorted_sample_ids: int32, sorted_gains: float; max_ids_per_partition: int >= 0; max_unique_ids_per_partition: int >= 0; input_size: int >= 0
XlaSparseDenseMatmulCustomCombinerOnTcGradWithAdagradAndCsrInput(row_pointers: int32, sorted_sample_ids: int32, sorted_token_ids: int32, sorted_pos_ids: int32, sorted_gains: float, weights: float, preserved_valencies: int32, preserved_vectors: float, preserved_weights: float, activation_gradients: float, learning_rate: float, combiner_weights_learning_rate: float, embedding_table: float, accumulator: float) -> updated_embedding_table: float, updated_accumulator: float, updated_weights: float; clip_weight_min: float = -inf; clip_weight_max: float = inf; max_valency: int >= 0; num_weights: int >= 0; combiner_table_vjp_computation: func; combiner_weights_vjp_computation: func; table_name: string; num_sparsecores_per_device: int = -1
XlaSparseDenseMatmulCustomCombinerOnTcGradWithAdagradMomentumAndCsrInput(row_pointers: int32, sorted_sample_ids: int32, sorted_token_ids: int32, sorted_pos_ids: int32, sorted_gains: float, weights: float, preserved_valencies: int32, preserved_vectors: float, preserved_weights: float, activation_gradients: float, learning_rate: float, combiner_weights_learning_rate: float, embedding_table: float, accumulator: float, momenta: float) -> updated_embedding_table: float, updated_accumulator: float, updated_momenta: float, updated_weights: float; use_nesterov: bool; exponent: float; beta1: float; beta2: float; epsilon: float; clip_weight_min: float = -inf; clip_weight_max: float = inf; max_valency: int >= 0; num_weights: int >= 0; combiner_table_vjp_computation: func; combiner_weights_vjp_computation: func; table_name: string; num_sparsecores_per_device: int = -1
XlaSparseDenseMatmulCustomCombinerOnTcGradWithAdamAndCsrInput(row_pointers: int32, sorted_sample_ids: int32, sorted_token_ids: int32, sorted_pos_ids: int32, sorted_gains: float, weights: float, preserved_valencies: int32, preserved_vectors: float, preserved_weights: float, activation_gradients: float, learning_rate: float, combiner_weights_learning_rate: float, embedding_table: float, momenta: float, velocity: float) -> updated_embedding_table: float, updated_momenta: float, updated_velocity: float, updated_weights: float; use_sum_inside_sqrt: bool; beta1: float; beta2: float; epsilon: float; clip_weight_min: float = -inf; clip_weight_max: float = inf; max_valency: int >= 0; num_weights: int >= 0; combiner_table_vjp_computation: func; combiner_weights_vjp_computation: func; table_name: string; num_sparsecores_per_device: int = -1
XlaSparseDenseMatmulCustomCombinerOnTcGradWithCsrInput(row_pointers: int32, sorted_sample_ids: int32, sorted_token_ids: int32, sorted_pos_ids: int32, sorted_gains: float, weights: float, preserved_valencies: int32, preserved_vectors: float, preserved_weights: float, activation_gradients: float, tables: N * float, hyperparameters: M * float, combiner_weights_learning_rate: float) -> updated_tables: N * float, updated_weights: float; N: int >= 1; M: int >= 1; max_valency: int >= 0; num_weights: int >= 0; combiner_table_vjp_computation: func; combiner_weights_vjp_computation: func; optimizer_custom_computation: func; table_name: string; num_sparsecores_per_device: int = -1
XlaSparseDenseMatmulCustomCombinerOnTcGradWithFtrlAndCsrInput(row_pointers: int32, sorted_sample_ids: int32, sorted_token_ids: int32, sorted_pos_ids: int32, sorted_gains: float, weights: float, preserved_valencies: int32, preserved_vectors: float, preserved_weights: float, activation_gradients: float, learning_rate: float, combiner_weights_learning_rate: float, embedding_table: float, accumulator: float, linear: float) -> updated_embedding_table: float, updated_accumulator: float, updated_linear: float, updated_weights: float; multiply_linear_by_learning_rate: bool; beta: float; learning_rate_power: float; l1_regularization_strength: float; l2_regularization_strength: float; clip_weight_min: float = -inf; clip_weight_max: float = inf; max_valency: int >= 0; num_weights: int >= 0; combiner_table_vjp_computation: func; combiner_weights_vjp_computation: func; table_name: string; num_sparsecores_per_device: int = -1
XlaSparseDenseMatmulCustomCombinerOnTcGradWithSgdAndCsrInput(row_pointers: int32, sorted_sample_ids: int32, sorted_token_ids: int32, sorted_pos_ids: int32, sorted_gains: float, weights: float, preserved_valencies: int32, preserved_vectors: float, preserved_weights: float, activation_gradients: float, learning_rate: float, combiner_weights_learning_rate: float, embedding_table: float) -> updated_embedding_table: float, updated_weights: float; clip_weight_min: float = -inf; clip_weight_max: float = inf; max_valency: int >= 0; num_weights: int >= 0; combiner_table_vjp_computation: func; combiner_weights_vjp_computation: func; table_name: string; num_sparsecores_per_device: int = -1
XlaSparseDenseMatmulCustomCombinerOnTcWithCsrInput(row_pointers: int32, sorted_sample_ids: int32, sorted_token_ids: int32, sorted_pos_ids: int32, sorted_gains: float, embedding_table: float, weights: float) -> activations: float, preserved_valencies: int32, preserved_vectors: float; input_size: int >= 0; max_valency: int >= 0; num_weights: int >= 0; combiner_computation: func; quantization_config_low: float; quantization_config_high: float; quantization_config_num_buckets: int >= 0; table_name: string; num_sparsecores_per_device: int = -1
XlaSparseDenseMatmulGradWithAdagradAndCsrInput(row_pointers: int32, sorted_sample_ids: int32, sorted_token_ids: int32, sorted_gains: float, activation_gradients: float, learning_rate: float, embedding_table: float, accumulator: float, num_minibatches_per_physical_sparse_core: int32) -> updated_embedding_table: float, updated_accumulator: float; clip_weight_min: float = -inf; clip_weight_max: float = inf; table_name: string; num_sparsecores_per_device: int = -1
XlaSparseDenseMatmulGradWithAdagradAndStaticBufferSize(row_pointers: int32, sorted_sample_ids: int32, sorted_token_ids: int32, sorted_gains: float, activation_gradients: float, learning_rate: float, embedding_table: float, accumulator: float, num_minibatches_per_physical_sparse_core: int32) -> updated_embedding_table: float, updated_accumulator: float; clip_weight_min: float = -inf; clip_weight_max: float = inf; max_ids_per_sparse_core: int >= 1; max_unique_ids_per_sparse_core: int >= 1; table_name: string; num_sparsecores_per_device: int = -1
XlaSparseDenseMatmulGradWithAdagradMomentumAndCsrInput(row_pointers: int32, sorted_sample_ids: int32, sorted_token_ids: int32, sorted_gains: float, activation_gradients: float, learning_rate: float, embedding_table: float, accumulator: float, momenta: float, num_minibatches_per_physical_sparse_core: int32) -> updated_embedding_table: float, updated_accumulator: float, updated_momenta: float; use_nesterov: bool; exponent: float; beta1: float; beta2: float; epsilon: float; clip_weight_min: float = -inf; clip_weight_max: float = inf; table_name: string; num_sparsecores_per_device: int = -1
XlaSparseDenseMatmulGradWithAdagradMomentumAndStaticBufferSize(row_pointers: int32, sorted_sample_ids: int32, sorted_token_ids: int32, sorted_gains: float, activation_gradients: float, learning_rate: float, embedding_table: float, accumulator: float, momenta: float, num_minibatches_per_physical_sparse_core: int32) -> updated_embedding_table: float, updated_accumulator: float, updated_momenta: float; use_nesterov: bool; exponent: float; beta1: float; beta2: float; epsilon: float; clip_weight_min: float = -inf; clip_weight_max: float = inf; max_ids_per_sparse_core: int >= 1; max_unique_ids_per_sparse_core: int >= 1; table_name: string; num_sparsecores_per_device: int = -1
XlaSparseDenseMatmulGradWithAdamAndCsrInput(row_pointers: int32, sorted_sample_ids: int32, sorted_token_ids: int32, sorted_gains: float, activation_gradients: float, learning_rate: float, embedding_table: float, momenta: float, velocity: float, num_minibatches_per_physical_sparse_core: int32) -> updated_embedding_table: float, updated_momenta: float, updated_velocity: float; use_sum_inside_sqrt: bool; beta1: float; beta2: float; epsilon: float; clip_weight_min: float = -inf; clip_weight_max: float = inf; table_name: string; num_sparsecores_per_device: int = -1
XlaSparseDenseMatmulGradWithAdamAndStaticBufferSize(row_pointers: int32, sorted_sample_ids: int32, sorted_token_ids: int32, sorted_gains: float, activation_gradients: float, learning_rate: float, embedding_table: float, momenta: float, velocity: float, num_minibatches_per_physical_sparse_core: int32) -> updated_embedding_table: float, updated_momenta: float, updated_velocity: float; use_sum_inside_sqrt: bool; beta1: float; beta2: float; epsilon: float; clip_weight_min: float = -inf; clip_weight_max: float = inf; max_ids_per_sparse_core: int >= 1; max_unique_ids_per_sparse_core: int >= 1; table_name: string; num_sparsecores_per_device: int = -1
XlaSparseDenseMatmulGradWithCsrInput(row_pointers: int32, sorted_sample_ids: int32, sorted_token_ids: int32, sorted_gains: float, activation_gradients: float, tables: N * T, hyperparameters: M * float, num_minibatches_per_physical_sparse_core: int32) -> updated_tables: N * T; N: int >= 1; M: int >= 1; custom_computation: func; table_name: string; num_sparsecores_per_device: int = -1; T: {int32, float} = float
XlaSparseDenseMatmulGradWithFtrlAndCsrInput(row_pointers: int32, sorted_sample_ids: int32, sorted_token_ids: int32, sorted_gains: float, activation_gradients: float, learning_rate: float, embedding_table: float, accumulator: float, linear: float, num_minibatches_per_physical_sparse_core: int32) -> updated_embedding_table: float, updated_accumulator: float, updated_linear: float; multiply_linear_by_learning_rate: bool; beta: float; learning_rate_power: float; l1_regularization_strength: float; l2_regularization_strength: float; clip_weight_min: float = -inf; clip_weight_max: float = inf; table_name: string; num_sparsecores_per_device: int = -1
XlaSparseDenseMatmulGradWithFtrlAndStaticBufferSize(row_pointers: int32, sorted_sample_ids: int32, sorted_token_ids: int32, sorted_gains: float, activation_gradients: float, learning_rate: float, embedding_table: float, accumulator: float, linear: float, num_minibatches_per_physical_sparse_core: int32) -> updated_embedding_table: float, updated_accumulator: float, updated_linear: float; multiply_linear_by_learning_rate: bool; beta: float; learning_rate_power: float; l1_regularization_strength: float; l2_regularization_strength: float; clip_weight_min: float = -inf; clip_weight_max: float = inf; max_ids_per_sparse_core: int >= 1; max_unique_ids_per_sparse_core: int >= 1; table_name: string; num_sparsecores_per_device: int = -1
XlaSparseDenseMatmulGradWithSgdAndCsrInput(row_pointers: int32, sorted_sample_ids: int32, sorted_token_ids: int32, sorted_gains: float, activation_gradients: float, learning_rate: float, embedding_table: float, num_minibatches_per_physical_sparse_core: int32) -> updated_embedding_table: float; clip_weight_min: float = -inf; clip_weight_max: float = inf; table_name: string; num_sparsecores_per_device: int = -1
XlaSparseDenseMatmulGradWithSgdAndStaticBufferSize(row_pointers: int32, sorted_sample_ids: int32, sorted_token_ids: int32, sorted_gains: float, activation_gradients: float, learning_rate: float, embedding_table: float, num_minibatches_per_physical_sparse_core: int32) -> updated_embedding_table: float; clip_weight_min: float = -inf; clip_weight_max: float = inf; max_ids_per_sparse_core: int >= 1; max_unique_ids_per_sparse_core: int >= 1; table_name: string; num_sparsecores_per_device: int = -1
XlaSparseDenseMatmulWithCsrInput(row_pointers: int32, sorted_sample_ids: int32, sorted_token_ids: int32, sorted_gains: float, embedding_table: T, num_minibatches_per_physical_sparse_core: int32) -> activations: T; input_size: int >= 0; quantization_config_low: float; quantization_config_high: float; quantization_config_num_buckets: int >= 0; table_name: string; num_sparsecores_per_device: int = -1; T: {int32, float} = float
XlaSparseDenseMatmulWithStaticBufferSize(row_pointers: int32, sorted_sample_ids: int32, sorted_token_ids: int32, sorted_gains: float, embedding_table: float, num_minibatches_per_physical_sparse_core: int32) -> activations: float; input_size: int >= 0; quantization_config_low: float; quantization_config_high: float; quantization_config_num_buckets: int >= 0; max_ids_per_sparse_core: int >= 1; max_unique_ids_per_sparse_core: int >= 1; table_name: string; num_sparsecores_per_device: int = -1
XlaSparseGradientsStack(unstacked_gradients: num_tables * input_dtype) -> stacked_gradients: dtype; num_tables: int >= 1; interleaved: bool; input_dtype: type; dtype: type
XlaSplitND(input: T) -> outputs: N * T; T: type; N: int >= 1; num_splits: list(int); paddings: list(int) = []
XlaSpmdFullToShardShape(input: T) -> output: T; T: type; manual_sharding: string; dim: int = -1; unspecified_dims: list(int) = []
XlaSpmdShardToFullShape(input: T) -> output: T; T: type; manual_sharding: string; full_shape: shape; dim: int = -1; unspecified_dims: list(int) = []
XlaSvd(a: T) -> s: T, u: T, v: T; max_iter: int; epsilon: float; precision_config: string; T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}
XlaVariadicReduce(input: N * T, init_value: N * T) -> output: N * T; N: int >= 1; T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64, bool}; dimensions_to_reduce: list(int); reducer: func
XlaVariadicReduceV2(inputs: T, init_values: T) -> outputs: T; T: list(type) >= 1; dimensions_to_reduce: list(int); reducer: func
XlaVariadicSort(inputs: T, dimension: int32) -> outputs: T; T: list(type) >= 1; comparator: func; is_stable: bool
XlaWhile(input: T) -> output: T; T: list(type) >= 0; cond: func; body: func; stateful
ZipDataset(input_datasets: N * variant) -> handle: variant; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; N: int >= 1; metadata: string = ""

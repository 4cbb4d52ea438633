// All ops — the table of contents: one word per op, or per row of a family. This is where an op joins the machine.
#include "ops/all_ops.h"

#define UNARY(Name, ...) X(Name)
#define UNARY_TO_BOOL UNARY
#define BINARY UNARY
#define COMPARE UNARY
#define TWIN UNARY

#define FLOW X(_Arg) X(_Retval) X(_CopyOut) X(_HostCopyOut) X(_CopyIn) X(_HostCopyIn) X(_Send) X(_HostSend) X(_Recv) \
    X(_HostRecv) X(_ReadRef) X(_Loop) X(_Cluster) X(_Fused) X(NoOp) \
    X(Switch) X(RefSwitch) X(Merge) X(RefMerge) X(Enter) X(RefEnter) X(Exit) X(RefExit) \
    X(NextIteration) X(RefNextIteration) X(LoopCond) X(ToBool) X(ControlTrigger) \
    X(PartitionedCall) X(StatefulPartitionedCall) X(SymbolicGradient) X(RemoteCall) \
    X(If) X(StatelessIf) X(Case) X(StatelessCase) X(While) X(StatelessWhile) \
    X(EmptyTensorList) X(TensorListReserve) X(TensorListFromTensor) X(TensorListSplit) X(TensorListPushBack) \
    X(TensorListPushBackBatch) X(EmptyTensorMap) X(TensorMapInsert) X(TensorMapLookup) X(TensorMapErase) \
    X(TensorMapHasKey) X(TensorMapSize) X(TensorMapStackKeys) \
    X(TensorListPopBack) X(TensorListLength) X(TensorListElementShape) X(TensorListGetItem) X(TensorListSetItem) \
    X(TensorListResize) X(TensorListConcatLists) X(TensorListStack) X(TensorListGather) X(TensorListScatter) \
    X(TensorListScatterV2) X(TensorListScatterIntoExistingList) X(TensorListConcat) X(TensorListConcatV2) \
    X(Stack) X(StackV2) X(StackPush) X(StackPushV2) X(StackPop) X(StackPopV2) X(StackClose) X(StackCloseV2) \
    X(TensorArrayV3) X(TensorArrayGradV3) X(TensorArrayWriteV3) X(TensorArrayReadV3) X(TensorArrayGatherV3) \
    X(TensorArrayScatterV3) X(TensorArrayConcatV3) X(TensorArraySplitV3) X(TensorArraySizeV3) X(TensorArrayCloseV3) \
    X(Assert) X(Abort) X(Print) X(PrintV2) X(Timestamp) X(GuaranteeConst)

#define MATH X(Atan2) X(Conj) X(LogicalAnd) X(LogicalOr) X(LogicalNot) X(Sum) X(Mean) X(Prod) X(Max) X(Min) \
    X(EuclideanNorm) X(All) \
    X(Any) X(L2Loss) X(Cast) X(MatMul) X(_FusedMatMul) X(_MatMulAddN) \
    X(BatchMatMul) X(BatchMatMulV2) X(BatchMatMulV3) X(AddN) X(_MulSum) X(AccumulateNV2) X(Select) \
    X(SelectV2) X(ApproxTopK) X(DenseCountSparseOutput) X(SparseCountSparseOutput) X(RaggedCountSparseOutput) \
    X(Equal) X(NotEqual) X(ArgMax) X(ArgMin) X(UnsortedSegmentSum) X(UnsortedSegmentProd) X(UnsortedSegmentMax) \
    X(UnsortedSegmentMin) X(SegmentSum) X(SegmentMean) X(SegmentProd) X(SegmentMax) X(SegmentMin) X(Cumsum) \
    X(Cumprod) \
    X(CumulativeLogsumexp) X(Complex) X(Real) X(Imag) X(ComplexAbs) X(Angle) X(LeakyRelu) X(LeakyReluGrad) \
    X(ApproximateEqual) X(ClipByValue) X(TopK) X(TopKV2) X(NthElement) X(CheckNumerics) X(CheckNumericsV2) X(Cross) \
    X(Bincount) X(DenseBincount) X(RaggedBincount) X(SparseBincount) \
    X(LowerBound) X(UpperBound) X(Bucketize) X(HistogramFixedWidth) \
    X(Erfinv) X(Ndtri) X(BesselI0e) X(BesselI1e) X(Polygamma) X(Zeta) X(Igamma) X(Igammac) X(IgammaGradA) X(Betainc) \
    X(NextAfter) X(PopulationCount) X(SparseSegmentSum) X(SparseSegmentMean) X(SparseSegmentSqrtN) X(Einsum) \
    X(SparseSegmentSumWithNumSegments) X(SparseSegmentMeanWithNumSegments) X(SparseSegmentSqrtNWithNumSegments) \
    X(SegmentSumV2) X(SegmentProdV2) X(SegmentMaxV2) X(SegmentMinV2)

#define ARRAY X(Const) X(ImmutableConst) X(ParallelConcat) X(Placeholder) X(PlaceholderWithDefault) \
    X(Identity) X(IdentityN) X(StopGradient) X(Snapshot) \
    X(Reshape) X(ExpandDims) X(Squeeze) X(EnsureShape) X(PreventGradient) X(Shape) X(ShapeN) X(Size) X(Rank) \
    X(BroadcastArgs) X(BroadcastGradientArgs) X(BroadcastTo) X(Fill) X(ZerosLike) X(OnesLike) X(Tile) X(Transpose) \
    X(ConjugateTranspose) X(InvertPermutation) X(Concat) X(ConcatV2) X(ConcatOffset) X(Pack) X(Unpack) X(Split) \
    X(SplitV) \
    X(Slice) X(Reverse) X(ReverseV2) X(StridedSlice) X(StridedSliceGrad) X(Pad) X(_PadAddN) X(PadV2) X(MirrorPad) \
    X(MirrorPadGrad) \
    X(RaggedTensorToVariant) X(RaggedTensorFromVariant) X(RaggedTensorToVariantGradient) \
    X(Gather) X(GatherV2) X(GatherNd) X(ScatterNd) X(TensorScatterUpdate) X(TensorScatterAdd) X(TensorScatterSub) \
    X(TensorScatterMin) X(TensorScatterMax) X(SparseToDense) X(Range) X(LinSpace) X(OneHot) X(Where) X(Unique) X(UniqueV2) \
    X(UniqueWithCounts) X(UniqueWithCountsV2) X(ListDiff) X(DynamicStitch) X(ParallelDynamicStitch) \
    X(DynamicPartition) \
    X(DeepCopy) X(Copy) X(CopyHost) X(InplaceUpdate) X(InplaceAdd) X(InplaceSub) X(ScatterNdNonAliasingAdd) X(Empty) \
    X(UnravelIndex) X(DataFormatDimMap) X(DataFormatVecPermute) X(TensorStridedSliceUpdate) X(PlaceholderV2) \
    X(Bitcast) X(RaggedRange) X(RaggedGather) X(RaggedTensorToSparse) X(RaggedTensorToTensor) X(Roll) \
    X(ReverseSequence) X(SpaceToDepth) X(DepthToSpace) \
    X(SpaceToBatchND) X(BatchToSpaceND) \
    X(SpaceToBatch) X(BatchToSpace) X(MatrixDiag) X(MatrixDiagV2) X(MatrixDiagV3) X(MatrixDiagPart) \
    X(MatrixDiagPartV2) \
    X(MatrixDiagPartV3) X(MatrixSetDiag) X(MatrixSetDiagV2) X(MatrixSetDiagV3) X(Diag) X(DiagPart) X(MatrixBandPart)

#define NN X(BatchNormWithGlobalNormalization) X(BatchNormWithGlobalNormalizationGrad) X(NearestNeighbors) \
    X(Softmax) X(LogSoftmax) X(SoftmaxCrossEntropyWithLogits) X(SparseSoftmaxCrossEntropyWithLogits) \
    X(_ScaledSoftmaxCrossEntropyWithLogits) X(_ScaledSparseSoftmaxCrossEntropyWithLogits) \
    X(Conv2D) X(_FusedConv2D) X(_FusedBatchNormEx) X(_FusedBatchNormGradEx) X(_FusedBatchNormRecompute) \
    X(_FusedDepthwiseConv2dNative) X(Conv2DBackpropInput) X(Conv2DBackpropFilter) X(DepthwiseConv2dNative) \
    X(DepthwiseConv2dNativeBackpropInput) X(DepthwiseConv2dNativeBackpropFilter) \
    X(MaxPool) X(_MaxPoolRecompute) X(MaxPoolV2) X(MaxPoolGrad) X(MaxPoolGradV2) X(AvgPool) X(AvgPoolGrad) \
    X(BiasAdd) X(BiasAddV1) X(BiasAddGrad) X(InTopK) X(InTopKV2) \
    X(MaxPoolWithArgmax) X(MaxPoolGradWithArgmax) X(MaxPoolGradGrad) X(MaxPoolGradGradV2) \
    X(MaxPoolGradGradWithArgmax) X(LRN) X(LRNGrad) X(FusedBatchNorm) X(FusedBatchNormV2) X(FusedBatchNormV3) \
    X(FusedBatchNormGrad) X(FusedBatchNormGradV2) X(FusedBatchNormGradV3) X(Conv3D) X(_FusedConv3D) X(Conv3DBackpropInput) \
    X(Conv3DBackpropInputV2) X(Conv3DBackpropFilter) X(Conv3DBackpropFilterV2) X(MaxPool3D) X(MaxPool3DGrad) \
    X(MaxPool3DGradGrad) X(AvgPool3D) X(AvgPool3DGrad) \
    X(LSTMBlockCell) X(LSTMBlockCellGrad) X(BlockLSTM) X(BlockLSTMV2) X(BlockLSTMGrad) X(BlockLSTMGradV2) \
    X(GRUBlockCell) X(GRUBlockCellGrad) X(CTCGreedyDecoder) X(CTCLoss) X(CTCLossV2) X(Dilation2D) X(Dilation2DBackpropInput) \
    X(Dilation2DBackpropFilter)

#define STATE X(RefIdentity) X(RefSelect) X(GetSessionHandle) X(GetSessionHandleV2) X(GetSessionTensor) \
    X(DeleteSessionTensor) X(VarHandleOp) X(Variable) X(VariableV2) X(ReadVariableOp) X(AssignVariableOp) X(Assign) \
    X(StridedSliceAssign) X(ResourceStridedSliceAssign) \
    X(AssignAdd) X(AssignSub) X(AssignAddVariableOp) X(AssignSubVariableOp) X(VarIsInitializedOp) \
    X(DisableCopyOnRead) \
    X(IsVariableInitialized) X(DestroyResourceOp) X(VariableShape) X(ResourceGather) X(ResourceGatherNd) X(CountUpTo) \
    X(ResourceCountUpTo) X(TemporaryVariable) X(DestroyTemporaryVariable) \
    X(ScatterUpdate) X(ScatterAdd) X(ScatterSub) X(ScatterMul) X(ScatterDiv) X(ScatterMin) X(ScatterMax) \
    X(ResourceScatterUpdate) X(ResourceScatterAdd) X(_ResourceScatterAddScaled) X(ResourceScatterSub) \
    X(ResourceScatterMul) X(ResourceScatterDiv) \
    X(ResourceScatterMin) X(ResourceScatterMax) X(ScatterNdUpdate) X(ScatterNdAdd) X(ScatterNdSub) X(ScatterNdMin) \
    X(ScatterNdMax) X(ResourceScatterNdUpdate) X(ResourceScatterNdAdd) X(ResourceScatterNdSub) \
    X(ResourceScatterNdMin) X(ResourceScatterNdMax) \
    X(PaddingFIFOQueue) X(PaddingFIFOQueueV2) X(RandomShuffleQueue) X(RandomShuffleQueueV2) X(PriorityQueue) \
    X(PriorityQueueV2) X(FIFOQueue) X(FIFOQueueV2) X(FakeQueue) X(QueueEnqueue) X(QueueEnqueueV2) \
    X(QueueEnqueueMany) X(QueueEnqueueManyV2) \
    X(QueueDequeue) X(QueueDequeueV2) X(QueueDequeueMany) X(QueueDequeueManyV2) X(QueueDequeueUpTo) \
    X(QueueDequeueUpToV2) X(QueueClose) X(QueueCloseV2) X(QueueSize) X(QueueSizeV2) X(QueueIsClosed) \
    X(QueueIsClosedV2) \
    X(ConditionalAccumulator) X(ResourceConditionalAccumulator) X(SparseConditionalAccumulator) \
    X(AccumulatorApplyGradient) X(ResourceAccumulatorApplyGradient) X(SparseAccumulatorApplyGradient) \
    X(AccumulatorTakeGradient) X(ResourceAccumulatorTakeGradient) X(SparseAccumulatorTakeGradient) \
    X(AccumulatorNumAccumulated) X(ResourceAccumulatorNumAccumulated) X(AccumulatorSetGlobalStep) \
    X(ResourceAccumulatorSetGlobalStep) \
    X(Barrier) X(BarrierInsertMany) X(BarrierTakeMany) X(BarrierClose) X(BarrierReadySize) X(BarrierIncompleteSize) \
    X(MutexV2) X(MutexLock) X(ConsumeMutexLock) \
    X(CollectiveReduce) X(CollectiveReduceV2) X(CollectiveGather) X(CollectiveGatherV2) X(CollectiveBcastSend) \
    X(CollectiveBcastSendV2) X(CollectiveBcastRecv) X(CollectiveBcastRecvV2) X(CollectiveAllToAllV2) \
    X(Stage) X(Unstage) X(StagePeek) X(StageSize) X(StageClear) X(MapStage) X(MapPeek) X(MapUnstage) \
    X(MapUnstageNoKey) X(MapSize) X(MapIncompleteSize) X(MapClear) X(OrderedMapStage) X(OrderedMapPeek) \
    X(OrderedMapUnstage) X(OrderedMapUnstageNoKey) X(OrderedMapSize) X(OrderedMapIncompleteSize) X(OrderedMapClear) \
    X(HashTable) X(HashTableV2) X(MutableHashTable) X(MutableHashTableV2) X(MutableDenseHashTable) \
    X(MutableDenseHashTableV2) X(MutableHashTableOfTensors) X(AnonymousHashTable) \
    X(AnonymousMutableHashTable) X(AnonymousMutableHashTableOfTensors) X(AnonymousMutableDenseHashTable) \
    X(MutableHashTableOfTensorsV2) \
    X(InitializeTable) X(InitializeTableV2) X(InitializeTableFromTextFile) X(InitializeTableFromTextFileV2) \
    X(LookupTableFind) X(LookupTableFindV2) X(LookupTableInsert) X(LookupTableInsertV2) X(LookupTableRemoveV2) \
    X(LookupTableSize) X(LookupTableSizeV2) X(LookupTableExport) X(LookupTableExportV2) X(LookupTableImport) \
    X(LookupTableImportV2)

#define DATA X(TensorDataset) X(TensorSliceDataset) X(SparseTensorSliceDataset) X(RangeDataset) X(BatchDataset) \
    X(BatchDatasetV2) X(ParallelBatchDataset) X(PaddedBatchDataset) X(PaddedBatchDatasetV2) X(UnbatchDataset) \
    X(MapDataset) X(FilterDataset) X(ParallelFilterDataset) X(TakeWhileDataset) X(FlatMapDataset) X(ScanDataset) \
    X(ReduceDataset) X(DatasetToSingleElement) X(Iterator) X(IteratorV2) X(AnonymousIterator) X(AnonymousIteratorV2) \
    X(AnonymousIteratorV3) X(DeleteIterator) X(MakeIterator) X(OneShotIterator) X(IteratorGetNext) \
    X(IteratorGetNextSync) X(IteratorGetNextAsOptional) X(IteratorToStringHandle) X(IteratorFromStringHandle) \
    X(IteratorFromStringHandleV2) X(IteratorGetDevice) X(SerializeIterator) \
    X(DeserializeIterator) X(DatasetCardinality) X(OptionalFromValue) X(OptionalNone) \
    X(OptionalHasValue) X(OptionalGetValue) \
    X(RebatchDataset) X(RebatchDatasetV2) X(TakeDataset) X(SkipDataset) X(RepeatDataset) X(ShardDataset) \
    X(ConcatenateDataset) X(ZipDataset) X(OptionsDataset) \
    X(ModelDataset) X(FinalizeDataset) X(NonSerializableDataset) X(OptimizeDataset) X(OptimizeDatasetV2) \
    X(MaxIntraOpParallelismDataset) X(PrivateThreadPoolDataset) X(WrapDatasetVariant) X(UnwrapDatasetVariant) \
    X(AssertCardinalityDataset) X(IgnoreErrorsDataset) X(PrefetchDataset) X(ParallelMapDataset) X(ParallelMapDatasetV2) \
    X(InterleaveDataset) X(ParallelInterleaveDataset) X(LegacyParallelInterleaveDatasetV2) \
    X(ParallelInterleaveDatasetV2) X(ParallelInterleaveDatasetV3) X(ParallelInterleaveDatasetV4) X(ShuffleDataset) \
    X(ShuffleDatasetV2) X(ShuffleDatasetV3) X(ShuffleAndRepeatDataset) X(ShuffleAndRepeatDatasetV2) \
    X(AnonymousRandomSeedGenerator) X(AnonymousSeedGenerator) X(DummySeedGenerator) X(DeleteSeedGenerator) \
    X(DeleteRandomSeedGenerator) X(WindowDataset) X(GroupByWindowDataset) X(MapAndBatchDataset) X(CacheDataset) \
    X(CacheDatasetV2) X(AnonymousMemoryCache) X(DummyMemoryCache) X(DeleteMemoryCache) X(TFRecordDataset) \
    X(TFRecordDatasetV2) X(TextLineDataset) X(FixedLengthRecordDataset) X(FixedLengthRecordDatasetV2) \
    X(GeneratorDataset) X(RandomDataset) X(RandomDatasetV2) X(BatchFunction)

#define TRAIN X(_ApplyGradientDescentMatMul) X(_ResourceApplyGradientDescentMatMul) X(_ApplyMomentumMatMul) \
    X(_ResourceApplyMomentumMatMul) X(_ApplyAdamMatMul) X(_ResourceApplyAdamMatMul) \
    X(ApplyGradientDescent) X(ResourceApplyGradientDescent) X(ApplyMomentum) X(ResourceApplyMomentum) \
    X(SparseApplyMomentum) X(ResourceSparseApplyMomentum) X(ResourceApplyKerasMomentum) \
    X(ResourceSparseApplyKerasMomentum) X(ApplyProximalGradientDescent) X(ResourceApplyProximalGradientDescent) \
    X(SparseApplyProximalGradientDescent) X(ResourceSparseApplyProximalGradientDescent) X(ApplyProximalAdagrad) \
    X(ResourceApplyProximalAdagrad) X(SparseApplyProximalAdagrad) X(ResourceSparseApplyProximalAdagrad) \
    X(ApplyAddSign) X(ResourceApplyAddSign) X(ApplyPowerSign) X(ResourceApplyPowerSign) X(ApplyAdagrad) \
    X(ResourceApplyAdagrad) X(SparseApplyAdagrad) X(ResourceSparseApplyAdagrad) X(ApplyAdagradV2) \
    X(ResourceApplyAdagradV2) X(SparseApplyAdagradV2) X(ResourceSparseApplyAdagradV2) X(ApplyAdadelta) \
    X(ResourceApplyAdadelta) X(SparseApplyAdadelta) X(ResourceSparseApplyAdadelta) X(ApplyRMSProp) \
    X(ResourceApplyRMSProp) X(SparseApplyRMSProp) X(ResourceSparseApplyRMSProp) X(ApplyCenteredRMSProp) \
    X(ResourceApplyCenteredRMSProp) X(SparseApplyCenteredRMSProp) X(ResourceSparseApplyCenteredRMSProp) X(ApplyAdam) \
    X(ResourceApplyAdam) X(ResourceApplyAdamWithAmsgrad) X(ApplyAdaMax) X(ResourceApplyAdaMax) X(ApplyFtrl) \
    X(ResourceApplyFtrl) X(SparseApplyFtrl) X(ResourceSparseApplyFtrl) X(ApplyFtrlV2) X(ResourceApplyFtrlV2) \
    X(SparseApplyFtrlV2) X(ResourceSparseApplyFtrlV2) X(ApplyAdagradDA) X(ResourceApplyAdagradDA) \
    X(SparseApplyAdagradDA) X(ResourceSparseApplyAdagradDA)
#define RANDOM X(StatefulUniform) X(StatefulStandardNormalV2) X(StatefulTruncatedNormal) X(StatefulUniformFullInt) \
    X(StatefulUniformInt) X(RngSkip) X(RngReadAndSkip) X(ParameterizedTruncatedNormal) X(Skipgram) X(NegTrain) \
    X(RandomUniform) X(RandomStandardNormal) X(TruncatedNormal) X(RandomUniformInt) X(RandomShuffle) \
    X(StatelessRandomUniform) X(StatelessRandomNormal) X(StatelessTruncatedNormal) X(StatelessRandomUniformInt) \
    X(StatelessRandomUniformV2) X(StatelessRandomNormalV2) X(StatelessTruncatedNormalV2) \
    X(StatelessRandomUniformFullIntV2) X(StatelessRandomGetKeyCounter) X(StatelessRandomGetKeyCounterAlg) \
    X(StatelessRandomGetAlg) X(StatelessRandomGammaV2) X(StatelessRandomGammaV3) \
    X(StatelessShuffle) X(Multinomial) X(StatelessMultinomial) X(RandomGamma) X(RandomGammaGrad) \
    X(RandomPoisson) X(RandomPoissonV2) \
    X(UniformCandidateSampler) X(LogUniformCandidateSampler) X(LearnedUnigramCandidateSampler) \
    X(ThreadUnsafeUnigramCandidateSampler) X(FixedUnigramCandidateSampler) X(AllCandidateSampler) \
    X(ComputeAccidentalHits) X(StatelessRandomUniformFullInt) X(StatelessRandomUniformIntV2)
#define STRING X(StringJoin) X(ReduceJoin) X(StringLength) X(Substr) X(StringLower) X(StringUpper) X(StringStrip) \
    X(StringSplit) X(StringSplitV2) X(StringToHashBucketFast) X(StringToHashBucket) X(StringToHashBucketStrong) \
    X(StaticRegexFullMatch) X(RegexFullMatch) X(StaticRegexReplace) X(RegexReplace) X(StringFormat) \
    X(AsString) X(StringNGrams) X(UnsortedSegmentJoin) X(UnicodeDecode) X(UnicodeDecodeWithOffsets) X(UnicodeTranscode) \
    X(UnicodeEncode) X(SparseCross) X(SparseCrossV2) X(StringToNumber) X(DecodeRaw) X(EncodeBase64) X(DecodeBase64)
#define IMAGE X(ResizeBilinear) X(ResizeBilinearGrad) X(ResizeNearestNeighbor) X(ResizeNearestNeighborGrad) X(CropAndResize) \
    X(NonMaxSuppression) X(NonMaxSuppressionV2) X(NonMaxSuppressionV3) X(NonMaxSuppressionV4) X(NonMaxSuppressionV5) \
    X(CombinedNonMaxSuppression) \
    X(DecodeJpeg) X(DecodeAndCropJpeg) X(DecodePng) X(DecodeBmp) X(DecodeGif) X(DecodeImage) X(ExtractJpegShape) \
    X(EncodeJpeg) X(EncodeJpegVariableQuality) X(EncodePng) \
    X(ResizeArea) X(ResizeBicubic) X(ResizeBicubicGrad) X(ScaleAndTranslate) X(ScaleAndTranslateGrad) \
    X(CropAndResizeGradImage) X(CropAndResizeGradBoxes) X(NonMaxSuppressionWithOverlaps) X(RGBToHSV) X(HSVToRGB) \
    X(AdjustHue) X(AdjustSaturation) X(AdjustContrastv2) X(DrawBoundingBoxes) X(DrawBoundingBoxesV2) \
    X(SampleDistortedBoundingBox) X(SampleDistortedBoundingBoxV2) X(StatelessSampleDistortedBoundingBox) X(RandomCrop) \
    X(ExtractGlimpse) X(ExtractGlimpseV2) X(ImageProjectiveTransformV2) X(ImageProjectiveTransformV3) \
    X(ExtractImagePatches)
#define SIGNAL X(AudioSpectrogram) X(Mfcc) X(FFT) X(FFT2D) X(FFT3D) X(IFFT) X(IFFT2D) X(IFFT3D) X(RFFT) X(RFFT2D) \
    X(RFFT3D) X(IRFFT) X(IRFFT2D) \
    X(IRFFT3D)
#define SPARSE X(SparseTensorDenseMatMul) X(SparseMatMul) X(SparseReshape) X(SparseFillEmptyRows) \
    X(SparseAdd) X(SparseAddGrad) X(SparseSparseMaximum) X(SparseSparseMinimum) X(SparseTensorDenseAdd) \
    X(_SparseDensePartners) X(SparseDenseCwiseMul) X(SparseDenseCwiseDiv) X(SparseDenseCwiseAdd) X(SparseReduceSum) \
    X(SparseReduceSumSparse) X(SparseReduceMax) X(SparseReduceMaxSparse) X(SparseSoftmax) X(SparseReorder) \
    X(SparseSlice) X(SparseSliceGrad) X(SparseConcat) X(SparseSplit) X(DenseToDenseSetOperation) \
    X(DenseToSparseSetOperation) X(SparseToSparseSetOperation) X(SetSize) \
    X(SerializeSparse) X(SerializeManySparse) X(DeserializeSparse) X(DeserializeManySparse) \
    X(SparseFillEmptyRowsGrad) X(SparseSegmentSumGrad) X(SparseSegmentMeanGrad) X(SparseSegmentSqrtNGrad)
#define LINALG X(MatrixInverse) X(MatrixDeterminant) X(LogMatrixDeterminant) X(Cholesky) X(CholeskyGrad) X(MatrixSolve) \
    X(MatrixTriangularSolve) X(Qr) X(Svd) X(SelfAdjointEig) X(SelfAdjointEigV2) X(Eig) X(Lu) X(MatrixSquareRoot) \
    X(MatrixLogarithm) X(MatrixExponential) X(MatrixSolveLs) X(BandedTriangularSolve) X(TridiagonalSolve) \
    X(TridiagonalMatMul)
#define QUANTIZE X(FakeQuantWithMinMaxArgs) X(FakeQuantWithMinMaxArgsGradient) X(FakeQuantWithMinMaxVars) \
    X(FakeQuantWithMinMaxVarsGradient) X(FakeQuantWithMinMaxVarsPerChannel) X(FakeQuantWithMinMaxVarsPerChannelGradient) \
    X(QuantizeAndDequantize) X(QuantizeAndDequantizeV2) X(QuantizeAndDequantizeV3) X(QuantizeAndDequantizeV4) \
    X(QuantizeAndDequantizeV4Grad) X(QuantizeV2) X(RequantizationRange) X(RequantizationRangePerChannel) \
    X(Dequantize)
#define IO X(SaveV2) X(RestoreV2) X(Save) X(SaveSlices) X(Restore) X(RestoreSlice) \
    X(ShardedFilename) X(ShardedFilespec) X(MergeV2Checkpoints) X(ReadFile) \
    X(WriteFile) \
    X(MatchingFiles) X(ScalarSummary) X(HistogramSummary) X(TensorSummary) X(TensorSummaryV2) X(AudioSummary) X(AudioSummaryV2) \
    X(ImageSummary) \
    X(MergeSummary) X(SummaryWriter) X(CreateSummaryFileWriter) X(FlushSummaryWriter) X(CloseSummaryWriter) X(WriteSummary) \
    X(WriteScalarSummary) X(WriteHistogramSummary) X(WriteRawProtoSummary) X(WriteGraphSummary) X(WriteAudioSummary) \
    X(WriteImageSummary)
#define INPUT X(WholeFileReader) X(WholeFileReaderV2) X(IdentityReader) X(IdentityReaderV2) X(TextLineReader) \
    X(TextLineReaderV2) X(TFRecordReader) X(TFRecordReaderV2) X(FixedLengthRecordReader) \
    X(FixedLengthRecordReaderV2) X(ReaderRead) X(ReaderReadV2) X(ReaderReadUpTo) X(ReaderReadUpToV2) \
    X(ReaderNumRecordsProduced) X(ReaderNumRecordsProducedV2) X(ReaderNumWorkUnitsCompleted) \
    X(ReaderNumWorkUnitsCompletedV2) X(ReaderReset) X(ReaderResetV2) X(ReaderSerializeState) \
    X(ReaderSerializeStateV2) X(ReaderRestoreState) X(ReaderRestoreStateV2) X(ParseExample) X(ParseExampleV2) \
    X(ParseSingleExample) X(ParseTensor) X(GenerateVocabRemapping) X(LoadAndRemapMatrix) \
    X(SerializeTensor) X(DecodePaddedRaw) X(DecodeCompressed) X(DecodeCSV) \
    X(DecodeJSONExample) X(DecodeWav) X(EncodeWav) X(ParseSequenceExample) X(ParseSequenceExampleV2) \
    X(ParseSingleSequenceExample)

#define X(Name) extern const Op op_##Name;
FLOW MATH ARRAY NN STATE DATA TRAIN RANDOM STRING IMAGE SIGNAL LINALG QUANTIZE SPARSE IO INPUT
#include "ops/math/binary.def"
#include "ops/math/unary.def"
#undef X

#define X(Name) &op_##Name,
const Op *const all_ops[] = {
    FLOW MATH ARRAY NN STATE DATA TRAIN RANDOM STRING IMAGE SIGNAL LINALG QUANTIZE SPARSE IO INPUT
#include "ops/math/binary.def"
#include "ops/math/unary.def"
    NULL,
};

/** The data that starts the thread of a model in a folder. */
export interface OnnxThreadData {
  readonly folder: string;
  /** Path of the ONNX file. */
  readonly model: string;
  /** The folder in which the runtime is installed. */
  readonly runtime: string;
  readonly dim: number;
  readonly tokens: number;
  readonly pooling: 'mean' | 'cls';
}

import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fail, ok, type Result } from '../../../protocol/base/result.js';

/** A sentence encoder in a folder, in the form in which such models are published. */
export interface ModelFolder {
  /** Distinguishes models: name of the folder, and facts of the model's file. */
  readonly name: string;
  /** Path of the ONNX file. */
  readonly model: string;
  readonly dim: number;
  /** Tokens that the model reads. */
  readonly tokens: number;
  /** How the vectors of the tokens become one. */
  readonly pooling: 'mean' | 'cls';
}

const MODEL_FILES = [
  'model.onnx',
  'onnx/model.onnx',
  'model_quantized.onnx',
  'onnx/model_quantized.onnx',
  'model_int8.onnx',
  'onnx/model_int8.onnx',
];
const TOKENS_DEFAULT = 512;

/** Reads the small files of a model's folder; the model itself is loaded later. */
export function readModelFolder(folder: string): Result<ModelFolder> {
  if (!existsSync(folder)) return broken(folder, 'does not exist');
  const file = MODEL_FILES.find((name) => existsSync(join(folder, name))) ?? onlyOnnx(folder);
  if (file === null) return broken(folder, 'has no model.onnx');
  if (!existsSync(join(folder, 'tokenizer.json'))) return broken(folder, 'has no tokenizer.json');
  const config = jsonIn(folder, 'config.json');
  const dim = numberOf(config?.['hidden_size'] ?? config?.['d_model'] ?? config?.['dim']);
  if (dim === null) return broken(folder, 'has no config.json with the hidden_size of the model');
  const limits = [
    numberOf(jsonIn(folder, 'sentence_bert_config.json')?.['max_seq_length']),
    numberOf(jsonIn(folder, 'tokenizer_config.json')?.['model_max_length']),
    numberOf(config?.['max_position_embeddings']),
  ];
  const tokens = Math.min(...limits.map((limit) => limit ?? Number.POSITIVE_INFINITY));
  const pooling = jsonIn(folder, '1_Pooling/config.json');
  const model = join(folder, file);
  return ok({
    name: `${basename(folder)}:${statSync(model).size.toString(36)}`,
    model,
    dim,
    tokens: Number.isFinite(tokens) ? tokens : TOKENS_DEFAULT,
    pooling: pooling?.['pooling_mode_cls_token'] === true ? 'cls' : 'mean',
  });
}

function onlyOnnx(folder: string): string | null {
  const found = readdirSync(folder).filter((name) => name.endsWith('.onnx'));
  return found.length === 1 ? found[0]! : null;
}

function jsonIn(folder: string, name: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(readFileSync(join(folder, name), 'utf8'));
    return typeof value === 'object' ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

function numberOf(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? Math.floor(value) : null;
}

function broken(folder: string, what: string): Result<never> {
  return fail('UNAVAILABLE', `the model folder ${folder} ${what}`);
}

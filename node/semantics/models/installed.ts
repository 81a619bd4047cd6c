import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readModelFolder } from '../onnx/model-folder.js';

/** The files of a model: the first that is there of each row; what is needed stands first. */
export const MODEL_FILES: readonly { readonly names: readonly string[]; readonly needed: boolean }[] = [
  { names: ['config.json'], needed: true },
  { names: ['tokenizer.json'], needed: true },
  { names: ['tokenizer_config.json'], needed: false },
  { names: ['special_tokens_map.json'], needed: false },
  { names: ['sentence_bert_config.json'], needed: false },
  { names: ['1_Pooling/config.json'], needed: false },
  {
    names: [
      ...['model.onnx', 'onnx/model_quantized.onnx', 'onnx/model.onnx'],
      ...['model_quantized.onnx', 'onnx/model_int8.onnx', 'model_int8.onnx'],
    ],
    needed: true,
  },
];

/** The source of an installed model. The record is stored beside the model's files. */
export interface InstallRecord {
  readonly from: string;
  readonly installed_at: string;
  readonly files: readonly { readonly name: string; readonly sha256: string; readonly verified: boolean }[];
}

export const RECORD_FILE = 'mnemesh-install.json';

/** A name that a folder may have. */
export const isModelName = (name: string): boolean => /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(name);

export const encodersFolder = (home: string): string => join(home, 'encoders');

export interface InstalledModel {
  readonly name: string;
  readonly folder: string;
  readonly dim: number | null;
  readonly from: string | null;
  /** Why the folder cannot be used; null for one that can. */
  readonly problem: string | null;
}

/** The models in the home, by name. */
export function installedModels(home: string): readonly InstalledModel[] {
  const root = encodersFolder(home);
  if (!existsSync(root)) return [];
  return readdirSync(root, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && isModelName(entry.name))
    .map(({ name }) => {
      const folder = join(root, name);
      const read = readModelFolder(folder);
      return {
        ...{ name, folder, from: recordOf(folder)?.from ?? null },
        dim: read.ok ? read.value.dim : null,
        problem: read.ok ? null : read.error.message,
      };
    })
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

function recordOf(folder: string): InstallRecord | null {
  try {
    const value = JSON.parse(readFileSync(join(folder, RECORD_FILE), 'utf8')) as Partial<InstallRecord>;
    return typeof value.from === 'string' ? (value as InstallRecord) : null;
  } catch {
    return null;
  }
}

/** A model that `encoder install` knows by name. */
export interface CatalogModel {
  readonly name: string;
  readonly purpose: string;
  readonly languages: string;
  readonly dim: number;
  /** What is downloaded, roughly. */
  readonly megabytes: number;
  /** Where its files are, below the address of the hub. */
  readonly path: string;
  readonly pooling: 'mean' | 'cls';
}

/** The hub that has the models of the catalog. */
export const MODEL_HUB = 'https://huggingface.co';

/** Models in the form that the backend `onnx` reads, quantized to bytes. */
export const CATALOG: readonly CatalogModel[] = [
  model('multilingual-e5-small', 'notes in many languages, small', 'about 100', 384, 135, 'mean'),
  model('multilingual-e5-base', 'notes in many languages', 'about 100', 768, 296, 'mean'),
  model('multilingual-e5-large', 'notes in many languages, finds more, slow', 'about 100', 1024, 580, 'mean'),
  model('bge-m3', 'long notes in many languages, finds most, slow', 'more than 100', 1024, 590, 'cls'),
  model('bge-small-en-v1.5', 'English notes, small and fast', 'English', 384, 35, 'cls'),
  model('bge-base-en-v1.5', 'English notes', 'English', 768, 112, 'cls'),
  model('all-MiniLM-L6-v2', 'English notes, smallest', 'English', 384, 24, 'mean'),
];

function model(
  name: string,
  purpose: string,
  languages: string,
  dim: number,
  megabytes: number,
  pooling: CatalogModel['pooling'],
): CatalogModel {
  return { name, purpose, languages, dim, megabytes, pooling, path: `Xenova/${name}/resolve/main/` };
}

/** A model of the catalog, however its letters are written; null for an unknown name. */
export const catalogModel = (name: string): CatalogModel | null =>
  CATALOG.find((each) => each.name.toLowerCase() === name.toLowerCase()) ?? null;

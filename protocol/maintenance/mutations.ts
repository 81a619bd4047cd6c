import { defineMutation } from '../decide/mutations.js';
import type { DatabaseOwner } from '../decide/rows.js';
import type { EncoderRef } from './encoder-ref.js';

export const putEmbedding = defineMutation<{
  readonly rid: number;
  readonly state: number;
  readonly model: string;
  readonly dim: number;
  readonly vectors: Uint8Array | null;
  /** The vectors of the encoder that takes the place of the searched one. */
  readonly coming: boolean;
}>('put-embedding');
/** Gives an encoder a role; null takes the role away. */
export const putEncoder = defineMutation<{
  readonly role: 'searched' | 'coming';
  readonly encoder: EncoderRef | null;
}>('put-encoder');
/** Drops the searched vectors; every memory waits. */
export const clearSearched = defineMutation<void>('clear-searched');
/** The coming encoder becomes the searched one. */
export const switchEncoder = defineMutation<{ readonly encoder: EncoderRef }>('switch-encoder');
export const requeueEmbeddings = defineMutation<{ readonly rids: readonly number[] }>('requeue-embeddings');
export const putDatabaseOwner = defineMutation<{ readonly owner: DatabaseOwner }>('put-database-owner');
/** Indexes the texts of rows again, from one row number down to another. */
export const reindexTexts = defineMutation<{ readonly from: number; readonly to: number }>('reindex-texts');

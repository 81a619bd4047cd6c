import { defineRead } from '../decide/reads.js';
import type { DatabaseOwner } from '../decide/rows.js';
import type { Encoders } from './encoder-ref.js';

/** The next rows whose texts wait to be indexed again, by their numbers, the newest first; null when none waits. */
export const waitingTexts = defineRead<
  { readonly rows: number; readonly characters: number },
  { readonly from: number; readonly to: number } | null
>('waiting-texts');
export const databaseOwner = defineRead<void, DatabaseOwner | null>('database-owner');
export const encodersInUse = defineRead<void, Encoders>('encoders');
/** True while a memory waits for the coming encoder. */
export const comingIncomplete = defineRead<void, boolean>('coming-incomplete');
/** Row numbers of memories, in their order. */
export const ridsAfter = defineRead<
  { readonly afterRid: number; readonly namespace: string | null; readonly limit: number },
  { readonly rids: readonly number[] }
>('rids-after');

import { defineRead } from '../decide/reads.js';

/** True when the signature (base64) covers the data under the key (base64); false for a text that is neither. */
export const signatureHolds = defineRead<
  { readonly publicKey: string; readonly signature: string; readonly data: Uint8Array },
  boolean
>('signature-holds');

import type { Crypto, Random } from '../../protocol/base/seams.js';

/** Random whose ids follow from a key: a call that runs again under its key makes the same ids. */
export function keyedRandom(
  key: string,
  { random, crypto }: { readonly random: Random; readonly crypto: Pick<Crypto, 'sha256Hex'> },
): Random {
  let made = 0;
  return {
    uuid: () => {
      const hex = crypto.sha256Hex(`${key} ${made}`);
      made += 1;
      const variant = '89ab'[Number.parseInt(hex[16]!, 16) & 3];
      return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
    },
    bytes: (count) => random.bytes(count),
    unit: () => random.unit(),
  };
}

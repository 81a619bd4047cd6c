const BLOCK = 512;
const NAME_MAX = 100;

/** A file of an archive. */
export interface TarFile {
  readonly name: string;
  readonly bytes: Uint8Array;
}

/** An archive in the format ustar. The same files in the same order always give the same bytes. */
export function tarOf(files: readonly TarFile[]): Buffer {
  const parts = files.flatMap(({ name, bytes }) => [
    header(name, bytes.length),
    bytes,
    padding(bytes.length),
  ]);
  return Buffer.concat([...parts, Buffer.alloc(2 * BLOCK)]);
}

const padding = (length: number) => Buffer.alloc((BLOCK - (length % BLOCK)) % BLOCK);

const octal = (value: number, digits: number) => `${value.toString(8).padStart(digits, '0')}\0`;

function header(name: string, size: number): Buffer {
  const block = Buffer.alloc(BLOCK);
  if (Buffer.byteLength(name) > NAME_MAX) throw new Error(`the name ${name} is too long for an archive`);
  block.write(name, 0);
  block.write(octal(0o600, 7), 100);
  block.write(octal(0, 7), 108);
  block.write(octal(0, 7), 116);
  block.write(octal(size, 11), 124);
  block.write(octal(0, 11), 136);
  block.write('        ', 148);
  block.write('0', 156);
  block.write('ustar\x0000', 257, 'latin1');
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return block;
}

/** The files of an archive that `tarOf` made; null for other bytes, also where only one of them differs in a header or a filling. */
export function filesOfTar(archive: Uint8Array): readonly TarFile[] | null {
  const bytes = Buffer.from(archive);
  const files: TarFile[] = [];
  let at = 0;
  while (at + BLOCK <= bytes.length && bytes[at] !== 0) {
    const name = bytes.toString('utf8', at, at + NAME_MAX).replace(/\0.*$/s, '');
    const size = bytes.toString('latin1', at + 124, at + 135);
    if (!/^[0-7]{11}$/.test(size)) return null;
    const length = Number.parseInt(size, 8);
    const from = at + BLOCK;
    if (from + length > bytes.length) return null;
    files.push({ name, bytes: bytes.subarray(from, from + length) });
    at = from + Math.ceil(length / BLOCK) * BLOCK;
  }
  try {
    return tarOf(files).equals(bytes) ? files : null;
  } catch {
    return null;
  }
}

import { crc32, deflateRawSync } from 'node:zlib';

export interface ZipEntry {
  readonly name: string;
  readonly content: Uint8Array;
  /** What the directory says of its size, where it lies. */
  readonly claimed?: number;
  readonly flags?: number;
}

/** A zip archive with these files. */
export function zipOf(entries: readonly ZipEntry[]): Buffer {
  const pieces: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const { name, content, claimed = content.length, flags = 0 } of entries) {
    const packed = deflateRawSync(content);
    const sum = (crc32 as ((data: Uint8Array) => number) | undefined)?.(content) ?? 0;
    const local = Buffer.alloc(30);
    local.writeUInt32LE(0x04034b50, 0);
    const common = (buffer: Buffer, at: number) => {
      buffer.writeUInt16LE(20, at);
      buffer.writeUInt16LE(flags, at + 2);
      buffer.writeUInt16LE(8, at + 4);
      buffer.writeUInt32LE(sum, at + 10);
      buffer.writeUInt32LE(packed.length, at + 14);
      buffer.writeUInt32LE(claimed, at + 18);
      buffer.writeUInt16LE(Buffer.byteLength(name), at + 22);
    };
    common(local, 4);
    const central = Buffer.alloc(46);
    central.writeUInt32LE(0x02014b50, 0);
    common(central, 6);
    central.writeUInt32LE(offset, 42);
    pieces.push(local, Buffer.from(name), packed);
    directory.push(central, Buffer.from(name));
    offset += local.length + Buffer.byteLength(name) + packed.length;
  }
  const listed = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(entries.length, 8);
  end.writeUInt16LE(entries.length, 10);
  end.writeUInt32LE(listed.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...pieces, listed, end]);
}
